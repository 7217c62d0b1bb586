#include <limits>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tiles/row.h"

namespace mindtorch::cpu {
namespace {

// Contiguous, in the dtype that rows of `dtype` are computed in; undefined stays so.
Tensor as_param(const Tensor& param, DType dtype) {
  if (!param.defined()) return param;
  const DType wide = accumulate_dtype(dtype);
  if (param.dtype() == wide && param.is_contiguous()) return param;
  const Tensor result = Tensor::make(param.sizes(), wide);
  copy(param, result);
  return result;
}

void normalize(Norm norm,
               const Tensor& input,
               IntList normalized_shape,
               const Tensor& weight,
               const Tensor& bias,
               double eps,
               const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t n = numel(normalized_shape);
  const Tensor rows = as_contiguous(input);
  const Tensor scale = as_param(weight, input.dtype());
  const Tensor shift = as_param(bias, input.dtype());
  const NormParams params = {scale.defined() ? scale.data_ptr() : nullptr,
                             shift.defined() ? shift.data_ptr() : nullptr, eps};
  const NormFn row = find_norm(norm, input.dtype());
  const int64_t bytes = n * out.element_size();
  parallel_for(0, out.numel() / n, std::max<int64_t>(1, 16 * 1024 / n),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   row(rows.data<char>() + i * bytes, out.data<char>() + i * bytes, n, params);
                 }
               });
}

void layer_norm(ops::Launch&,
                const Tensor& input,
                IntList normalized_shape,
                const Tensor& weight,
                const Tensor& bias,
                double eps,
                bool,
                Tensor& out) {
  normalize(Norm::kLayer, input, normalized_shape, weight, bias, eps, out);
}

void rms_norm(ops::Launch&,
              const Tensor& input,
              IntList normalized_shape,
              const Tensor& weight,
              std::optional<double> eps,
              Tensor& out) {
  const double least = accumulate_dtype(input.dtype()) == DType::kFloat64
                           ? std::numeric_limits<double>::epsilon()
                           : double{std::numeric_limits<float>::epsilon()};
  normalize(Norm::kRootMeanSquare, input, normalized_shape, weight, {}, eps.value_or(least), out);
}

}  // namespace

void register_norm(ops::Registry& registry) {
  registry.kernel<layer_norm>(DeviceType::kCpu, "layer_norm");
  registry.kernel<rms_norm>(DeviceType::kCpu, "rms_norm");
}

}  // namespace mindtorch::cpu
