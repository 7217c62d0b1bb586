#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {

void declare_comparisons(const Functions& functions) {
  for (const Pointwise primitive :
       {Pointwise::kEq, Pointwise::kNe, Pointwise::kLt, Pointwise::kLe, Pointwise::kGt,
        Pointwise::kGe, Pointwise::kLogicalAnd, Pointwise::kLogicalOr, Pointwise::kLogicalXor,
        Pointwise::kLogicalNot, Pointwise::kSignbit}) {
    functions.define(primitive).in(kAllTypes).gives(Values::kBool);
  }
  // No integer is infinite or not a number.
  const auto never = [](const Inputs& x) { return x.a != x.a; };
  const auto always = [](const Inputs& x) { return x.a == x.a; };
  functions.define(Pointwise::kIsNan).in(kAllTypes).gives(Values::kBool).is(never);
  functions.define(Pointwise::kIsInf)
      .in(kAllTypes)
      .gives(Values::kBool)
      .is([](const Inputs& x) { return abs(x.a) == INFINITY; })
      .of_integers(never);
  functions.define(Pointwise::kIsFinite)
      .in(kAllTypes)
      .gives(Values::kBool)
      .is([](const Inputs& x) { return abs(x.a) < INFINITY; })
      .of_integers(always);
  functions.define(Pointwise::kIsPosInf)
      .in(kAllTypes)
      .gives(Values::kBool)
      .is([](const Inputs& x) { return x.a == INFINITY; })
      .of_integers(never);
  functions.define(Pointwise::kIsNegInf)
      .in(kAllTypes)
      .gives(Values::kBool)
      .is([](const Inputs& x) { return x.a == -INFINITY; })
      .of_integers(never);
}

void declare_bits(const Functions& functions) {
  functions.define(Pointwise::kBitwiseAnd)
      .in(kIntTypes | kBoolType)
      .torch_kernel("bitwise_and_cpu");
  functions.define(Pointwise::kBitwiseOr).in(kIntTypes | kBoolType).torch_kernel("bitwise_or_cpu");
  functions.define(Pointwise::kBitwiseXor)
      .in(kIntTypes | kBoolType)
      .torch_kernel("bitwise_xor_cpu");
  functions.define(Pointwise::kBitwiseNot)
      .in(kIntTypes | kBoolType)
      .torch_kernel("bitwise_not_cpu");
  functions.define(Pointwise::kShiftLeft).in(kIntTypes).torch_kernel("lshift_cpu");
  functions.define(Pointwise::kShiftRight).in(kIntTypes).torch_kernel("rshift_cpu");
}

}  // namespace mindtorch::ops
