// The loss of label sequences that are not aligned with the input (connectionist temporal
// classification).
#include <algorithm>
#include <numeric>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

constexpr const char* kChecking = " (while checking arguments for ctc_loss_allocate_outputs)";

void check_lengths(const char* name, IntList lengths, int64_t batch) {
  MT_CHECK(static_cast<int64_t>(lengths.size()) == batch, RuntimeError, name,
           " must be of size batch_size");
  for (const int64_t length : lengths) {
    MT_CHECK(length >= 0, RuntimeError, "Expected ", name,
             " to have value at least 0, but got value ", length, kChecking);
  }
}

// Labels as [batch, most] or one after the other.
void check_targets(const Tensor& targets, IntList target_lengths) {
  MT_CHECK(targets.dim() == 1 || targets.dim() == 2, RuntimeError,
           "Expected 1 to 2 dimensions, but got ", targets.dim(),
           "-dimensional tensor for argument #2 'targets'", kChecking);
  const auto check_size = [&](int64_t wanted) {
    MT_CHECK(targets.size(0) == wanted, RuntimeError, "Expected tensor to have size ", wanted,
             " at dimension 0, but got size ", targets.size(0), " for argument #2 'targets'",
             kChecking);
  };
  if (targets.dim() == 1) {
    return check_size(std::accumulate(target_lengths.begin(), target_lengths.end(), int64_t{0}));
  }
  check_size(static_cast<int64_t>(target_lengths.size()));
  const int64_t most = *std::ranges::max_element(target_lengths);
  MT_CHECK(targets.size(1) >= most, RuntimeError, "Expected tensor to have size at least ", most,
           " at dimension 1, but got size ", targets.size(1), " for argument #2 'targets'",
           kChecking);
}

// The loss of each sample.
TensorSpec ctc_loss(const Tensor& log_probs,
                    const Tensor& targets,
                    IntList input_lengths,
                    IntList target_lengths,
                    int64_t blank,
                    bool) {
  MT_CHECK(log_probs.numel() > 0, RuntimeError, "log_probs tensor must not be empty");
  const bool is_float =
      log_probs.dtype() == DType::kFloat32 || log_probs.dtype() == DType::kFloat64;
  MT_CHECK(is_float, NotImplementedError, "\"ctc_loss_cpu\" not implemented for '",
           legacy_name(log_probs.dtype()), "'");
  MT_CHECK(targets.dtype() == DType::kInt64 || targets.dtype() == DType::kInt32, RuntimeError,
           "Expected tensor for argument #2 'targets' to have one of the following scalar types: "
           "Long, Int; but got torch.",
           legacy_name(targets.dtype()), "Tensor instead", kChecking);
  MT_CHECK(log_probs.dim() == 3, RuntimeError, "Expected 3-dimensional tensor, but got ",
           log_probs.dim(), "-dimensional tensor for argument #1 'log_probs'", kChecking);
  const int64_t steps = log_probs.size(0);
  const int64_t batch = log_probs.size(1);
  MT_CHECK(blank >= 0 && blank < log_probs.size(2), RuntimeError, "blank must be in label range");
  check_lengths("input_lengths", input_lengths, batch);
  check_lengths("target_lengths", target_lengths, batch);
  check_targets(targets, target_lengths);
  for (const int64_t length : input_lengths) {
    MT_CHECK(length <= steps, RuntimeError, "Expected input_lengths to have value at most ", steps,
             ", but got value ", length, kChecking);
  }
  return contiguous_spec({batch}, log_probs.dtype(), log_probs.device());
}

TensorSpec ctc_loss_backward(const Tensor& grad,
                             const Tensor& log_probs,
                             const Tensor& targets,
                             IntList input_lengths,
                             IntList target_lengths,
                             const Tensor&,
                             const Tensor&,
                             int64_t blank,
                             bool zero_infinity) {
  ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity);
  MT_CHECK(grad.dim() == 1 && grad.size(0) == log_probs.size(1), RuntimeError,
           "Expected a gradient for each of ", log_probs.size(1), " samples, but got ",
           to_string(grad.sizes()));
  return contiguous_spec(log_probs.sizes(), log_probs.dtype(), log_probs.device());
}

}  // namespace

void define_ctc(Registry& ops) {
  ops.define<ctc_loss>(
         "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
         "int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)")
      .device_example("F.ctc_loss(image[0].log_softmax(2), rows[:1], [1] * 4, [1, 0, 0, 0])")
      .auxiliary(1)
      .internal();
  ops.define<ctc_loss_backward>(
         "_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, "
         "int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, "
         "bool zero_infinity=False) -> Tensor")
      .device_example(
          "torch.autograd.grad(F.ctc_loss(image[0].log_softmax(2), rows[:1], [1] * 4, [1, 0, 0, "
          "0]), image)")
      .internal();
  ops.define(
         "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, "
         "int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .function_only()
      .doc("The negative log-likelihood of label sequences that are not aligned with the input.",
           ">>> even = torch.full((2, 1, 2), 0.5).log()\n"
           ">>> torch.ctc_loss(even, torch.tensor([[1]]), [2], [1], 0, 2).exp()\n"
           "tensor(1.3333)");
  ops.define(
         "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, "
         "Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) "
         "-> Tensor")
      .device_example(
          "F.ctc_loss(volume[0, 0, :, :1], torch.tensor([[1]]), torch.tensor([2]), "
          "torch.tensor([1]))")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .function_only();
}

}  // namespace mindtorch::ops
