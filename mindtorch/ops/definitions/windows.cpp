// Windows of images as columns and back, and the inverse of max_pool.
#include "mindtorch/ops/windows.h"
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::ops {
namespace {

TensorSpec im2col(
    const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride) {
  MT_ASSERT(self.dim() == 4);
  const WindowGrid grid(IntList(self.sizes()).last(2), kernel_size, dilation, padding, stride);
  return contiguous_spec({self.size(0), self.size(1) * grid.area(), grid.windows()}, self.dtype(),
                         self.device());
}

TensorSpec col2im(
    const Tensor& self, IntList output_size, IntList kernel_size, IntList, IntList, IntList) {
  MT_ASSERT(self.dim() == 3);
  const int64_t channels = self.size(1) / (kernel_size[0] * kernel_size[1]);
  return contiguous_spec({self.size(0), channels, output_size[0], output_size[1]}, self.dtype(),
                         self.device());
}

TensorSpec max_unpool(const Tensor& self, const Tensor& indices, IntList output_size) {
  const auto n = static_cast<int64_t>(output_size.size());
  MT_ASSERT(self.dim() >= n && equal(self.sizes(), indices.sizes()));
  Shape sizes(self.sizes().begin(), self.sizes().end() - n);
  for (const int64_t size : output_size) sizes.push_back(size);
  TensorSpec spec = contiguous_spec(std::move(sizes), self.dtype(), self.device());
  const MemoryFormat format = suggested_format(self);
  if (format != MemoryFormat::kContiguous && self.dim() == n + 2) {
    spec.strides = strides_for(spec.sizes, format);
  }
  return spec;
}

}  // namespace

void define_windows(Registry& ops) {
  // Of a batch of images; torch's checks are made before.
  ops.define<im2col>(
         "_im2col(Tensor self, int[] kernel_size, int[] dilation, int[] padding, int[] stride) "
         "-> Tensor")
      .device_example("F.unfold(image, 2)")
      .internal();
  ops.define<col2im>(
         "_col2im(Tensor self, int[] output_size, int[] kernel_size, int[] dilation, "
         "int[] padding, int[] stride) -> Tensor")
      .device_example("F.fold(F.unfold(image, 2), image.shape[2:], 2)")
      .internal();
  ops.define(
         "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "
         "int[2] stride) -> Tensor")
      .device_example("F.unfold(image, 2)")
      .internal();
  ops.define(
         "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, "
         "int[2] padding, int[2] stride) -> Tensor")
      .device_example("F.fold(F.unfold(image, 2), image.shape[2:], 2)")
      .internal();
  // Of the last dims, as many as there are sizes.
  ops.define<max_unpool>("_max_unpool(Tensor self, Tensor indices, int[] output_size) -> Tensor")
      .device_example("F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2)")
      .checks_values()
      .internal();
  ops.define("max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2)")
      .internal();
  ops.define(
         "max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, "
         "int[3] padding) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("F.max_unpool3d(*F.max_pool3d(volume, 2, return_indices=True), 2)")
      .internal();
  ops.define(
         "fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, "
         "Tensor random_samples) -> (Tensor, Tensor)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("F.fractional_max_pool2d(image, 2, 2)")
      .internal();
  ops.define(
         "fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, "
         "Tensor random_samples) -> (Tensor, Tensor)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("F.fractional_max_pool3d(volume, 2, (1, 1, 2))")
      .internal();
  ops.define(
         "fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
         "int[2] output_size, Tensor indices) -> Tensor")
      .device_example("grad(F.fractional_max_pool2d(image, 2, 2).sum(), image)")
      .internal();
  ops.define(
         "fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, "
         "int[3] output_size, Tensor indices) -> Tensor")
      .device_example("grad(F.fractional_max_pool3d(volume, 2, (1, 1, 2)).sum(), image)")
      .internal();
}

}  // namespace mindtorch::ops
