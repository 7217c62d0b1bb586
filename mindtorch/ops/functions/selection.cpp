#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {
namespace {

using G = GradientInputs;

// Exact at both ends.
Expr interpolate(Expr start, Expr end, Expr weight) {
  const Expr span = end - start;
  return where(abs(weight) < 0.5, start + weight * span, end - (1 - weight) * span);
}

}  // namespace

void declare_selections(const Functions& functions) {
  functions.define(Pointwise::kClampScalar)
      .in(kRealTypes)
      .is([](const Inputs& x) { return minimum(maximum(x.a, x.p0), x.p1); })
      // clamp has a gradient at its limits, hardtanh (p2) has none.
      .gradients([](const G& x) {
        const Expr at_limit = (x.a == x.p0) | (x.a == x.p1);
        return where((x.a >= x.p0) & (x.a <= x.p1) & !((x.p2 != 0) & at_limit), x.grad, 0);
      });
  functions.define(Pointwise::kClampMinScalar)
      .in(kRealTypes)
      .is([](const Inputs& x) { return maximum(x.a, x.p0); })
      .gradients([](const G& x) { return where(x.a >= x.p0, x.grad, 0); });
  functions.define(Pointwise::kClampMaxScalar)
      .in(kRealTypes)
      .is([](const Inputs& x) { return minimum(x.a, x.p0); })
      .gradients([](const G& x) { return where(x.a <= x.p0, x.grad, 0); });
  functions.define(Pointwise::kClamp)
      .in(kRealTypes)
      .is([](const Inputs& x) { return minimum(maximum(x.a, x.b), x.c); })
      .gradients([](const G& x) { return where((x.a >= x.b) & (x.a <= x.c), x.grad, 0); },
                 [](const G& x) { return where((x.b < x.c) & (x.a < x.b), x.grad, 0); },
                 [](const G& x) { return where((x.c < x.b) | (x.a > x.c), x.grad, 0); });
  functions.define(Pointwise::kWhere)
      .in(kAllTypes)
      .gradients(
          Derivative::Kind::kNone, [](const G& x) { return where(x.a, x.grad, 0); },
          [](const G& x) { return where(x.a, 0, x.grad); });
  functions.define(Pointwise::kLerp)
      .in(kFloatTypes)
      .within(2, 2)
      .above(10000, 10000)
      .moderate()
      .torch_kernel("lerp_kernel_tensor")
      .is([](const Inputs& x) { return interpolate(x.a, x.b, x.c); })
      .gradients([](const G& x) { return x.grad * (1 - x.c); },
                 [](const G& x) { return x.grad * x.c; },
                 [](const G& x) { return x.grad * (x.b - x.a); });
  functions.define(Pointwise::kLerpScalar)
      .in(kFloatTypes)
      .within(2, 2)
      .above(100, 100)
      .moderate()
      .torch_kernel("lerp_kernel_scalar")
      .is([](const Inputs& x) { return interpolate(x.a, x.b, x.p0); })
      .gradients([](const G& x) { return x.grad * (1 - x.p0); },
                 [](const G& x) { return x.grad * x.p0; });
  functions.define(Pointwise::kAddcmul)
      .in(kRealTypes)
      .within(2, 2)
      .above(100000, 100000)
      .moderate()
      .torch_kernel("addcmul_cpu_out")
      .is([](const Inputs& x) { return x.a + x.p0 * x.b * x.c; })
      .gradients(
          kGradient, [](const G& x) { return x.grad * (x.c * x.p0); },
          [](const G& x) { return x.grad * (x.b * x.p0); });
  functions.define(Pointwise::kAddcdiv)
      .in(kFloatTypes)
      .within(2, 2)
      .above(10000, 10000)
      .moderate()
      .torch_kernel("addcdiv_cpu_out")
      .is([](const Inputs& x) { return x.a + x.p0 * x.b / x.c; })
      .gradients(
          kGradient, [](const G& x) { return x.grad * (x.p0 / x.c); },
          [](const G& x) { return -x.grad * (x.p0 * x.b / (x.c * x.c)); });
}

}  // namespace mindtorch::ops
