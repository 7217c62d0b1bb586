#include <algorithm>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

// The log-likelihood of each state at each step: a state is a label or the blank before, between or
// behind labels.
ops::TensorSpec log_alpha_of(
    const Tensor& log_probs, const Tensor&, IntList, IntList target_lengths, int64_t, bool) {
  const int64_t most = *std::ranges::max_element(target_lengths);
  return {{log_probs.size(1), log_probs.size(0), 2 * most + 1},
          log_probs.dtype(),
          log_probs.device(),
          std::nullopt};
}

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
  registry.kernel<ctc_loss>(DeviceType::kNpu, "_ctc_loss").keeps<log_alpha_of>();
  registry.kernel<ctc_loss_backward>(DeviceType::kNpu, "_ctc_loss_backward");
}

}  // namespace mindtorch::ascend
