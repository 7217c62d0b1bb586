#include <algorithm>
#include <limits>

#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

void check_dtype(const ops::Launch& on, const char* name, const Tensor& input) {
  if ((bit(input.dtype()) & kFloats) == 0) {
    refuse(on, name, input.dtype(), "CANN normalises float16, bfloat16 and float32");
  }
}

void layer_norm(ops::Launch& on,
                const Tensor& input,
                IntList normalized_shape,
                const Tensor& weight,
                const Tensor& bias,
                double eps,
                bool,
                Tensor& out) {
  check_dtype(on, "layer_norm", input);
  if (out.numel() == 0) return;
  const Tensor none;
  call(on, MT_ACLNN(aclnnLayerNorm), input, normalized_shape, weight, bias, eps, out, none, none);
}

// CANN wants a weight, of the input's dtype or float32, and gives the statistics always.
void rms_norm(ops::Launch& on,
              const Tensor& input,
              IntList normalized_shape,
              const Tensor& weight,
              std::optional<double> eps,
              Tensor& out) {
  check_dtype(on, "rms_norm", input);
  if (out.numel() == 0) return;
  Tensor gamma = weight;
  if (!gamma.defined()) {
    gamma = make_like(on, normalized_shape, input.dtype());
    call(on, MT_ACLNN(aclnnInplaceOne), gamma);
  } else if (gamma.dtype() != input.dtype()) {
    gamma = on_device(on, gamma, DType::kFloat32);
  }
  Shape rows = input.sizes();
  std::fill(rows.end() - static_cast<int64_t>(normalized_shape.size()), rows.end(), 1);
  const Tensor rstd = make_like(on, rows, DType::kFloat32);
  const double least = std::numeric_limits<float>::epsilon();
  call(on, MT_ACLNN(aclnnRmsNorm), input, gamma, eps.value_or(least), out, rstd);
}

}  // namespace

void register_norm(ops::Registry& registry) {
  registry.kernel<layer_norm>(DeviceType::kNpu, "layer_norm");
  registry.kernel<rms_norm>(DeviceType::kNpu, "rms_norm");
}

}  // namespace mindtorch::ascend
