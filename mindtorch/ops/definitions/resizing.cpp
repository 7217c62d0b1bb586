// Images in another size, by torch's names: each is made of _interpolate, or of products.
#include "mindtorch/ops/definitions/definitions.h"

namespace mindtorch::ops {

void define_resizing(Registry& ops) {
  ops.define(
         "upsample_nearest1d(Tensor self, int[1] output_size, float? scales=None) -> "
         "Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_nearest1d(image[:, :, 0], [8])")
      .internal();
  ops.define(
         "upsample_nearest1d.vec(Tensor input, int[]? output_size, float[]? scale_factors) "
         "-> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_nearest1d.vec(image[:, :, 0], [8], None)")
      .internal();
  ops.define(
         "upsample_nearest1d_backward(Tensor grad_output, int[1] output_size, int[3] "
         "input_size, float? scales=None) -> Tensor")
      .device_example(
          "torch.ops.aten.upsample_nearest1d_backward(torch.ones(2, 1, 8), [8], [2, 1, 4])")
      .internal();
  ops.define(
         "upsample_nearest2d(Tensor self, int[2] output_size, float? scales_h=None, float? "
         "scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_nearest2d(image, [8, 8])")
      .internal();
  ops.define(
         "upsample_nearest2d.vec(Tensor input, int[]? output_size, float[]? scale_factors) "
         "-> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_nearest2d.vec(image, [8, 8], None)")
      .internal();
  ops.define(
         "upsample_nearest2d_backward(Tensor grad_output, int[2] output_size, int[4] "
         "input_size, float? scales_h=None, float? scales_w=None) -> Tensor")
      .device_example(
          "torch.ops.aten.upsample_nearest2d_backward(torch.ones(2, 1, 8, 8), [8, 8], [2, 1, 4, "
          "4])")
      .internal();
  ops.define(
         "upsample_nearest3d(Tensor self, int[3] output_size, float? scales_d=None, float? "
         "scales_h=None, float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_nearest3d(volume, [4, 4, 8])")
      .internal();
  ops.define(
         "upsample_nearest3d.vec(Tensor input, int[]? output_size, float[]? scale_factors) "
         "-> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_nearest3d.vec(volume, [4, 4, 8], None)")
      .internal();
  ops.define(
         "upsample_nearest3d_backward(Tensor grad_output, int[3] output_size, int[5] "
         "input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> "
         "Tensor")
      .device_example(
          "torch.ops.aten.upsample_nearest3d_backward(torch.ones(1, 2, 4, 4, 8), [4, 4, 8], [1, 2, "
          "2, 2, 4])")
      .internal();
  ops.define(
         "_upsample_nearest_exact1d(Tensor self, int[1] output_size, float? scales=None) "
         "-> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_nearest_exact1d(image[:, :, 0], [8])")
      .internal();
  ops.define(
         "_upsample_nearest_exact1d.vec(Tensor input, int[]? output_size, float[]? "
         "scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_nearest_exact1d.vec(image[:, :, 0], [8], None)")
      .internal();
  ops.define(
         "_upsample_nearest_exact1d_backward(Tensor grad_output, int[1] output_size, "
         "int[3] input_size, float? scales=None) -> Tensor")
      .device_example(
          "torch.ops.aten._upsample_nearest_exact1d_backward(torch.ones(2, 1, 8), [8], [2, 1, 4])")
      .internal();
  ops.define(
         "_upsample_nearest_exact2d(Tensor self, int[2] output_size, float? scales_h=None, "
         "float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_nearest_exact2d(image, [8, 8])")
      .internal();
  ops.define(
         "_upsample_nearest_exact2d.vec(Tensor input, int[]? output_size, float[]? "
         "scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_nearest_exact2d.vec(image, [8, 8], None)")
      .internal();
  ops.define(
         "_upsample_nearest_exact2d_backward(Tensor grad_output, int[2] output_size, "
         "int[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor")
      .device_example(
          "torch.ops.aten._upsample_nearest_exact2d_backward(torch.ones(2, 1, 8, 8), [8, 8], [2, "
          "1, 4, 4])")
      .internal();
  ops.define(
         "_upsample_nearest_exact3d(Tensor self, int[3] output_size, float? scales_d=None, "
         "float? scales_h=None, float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_nearest_exact3d(volume, [4, 4, 8])")
      .internal();
  ops.define(
         "_upsample_nearest_exact3d.vec(Tensor input, int[]? output_size, float[]? "
         "scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_nearest_exact3d.vec(volume, [4, 4, 8], None)")
      .internal();
  ops.define(
         "_upsample_nearest_exact3d_backward(Tensor grad_output, int[3] output_size, "
         "int[5] input_size, float? scales_d=None, float? scales_h=None, float? "
         "scales_w=None) -> Tensor")
      .device_example(
          "torch.ops.aten._upsample_nearest_exact3d_backward(torch.ones(1, 2, 4, 4, 8), [4, 4, 8], "
          "[1, 2, 2, 2, 4])")
      .internal();
  ops.define(
         "upsample_linear1d(Tensor self, int[1] output_size, bool align_corners, float? "
         "scales=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_linear1d(image[:, :, 0], [8], False)")
      .internal();
  ops.define(
         "upsample_linear1d.vec(Tensor input, int[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_linear1d.vec(image[:, :, 0], [8], False, None)")
      .internal();
  ops.define(
         "upsample_linear1d_backward(Tensor grad_output, int[1] output_size, int[3] "
         "input_size, bool align_corners, float? scales=None) -> Tensor")
      .device_example(
          "torch.ops.aten.upsample_linear1d_backward(torch.ones(2, 1, 8), [8], [2, 1, 4], False)")
      .internal();
  ops.define(
         "upsample_bilinear2d(Tensor self, int[2] output_size, bool align_corners, float? "
         "scales_h=None, float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_bilinear2d(image, [8, 8], False)")
      .internal();
  ops.define(
         "upsample_bilinear2d.vec(Tensor input, int[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_bilinear2d.vec(image, [8, 8], False, None)")
      .internal();
  ops.define(
         "upsample_bilinear2d_backward(Tensor grad_output, int[2] output_size, int[4] "
         "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> "
         "Tensor")
      .device_example(
          "torch.ops.aten.upsample_bilinear2d_backward(torch.ones(2, 1, 8, 8), [8, 8], [2, 1, 4, "
          "4], False)")
      .internal();
  ops.define(
         "upsample_bicubic2d(Tensor self, int[2] output_size, bool align_corners, float? "
         "scales_h=None, float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_bicubic2d(image, [8, 8], False)")
      .internal();
  ops.define(
         "upsample_bicubic2d.vec(Tensor input, int[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_bicubic2d.vec(image, [8, 8], False, None)")
      .internal();
  ops.define(
         "upsample_bicubic2d_backward(Tensor grad_output, int[2] output_size, int[4] "
         "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> "
         "Tensor")
      .device_example(
          "torch.ops.aten.upsample_bicubic2d_backward(torch.ones(2, 1, 8, 8), [8, 8], [2, 1, 4, "
          "4], False)")
      .internal();
  ops.define(
         "upsample_trilinear3d(Tensor self, int[3] output_size, bool align_corners, float? "
         "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_trilinear3d(volume, [4, 4, 8], False)")
      .internal();
  ops.define(
         "upsample_trilinear3d.vec(Tensor input, int[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.upsample_trilinear3d.vec(volume, [4, 4, 8], False, None)")
      .internal();
  ops.define(
         "upsample_trilinear3d_backward(Tensor grad_output, int[3] output_size, int[5] "
         "input_size, bool align_corners, float? scales_d=None, float? scales_h=None, "
         "float? scales_w=None) -> Tensor")
      .device_example(
          "torch.ops.aten.upsample_trilinear3d_backward(torch.ones(1, 2, 4, 4, 8), [4, 4, 8], [1, "
          "2, 2, 2, 4], False)")
      .internal();
  ops.define(
         "_upsample_bilinear2d_aa(Tensor self, int[2] output_size, bool align_corners, "
         "float? scales_h=None, float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_bilinear2d_aa(image, [8, 8], False)")
      .internal();
  ops.define(
         "_upsample_bilinear2d_aa.vec(Tensor input, int[]? output_size, bool "
         "align_corners, float[]? scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_bilinear2d_aa.vec(image, [8, 8], False, None)")
      .internal();
  ops.define(
         "_upsample_bilinear2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] "
         "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> "
         "Tensor")
      .device_example(
          "torch.ops.aten._upsample_bilinear2d_aa_backward(torch.ones(2, 1, 8, 8), [8, 8], [2, 1, "
          "4, 4], False)")
      .internal();
  ops.define(
         "_upsample_bicubic2d_aa(Tensor self, int[2] output_size, bool align_corners, "
         "float? scales_h=None, float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_bicubic2d_aa(image, [8, 8], False)")
      .internal();
  ops.define(
         "_upsample_bicubic2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_bicubic2d_aa.vec(image, [8, 8], False, None)")
      .internal();
  ops.define(
         "_upsample_bicubic2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] "
         "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> "
         "Tensor")
      .device_example(
          "torch.ops.aten._upsample_bicubic2d_aa_backward(torch.ones(2, 1, 8, 8), [8, 8], [2, 1, "
          "4, 4], False)")
      .internal();
  ops.define(
         "_upsample_lanczos2d_aa(Tensor self, int[2] output_size, bool align_corners, "
         "float? scales_h=None, float? scales_w=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_lanczos2d_aa(image, [8, 8], False)")
      .internal();
  ops.define(
         "_upsample_lanczos2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, "
         "float[]? scale_factors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten._upsample_lanczos2d_aa.vec(image, [8, 8], False, None)")
      .internal();
  ops.define(
         "_upsample_lanczos2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] "
         "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> "
         "Tensor")
      .device_example(
          "torch.ops.aten._upsample_lanczos2d_aa_backward(torch.ones(2, 1, 8, 8), [8, 8], [2, 1, "
          "4, 4], False)")
      .internal();
}

}  // namespace mindtorch::ops
