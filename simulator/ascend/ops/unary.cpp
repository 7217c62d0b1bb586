// Functions of one tensor.
#include <math.h>

#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kReal = kF | kI | kF64 | kBool;
constexpr Types kNumber = kReal | kC;

template <class C>
constexpr bool kComplexType = std::is_same_v<C, Complex64> || std::is_same_v<C, Complex128>;

// A function object for an expression of x, of type C.
#define SIM_FUNCTION(Name, ...)  \
  struct Name {                  \
    template <class C>           \
    auto operator()(C x) const { \
      __VA_ARGS__                \
    }                            \
  };

SIM_FUNCTION(Neg, if constexpr (std::is_integral_v<C>) { return sub(C{}, x); } else { return -x; })
SIM_FUNCTION(
    Abs,
    if constexpr (std::is_integral_v<C>) {
      return std::is_signed_v<C> && x < 0 ? sub(C{}, x) : x;
    } else { return std::abs(x); })
SIM_FUNCTION(Exp, return std::exp(x);)
SIM_FUNCTION(Exp2, return std::exp2(x);)
SIM_FUNCTION(Expm1, return std::expm1(x);)
SIM_FUNCTION(Log, return std::log(x);)
SIM_FUNCTION(Log1p, return std::log1p(x);)
SIM_FUNCTION(
    Log2,
    if constexpr (kComplexType<C>) {
      return std::log(x) / static_cast<typename C::value_type>(M_LN2);
    } else { return std::log2(x); })
SIM_FUNCTION(Log10, return std::log10(x);)
SIM_FUNCTION(Sqrt, return std::sqrt(x);)
SIM_FUNCTION(Rsqrt, return C(1) / std::sqrt(x);)
SIM_FUNCTION(Reciprocal, return C(1) / x;)
SIM_FUNCTION(Sin, return std::sin(x);)
SIM_FUNCTION(Cos, return std::cos(x);)
SIM_FUNCTION(Tan, return std::tan(x);)
SIM_FUNCTION(Asin, return std::asin(x);)
SIM_FUNCTION(Acos, return std::acos(x);)
SIM_FUNCTION(Atan, return std::atan(x);)
SIM_FUNCTION(Sinh, return std::sinh(x);)
SIM_FUNCTION(Cosh, return std::cosh(x);)
SIM_FUNCTION(Asinh, return std::asinh(x);)
SIM_FUNCTION(Acosh, return std::acosh(x);)
SIM_FUNCTION(Atanh, return std::atanh(x);)
SIM_FUNCTION(Tanh, return std::tanh(x);)
SIM_FUNCTION(Erf, return std::erf(x);)
SIM_FUNCTION(Erfc, return std::erfc(x);)
SIM_FUNCTION(
    Floor, if constexpr (std::is_integral_v<C>) { return x; } else { return std::floor(x); })
SIM_FUNCTION(Ceil, return std::ceil(x);)
SIM_FUNCTION(
    Round, if constexpr (std::is_integral_v<C>) { return x; } else { return std::nearbyint(x); })
SIM_FUNCTION(
    Trunc, if constexpr (std::is_integral_v<C>) { return x; } else { return std::trunc(x); })
SIM_FUNCTION(
    Frac, if constexpr (std::is_integral_v<C>) { return C{}; } else { return x - std::trunc(x); })
SIM_FUNCTION(
    Sign, if constexpr (kComplexType<C>) { return x == C{} ? x : x / std::abs(x); } else {
      if (x != x) return C{};
      return static_cast<C>((C{} < x) - (x < C{}));
    })
SIM_FUNCTION(
    Signbit,
    if constexpr (std::is_integral_v<C>) { return x < C{}; } else { return std::signbit(x); })
SIM_FUNCTION(IsFinite, return bool(std::isfinite(x));)
SIM_FUNCTION(IsInf, return bool(std::isinf(x));)
SIM_FUNCTION(IsPosInf, return bool(std::isinf(x) && x > C{});)
SIM_FUNCTION(IsNegInf, return bool(std::isinf(x) && x < C{});)
SIM_FUNCTION(LogicalNot, return x == C{};)
SIM_FUNCTION(BitwiseNot, return static_cast<C>(~x);)
SIM_FUNCTION(Lgamma, int sign = 0; return static_cast<C>(::lgamma_r(double{x}, &sign));)
SIM_FUNCTION(Sinc, const C y = static_cast<C>(M_PI) * x; return x == C{} ? C(1) : std::sin(y) / y;)

struct Digamma {
  template <class C>
  C operator()(C value) const {
    double x = value;
    if (x == 0) return std::copysign(std::numeric_limits<C>::infinity(), -value);
    if (x < 0 && x == std::floor(x)) return std::numeric_limits<C>::quiet_NaN();
    double result = 0;
    if (x < 0) {
      result = -M_PI / std::tan(M_PI * x);
      x = 1 - x;
    }
    for (; x < 10; x += 1) result -= 1 / x;
    const double y = 1 / (x * x);
    const double tail =
        y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132))));
    return static_cast<C>(result + std::log(x) - 0.5 / x - tail);
  }
};

struct Erfinv {
  template <class C>
  C operator()(C value) const {
    const double x = value;
    if (!(std::abs(x) <= 1)) return std::numeric_limits<C>::quiet_NaN();
    if (std::abs(x) == 1) return static_cast<C>(x * std::numeric_limits<C>::infinity());
    // A closed approximation, then Newton's steps.
    const double a = std::log1p(-x * x);
    const double b = 2 / (M_PI * 0.147) + a / 2;
    double y = std::copysign(std::sqrt(std::sqrt(b * b - a / 0.147) - b), x);
    for (int i = 0; i < 4; ++i) y -= (std::erf(y) - x) / (2 / std::sqrt(M_PI) * std::exp(-y * y));
    return static_cast<C>(y);
  }
};

struct RoundDecimals {
  int64_t decimals;
  template <class C>
  C operator()(C x) const {
    if constexpr (std::is_integral_v<C>) {
      if (decimals >= 0) return x;
      const double scale = std::pow(10.0, static_cast<double>(-decimals));
      return static_cast<C>(std::nearbyint(static_cast<double>(x) / scale) * scale);
    } else {
      const C scale = std::pow(C(10), static_cast<C>(std::abs(decimals)));
      if (decimals >= 0) return std::nearbyint(x * scale) / scale;
      return std::nearbyint(x / scale) * scale;
    }
  }
};

struct NanToNum {
  float nan;
  float posinf;
  float neginf;
  template <class C>
  C operator()(C x) const {
    if constexpr (std::is_floating_point_v<C>) {
      if (std::isnan(x)) return static_cast<C>(nan);
      if (std::isinf(x)) return static_cast<C>(x > 0 ? posinf : neginf);
    }
    return x;
  }
};

// A null bound is no bound.
struct Clamp {
  bool has_min;
  bool has_max;
  template <class C>
  C operator()(C x, C min, C max) const {
    if (has_min) x = larger(x, min);
    return has_max ? smaller(x, max) : x;
  }
};

// A bound of clamping, which may be bool where self may not.
Arg bound(const char* name, const aclTensor* tensor) {
  return {name, tensor, nullptr, Arg::kTensor, kF | kI | kF64 | kBool};
}

aclnnStatus refuse_boundless(const char* op, uint64_t* workspace_size, aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [](Planner&) {
    throw Rejected{kNullPointer, "clipValueMin and clipValueMax are both null"};
  });
}

aclnnStatus clamp(const char* op,
                  Types types,
                  const Arg& self,
                  const aclScalar* min,
                  const aclScalar* max,
                  Out out,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  if (min == nullptr && max == nullptr) return refuse_boundless(op, workspace_size, executor);
  const Arg args[] = {self, factor("clipValueMin", min != nullptr ? min : max),
                      factor("clipValueMax", max != nullptr ? max : min)};
  return elementwise<Reals>(op, types, Result::kSame, args, out,
                            Clamp{min != nullptr, max != nullptr}, workspace_size, executor);
}

struct Larger {
  template <class C>
  C operator()(C a, C b) const {
    return larger(a, b);
  }
};
struct Smaller {
  template <class C>
  C operator()(C a, C b) const {
    return smaller(a, b);
  }
};
struct Between {
  template <class C>
  C operator()(C x, C min, C max) const {
    return smaller(larger(x, min), max);
  }
};

}  // namespace

// out = f(name)
#define SIM_UNARY(Name, name, Target, With, types, rule, f)                      \
  SIM_SIGNATURE(Name, const aclTensor* name, Target* out) {                      \
    SIM_RUN(Name, With, types, rule, f, sim::out("out", out), arg(#name, name)); \
  }
#define SIM_UNARY_IN_PLACE(Name, name, Self, With, types, rule, f)     \
  SIM_SIGNATURE(Name, Self* name) {                                    \
    SIM_RUN(Name, With, types, rule, f, in_place(), arg(#name, name)); \
  }
// Both forms, whose in-place argument has the same name with Ref behind it.
#define SIM_BOTH(Name, name, With, types, rule, f)       \
  SIM_UNARY(Name, name, aclTensor, With, types, rule, f) \
  SIM_UNARY_IN_PLACE(Inplace##Name, name##Ref, aclTensor, With, types, rule, f)

extern "C" {

SIM_BOTH(Neg, self, Numbers, kF | kC | kF64 | kI8 | kI32 | kI64, Result::kSame, Neg{})
SIM_UNARY(Abs,
          self,
          aclTensor,
          Numbers,
          kReal | only(ACL_COMPLEX64) | only(ACL_COMPLEX32),
          Result::kReal,
          Abs{})
SIM_BOTH(Exp, self, Fields, kF | kC | kF64 | kI64 | kBool, Result::kFloat, Exp{})
SIM_BOTH(Exp2, self, Floats, kReal, Result::kFloat, Exp2{})
SIM_BOTH(Expm1, self, Floats, kF | kI64 | kBool, Result::kFloat, Expm1{})
SIM_BOTH(Log, self, Fields, kNumber, Result::kFloat, Log{})
SIM_BOTH(Log1p, self, Floats, kReal, Result::kFloat, Log1p{})
SIM_UNARY(Log2, self, const aclTensor, Fields, kNumber, Result::kFloat, Log2{})
SIM_UNARY_IN_PLACE(InplaceLog2, selfRef, const aclTensor, Fields, kNumber, Result::kFloat, Log2{})
SIM_BOTH(Log10, self, Fields, kNumber, Result::kFloat, Log10{})
SIM_UNARY(Sqrt, self, aclTensor, Fields, kNumber, Result::kFloat, Sqrt{})
SIM_UNARY_IN_PLACE(InplaceSqrt, self, aclTensor, Fields, kNumber, Result::kFloat, Sqrt{})
SIM_BOTH(Rsqrt, self, Fields, kNumber, Result::kFloat, Rsqrt{})
SIM_UNARY(Reciprocal, self, aclTensor, Fields, kNumber, Result::kFloat, Reciprocal{})
SIM_UNARY_IN_PLACE(
    InplaceReciprocal, selfRef, const aclTensor, Fields, kNumber, Result::kFloat, Reciprocal{})
SIM_BOTH(Sin, self, Fields, kNumber, Result::kFloat, Sin{})
SIM_BOTH(Cos, input, Fields, kNumber, Result::kFloat, Cos{})
SIM_UNARY(Tan, self, aclTensor, Fields, kNumber, Result::kFloat, Tan{})
SIM_UNARY_IN_PLACE(InplaceTan, selfRef, const aclTensor, Fields, kNumber, Result::kFloat, Tan{})
SIM_BOTH(Asin, self, Floats, kReal, Result::kFloat, Asin{})
SIM_BOTH(Acos, input, Floats, kReal, Result::kFloat, Acos{})
SIM_BOTH(Atan, input, Floats, kReal, Result::kFloat, Atan{})
SIM_BOTH(Sinh, self, Fields, kNumber, Result::kFloat, Sinh{})
SIM_BOTH(Cosh, self, Fields, kNumber, Result::kFloat, Cosh{})
SIM_BOTH(Asinh, input, Fields, kNumber, Result::kFloat, Asinh{})
SIM_BOTH(Acosh, self, Fields, kNumber, Result::kFloat, Acosh{})
SIM_BOTH(Atanh, input, Fields, kNumber, Result::kFloat, Atanh{})
SIM_BOTH(Tanh, self, Floats, kF | kI | kBool, Result::kFloat, Tanh{})
SIM_BOTH(Erf, self, Floats, kF | kF64 | kI64 | kBool, Result::kFloat, Erf{})
SIM_UNARY(Erfc, self, aclTensor, Floats, kF | kF64 | kI64 | kBool, Result::kFloat, Erfc{})
SIM_UNARY_IN_PLACE(InplaceErfc, selfRef, const aclTensor, Floats, kF | kF64, Result::kFloat, Erfc{})
SIM_UNARY(Erfinv, self, aclTensor, Floats, kF | kI | kBool, Result::kFloat, Erfinv{})
SIM_UNARY_IN_PLACE(
    InplaceErfinv, selfRef, const aclTensor, Floats, kF | kI | kBool, Result::kFloat, Erfinv{})
SIM_BOTH(Floor, self, Reals, kI | kU | kF | kF64, Result::kSame, Floor{})
SIM_BOTH(Ceil, self, Floats, kF | kF64, Result::kSame, Ceil{})
SIM_UNARY(Round, self, aclTensor, Reals, kF | kF64 | kI32 | kI64, Result::kSame, Round{})
SIM_UNARY_IN_PLACE(
    InplaceRound, selfRef, const aclTensor, Reals, kF | kF64 | kI32 | kI64, Result::kSame, Round{})
SIM_BOTH(Trunc, self, Reals, kF | kF64 | kI, Result::kSame, Trunc{})
SIM_BOTH(Frac, input, Reals, kF | kI, Result::kSame, Frac{})
SIM_BOTH(Sinc, self, Floats, kReal, Result::kFloat, Sinc{})
SIM_UNARY(Signbit, self, aclTensor, Reals, kReal | kU, Result::kBool, Signbit{})
SIM_UNARY(IsFinite, self, aclTensor, Floats, kReal, Result::kBool, IsFinite{})
SIM_UNARY(IsPosInf, self, aclTensor, Floats, kReal, Result::kBool, IsPosInf{})
SIM_UNARY(IsNegInf, self, aclTensor, Floats, kReal, Result::kBool, IsNegInf{})
SIM_UNARY(IsInf, x, const aclTensor, Floats, kReal, Result::kBool, IsInf{})
SIM_BOTH(LogicalNot, self, Numbers, kReal, Result::kBool, LogicalNot{})
SIM_UNARY(Lgamma, self, aclTensor, Floats, kF32 | kF16 | kF64, Result::kFloat, Lgamma{})
SIM_UNARY(Digamma, self, aclTensor, Floats, kF32 | kF16 | kF64, Result::kFloat, Digamma{})

SIM_SIGNATURE(BitwiseNot, const aclTensor* self, aclTensor* out) {
  if (self != nullptr && object_id(self) != 0 && self->dtype == ACL_BOOL) {
    SIM_RUN(BitwiseNot, Integers, kI | kBool, Result::kSame, LogicalNot{}, sim::out("out", out),
            arg("self", self));
  }
  SIM_RUN(BitwiseNot, Integers, kI | kBool, Result::kSame, BitwiseNot{}, sim::out("out", out),
          arg("self", self));
}
SIM_SIGNATURE(Sign, const aclTensor* self, aclTensor* result) {
  SIM_RUN(Sign, Numbers, kF | kC | kF64 | kI32 | kI64 | kBool, Result::kSame, Sign{},
          sim::out("result", result), arg("self", self));
}
SIM_SIGNATURE(RoundDecimals, const aclTensor* self, int64_t decimals, aclTensor* out) {
  SIM_RUN(RoundDecimals, Reals, kF | kF64 | kI32 | kI64, Result::kSame, RoundDecimals{decimals},
          sim::out("out", out), arg("self", self));
}
SIM_SIGNATURE(InplaceRoundDecimals, aclTensor* selfRef, int64_t decimals) {
  SIM_RUN(InplaceRoundDecimals, Reals, kF | kF64 | kI32 | kI64, Result::kSame,
          RoundDecimals{decimals}, in_place(), arg("selfRef", selfRef));
}
SIM_SIGNATURE(
    NanToNum, const aclTensor* self, float nan, float posinf, float neginf, aclTensor* out) {
  SIM_RUN(NanToNum, Reals, kF | kI | kBool, Result::kSame, (NanToNum{nan, posinf, neginf}),
          sim::out("out", out), arg("self", self));
}
SIM_SIGNATURE(InplaceNanToNum, aclTensor* selfRef, float nan, float posinf, float neginf) {
  SIM_RUN(InplaceNanToNum, Reals, kF | kI | kBool, Result::kSame, (NanToNum{nan, posinf, neginf}),
          in_place(), arg("selfRef", selfRef));
}

SIM_SIGNATURE(Clamp,
              const aclTensor* self,
              const aclScalar* clipValueMin,
              const aclScalar* clipValueMax,
              aclTensor* out) {
  return clamp("aclnnClamp", kReal, arg("self", self), clipValueMin, clipValueMax,
               sim::out("out", out), workspaceSize, executor);
}
SIM_SIGNATURE(Hardtanh,
              const aclTensor* self,
              const aclScalar* clipValueMin,
              const aclScalar* clipValueMax,
              aclTensor* out) {
  SIM_RUN(Hardtanh, Reals, kF | kI | kF64, Result::kSame, Between{}, sim::out("out", out),
          arg("self", self), factor("clipValueMin", clipValueMin),
          factor("clipValueMax", clipValueMax));
}
SIM_SIGNATURE(InplaceHardtanh,
              aclTensor* selfRef,
              const aclScalar* clipValueMin,
              const aclScalar* clipValueMax) {
  SIM_RUN(InplaceHardtanh, Reals, kF | kI | kF64, Result::kSame, Between{}, in_place(),
          arg("selfRef", selfRef), factor("clipValueMin", clipValueMin),
          factor("clipValueMax", clipValueMax));
}
SIM_SIGNATURE(ClampMin, const aclTensor* self, const aclScalar* clipValueMin, aclTensor* out) {
  SIM_RUN(ClampMin, Reals, kF | kI | kF64, Result::kSame, Larger{}, sim::out("out", out),
          arg("self", self), factor("clipValueMin", clipValueMin));
}
SIM_SIGNATURE(ClampMax, const aclTensor* self, const aclScalar* clipValueMax, aclTensor* out) {
  SIM_RUN(ClampMax, Reals, kF | kI | kF64, Result::kSame, Smaller{}, sim::out("out", out),
          arg("self", self), factor("clipValueMax", clipValueMax));
}
SIM_SIGNATURE(InplaceClampMax, const aclTensor* selfRef, const aclScalar* clipValueMax) {
  SIM_RUN(InplaceClampMax, Reals, kF | kI | kF64, Result::kSame, Smaller{}, in_place(),
          arg("selfRef", selfRef), factor("clipValueMax", clipValueMax));
}
SIM_SIGNATURE(ClampTensor,
              const aclTensor* self,
              const aclTensor* clipValueMin,
              const aclTensor* clipValueMax,
              aclTensor* out) {
  if (clipValueMin == nullptr && clipValueMax == nullptr) {
    return refuse_boundless("aclnnClampTensor", workspaceSize, executor);
  }
  if (clipValueMax == nullptr) {
    SIM_RUN(ClampTensor, Reals, kF | kI | kF64, Result::kSame, Larger{}, sim::out("out", out),
            arg("self", self), bound("clipValueMin", clipValueMin));
  }
  if (clipValueMin == nullptr) {
    SIM_RUN(ClampTensor, Reals, kF | kI | kF64, Result::kSame, Smaller{}, sim::out("out", out),
            arg("self", self), bound("clipValueMax", clipValueMax));
  }
  SIM_RUN(ClampTensor, Reals, kF | kI | kF64, Result::kSame, Between{}, sim::out("out", out),
          arg("self", self), bound("clipValueMin", clipValueMin),
          bound("clipValueMax", clipValueMax));
}
SIM_SIGNATURE(ClampMinTensor,
              const aclTensor* self,
              const aclTensor* clipValueMin,
              aclTensor* out) {
  SIM_RUN(ClampMinTensor, Reals, kF | kI | kF64, Result::kSame, Larger{}, sim::out("out", out),
          arg("self", self), bound("clipValueMin", clipValueMin));
}
SIM_SIGNATURE(ClampMaxTensor, const aclTensor* self, const aclTensor* max, aclTensor* out) {
  SIM_RUN(ClampMaxTensor, Reals, kF | kI | kF64, Result::kSame, Smaller{}, sim::out("out", out),
          arg("self", self), bound("max", max));
}
SIM_SIGNATURE(InplaceClampMinTensor, aclTensor* selfRef, const aclTensor* clipValueMin) {
  SIM_RUN(InplaceClampMinTensor, Reals, kF | kI | kF64, Result::kSame, Larger{}, in_place(),
          arg("selfRef", selfRef), bound("clipValueMin", clipValueMin));
}
SIM_SIGNATURE(InplaceClampMaxTensor, aclTensor* selfRef, const aclTensor* max) {
  SIM_RUN(InplaceClampMaxTensor, Reals, kF | kI | kF64, Result::kSame, Smaller{}, in_place(),
          arg("selfRef", selfRef), bound("max", max));
}

SIM_SIGNATURE(Cast, const aclTensor* self, const aclDataType dtype, aclTensor* out) {
  return plan("aclnnCast", workspaceSize, executor, [&](Planner& p) {
    const Types types = kAll | only(ACL_COMPLEX32);
    const Operand from = p.input(self, "self", types);
    const Operand to = p.output(out, "out", types);
    p.check(to.dtype() == dtype,
            std::string("dtype is ") + dtype_name(dtype) + ", out has " + dtype_name(to.dtype()));
    p.check_shape(to, from.shape());
    if (to.numel() == 0) return;
    p.run([=](Launch& launch) { cast_elements(get(launch, to), get(launch, from)); });
  });
}

// One bit for each element, 1 for those that are not negative; lines of bytes, `size` of them.
SIM_SIGNATURE(SignBitsPack, const aclTensor* self, int64_t size, aclTensor* out) {
  return plan("aclnnSignBitsPack", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF32 | kF16);
    const Operand target = p.output(out, "out", kU8);
    p.check_rank(in, 1, 1);
    const int64_t bytes = (in.numel() + 7) / 8;
    p.check(size > 0 && bytes % size == 0,
            "size must divide the " + std::to_string(bytes) + " bytes");
    p.check_shape(target, {size, bytes / size});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto values = load_all<float>(get(launch, in));
      std::vector<int64_t> packed(static_cast<size_t>(bytes));
      for (size_t i = 0; i < values.size(); ++i) {
        packed[i / 8] |= static_cast<int64_t>(values[i] >= 0) << (i % 8);
      }
      store_all(get(launch, target), packed);
    });
  });
}
SIM_SIGNATURE(
    SignBitsUnpack, const aclTensor* self, int64_t size, aclDataType dtype, aclTensor* out) {
  return plan("aclnnSignBitsUnpack", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kU8);
    const Operand target = p.output(out, "out", kF32 | kF16);
    p.check_rank(in, 1, 1);
    p.check(target.dtype() == dtype, "dtype must be the dtype of out");
    p.check(size > 0 && in.numel() * 8 % size == 0, "size must divide the number of bits");
    p.check_shape(target, {size, in.numel() * 8 / size});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      std::vector<float> values;
      for (const int64_t byte : load_all<int64_t>(get(launch, in))) {
        for (int bit = 0; bit < 8; ++bit) values.push_back((byte >> bit & 1) != 0 ? 1 : -1);
      }
      store_all(get(launch, target), values);
    });
  });
}
}
