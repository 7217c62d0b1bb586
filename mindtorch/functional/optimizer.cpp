// What torch.amp.GradScaler does between the gradients and the optimizer.
#include <algorithm>

#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/operators.h"

namespace mindtorch::functional {
namespace {

using ops::Value;

void check_number(const Tensor& tensor, DType dtype, const char* what, const char* kind) {
  MT_CHECK(tensor.numel() == 1, RuntimeError, what, " must be a 1-element tensor.");
  MT_CHECK(tensor.dtype() == dtype, RuntimeError, what, " must be ", kind, " tensor.");
}

std::tuple<> unscale_(TensorList self, const Tensor& found_inf, const Tensor& inv_scale) {
  static const ops::Op& in_one = ops::registry().at("_unscale_list_");
  check_number(inv_scale, DType::kFloat32, "inv_scale", "a float");
  check_number(found_inf, DType::kFloat32, "found_inf", "a float");
  std::vector<Tensor> left;
  for (const Tensor& tensor : self) {
    MT_CHECK(is_floating_point(tensor.dtype()), NotImplementedError,
             "\"_amp_foreach_non_finite_check_and_unscale_\" not implemented for '",
             name(tensor.dtype()), "'");
    if (tensor.numel() > 0) left.push_back(tensor);
  }
  // A list for each dtype.
  for (auto at = left.begin(); at != left.end();) {
    const DType dtype = at->dtype();
    const auto end = std::stable_partition(
        at, left.end(), [&](const Tensor& tensor) { return tensor.dtype() == dtype; });
    const TensorList grads(std::span(at, end)), found(std::span(&found_inf, 1));
    const Value args[] = {Value(grads), Value(found), Value(inv_scale)};
    ops::Outputs outputs;
    dispatch::call(in_one, args, outputs);
    at = end;
  }
  return {};
}

// On the device: the host does not wait for the gradients.
Tensor update_scale_(const Tensor& self,
                     const Tensor& growth_tracker,
                     const Tensor& found_inf,
                     double growth,
                     double backoff,
                     int64_t interval) {
  check_number(growth_tracker, DType::kInt32, "growth_tracker", "an int");
  check_number(self, DType::kFloat32, "current_scale", "a float");
  check_number(found_inf, DType::kFloat32, "found_inf", "a float");
  const Tensor failed = view(found_inf != Scalar(0), self.sizes());
  const Tensor tracker = view(growth_tracker, self.sizes()) + Scalar(1);
  const Tensor grows = tracker == Scalar(interval);
  const Tensor grown = self * Scalar(growth);
  // A scale that would become infinite stays.
  const Tensor kept = where(logical_and(grows, isfinite(grown)), grown, self);
  const Tensor stops = logical_or(failed, grows);
  copy_(growth_tracker, view(where(stops, zeros_like(tracker), tracker), growth_tracker.sizes()));
  copy_(self, where(failed, self * Scalar(backoff), kept));
  return self;
}

}  // namespace

void compose_optimizer(ops::Registry& registry) {
  registry.composite<unscale_>("_amp_foreach_non_finite_check_and_unscale_");
  registry.composite<update_scale_>("_amp_update_scale_");
}

}  // namespace mindtorch::functional
