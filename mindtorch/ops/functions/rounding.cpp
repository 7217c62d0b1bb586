#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {

void declare_rounding(const Functions& functions) {
  // Integers are whole already.
  const auto itself = [](const Inputs& x) { return x.a; };
  functions.define(Pointwise::kCeil)
      .in(kRealTypes)
      .torch_kernel("ceil_vml_cpu")
      .is([](const Inputs& x) { return -floor(-x.a); })
      .of_integers(itself)
      .gradients(kZero);
  functions.define(Pointwise::kFloor)
      .in(kRealTypes)
      .torch_kernel("floor_vml_cpu")
      .of_integers(itself)
      .gradients(kZero);
  functions.define(Pointwise::kRound)
      .in(kRealTypes)
      .torch_kernel("round_vml_cpu")
      .of_integers(itself)
      .gradients(kZero);
  functions.define(Pointwise::kTrunc)
      .in(kRealTypes)
      .torch_kernel("trunc_vml_cpu")
      .is([](const Inputs& x) { return where(x.a < 0, -floor(-x.a), floor(x.a)); })
      .of_integers(itself)
      .gradients(kZero);
  functions.define(Pointwise::kRoundDecimals)
      .in(kFloatTypes)
      .moderate()
      .torch_kernel("round_cpu")
      .is([](const Inputs& x) {
        const Expr ten = pow(10, abs(x.p0));
        return where(x.p0 >= 0, round(x.a * ten) / ten, round(x.a / ten) * ten);
      })
      .gradients(kZero);
  functions.define(Pointwise::kFrac)
      .in(kFloatTypes)
      .torch_kernel("frac_cpu")
      .is([](const Inputs& x) { return x.a - trunc(x.a); })
      .gradients(kGradient);
  functions.define(Pointwise::kNanToNum)
      .in(kAllTypes)
      .is([](const Inputs& x) {
        const Expr finite = where(x.a == INFINITY, x.p1, where(x.a == -INFINITY, x.p2, x.a));
        return where(isnan(x.a), x.p0, finite);
      })
      .of_integers(itself)
      .gradients([](const GradientInputs& x) { return x.grad * where(isfinite(x.a), 1, 0); });
}

}  // namespace mindtorch::ops
