#include "mindtorch/functional/sampling.h"

#include <string>

#include "mindtorch/autograd/derivatives/composed.h"
#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/ops/interpolation.h"

namespace mindtorch::autograd {
namespace {

template <int64_t kN>
void grid_sampler(Backward& b,
                  const Tensor& input,
                  const Tensor& grid,
                  int64_t interpolation_mode,
                  int64_t padding_mode,
                  bool align_corners) {
  if (is_grad_enabled()) {
    return differentiate_composed<2>(b, {input, grid}, [&](const auto& x) {
      return std::tuple(functional::composed_grid_sampler(x[0], x[1], interpolation_mode,
                                                          padding_mode, align_corners));
    });
  }
  constexpr auto kBackward = kN == 2 ? grid_sampler_2d_backward : grid_sampler_3d_backward;
  const auto [grad_input, grad_grid] =
      kBackward(b.grad(), input, grid, interpolation_mode, padding_mode, align_corners, b.needs(0),
                b.needs(1));
  if (b.needs(0)) b.set(0, grad_input);
  if (b.needs(1)) b.set(1, grad_grid);
}

void interpolate(Backward& b,
                 const TensorMeta& self,
                 IntList,
                 std::span<const double> scales,
                 int64_t mode,
                 bool align_corners) {
  b.set(0, _interpolate_backward(b.grad(), IntList(self.sizes).subspan(2), scales, mode,
                                 align_corners));
}
void interpolate_backward(Backward& b,
                          const TensorMeta& grad_output,
                          IntList,
                          std::span<const double> scales,
                          int64_t mode,
                          bool align_corners) {
  b.set(0,
        _interpolate(b.grad(), IntList(grad_output.sizes).subspan(2), scales, mode, align_corners));
}

std::string node_of_interpolation(ops::Args args) {
  constexpr const char* kLinear[] = {"Linear", "Bilinear", "Trilinear"};
  const size_t dims = args[1].int_list().size();
  const auto named = [&](std::string_view mode) {
    return "Upsample" + std::string(mode) + std::to_string(dims) + "DBackward0";
  };
  switch (static_cast<ops::Interpolation>(args[3].to_int())) {
    case ops::Interpolation::kLinear:
      return named(kLinear[dims - 1]);
    case ops::Interpolation::kCubic:
      return named("Bicubic");
    case ops::Interpolation::kNearest:
      return named("Nearest");
    case ops::Interpolation::kNearestExact:
      return named("NearestExact");
  }
  return {};
}

}  // namespace

void define_sampling(Derivatives& derivatives) {
  derivatives.define<grid_sampler<2>>("grid_sampler_2d");
  derivatives.define<grid_sampler<3>>("grid_sampler_3d");
  derivatives.define<interpolate>("_interpolate").named(&node_of_interpolation);
  derivatives.define<interpolate_backward>("_interpolate_backward");
}

}  // namespace mindtorch::autograd
