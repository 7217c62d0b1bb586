#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

void ctc_loss(ops::Launch& on,
              const Tensor& log_probs,
              const Tensor& targets,
              IntList input_lengths,
              IntList target_lengths,
              int64_t blank,
              bool zero_infinity,
              Tensor& neg_log_likelihood,
              Tensor& log_alpha) {
  call(on, MT_ACLNN(aclnnCtcLoss), log_probs, targets, input_lengths, target_lengths, blank,
       zero_infinity, neg_log_likelihood, log_alpha);
}

void ctc_loss_backward(ops::Launch& on,
                       const Tensor& grad,
                       const Tensor& log_probs,
                       const Tensor& targets,
                       IntList input_lengths,
                       IntList target_lengths,
                       const Tensor& neg_log_likelihood,
                       const Tensor& log_alpha,
                       int64_t blank,
                       bool zero_infinity,
                       Tensor& out) {
  call(on, MT_ACLNN(aclnnCtcLossBackward), grad, log_probs, targets, input_lengths, target_lengths,
       neg_log_likelihood, log_alpha, blank, zero_infinity, out);
}

}  // namespace

void register_ctc(ops::Registry& registry) {
  registry.kernel<ctc_loss>(DeviceType::kNpu, "_ctc_loss");
  registry.kernel<ctc_loss_backward>(DeviceType::kNpu, "_ctc_loss_backward");
}

}  // namespace mindtorch::ascend
