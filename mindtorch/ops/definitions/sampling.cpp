// Images sampled at the points of a grid, or of a size.
#include <algorithm>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/interpolation.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::ops {
namespace {

constexpr int64_t kBicubic = 2;

// `n`: the dimensions of an image.
void check_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t n) {
  MT_CHECK(input.dim() > 0 && grid.dim() > 0, IndexError,
           "Dimension specified as 0 but tensor has no dimensions");
  MT_CHECK(input.size(0) == grid.size(0), RuntimeError,
           "grid_sampler(): expected grid and input to have same batch size, but got input with "
           "sizes ",
           to_string(input.sizes()), " and grid with sizes ", to_string(grid.sizes()));
  MT_CHECK(grid.size(-1) == input.dim() - 2, RuntimeError,
           "grid_sampler(): expected grid to have size ", input.dim() - 2,
           " in last dimension, but got grid with sizes ", to_string(grid.sizes()));
  for (int64_t i = 2; i < input.dim(); ++i) {
    MT_CHECK(input.size(i) > 0, RuntimeError,
             "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
             "sizes ",
             to_string(input.sizes()), " with dimension ", i, " being empty");
  }
  MT_CHECK(input.dim() == n + 2 && grid.dim() == n + 2, RuntimeError, "grid_sampler(): expected ",
           n + 2, "D input and grid with same number of dimensions, but got input with sizes ",
           to_string(input.sizes()), " and grid with sizes ", to_string(grid.sizes()));
  MT_CHECK(n == 2 || interpolation_mode != kBicubic, RuntimeError,
           "grid_sampler(): bicubic interpolation only supports 4D input");
  MT_CHECK(is_floating_point(input.dtype()), NotImplementedError, "\"",
           n == 2 ? "grid_sampler_2d_cpu_kernel_impl" : "grid_sampler3d_cpu",
           "\" not implemented for '", legacy_name(input.dtype()), "'");
  MT_CHECK(input.dtype() == grid.dtype(), RuntimeError, "expected scalar type ",
           legacy_name(input.dtype()), " but found ", legacy_name(grid.dtype()));
}

template <int64_t kN>
TensorSpec grid_sampler(
    const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t, bool) {
  check_sampler(input, grid, interpolation_mode, kN);
  Shape sizes = {input.size(0), input.size(1)};
  for (int64_t i = 1; i <= kN; ++i) sizes.push_back(grid.size(i));
  return contiguous_spec(std::move(sizes), input.dtype(), input.device());
}

// What is not wanted is empty.
template <int64_t kN>
SpecList grid_sampler_backward(const Tensor& grad_output,
                               const Tensor& input,
                               const Tensor& grid,
                               int64_t interpolation_mode,
                               int64_t padding_mode,
                               bool align_corners,
                               bool needs_input,
                               bool needs_grid) {
  const TensorSpec result =
      grid_sampler<kN>(input, grid, interpolation_mode, padding_mode, align_corners);
  MT_CHECK(equal(grad_output.sizes(), result.sizes), RuntimeError, "Expected grad_output of size ",
           to_string(result.sizes), ", but got ", to_string(grad_output.sizes()));
  const auto spec = [&](const Tensor& like, bool wanted) {
    return contiguous_spec(wanted ? like.sizes() : Shape{0}, like.dtype(), like.device());
  };
  return {spec(input, needs_input), spec(grid, needs_grid)};
}

// Images [batch, channels, ...] of the last sizes `wanted`, in the layout they have.
TensorSpec resized(const Tensor& self,
                   IntList wanted,
                   std::span<const double> scales,
                   int64_t mode,
                   bool is_backward) {
  const auto dims = static_cast<size_t>(std::max<int64_t>(self.dim() - 2, 0));
  MT_CHECK(dims >= 1 && dims <= 3 && wanted.size() == dims && scales.size() == dims, RuntimeError,
           "interpolate(): expected images of 1 to 3 dimensions with a size and a scale for each, "
           "but got sizes ",
           to_string(self.sizes()), " and ", to_string(wanted));
  const auto method = static_cast<Interpolation>(mode);
  const bool is_copy = !is_backward && is_nearest(method);
  MT_CHECK(is_copy || is_floating_point(self.dtype()), NotImplementedError,
           "\"interpolate\" not implemented for '", legacy_name(self.dtype()), "'");
  Shape sizes = self.sizes();
  for (size_t i = 0; i < dims; ++i) {
    MT_CHECK(wanted[i] > 0 && sizes[i + 2] > 0, RuntimeError,
             "Input and output sizes should be greater than 0, but got input ",
             to_string(self.sizes()), " and output ", to_string(wanted));
    sizes[i + 2] = wanted[i];
  }
  TensorSpec spec = contiguous_spec(std::move(sizes), self.dtype(), self.device());
  const MemoryFormat format = suggested_format(self);
  if (format == MemoryFormat::kChannelsLast || format == MemoryFormat::kChannelsLast3d) {
    spec.strides = strides_for(spec.sizes, format);
  }
  return spec;
}
TensorSpec interpolate(
    const Tensor& self, IntList output_size, std::span<const double> scales, int64_t mode, bool) {
  return resized(self, output_size, scales, mode, false);
}
TensorSpec interpolate_backward(const Tensor& grad_output,
                                IntList input_size,
                                std::span<const double> scales,
                                int64_t mode,
                                bool) {
  return resized(grad_output, input_size, scales, mode, true);
}

}  // namespace

void define_sampling(Registry& ops) {
  ops.define<grid_sampler<2>>(
         "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
         "bool align_corners) -> Tensor")
      .device_example("torch.grid_sampler_2d(image, torch.zeros(2, 1, 1, 2), 0, 0, False)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .function_only()
      .doc("The elements of images at the points of a grid, whose coordinates go from -1 to 1.");
  ops.define<grid_sampler_backward<2>>(
         "grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, "
         "int interpolation_mode, int padding_mode, bool align_corners, bool needs_input, "
         "bool needs_grid) -> (Tensor, Tensor)")
      .device_example(
          "grad(torch.grid_sampler(image, torch.zeros(2, 1, 1, 2), 0, 0, True).sum(), image)")
      .internal()
      .not_differentiable();
  ops.define<grid_sampler<3>>(
         "grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
         "bool align_corners) -> Tensor")
      .device_example("torch.grid_sampler_3d(volume, torch.zeros(1, 1, 1, 1, 3), 0, 0, False)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .function_only()
      .doc("The elements of images at the points of a grid, whose coordinates go from -1 to 1.");
  ops.define<grid_sampler_backward<3>>(
         "grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, "
         "int interpolation_mode, int padding_mode, bool align_corners, bool needs_input, "
         "bool needs_grid) -> (Tensor, Tensor)")
      .device_example(
          "grad(torch.grid_sampler(volume, torch.zeros(1, 1, 1, 1, 3), 0, 0, True).sum(), image)")
      .internal()
      .not_differentiable();
  ops.define(
         "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
         "bool align_corners) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .function_only()
      .doc("The elements of images at the points of a grid, whose coordinates go from -1 to 1.",
           ">>> image = torch.tensor([[[[1.0, 2.0]]]])\n"
           ">>> torch.grid_sampler(image, torch.zeros(1, 1, 1, 2), 0, 0, True)\n"
           "tensor([[[[1.5000]]]])");
  ops.define<interpolate>(
         "_interpolate(Tensor self, int[] output_size, float[] scales, int mode, "
         "bool align_corners) -> Tensor")
      .device_example("F.interpolate(image, 8, mode='bilinear')")
      .internal();
  ops.define<interpolate_backward>(
         "_interpolate_backward(Tensor grad_output, int[] input_size, float[] scales, int mode, "
         "bool align_corners) -> Tensor")
      .device_example("grad(F.interpolate(image, 8, mode='bilinear').sum(), image)")
      .internal();
}

}  // namespace mindtorch::ops
