// Arithmetic of two tensors, or of a tensor and a scalar.
#include <numeric>

#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kArithmetic = kF | kI | kC | kF64 | kBool;

struct AddScaled {
  template <class C>
  C operator()(C a, C b, C alpha) const {
    return add(a, mul(alpha, b));
  }
};
struct SubScaled {
  template <class C>
  C operator()(C a, C b, C alpha) const {
    return sub(a, mul(alpha, b));
  }
};
struct RsubScaled {
  template <class C>
  C operator()(C a, C b, C alpha) const {
    return sub(b, mul(alpha, a));
  }
};
struct AddRelu {
  template <class C>
  C operator()(C a, C b, C alpha) const {
    return larger(add(a, mul(alpha, b)), C{});
  }
};
struct Mul {
  template <class C>
  C operator()(C a, C b) const {
    return mul(a, b);
  }
};
struct Div {
  template <class C>
  C operator()(C a, C b) const {
    return a / b;
  }
};

// Division by zero: the device does not trap, the result means nothing.
template <class C>
C quotient(C a, C b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<C>) {
    if (b == -1) return sub(C{0}, a);
  }
  return a / b;
}
struct DivTrunc {
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_integral_v<C>) {
      return quotient(a, b);
    } else {
      return std::trunc(a / b);
    }
  }
};
struct DivFloor {
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_integral_v<C>) {
      const C q = quotient(a, b);
      const bool below = b != 0 && sub(a, mul(q, b)) != 0 && ((a < 0) != (b < 0));
      return below ? q - 1 : q;
    } else {
      return std::floor(a / b);
    }
  }
};
struct Fmod {
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_integral_v<C>) {
      return sub(a, mul(quotient(a, b), b));
    } else {
      return std::fmod(a, b);
    }
  }
};
struct Remainder {
  template <class C>
  C operator()(C a, C b) const {
    const C r = Fmod{}(a, b);
    return r != 0 && ((r < 0) != (b < 0)) ? add(r, b) : r;
  }
};
struct Pow {
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_integral_v<C>) {
      if (std::is_signed_v<C> && b < 0) {
        if (a == 1) return 1;
        return a == static_cast<C>(-1) ? (b % 2 == 0 ? 1 : static_cast<C>(-1)) : 0;
      }
      C result = 1;
      for (; b > 0; b /= 2, a = mul(a, a)) {
        if (b % 2 != 0) result = mul(result, a);
      }
      return result;
    } else {
      return std::pow(a, b);
    }
  }
};
struct Maximum {
  template <class C>
  C operator()(C a, C b) const {
    return larger(a, b);
  }
};
struct Minimum {
  template <class C>
  C operator()(C a, C b) const {
    return smaller(a, b);
  }
};
struct Atan2 {
  template <class C>
  C operator()(C a, C b) const {
    return std::atan2(a, b);
  }
};
struct LogAddExp {
  template <class C>
  C operator()(C a, C b) const {
    if (std::isinf(a) && a == b) return a;
    return larger(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  }
};
struct LogAddExp2 {
  template <class C>
  C operator()(C a, C b) const {
    if (std::isinf(a) && a == b) return a;
    return larger(a, b) + std::log2(1 + std::exp2(-std::abs(a - b)));
  }
};
struct Xlogy {
  template <class C>
  C operator()(C a, C b) const {
    if (std::isnan(b)) return b;
    return a == 0 ? C{0} : a * std::log(b);
  }
};
struct Gcd {
  template <class C>
  C operator()(C a, C b) const {
    return std::gcd(a, b);
  }
};
struct Addcmul {
  template <class C>
  C operator()(C a, C x, C y, C value) const {
    return add(a, mul(value, mul(x, y)));
  }
};
struct Addcdiv {
  template <class C>
  C operator()(C a, C x, C y, C value) const {
    return a + value * (x / y);
  }
};
struct Lerp {
  template <class C>
  C operator()(C a, C b, C weight) const {
    return std::abs(weight) < C(0.5) ? a + weight * (b - a) : b - (b - a) * (C(1) - weight);
  }
};

// aclnnDivMod and its relatives: 0 divides truly, 1 rounds towards zero, 2 down.
aclnnStatus div_mode(const char* op,
                     const Arg& self,
                     const Arg& other,
                     int mode,
                     Out out,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  const Arg args[] = {self, other};
  switch (mode) {
    case 0:
      return elementwise<Fields>(op, kArithmetic, Result::kQuotient, args, out, Div{},
                                 workspace_size, executor);
    case 1:
      return elementwise<Reals>(op, kArithmetic & ~kC, Result::kSame, args, out, DivTrunc{},
                                workspace_size, executor);
    case 2:
      return elementwise<Reals>(op, kArithmetic & ~kC, Result::kSame, args, out, DivFloor{},
                                workspace_size, executor);
    default:
      return plan(op, workspace_size, executor, [&](Planner& p) {
        p.check(false, "mode is " + std::to_string(mode) + ", expected is 0, 1 or 2");
      });
  }
}

// out = f(f(first, second), third) ..., the tensors of a list broadcast.
template <class F>
aclnnStatus combine_list(const char* op,
                         const aclTensorList* tensors,
                         const aclTensor* out,
                         Types types,
                         F f,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const std::vector<Operand> parts = p.inputs(tensors, "tensors", types);
    const Operand target = p.output(out, "out", types);
    p.check(!parts.empty(), "tensors is empty");
    DType compute = parts[0].dtype();
    Shape shape;
    for (const Operand& part : parts) {
      compute = promote(compute, part.dtype());
      p.check(compute != ACL_DT_UNDEFINED, p.name(part) + " has a dtype that does not promote");
      shape = p.broadcast(shape, part.shape(), "tensors");
    }
    p.check_shape(target, shape);
    p.check_cast(compute, target);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_real(compute, [&](auto zero) {
        using C = decltype(zero);
        auto result = load_all<C>(get(launch, parts[0]).expand(shape));
        for (size_t k = 1; k < parts.size(); ++k) {
          const auto next = load_all<C>(get(launch, parts[k]).expand(shape));
          for (size_t i = 0; i < result.size(); ++i) result[i] = f(result[i], next[i]);
        }
        store_all(get(launch, target), result);
      });
    });
  });
}

}  // namespace

// out = f(self, other)
#define SIM_BINARY(Name, With, types, rule, f)                                         \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclTensor* other, aclTensor* out) { \
    SIM_RUN(Name, With, types, rule, f, sim::out("out", out), arg("self", self),       \
            arg("other", other));                                                      \
  }
#define SIM_BINARY_SCALAR(Name, With, types, rule, f)                                  \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclScalar* other, aclTensor* out) { \
    SIM_RUN(Name, With, types, rule, f, sim::out("out", out), arg("self", self),       \
            arg("other", other));                                                      \
  }
#define SIM_BINARY_IN_PLACE(Name, Other, With, types, rule, f)                                     \
  SIM_SIGNATURE(Name, aclTensor* selfRef, const Other* other) {                                    \
    SIM_RUN(Name, With, types, rule, f, in_place(), arg("selfRef", selfRef), arg("other", other)); \
  }
// with a factor for one of them
#define SIM_SCALED(Name, Other, types, f)                                                    \
  SIM_SIGNATURE(Name, const aclTensor* self, const Other* other, const aclScalar* alpha,     \
                aclTensor* out) {                                                            \
    SIM_RUN(Name, Numbers, types, Result::kSame, f, sim::out("out", out), arg("self", self), \
            arg("other", other), factor("alpha", alpha));                                    \
  }
#define SIM_SCALED_IN_PLACE(Name, Self, Other, types, f)                                 \
  SIM_SIGNATURE(Name, Self* selfRef, const Other* other, const aclScalar* alpha) {       \
    SIM_RUN(Name, Numbers, types, Result::kSame, f, in_place(), arg("selfRef", selfRef), \
            arg("other", other), factor("alpha", alpha));                                \
  }

extern "C" {

SIM_SCALED(Add, aclTensor, kArithmetic, AddScaled{})
SIM_SCALED(Adds, aclScalar, kArithmetic, AddScaled{})
SIM_SCALED_IN_PLACE(InplaceAdd, const aclTensor, aclTensor, kArithmetic, AddScaled{})
SIM_SCALED_IN_PLACE(InplaceAdds, const aclTensor, aclScalar, kArithmetic, AddScaled{})
SIM_SCALED(Sub, aclTensor, kArithmetic, SubScaled{})
SIM_SCALED(Subs, aclScalar, kArithmetic, SubScaled{})
SIM_SCALED_IN_PLACE(InplaceSub, aclTensor, aclTensor, kArithmetic, SubScaled{})
SIM_SCALED_IN_PLACE(InplaceSubs, aclTensor, aclScalar, kArithmetic, SubScaled{})
SIM_SCALED(Rsub, aclTensor, kArithmetic & ~kBool, RsubScaled{})
SIM_SCALED(Rsubs, aclScalar, kArithmetic & ~kBool, RsubScaled{})

SIM_SIGNATURE(
    AddRelu, const aclTensor* self, const aclTensor* other, aclScalar* alpha, aclTensor* out) {
  SIM_RUN(AddRelu, Reals, kF | kI, Result::kSame, AddRelu{}, sim::out("out", out),
          arg("self", self), arg("other", other), factor("alpha", alpha));
}
SIM_SIGNATURE(InplaceAddRelu, aclTensor* selfRef, const aclTensor* other, aclScalar* alpha) {
  SIM_RUN(InplaceAddRelu, Reals, kF | kI, Result::kSame, AddRelu{}, in_place(),
          arg("selfRef", selfRef), arg("other", other), factor("alpha", alpha));
}

SIM_BINARY(Mul, Numbers, kArithmetic, Result::kSame, Mul{})
SIM_BINARY_SCALAR(Muls, Numbers, kArithmetic, Result::kSame, Mul{})
SIM_BINARY_IN_PLACE(InplaceMul, aclTensor, Numbers, kArithmetic, Result::kSame, Mul{})
SIM_BINARY_IN_PLACE(InplaceMuls, aclScalar, Numbers, kArithmetic, Result::kSame, Mul{})
SIM_BINARY(Div, Fields, kArithmetic, Result::kQuotient, Div{})
SIM_BINARY_SCALAR(Divs, Fields, kArithmetic, Result::kQuotient, Div{})
SIM_BINARY_IN_PLACE(InplaceDiv, aclTensor, Fields, kArithmetic, Result::kQuotient, Div{})
SIM_BINARY_IN_PLACE(InplaceDivs, aclScalar, Fields, kArithmetic, Result::kQuotient, Div{})

SIM_SIGNATURE(DivMod, const aclTensor* self, const aclTensor* other, int mode, aclTensor* out) {
  return div_mode("aclnnDivMod", arg("self", self), arg("other", other), mode, sim::out("out", out),
                  workspaceSize, executor);
}
SIM_SIGNATURE(DivMods, const aclTensor* self, const aclScalar* other, int mode, aclTensor* out) {
  return div_mode("aclnnDivMods", arg("self", self), arg("other", other), mode,
                  sim::out("out", out), workspaceSize, executor);
}
SIM_SIGNATURE(InplaceDivMod, aclTensor* selfRef, const aclTensor* other, int mode) {
  return div_mode("aclnnInplaceDivMod", arg("selfRef", selfRef), arg("other", other), mode,
                  in_place(), workspaceSize, executor);
}
SIM_SIGNATURE(InplaceDivMods, aclTensor* selfRef, const aclScalar* other, int mode) {
  return div_mode("aclnnInplaceDivMods", arg("selfRef", selfRef), arg("other", other), mode,
                  in_place(), workspaceSize, executor);
}

#define SIM_FLOOR_TYPES (kI | kF | kF64 | kBool)
SIM_BINARY(FloorDivide, Reals, SIM_FLOOR_TYPES, Result::kSame, DivFloor{})
SIM_BINARY_SCALAR(FloorDivides, Reals, SIM_FLOOR_TYPES, Result::kSame, DivFloor{})
SIM_BINARY_IN_PLACE(
    InplaceFloorDivide, aclTensor, Reals, SIM_FLOOR_TYPES, Result::kSame, DivFloor{})
SIM_BINARY_IN_PLACE(
    InplaceFloorDivides, aclScalar, Reals, SIM_FLOOR_TYPES, Result::kSame, DivFloor{})
#undef SIM_FLOOR_TYPES

#define SIM_REMAINDER_TYPES (kF | kF64 | kI32 | kI64)
SIM_BINARY(RemainderTensorTensor, Reals, kF | kI | kF64, Result::kSame, Remainder{})
SIM_BINARY_SCALAR(RemainderTensorScalar, Reals, SIM_REMAINDER_TYPES, Result::kSame, Remainder{})
SIM_SIGNATURE(RemainderScalarTensor,
              const aclScalar* self,
              const aclTensor* other,
              aclTensor* out) {
  SIM_RUN(RemainderScalarTensor, Reals, SIM_REMAINDER_TYPES, Result::kSame, Remainder{},
          sim::out("out", out), arg("self", self), arg("other", other));
}
SIM_BINARY_IN_PLACE(
    InplaceRemainderTensorTensor, aclTensor, Reals, kF | kI | kF64, Result::kSame, Remainder{})
SIM_BINARY_IN_PLACE(
    InplaceRemainderTensorScalar, aclScalar, Reals, SIM_REMAINDER_TYPES, Result::kSame, Remainder{})
#undef SIM_REMAINDER_TYPES

#define SIM_FMOD_TYPES (kF | kF64 | kI8 | kU8 | kI32 | kI64)
SIM_BINARY(FmodTensor, Reals, SIM_FMOD_TYPES, Result::kSame, Fmod{})
SIM_BINARY_SCALAR(FmodScalar, Reals, SIM_FMOD_TYPES, Result::kSame, Fmod{})
SIM_BINARY_IN_PLACE(InplaceFmodTensor, aclTensor, Reals, SIM_FMOD_TYPES, Result::kSame, Fmod{})
SIM_BINARY_IN_PLACE(InplaceFmodScalar, aclScalar, Reals, SIM_FMOD_TYPES, Result::kSame, Fmod{})
#undef SIM_FMOD_TYPES

SIM_SIGNATURE(PowTensorTensor, const aclTensor* self, const aclTensor* exponent, aclTensor* out) {
  SIM_RUN(PowTensorTensor, Numbers, kArithmetic, Result::kSame, Pow{}, sim::out("out", out),
          arg("self", self), arg("exponent", exponent));
}
SIM_SIGNATURE(PowTensorScalar,
              const aclTensor* self,
              const aclScalar* exponent,
              const aclTensor* out) {
  SIM_RUN(PowTensorScalar, Numbers, kArithmetic, Result::kSame, Pow{}, sim::out("out", out),
          arg("self", self), arg("exponent", exponent));
}
SIM_SIGNATURE(PowScalarTensor,
              const aclScalar* self,
              const aclTensor* exponent,
              const aclTensor* out) {
  SIM_RUN(PowScalarTensor, Numbers, kArithmetic & ~kBool, Result::kSame, Pow{},
          sim::out("out", out), arg("self", self), arg("exponent", exponent));
}
SIM_SIGNATURE(InplacePowTensorTensor, const aclTensor* self, const aclTensor* exponent) {
  SIM_RUN(InplacePowTensorTensor, Numbers, kArithmetic, Result::kSame, Pow{}, in_place(),
          arg("self", self), arg("exponent", exponent));
}
SIM_SIGNATURE(InplacePowTensorScalar, const aclTensor* self, const aclScalar* exponent) {
  SIM_RUN(InplacePowTensorScalar, Numbers, kArithmetic & ~kBool, Result::kSame, Pow{}, in_place(),
          arg("self", self), arg("exponent", exponent));
}

SIM_BINARY(Maximum, Reals, kF | kI | kF64 | kBool, Result::kSame, Maximum{})
SIM_BINARY(Minimum, Reals, kF | kI | kF64 | kBool, Result::kSame, Minimum{})
SIM_BINARY(Atan2, Floats, kF | kI | kF64 | kBool, Result::kFloat, Atan2{})
SIM_SIGNATURE(InplaceAtan2, aclTensor* selfRef, aclTensor* other) {
  SIM_RUN(InplaceAtan2, Floats, kF | kI | kF64 | kBool, Result::kFloat, Atan2{}, in_place(),
          arg("selfRef", selfRef), arg("other", other));
}
SIM_BINARY(LogAddExp, Floats, kF | kI | kU | kF64 | kBool, Result::kFloat, LogAddExp{})
SIM_BINARY(LogAddExp2, Floats, kF | kI | kU | kF64 | kBool, Result::kFloat, LogAddExp2{})
SIM_BINARY(Gcd, Integers, kI, Result::kSame, Gcd{})

SIM_BINARY(XLogYTensor, Floats, kF | kI | kF64 | kBool, Result::kFloat, Xlogy{})
SIM_BINARY_SCALAR(XLogYScalarOther, Floats, kF | kI | kF64 | kBool, Result::kFloat, Xlogy{})
SIM_SIGNATURE(XLogYScalarSelf, const aclScalar* self, const aclTensor* other, aclTensor* out) {
  SIM_RUN(XLogYScalarSelf, Floats, kF | kI | kF64 | kBool, Result::kFloat, Xlogy{},
          sim::out("out", out), arg("self", self), arg("other", other));
}
SIM_BINARY_IN_PLACE(InplaceXLogYTensor, aclTensor, Floats, kF | kF64, Result::kFloat, Xlogy{})
SIM_BINARY_IN_PLACE(InplaceXLogYScalarOther, aclScalar, Floats, kF | kF64, Result::kFloat, Xlogy{})

#define SIM_ADDC(Name, InplaceName, Target, With, types, f)                                      \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclTensor* tensor1, const aclTensor* tensor2, \
                const aclScalar* value, Target* out) {                                           \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out("out", out), arg("self", self),        \
            arg("tensor1", tensor1), arg("tensor2", tensor2), factor("value", value));           \
  }                                                                                              \
  SIM_SIGNATURE(InplaceName, const aclTensor* selfRef, const aclTensor* tensor1,                 \
                const aclTensor* tensor2, const aclScalar* value) {                              \
    SIM_RUN(InplaceName, With, types, Result::kSame, f, in_place(), arg("selfRef", selfRef),     \
            arg("tensor1", tensor1), arg("tensor2", tensor2), factor("value", value));           \
  }
SIM_ADDC(Addcmul, InplaceAddcmul, aclTensor, Reals, kF | kF64 | kI8 | kU8 | kI32 | kI64, Addcmul{})
SIM_ADDC(Addcdiv, InplaceAddcdiv, const aclTensor, Floats, kF | kF64 | kI64, Addcdiv{})
#undef SIM_ADDC

SIM_SIGNATURE(
    Lerp, const aclTensor* self, const aclTensor* end, const aclTensor* weight, aclTensor* out) {
  SIM_RUN(Lerp, Floats, kF, Result::kSame, Lerp{}, sim::out("out", out), arg("self", self),
          arg("end", end), arg("weight", weight));
}
SIM_SIGNATURE(
    Lerps, const aclTensor* self, const aclTensor* end, const aclScalar* weight, aclTensor* out) {
  SIM_RUN(Lerps, Floats, kF, Result::kSame, Lerp{}, sim::out("out", out), arg("self", self),
          arg("end", end), factor("weight", weight));
}
SIM_SIGNATURE(InplaceLerp, aclTensor* selfRef, const aclTensor* end, const aclTensor* weight) {
  SIM_RUN(InplaceLerp, Floats, kF, Result::kSame, Lerp{}, in_place(), arg("selfRef", selfRef),
          arg("end", end), arg("weight", weight));
}
SIM_SIGNATURE(InplaceLerps, aclTensor* selfRef, const aclTensor* end, const aclScalar* weight) {
  SIM_RUN(InplaceLerps, Floats, kF, Result::kSame, Lerp{}, in_place(), arg("selfRef", selfRef),
          arg("end", end), factor("weight", weight));
}

SIM_SIGNATURE(Sum, const aclTensorList* tensors, aclTensor* out) {
  return combine_list(
      "aclnnSum", tensors, out, kF | kI | kF64 | kBool, [](auto a, auto b) { return add(a, b); },
      workspaceSize, executor);
}
SIM_SIGNATURE(MaxN, const aclTensorList* tensors, aclTensor* out) {
  return combine_list("aclnnMaxN", tensors, out, kF | kI | kF64, Maximum{}, workspaceSize,
                      executor);
}
SIM_SIGNATURE(MinN, const aclTensorList* tensors, aclTensor* out) {
  return combine_list("aclnnMinN", tensors, out, kF | kI | kF64, Minimum{}, workspaceSize,
                      executor);
}

// The dims of scale and bias are the ones of x from `axis` on: all that follow, or numAxes of them.
SIM_SIGNATURE(Scale,
              const aclTensor* x,
              const aclTensor* scale,
              const aclTensor* bias,
              int64_t axis,
              int64_t numAxes,
              bool scaleFromBlob,
              aclTensor* y) {
  return plan("aclnnScale", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Operand factor = p.input(scale, "scale", kF);
    const Operand more = p.optional(bias, "bias", kF);
    const Operand target = p.output(y, "y", kF);
    p.check_shape(target, in.shape());
    p.check_rank(in, 1, 8);
    p.check(numAxes >= -1, "numAxes is less than -1");
    const int64_t at = p.dim(axis, in.rank(), "axis");
    const int64_t n = !scaleFromBlob ? factor.rank() : numAxes < 0 ? in.rank() - at : numAxes;
    p.check(at + n <= in.rank(), "x has fewer dims than scale needs");
    const bool one = factor.numel() == 1;
    Shape shape(in.shape().begin() + at, in.shape().begin() + at + n);
    if (!one) p.check_shape(factor, shape);
    if (more) p.check_shape(more, factor.shape());
    if (target.numel() == 0) return;
    if (one) shape = {};
    const auto behind = static_cast<size_t>(in.rank() - at - n);
    if (!one) shape.insert(shape.end(), behind, 1);
    p.run([=](Launch& launch) {
      const float zero = 0;
      const View nothing = contiguous_view(const_cast<float*>(&zero), ACL_FLOAT, {});
      map_elements<float>(
          get(launch, target), [](float a, float b, float c) { return a * b + c; }, get(launch, in),
          get(launch, factor).reshape(shape), more ? get(launch, more).reshape(shape) : nothing);
    });
  });
}
}
