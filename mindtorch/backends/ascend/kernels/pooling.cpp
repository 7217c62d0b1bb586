#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

constexpr DType kIndexDtype = DType::kInt32;  // CANN's max_pool counts in 32 bits

template <size_t kN>
constexpr bool kIsPlane = kN == 2;

// CANN wants a number for each dimension.
template <size_t kN>
Shape per_dimension(IntList list) {
  return list.size() == 1 ? Shape(kN, list[0]) : Shape(list);
}

template <size_t kN>
void max_pool(ops::Launch& on,
              const Tensor& self,
              IntList kernel_size,
              IntList stride,
              IntList padding,
              IntList dilation,
              bool ceil_mode,
              Tensor& values,
              Tensor& indices) {
  if (values.numel() == 0) return;
  const Shape kernel = per_dimension<kN>(kernel_size);
  const Shape strides = stride.empty() ? kernel : per_dimension<kN>(stride);
  const Shape paddings = per_dimension<kN>(padding);
  const Shape dilations = per_dimension<kN>(dilation);
  compute_in(on, kIndexDtype, indices, [&](const Tensor& where) {
    if constexpr (kIsPlane<kN>) {
      call(on, MT_ACLNN(aclnnMaxPool2dWithIndices), self, IntList(kernel), IntList(strides),
           IntList(paddings), IntList(dilations), ceil_mode, values, where);
    } else {
      call(on, MT_ACLNN(aclnnMaxPool3dWithArgmax), self, IntList(kernel), IntList(strides),
           IntList(paddings), IntList(dilations), ceil_mode, values, where);
    }
  });
}

template <size_t kN>
void max_pool_backward(ops::Launch& on,
                       const Tensor& grad_output,
                       const Tensor& self,
                       IntList kernel_size,
                       IntList stride,
                       IntList padding,
                       IntList dilation,
                       bool ceil_mode,
                       const Tensor& indices,
                       Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor where = on_device(on, indices, kIndexDtype);
  const Shape kernel = per_dimension<kN>(kernel_size);
  const Shape strides = stride.empty() ? kernel : per_dimension<kN>(stride);
  const Shape paddings = per_dimension<kN>(padding);
  const Shape dilations = per_dimension<kN>(dilation);
  if constexpr (kIsPlane<kN>) {
    call(on, MT_ACLNN(aclnnMaxPool2dWithIndicesBackward), grad_output, self, where, IntList(kernel),
         IntList(strides), IntList(paddings), IntList(dilations), ceil_mode, out);
  } else {
    call(on, MT_ACLNN(aclnnMaxPool3dWithArgmaxBackward), grad_output, self, where, IntList(kernel),
         IntList(strides), IntList(paddings), IntList(dilations), ceil_mode, out);
  }
}

template <size_t kN>
void avg_pool(ops::Launch& on,
              const Tensor& self,
              IntList kernel_size,
              IntList stride,
              IntList padding,
              bool ceil_mode,
              bool count_include_pad,
              std::optional<int64_t> divisor_override,
              Tensor& out) {
  if (out.numel() == 0) return;
  const Shape kernel = per_dimension<kN>(kernel_size);
  const Shape strides = stride.empty() ? kernel : per_dimension<kN>(stride);
  const Shape paddings = per_dimension<kN>(padding);
  const int64_t divisor = divisor_override.value_or(0);
  if constexpr (kIsPlane<kN>) {
    call(on, MT_ACLNN(aclnnAvgPool2d), self, IntList(kernel), IntList(strides), IntList(paddings),
         ceil_mode, count_include_pad, divisor, kKeepDtype, out);
  } else {
    call(on, MT_ACLNN(aclnnAvgPool3d), self, IntList(kernel), IntList(strides), IntList(paddings),
         ceil_mode, count_include_pad, divisor, out);
  }
}

template <size_t kN>
void avg_pool_backward(ops::Launch& on,
                       const Tensor& grad_output,
                       const Tensor& self,
                       IntList kernel_size,
                       IntList stride,
                       IntList padding,
                       bool ceil_mode,
                       bool count_include_pad,
                       std::optional<int64_t> divisor_override,
                       Tensor& out) {
  if (out.numel() == 0) return;
  const Shape kernel = per_dimension<kN>(kernel_size);
  const Shape strides = stride.empty() ? kernel : per_dimension<kN>(stride);
  const Shape paddings = per_dimension<kN>(padding);
  const int64_t divisor = divisor_override.value_or(0);
  if constexpr (kIsPlane<kN>) {
    call(on, MT_ACLNN(aclnnAvgPool2dBackward), grad_output, self, IntList(kernel), IntList(strides),
         IntList(paddings), ceil_mode, count_include_pad, divisor, kKeepDtype, out);
  } else {
    call(on, MT_ACLNN(aclnnAvgPool3dBackward), grad_output, self, IntList(kernel), IntList(strides),
         IntList(paddings), ceil_mode, count_include_pad, divisor, out);
  }
}

template <size_t kN>
void adaptive_avg_pool(ops::Launch& on, const Tensor& self, IntList output_size, Tensor& out) {
  if (out.numel() == 0) return;
  if constexpr (kIsPlane<kN>) {
    call(on, MT_ACLNN(aclnnAdaptiveAvgPool2d), self, output_size, out);
  } else {
    call(on, MT_ACLNN(aclnnAdaptiveAvgPool3d), self, output_size, out);
  }
}

template <size_t kN>
void adaptive_avg_pool_backward(ops::Launch& on,
                                const Tensor& grad_output,
                                const Tensor& self,
                                Tensor& out) {
  if (out.numel() == 0) return;
  if (grad_output.numel() == 0) return call(on, MT_ACLNN(aclnnInplaceZero), out);
  if constexpr (kIsPlane<kN>) {
    call(on, MT_ACLNN(aclnnAdaptiveAvgPool2dBackward), grad_output, self, out);
  } else {
    call(on, MT_ACLNN(aclnnAdaptiveAvgPool3dBackward), grad_output, self, out);
  }
}

template <size_t kN>
void adaptive_max_pool(
    ops::Launch& on, const Tensor& self, IntList output_size, Tensor& values, Tensor& indices) {
  if (values.numel() == 0) return;
  if constexpr (kIsPlane<kN>) {
    call(on, MT_ACLNN(aclnnAdaptiveMaxPool2d), self, output_size, values, indices);
  } else {
    compute_in(on, kIndexDtype, indices, [&](const Tensor& where) {
      call(on, MT_ACLNN(aclnnAdaptiveMaxPool3d), self, output_size, values, where);
    });
  }
}

// CANN has it for volumes only: an image is one of depth 1.
template <size_t kN>
void adaptive_max_pool_backward(ops::Launch& on,
                                const Tensor& grad_output,
                                const Tensor& self,
                                const Tensor& indices,
                                Tensor& out) {
  if (out.numel() == 0) return;
  if (grad_output.numel() == 0) return call(on, MT_ACLNN(aclnnInplaceZero), out);
  const auto as_volume = [](const Tensor& tensor) {
    return kIsPlane<kN> ? unsqueezed(tensor, tensor.dim() - 2) : tensor;
  };
  const Tensor where = on_device(on, indices, kIndexDtype);
  call(on, MT_ACLNN(aclnnAdaptiveMaxPool3dBackward), as_volume(grad_output), as_volume(self),
       as_volume(where), as_volume(out));
}

template <size_t kN>
void register_for(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  const std::string n = std::to_string(kN) + "d";
  registry.kernel<max_pool<kN>>(kNpu, "max_pool" + n + "_with_indices").takes(kFloats);
  registry.kernel<max_pool_backward<kN>>(kNpu, "max_pool" + n + "_with_indices_backward")
      .takes(kFloats);
  registry.kernel<avg_pool<kN>>(kNpu, "avg_pool" + n).takes(kFloats);
  registry.kernel<avg_pool_backward<kN>>(kNpu, "avg_pool" + n + "_backward").takes(kFloats);
  registry.kernel<adaptive_avg_pool<kN>>(kNpu, "_adaptive_avg_pool" + n).takes(kFloats);
  registry.kernel<adaptive_avg_pool_backward<kN>>(kNpu, "_adaptive_avg_pool" + n + "_backward")
      .takes(kFloats);
  registry.kernel<adaptive_max_pool<kN>>(kNpu, "adaptive_max_pool" + n).takes(kFloats);
  registry.kernel<adaptive_max_pool_backward<kN>>(kNpu, "adaptive_max_pool" + n + "_backward")
      .takes(kFloats);
}

}  // namespace

void register_pooling(ops::Registry& registry) {
  register_for<2>(registry);
  register_for<3>(registry);
}

}  // namespace mindtorch::ascend
