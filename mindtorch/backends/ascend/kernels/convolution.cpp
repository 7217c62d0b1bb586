#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

// CANN wants a number for each dimension.
Shape per_dimension(const Tensor& weight, IntList list) {
  return list.size() == 1 ? Shape(weight.sizes().size() - 2, list[0]) : Shape(list);
}

void convolution(ops::Launch& on,
                 const Tensor& input,
                 const Tensor& weight,
                 const Tensor& bias,
                 IntList stride,
                 IntList padding,
                 IntList dilation,
                 bool transposed,
                 IntList output_padding,
                 int64_t groups,
                 Tensor& out) {
  if (out.numel() == 0) return;
  const auto list = [&](IntList given) { return per_dimension(weight, given); };
  const Shape strides = list(stride), paddings = list(padding), dilations = list(dilation);
  const Shape extra = list(output_padding);
  call(on, MT_ACLNN(aclnnConvolution), input, weight, bias, IntList(strides), IntList(paddings),
       IntList(dilations), transposed, IntList(extra), groups, out, kKeepDtype);
}

void convolution_backward(ops::Launch& on,
                          const Tensor& grad_output,
                          const Tensor& input,
                          const Tensor& weight,
                          IntList stride,
                          IntList padding,
                          IntList dilation,
                          bool transposed,
                          IntList output_padding,
                          int64_t groups,
                          bool needs_input,
                          bool needs_weight,
                          bool needs_bias,
                          Tensor& grad_input,
                          Tensor& grad_weight,
                          Tensor& grad_bias) {
  const Tensor none;
  const Tensor& of_input = needs_input ? grad_input : none;
  const Tensor& of_weight = needs_weight ? grad_weight : none;
  const Tensor& of_bias = needs_bias ? grad_bias : none;
  if (grad_output.numel() == 0 || input.numel() == 0) {
    for (const Tensor* each : {&of_input, &of_weight, &of_bias}) {
      if (each->defined() && each->numel() != 0) call(on, MT_ACLNN(aclnnInplaceZero), *each);
    }
    return;
  }
  const auto list = [&](IntList given) { return per_dimension(weight, given); };
  const Shape strides = list(stride), paddings = list(padding), dilations = list(dilation);
  const Shape extra = list(output_padding);
  const int64_t outputs = grad_output.size(1);
  call(on, MT_ACLNN(aclnnConvolutionBackward), grad_output, input, weight, IntList(&outputs, 1),
       IntList(strides), IntList(paddings), IntList(dilations), transposed, IntList(extra),
       static_cast<int>(groups), Mask{needs_input, needs_weight, needs_bias}, kKeepDtype, of_input,
       of_weight, of_bias);
}

void conv_tbc(ops::Launch& on,
              const Tensor& self,
              const Tensor& weight,
              const Tensor& bias,
              int64_t pad,
              Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnConvTbc), self, weight, bias, pad, out, kKeepDtype);
}

}  // namespace

void register_convolution(ops::Registry& registry) {
  registry.kernel<convolution>(DeviceType::kNpu, "convolution").takes(kFloats);
  registry.kernel<convolution_backward>(DeviceType::kNpu, "convolution_backward").takes(kFloats);
  registry.kernel<conv_tbc>(DeviceType::kNpu, "conv_tbc").takes(kFloats);
}

}  // namespace mindtorch::ascend
