#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

// Of a tensor as large as the input: the elements that were the largest of their windows.
template <int64_t kN>
Tensor picked(const Tensor& from, const Tensor& indices) {
  const Tensor flat = gather(flatten(from, -kN, -1), -1, flatten(indices, -kN, -1));
  return reshape(flat, indices.sizes());
}

template <int64_t kN>
void max_pool(Backward& b,
              const Tensor& self,
              IntList kernel_size,
              IntList stride,
              IntList padding,
              IntList dilation,
              bool ceil_mode,
              const TensorMeta&,
              const Tensor& indices) {
  constexpr auto kBackward =
      kN == 2 ? max_pool2d_with_indices_backward : max_pool3d_with_indices_backward;
  b.set(0, kBackward(b.grad(), self, kernel_size, stride.empty() ? kernel_size : stride, padding,
                     dilation, ceil_mode, indices));
}
template <int64_t kN>
void max_pool_backward(Backward& b,
                       const TensorMeta&,
                       const TensorMeta&,
                       IntList,
                       IntList,
                       IntList,
                       IntList,
                       bool,
                       const Tensor& indices) {
  if (b.needs(0)) b.set(0, picked<kN>(b.grad(), indices));
}

template <int64_t kN>
void avg_pool(Backward& b,
              const Tensor& self,
              IntList kernel_size,
              IntList stride,
              IntList padding,
              bool ceil_mode,
              bool count_include_pad,
              std::optional<int64_t> divisor_override) {
  constexpr auto kBackward = kN == 2 ? avg_pool2d_backward : avg_pool3d_backward;
  b.set(0, kBackward(b.grad(), self, kernel_size, stride.empty() ? kernel_size : stride, padding,
                     ceil_mode, count_include_pad, divisor_override));
}
template <int64_t kN>
void avg_pool_backward(Backward& b,
                       const TensorMeta&,
                       const TensorMeta&,
                       IntList kernel_size,
                       IntList stride,
                       IntList padding,
                       bool ceil_mode,
                       bool count_include_pad,
                       std::optional<int64_t> divisor_override) {
  constexpr auto kForward = kN == 2 ? avg_pool2d : avg_pool3d;
  if (b.needs(0)) {
    b.set(0, kForward(b.grad(), kernel_size, stride, padding, ceil_mode, count_include_pad,
                      divisor_override));
  }
}

template <int64_t kN>
void adaptive_avg_pool(Backward& b, const Tensor& self, IntList) {
  constexpr auto kBackward =
      kN == 2 ? _adaptive_avg_pool2d_backward : _adaptive_avg_pool3d_backward;
  b.set(0, kBackward(b.grad(), self));
}
template <int64_t kN>
void adaptive_avg_pool_backward(Backward& b, const TensorMeta& grad_output, const TensorMeta&) {
  constexpr auto kForward = kN == 2 ? _adaptive_avg_pool2d : _adaptive_avg_pool3d;
  if (b.needs(0)) b.set(0, kForward(b.grad(), IntList(grad_output.sizes).last(kN)));
}

template <int64_t kN>
void adaptive_max_pool(
    Backward& b, const Tensor& self, IntList, const TensorMeta&, const Tensor& indices) {
  constexpr auto kBackward = kN == 2 ? adaptive_max_pool2d_backward : adaptive_max_pool3d_backward;
  b.set(0, kBackward(b.grad(), self, indices));
}
template <int64_t kN>
void adaptive_max_pool_backward(Backward& b,
                                const TensorMeta&,
                                const TensorMeta&,
                                const Tensor& indices) {
  if (b.needs(0)) b.set(0, picked<kN>(b.grad(), indices));
}

template <int64_t kN>
void define_for(Derivatives& derivatives) {
  const std::string n = std::to_string(kN) + "d";
  derivatives.define<max_pool<kN>>("max_pool" + n + "_with_indices");
  derivatives.define<max_pool_backward<kN>>("max_pool" + n + "_with_indices_backward");
  derivatives.define<avg_pool<kN>>("avg_pool" + n);
  derivatives.define<avg_pool_backward<kN>>("avg_pool" + n + "_backward");
  derivatives.define<adaptive_avg_pool<kN>>("_adaptive_avg_pool" + n);
  derivatives.define<adaptive_avg_pool_backward<kN>>("_adaptive_avg_pool" + n + "_backward");
  derivatives.define<adaptive_max_pool<kN>>("adaptive_max_pool" + n);
  derivatives.define<adaptive_max_pool_backward<kN>>("adaptive_max_pool" + n + "_backward");
}

}  // namespace

void define_pooling(Derivatives& derivatives) {
  define_for<2>(derivatives);
  define_for<3>(derivatives);
}

}  // namespace mindtorch::autograd
