#include <numbers>

#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {
namespace {

using G = GradientInputs;

constexpr double kHalfRoot = 1 / std::numbers::sqrt2;
constexpr double kGeluSlope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

Expr gelu_gradient(const G& x) {
  const Expr cdf = 0.5 * (1 + erf(x.a * kHalfRoot));
  const Expr pdf = exp(-0.5 * (x.a * x.a)) * (std::numbers::inv_sqrtpi * kHalfRoot);
  return x.grad * (cdf + x.a * pdf);
}

Expr gelu_tanh_gradient(const G& x) {
  const Expr square = x.a * x.a;
  const Expr height = tanh(kGeluSlope * (x.a + kGeluCubic * (square * x.a)));
  const Expr slope = kGeluSlope * (1 + 3 * kGeluCubic * square);
  return x.grad * (0.5 * (1 + height) + 0.5 * x.a * ((1 - height * height) * slope));
}

Expr silu_gradient(const G& x) {
  const Expr s = sigmoid(x.a);
  return x.grad * (s * (1 + x.a * (1 - s)));
}

Expr mish_gradient(const G& x) {
  const Expr t = tanh(log1p(exp(x.a)));
  return x.grad * (t + x.a * sigmoid(x.a) * (1 - t * t));
}

Expr softplus_gradient(const G& x) {
  const Expr z = exp(x.a * x.p0);
  return where(x.a * x.p0 > x.p1, x.grad, x.grad * z / (z + 1));
}

Expr log_sigmoid_gradient(const G& x) {
  const Expr z = exp(-abs(x.a));
  const Expr rest = z / (1 + z);
  return x.grad * where(x.a < 0, 1 - rest, rest);
}

// min(max(a + 3, 0), 6)
Expr relu6_of_shifted(Expr a) { return minimum(maximum(a + 3, 0), 6); }

// torch's, of single precision in every dtype.
constexpr double kSixth = 1.0F / 6.0F;

Expr is_inside(const Inputs& x) { return (x.a >= -x.p0) & (x.a <= x.p0); }
// NaN is neither: it keeps its value and has no gradient.
Expr is_outside(const Inputs& x) { return (x.a < -x.p0) | (x.a > x.p0); }

}  // namespace

void declare_activations(const Functions& functions) {
  functions.define(Pointwise::kSigmoid)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2.2, 2.4)
      .is([](const Inputs& x) { return 1 / (1 + exp(-x.a)); })
      .gradients([](const G& x) { return x.grad * ((1 - x.result) * x.result); });
  functions.define(Pointwise::kRelu)
      .in(kRealTypes)
      .is([](const Inputs& x) { return maximum(x.a, 0); })
      .gradients([](const G& x) { return where(x.result <= 0, 0, x.grad); });
  functions.define(Pointwise::kGelu)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(5, 8)
      .above(0, 1e-250)
      .torch_kernel("GeluKernelImpl")
      .is([](const Inputs& x) { return x.a * (0.5 * erfc(-x.a * sqrt(x.a.number(0.5)))); })
      .gradients(gelu_gradient);
  functions.define(Pointwise::kGeluTanh)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2.9, 10)
      .above(0, 0.001)
      .torch_kernel("GeluKernelImpl")
      .is([](const Inputs& x) {
        return x.a * sigmoid(2 * kGeluSlope * (x.a + kGeluCubic * (x.a * x.a * x.a)));
      })
      .gradients(gelu_tanh_gradient);
  functions.define(Pointwise::kSilu)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2.9, 3)
      .above(0, 1e-290)
      .torch_kernel("silu_cpu")
      .is([](const Inputs& x) { return x.a * sigmoid(x.a); })
      .gradients(silu_gradient);
  functions.define(Pointwise::kMish)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(3.5, 3.5)
      .above(1e-30, 1e-30)
      .torch_kernel("mish_cpu")
      .is([](const Inputs& x) { return x.a * tanh(log1p(exp(x.a))); })
      .gradients(mish_gradient);
  functions.define(Pointwise::kElu)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2.5, 2.6)
      .torch_kernel("elu_cpu")
      .is([](const Inputs& x) {
        return where(x.a > 0, x.p1 * x.a, x.p0 * x.p1 * expm1(x.p2 * x.a));
      })
      .gradients([](const G& x) {
        const Expr below = x.grad * (x.p2 * x.p0 * x.p1) * exp(x.a * x.p2);
        return where(x.a <= 0, below, x.grad * x.p1);
      });
  functions.define(Pointwise::kLeakyRelu)
      .in(kFloatTypes)
      .torch_kernel("leaky_relu_cpu")
      .is([](const Inputs& x) { return where(x.a > 0, x.a, x.a * x.p0); })
      .gradients([](const G& x) { return where(x.a > 0, x.grad, x.grad * x.p0); });
  functions.define(Pointwise::kSoftplus)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(2.5, 2.5)
      .torch_kernel("softplus_cpu")
      .is([](const Inputs& x) {
        return where(x.a * x.p0 > x.p1, x.a, log1p(exp(x.a * x.p0)) / x.p0);
      })
      .gradients(softplus_gradient);
  functions.define(Pointwise::kHardsigmoid)
      .in(kFloatTypes)
      .torch_kernel("hardsigmoid_cpu")
      .is([](const Inputs& x) { return relu6_of_shifted(x.a) / 6; })
      .gradients([](const G& x) { return where((x.a > -3) & (x.a < 3), x.grad * kSixth, 0); });
  functions.define(Pointwise::kHardswish)
      .in(kFloatTypes)
      .within(1.1, 1.1)
      .moderate()
      .torch_kernel("hardswish_cpu")
      .is([](const Inputs& x) { return x.a * relu6_of_shifted(x.a) / 6; })
      .gradients([](const G& x) {
        const Expr inside = x.grad * (x.a / 3 + 0.5);
        return where(x.a <= -3, 0, where(x.a < 3, inside, x.grad));
      });
  functions.define(Pointwise::kLogSigmoid)
      .in(kFloatTypes)
      .cost(Cost::kCurve)
      .within(1.6, 1.6)
      .torch_kernel("log_sigmoid_cpu")
      .is([](const Inputs& x) { return minimum(x.a, 0) - log1p(exp(-abs(x.a))); })
      .gradients(log_sigmoid_gradient);
  functions.define(Pointwise::kHardshrink)
      .in(kFloatTypes)
      .torch_kernel("hardshrink_cpu")
      .is([](const Inputs& x) { return where(is_inside(x), 0, x.a); })
      .gradients([](const G& x) { return where(is_outside(x), x.grad, 0); });
  functions.define(Pointwise::kSoftshrink)
      .in(kFloatTypes)
      .torch_kernel("softshrink_check")
      .is([](const Inputs& x) {
        const Expr outside = where(x.a > x.p0, x.a - x.p0, x.a + x.p0);
        return where(is_inside(x), x.a * 0, outside);
      })
      .gradients([](const G& x) { return where(is_outside(x), x.grad, 0); });
  functions.define(Pointwise::kThreshold)
      .in(kRealTypes)
      .torch_kernel("threshold_cpu")
      .is([](const Inputs& x) { return where(x.a <= x.p0, x.p1, x.a); })
      .gradients([](const G& x) { return where(x.a <= x.p0, 0, x.grad); });
  functions.define(Pointwise::kPrelu)
      .in(kFloatTypes)
      .torch_kernel("prelu_cpu")
      .is([](const Inputs& x) { return where(x.a > 0, x.a, x.b * x.a); })
      .gradients([](const G& x) { return where(x.a > 0, x.grad, x.b * x.grad); },
                 [](const G& x) { return where(x.a > 0, 0, x.a * x.grad); });
}

}  // namespace mindtorch::ops
