#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {

using G = GradientInputs;

void declare_losses(const Functions& functions) {
  // The distance between two numbers; below p0 a parabola that meets it smoothly.
  // p1 = 1 / p0
  functions.add("smooth_l1", 2, [](Declaration& loss) {
    const auto slope = [](const G& x) {
      const Expr gap = x.a - x.b;
      return x.grad * minimum(maximum(gap * x.p1, -1), 1);
    };
    loss.in(kFloatTypes)
        .torch_kernel("smooth_l1_cpu")
        .is([](const Inputs& x) {
          // gap * gap / 2 below p0, p0 * (gap - p0 / 2) above; both divided by p0
          const Expr gap = abs(x.a - x.b);
          const Expr curved = minimum(gap, x.p0);
          return curved * (gap - 0.5 * curved) * x.p1;
        })
        .gradients(slope, [slope](const G& x) { return -slope(x); });
  });
  functions.add("squared_difference", 2, [](Declaration& loss) {
    loss.in(kFloatTypes)
        .torch_kernel("mse_cpu")
        .is([](const Inputs& x) {
          const Expr gap = x.a - x.b;
          return gap * gap;
        })
        .gradients([](const G& x) { return x.grad * (2 * (x.a - x.b)); },
                   [](const G& x) { return x.grad * (2 * (x.b - x.a)); });
  });
}

}  // namespace mindtorch::ops
