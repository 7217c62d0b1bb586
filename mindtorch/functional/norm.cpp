// Normalisations without the statistics that their gradients need.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

Tensor layer_norm(const Tensor& input,
                  IntList normalized_shape,
                  const Tensor& weight,
                  const Tensor& bias,
                  double eps,
                  bool) {
  return std::get<0>(native_layer_norm(input, normalized_shape, weight, bias, eps));
}

Tensor rms_norm(const Tensor& input,
                IntList normalized_shape,
                const Tensor& weight,
                std::optional<double> eps) {
  return std::get<0>(_fused_rms_norm(input, normalized_shape, weight, eps));
}

}  // namespace

void compose_norm(ops::Registry& registry) {
  registry.composite<layer_norm>("layer_norm");
  registry.composite<rms_norm>("rms_norm");
}

}  // namespace mindtorch::functional
