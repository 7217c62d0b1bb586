#include <limits>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/reduction.h"

namespace mindtorch::functional {
namespace {

Tensor moved(const Tensor& tensor, DType dtype, Device device) {
  if (tensor.dtype() == dtype && tensor.device() == device) return tensor;
  return _to_copy(tensor, dtype, device);
}

Tensor ctc_loss_of(const Tensor& log_probs,
                   const Tensor& targets,
                   IntList input_lengths,
                   IntList target_lengths,
                   int64_t blank,
                   int64_t reduction,
                   bool zero_infinity) {
  const bool batched = log_probs.dim() == 3;
  const Tensor labels = moved(targets, DType::kInt64, log_probs.device());
  Tensor loss = std::get<0>(_ctc_loss(batched ? log_probs : unsqueeze(log_probs, 1), labels,
                                      input_lengths, target_lengths, blank, zero_infinity));
  if (zero_infinity) {
    const Scalar infinity(std::numeric_limits<double>::infinity());
    loss = masked_fill(loss, eq(loss, infinity), Scalar(0.0));
  }
  const auto kind = static_cast<ops::Reduction>(reduction);
  if (kind == ops::Reduction::kNone) return batched ? loss : squeeze(loss, 0);
  if (kind != ops::Reduction::kMean) return sum(loss);
  // Each by its number of labels.
  const Tensor lengths = empty({static_cast<int64_t>(target_lengths.size())}, loss.dtype());
  visit_dtype(loss.dtype(), [&]<typename T>() {
    if constexpr (std::is_floating_point_v<T>) {
      auto* to = static_cast<T*>(lengths.mutable_data_ptr());
      for (const int64_t length : target_lengths) {
        *to++ = static_cast<T>(std::max<int64_t>(length, 1));
      }
    }
  });
  return mean(div(loss, moved(lengths, loss.dtype(), loss.device())));
}

std::vector<int64_t> lengths_of(const Tensor& lengths, const char* name) {
  MT_CHECK(!is_floating_point(lengths.dtype()) && lengths.dtype() != DType::kBool, RuntimeError,
           name, " must be integral");
  const Tensor values = contiguous(moved(lengths, DType::kInt64, DeviceType::kCpu));
  const auto* data = values.data<int64_t>();
  return {data, data + values.numel()};
}

Tensor ctc_loss_tensor(const Tensor& log_probs,
                       const Tensor& targets,
                       const Tensor& input_lengths,
                       const Tensor& target_lengths,
                       int64_t blank,
                       int64_t reduction,
                       bool zero_infinity) {
  return ctc_loss_of(log_probs, targets, lengths_of(input_lengths, "input_lengths"),
                     lengths_of(target_lengths, "target_lengths"), blank, reduction, zero_infinity);
}

}  // namespace

void compose_ctc(ops::Registry& registry) {
  registry.composite<ctc_loss_of>("ctc_loss.IntList");
  registry.composite<ctc_loss_tensor>("ctc_loss.Tensor");
}

}  // namespace mindtorch::functional
