// Borders around images, made of a number or of their own elements.
#include "mindtorch/ops/padding.h"
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::ops {
namespace {

// `padding` has the numbers before and after, from the last dim on; `sign`: 1 adds them.
TensorSpec bordered(const Tensor& self, IntList padding, int64_t mode, int64_t sign) {
  const auto dims = static_cast<int64_t>(padding.size() / 2);
  MT_ASSERT(padding.size() % 2 == 0 && dims >= 1 && dims <= 3 && dims <= self.dim());
  Shape sizes = self.sizes();
  for (int64_t i = 0; i < dims; ++i) {
    const auto at = static_cast<size_t>(2 * i);
    int64_t& size = sizes[static_cast<size_t>(self.dim() - 1 - i)];
    size += sign * (padding[at] + padding[at + 1]);
  }
  TensorSpec spec = contiguous_spec(std::move(sizes), self.dtype(), self.device());
  const MemoryFormat format = suggested_format(self);
  if (format != MemoryFormat::kContiguous && dims == self.dim() - 2 &&
      static_cast<Padding>(mode) != Padding::kCircular) {
    spec.strides = strides_for(spec.sizes, format);
  }
  return spec;
}
TensorSpec pad_edges(const Tensor& self, IntList padding, int64_t mode) {
  return bordered(self, padding, mode, 1);
}
TensorSpec pad_edges_backward(const Tensor& grad_output, IntList padding, int64_t mode) {
  return bordered(grad_output, padding, mode, -1);
}

}  // namespace

void define_padding(Registry& ops) {
  // Of the last one to three dims; torch's checks are made before.
  ops.define<pad_edges>("_pad_edges(Tensor self, int[] padding, int mode) -> Tensor")
      .device_example("F.pad(image, (1, 1, 1, 1), mode='reflect')")
      .internal();
  ops.define<pad_edges_backward>(
         "_pad_edges_backward(Tensor grad_output, int[] padding, int mode) -> Tensor")
      .device_example("grad(F.pad(image, (1, 1, 1, 1), mode='reflect').sum(), image)")
      .internal();

  ops.define("reflection_pad1d(Tensor self, int[2] padding) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.reflection_pad1d(image[0], [1, 1])")
      .internal();
  ops.define("reflection_pad2d(Tensor self, int[4] padding) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.reflection_pad2d(image, [1, 1, 1, 1])")
      .internal();
  ops.define("reflection_pad3d(Tensor self, int[6] padding) -> Tensor")
      .device_example("torch.ops.aten.reflection_pad3d(volume, [1, 1, 1, 1, 1, 1])")
      .internal();
  ops.define("replication_pad1d(Tensor self, int[2] padding) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.replication_pad1d(image[0], [1, 1])")
      .internal();
  ops.define("replication_pad2d(Tensor self, int[4] padding) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.replication_pad2d(image, [1, 1, 1, 1])")
      .internal();
  ops.define("replication_pad3d(Tensor self, int[6] padding) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.replication_pad3d(volume, [1, 1, 1, 1, 1, 1])")
      .internal();
  ops.define("reflection_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor")
      .device_example(
          "torch.ops.aten.reflection_pad1d_backward(F.pad(image[0], [1, 1]), image[0], [1, 1])")
      .internal();
  ops.define("reflection_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor")
      .device_example(
          "torch.ops.aten.reflection_pad2d_backward(F.pad(image, [1, 1, 1, 1]), image, [1, 1, 1, "
          "1])")
      .internal();
  ops.define("reflection_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor")
      .device_example(
          "torch.ops.aten.reflection_pad3d_backward(F.pad(volume, [1, 1, 1, 1, 1, 1]), volume, [1, "
          "1, 1, 1, 1, 1])")
      .internal();
  ops.define(
         "replication_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor")
      .device_example(
          "torch.ops.aten.replication_pad1d_backward(F.pad(image[0], [1, 1]), image[0], [1, 1])")
      .internal();
  ops.define(
         "replication_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor")
      .device_example(
          "torch.ops.aten.replication_pad2d_backward(F.pad(image, [1, 1, 1, 1]), image, [1, 1, 1, "
          "1])")
      .internal();
  ops.define(
         "replication_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor")
      .device_example(
          "torch.ops.aten.replication_pad3d_backward(F.pad(volume, [1, 1, 1, 1, 1, 1]), volume, "
          "[1, 1, 1, 1, 1, 1])")
      .internal();
  ops.define("_pad_circular(Tensor self, int[] pad) -> Tensor")
      .device_example("F.pad(image, [1, 1, 1, 1], mode='circular')")
      .internal();
  ops.define("_pad_enum(Tensor self, int[] pad, int mode, float? value=None) -> Tensor")
      .device_example("torch.ops.aten._pad_enum(image, [1, 1, 1, 1], 2, None)")
      .internal();
  ops.define("pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor")
      .nn_function()
      .doc(
          "Adds elements before and after, given as pairs from the last dimension on. They are "
          "`value`, or come from the tensor itself: \"reflect\", \"replicate\", \"circular\". "
          "Negative numbers take elements away.",
          ">>> torch.nn.functional.pad(torch.tensor([1, 2]), (1, 2))\n"
          "tensor([0, 1, 2, 0, 0])");
}

}  // namespace mindtorch::ops
