#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

void convolution_(Backward& b,
                  const Tensor& input,
                  const Tensor& weight,
                  const TensorMeta&,
                  IntList stride,
                  IntList padding,
                  IntList dilation,
                  bool transposed,
                  IntList output_padding,
                  int64_t groups) {
  const bool wanted[] = {b.needs(0), b.needs(1), b.needs(2)};
  const auto [grad_input, grad_weight, grad_bias] =
      convolution_backward(b.grad(), input, weight, stride, padding, dilation, transposed,
                           output_padding, groups, wanted[0], wanted[1], wanted[2]);
  if (wanted[0]) b.set(0, grad_input);
  if (wanted[1]) b.set(1, grad_weight);
  if (wanted[2]) b.set(2, grad_bias);
}

// A convolution is linear in its input and in its weight, and so are both gradients in the gradient
// of its output. The derivatives of those products are convolutions again.
void convolution_backward_(Backward& b,
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
                           bool needs_bias) {
  const Tensor of_input = needs_input ? b.grad(0) : Tensor();
  const Tensor of_weight = needs_weight ? b.grad(1) : Tensor();
  const Tensor of_bias = needs_bias ? b.grad(2) : Tensor();
  const auto convolve = [&](const Tensor& x, const Tensor& w) {
    return convolution(x, w, {}, stride, padding, dilation, transposed, output_padding, groups);
  };
  const auto gradients = [&](const Tensor& x, const Tensor& w, bool for_input) {
    return convolution_backward(grad_output, x, w, stride, padding, dilation, transposed,
                                output_padding, groups, for_input, !for_input, false);
  };
  if (b.needs(0)) {
    Tensor total;
    const auto add_part = [&](const Tensor& part) {
      total = total.defined() ? add(total, part) : part;
    };
    if (of_input.defined()) add_part(convolve(of_input, weight));
    if (of_weight.defined()) add_part(convolve(input, of_weight));
    if (of_bias.defined()) {
      Shape sizes(static_cast<size_t>(grad_output.dim()), 1);
      sizes[1] = of_bias.size(0);
      add_part(expand(reshape(of_bias, sizes), grad_output.sizes()));
    }
    b.set(0, total);
  }
  if (b.needs(1) && of_weight.defined()) b.set(1, std::get<0>(gradients(input, of_weight, true)));
  if (b.needs(2) && of_input.defined()) b.set(2, std::get<1>(gradients(of_input, weight, false)));
}

// (time, batch, channels) seen as the operands of a convolution.
void conv_tbc_(
    Backward& b, const Tensor& self, const Tensor& weight, const TensorMeta&, int64_t pad) {
  const auto [grad_input, grad_weight, grad_bias] =
      convolution_backward(permute(b.grad(), {1, 2, 0}), permute(self, {1, 2, 0}),
                           permute(weight, {2, 1, 0}), IntList{1}, IntList(&pad, 1), IntList{1},
                           false, IntList{0}, 1, b.needs(0), b.needs(1), b.needs(2));
  if (b.needs(0)) b.set(0, permute(grad_input, {2, 0, 1}));
  if (b.needs(1)) b.set(1, permute(grad_weight, {2, 1, 0}));
  if (b.needs(2)) b.set(2, grad_bias);
}

}  // namespace

void define_convolution(Derivatives& derivatives) {
  derivatives.define<convolution_>("convolution");
  derivatives.define<convolution_backward_>("convolution_backward");
  derivatives.define<conv_tbc_>("conv_tbc");
}

}  // namespace mindtorch::autograd
