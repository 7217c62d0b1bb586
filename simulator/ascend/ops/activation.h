#pragma once

#include "simulator/ascend/ops/pointwise.h"

namespace sim {

inline constexpr double kSeluAlpha = 1.6732632423543772;
inline constexpr double kSeluScale = 1.0507009873554805;

template <class C>
C sigmoid(C x) {
  return C(1) / (C(1) + std::exp(-x));
}
template <class C>
C softplus(C x) {
  return x > C(20) ? x : std::log1p(std::exp(x));
}
template <class C>
C gelu_erf(C x) {
  return C(0.5) * x * (C(1) + std::erf(x * C(0.70710678118654752)));
}
template <class C>
C gelu_tanh(C x) {
  const C inner = C(0.79788456080286536) * (x + C(0.044715) * x * x * x);
  return C(0.5) * x * (C(1) + std::tanh(inner));
}
template <class C>
C gelu_erf_slope(C x) {
  const C density = std::exp(C(-0.5) * x * x) * C(0.39894228040143268);
  return C(0.5) * (C(1) + std::erf(x * C(0.70710678118654752))) + x * density;
}
template <class C>
C gelu_tanh_slope(C x) {
  const C t = std::tanh(C(0.79788456080286536) * (x + C(0.044715) * x * x * x));
  const C inner = C(0.79788456080286536) * (C(1) + C(3 * 0.044715) * x * x);
  return C(0.5) * (C(1) + t) + C(0.5) * x * (C(1) - t * t) * inner;
}

struct GeluMode {
  bool tanh;
  template <class C>
  C operator()(C x) const {
    return tanh ? gelu_tanh(x) : gelu_erf(x);
  }
};
struct GeluModeBackward {
  bool tanh;
  template <class C>
  C operator()(C grad, C x) const {
    return grad * (tanh ? gelu_tanh_slope(x) : gelu_erf_slope(x));
  }
};
// The weight of Prelu, one for each channel, as it broadcasts over `self`.
inline View channels(const View& weight, const View& self) {
  if (weight.numel() == 1) return weight.reshape({});
  Shape shape(static_cast<size_t>(std::max<int64_t>(self.rank() - 1, 1)), 1);
  shape[0] = weight.numel();
  return weight.reshape(shape);
}

inline void check_channels(Planner& p, const Operand& self, const Operand& weight) {
  p.check(weight.numel() == 1 || (self.rank() >= 2 && weight.numel() == self.shape()[1]),
          "weight must have one element, or one for each channel of self");
}

}  // namespace sim
