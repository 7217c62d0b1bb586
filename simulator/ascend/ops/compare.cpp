// Comparisons, logic, bits, selection.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kReal = kF | kI | kF64 | kBool;

#define SIM_FUNCTION(Name, expression) \
  struct Name {                        \
    template <class C>                 \
    auto operator()(C a, C b) const {  \
      return expression;               \
    }                                  \
  };
SIM_FUNCTION(Eq, a == b)
SIM_FUNCTION(Ne, a != b)
SIM_FUNCTION(Gt, b < a)
SIM_FUNCTION(Ge, b <= a)
SIM_FUNCTION(Lt, a < b)
SIM_FUNCTION(Le, a <= b)
SIM_FUNCTION(And, a != C{} && b != C{})
SIM_FUNCTION(Or, a != C{} || b != C{})
SIM_FUNCTION(Xor, (a != C{}) != (b != C{}))
SIM_FUNCTION(BitAnd, static_cast<C>(a& b))
SIM_FUNCTION(BitOr, static_cast<C>(a | b))
SIM_FUNCTION(BitXor, static_cast<C>(a ^ b))
#undef SIM_FUNCTION

struct Where {
  template <class C>
  C operator()(C condition, C a, C b) const {
    return condition != C{} ? a : b;
  }
};

struct IsClose {
  double rtol;
  double atol;
  bool equal_nan;
  template <class C>
  bool operator()(C a, C b) const {
    if (a == b) return true;
    if constexpr (std::is_floating_point_v<C>) {
      if (std::isnan(a) || std::isnan(b)) return equal_nan && std::isnan(a) && std::isnan(b);
      if (std::isinf(a) || std::isinf(b)) return false;
    }
    const auto x = static_cast<double>(a);
    const auto y = static_cast<double>(b);
    return std::abs(x - y) <= atol + rtol * std::abs(y);
  }
};

}  // namespace

#define SIM_TENSOR(Name, With, types, rule, f)                                         \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclTensor* other, aclTensor* out) { \
    SIM_RUN(Name, With, types, rule, f, sim::out("out", out), arg("self", self),       \
            arg("other", other));                                                      \
  }
#define SIM_SCALAR(Name, With, types, rule, f)                                         \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclScalar* other, aclTensor* out) { \
    SIM_RUN(Name, With, types, rule, f, sim::out("out", out), arg("self", self),       \
            arg("other", other));                                                      \
  }
#define SIM_IN_PLACE(Name, Self, Other, With, types, rule, f)                                      \
  SIM_SIGNATURE(Name, Self* selfRef, const Other* other) {                                         \
    SIM_RUN(Name, With, types, rule, f, in_place(), arg("selfRef", selfRef), arg("other", other)); \
  }
#define SIM_COMPARE(Name, TensorSelf, ScalarSelf, With, types)                                   \
  SIM_TENSOR(Name##Tensor, With, types, Result::kBool, Name{})                                   \
  SIM_SCALAR(Name##Scalar, With, types, Result::kBool, Name{})                                   \
  SIM_IN_PLACE(Inplace##Name##Tensor, TensorSelf, aclTensor, With, types, Result::kBool, Name{}) \
  SIM_IN_PLACE(Inplace##Name##Scalar, ScalarSelf, aclScalar, With, types, Result::kBool, Name{})
#define SIM_BITWISE(Name, f, Self, types)                                                 \
  SIM_TENSOR(Name##Tensor, Integers, types, Result::kSame, f)                             \
  SIM_SCALAR(Name##Scalar, Integers, types, Result::kSame, f)                             \
  SIM_IN_PLACE(Inplace##Name##Tensor, Self, aclTensor, Integers, types, Result::kSame, f) \
  SIM_IN_PLACE(Inplace##Name##Scalar, Self, aclScalar, Integers, types, Result::kSame, f)

extern "C" {

SIM_COMPARE(Eq, const aclTensor, const aclTensor, Numbers, kReal | kC | kU)
SIM_COMPARE(Ne, aclTensor, aclTensor, Numbers, kReal | kC | kU)
SIM_COMPARE(Gt, const aclTensor, aclTensor, Reals, kReal | kU)
SIM_COMPARE(Ge, aclTensor, aclTensor, Reals, kReal | kU)
SIM_COMPARE(Lt, const aclTensor, const aclTensor, Reals, kReal | kU)
SIM_COMPARE(Le, aclTensor, aclTensor, Reals, kReal | kU)

SIM_TENSOR(LogicalAnd, Numbers, kReal | kC, Result::kBool, And{})
SIM_TENSOR(LogicalOr, Numbers, kReal | kC, Result::kBool, Or{})
SIM_TENSOR(LogicalXor, Numbers, kReal | kC, Result::kBool, Xor{})
SIM_IN_PLACE(InplaceLogicalAnd, aclTensor, aclTensor, Numbers, kReal | kC, Result::kBool, And{})
SIM_IN_PLACE(InplaceLogicalOr, aclTensor, aclTensor, Numbers, kReal | kC, Result::kBool, Or{})

SIM_BITWISE(BitwiseAnd, BitAnd{}, const aclTensor, kI | kBool | only(ACL_UINT16))
SIM_BITWISE(BitwiseOr, BitOr{}, aclTensor, kI | kBool | kU)
SIM_BITWISE(BitwiseXor, BitXor{}, aclTensor, kI | kBool | kU)

SIM_SIGNATURE(SWhere,
              const aclTensor* condition,
              const aclTensor* self,
              const aclTensor* other,
              aclTensor* out) {
  SIM_RUN(SWhere, Numbers, kAll, Result::kSame, Where{}, sim::out("out", out),
          mask("condition", condition), arg("self", self), arg("other", other));
}

SIM_SIGNATURE(IsClose,
              const aclTensor* self,
              const aclTensor* other,
              double rtol,
              double atol,
              bool equal_nan,
              aclTensor* out) {
  SIM_RUN(IsClose, Reals, kReal, Result::kBool, (IsClose{rtol, atol, equal_nan}),
          sim::out("out", out), arg("self", self), arg("other", other));
}

SIM_SIGNATURE(Equal, const aclTensor* self, const aclTensor* other, aclTensor* out) {
  return plan("aclnnEqual", workspaceSize, executor, [&](Planner& p) {
    const Operand a = p.input(self, "self", kReal | kU);
    const Operand b = p.input(other, "other", kReal | kU);
    const Operand result = p.output(out, "out", kBool);
    p.check(result.numel() == 1, "out must have one element");
    const DType compute = p.promoted(a, b);
    p.run([=](Launch& launch) {
      const View& x = get(launch, a);
      const View& y = get(launch, b);
      int64_t equal = x.shape == y.shape ? 1 : 0;
      if (equal != 0) {
        with_real(compute, [&](auto zero) {
          using C = decltype(zero);
          equal = load_all<C>(x) == load_all<C>(y) ? 1 : 0;
        });
      }
      store(get(launch, result), 0, 1, &equal);
    });
  });
}

SIM_SIGNATURE(InplaceMaskedFillScalar,
              aclTensor* selfRef,
              const aclTensor* mask,
              const aclScalar* value) {
  const auto f = [](auto self, auto chosen, auto fill) {
    return chosen != decltype(self){} ? fill : self;
  };
  SIM_RUN(InplaceMaskedFillScalar, Numbers, kAll & ~kU, Result::kSame, f, in_place(),
          arg("selfRef", selfRef), sim::mask("mask", mask), factor("value", value));
}

SIM_SIGNATURE(InplaceMaskedFillTensor,
              aclTensor* selfRef,
              const aclTensor* mask,
              const aclTensor* value) {
  return plan("aclnnInplaceMaskedFillTensor", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(selfRef, "selfRef", kAll & ~kU);
    const Operand chosen = p.input(mask, "mask", kBool | kU8);
    const Operand fill = p.input(value, "value", kAll & ~kU);
    p.check(fill.numel() == 1, "value must have one element");
    p.check_shape(self, p.broadcast(self.shape(), chosen.shape(), "selfRef and mask"));
    std::vector<Source> sources(3);
    sources[0].operand = self;
    sources[1].operand = chosen;
    sources[2].operand = fill;
    if (fill.rank() > self.rank()) return p.check_rank(fill, 0, self.rank());
    const auto f = [](auto x, auto hit, auto y) { return hit != decltype(x){} ? y : x; };
    run_elementwise(p, self, self.dtype(), self.dtype(), sources, over_elements<Numbers, 3>(f));
  });
}
}
