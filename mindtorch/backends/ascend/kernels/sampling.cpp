#include "mindtorch/backends/ascend/kernels/compose.h"

namespace mindtorch::ascend {
namespace {

template <int64_t kN>
void grid_sampler(ops::Launch& on,
                  const Tensor& input,
                  const Tensor& grid,
                  int64_t interpolation_mode,
                  int64_t padding_mode,
                  bool align_corners,
                  Tensor& out) {
  if (out.numel() == 0) return;
  if constexpr (kN == 2) {
    call(on, MT_ACLNN(aclnnGridSampler2D), input, grid, interpolation_mode, padding_mode,
         align_corners, out);
  } else {
    call(on, MT_ACLNN(aclnnGridSampler3D), input, grid, interpolation_mode, padding_mode,
         align_corners, out);
  }
}

template <int64_t kN>
void grid_sampler_backward(ops::Launch& on,
                           const Tensor& grad_output,
                           const Tensor& input,
                           const Tensor& grid,
                           int64_t interpolation_mode,
                           int64_t padding_mode,
                           bool align_corners,
                           bool needs_input,
                           bool needs_grid,
                           Tensor& grad_input,
                           Tensor& grad_grid) {
  const Tensor none;
  const Tensor& of_input = needs_input ? grad_input : none;
  const Tensor& of_grid = needs_grid ? grad_grid : none;
  if (grad_output.numel() == 0) {
    for (const Tensor* each : {&of_input, &of_grid}) {
      if (each->defined() && each->numel() != 0) call(on, MT_ACLNN(aclnnInplaceZero), *each);
    }
    return;
  }
  const Mask wanted = {needs_input, needs_grid};
  if constexpr (kN == 2) {
    call(on, MT_ACLNN(aclnnGridSampler2DBackward), grad_output, input, grid, interpolation_mode,
         padding_mode, align_corners, wanted, of_input, of_grid);
  } else {
    call(on, MT_ACLNN(aclnnGridSampler3DBackward), grad_output, input, grid, interpolation_mode,
         padding_mode, align_corners, wanted, of_input, of_grid);
  }
}

template <int64_t kN>
void register_sampler(ops::Registry& registry) {
  const std::string name = "grid_sampler_" + std::to_string(kN) + "d";
  registry.kernel<grid_sampler<kN>>(DeviceType::kNpu, name);
  registry.kernel<grid_sampler_backward<kN>>(DeviceType::kNpu, name + "_backward");
}

}  // namespace

void register_sampling(ops::Registry& registry) {
  register_sampler<2>(registry);
  register_sampler<3>(registry);
}

}  // namespace mindtorch::ascend
