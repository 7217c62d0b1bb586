#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

void ctc_loss(Backward& b,
              const Tensor& log_probs,
              const Tensor& targets,
              IntList input_lengths,
              IntList target_lengths,
              int64_t blank,
              bool zero_infinity,
              const Tensor& neg_log_likelihood,
              const Tensor& log_alpha) {
  b.set(0, _ctc_loss_backward(b.grad(0), log_probs, targets, input_lengths, target_lengths,
                              neg_log_likelihood, log_alpha, blank, zero_infinity));
}

}  // namespace

void define_ctc(Derivatives& derivatives) { derivatives.define<ctc_loss>("_ctc_loss"); }

}  // namespace mindtorch::autograd
