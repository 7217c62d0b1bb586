// Functions whose vector form is the same for floats and integers.

#include "mindtorch/backends/cpu/tiles/tile-inl.h"

#if defined(MT_TILES_ARITHMETIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_ARITHMETIC_INL_H_
#undef MT_TILES_ARITHMETIC_INL_H_
#else
#define MT_TILES_ARITHMETIC_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

struct Add {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Sub {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Sub(a, b);
  }
};

// x86 has no 8-bit multiply: the even and odd bytes go through 16 bits.
template <class D, class V>
HWY_INLINE V multiply(D d, V a, V b) {
#if HWY_TARGET == HWY_SCALAR
  using T = hn::TFromD<D>;
  if constexpr (hwy::IsFloat<T>()) {
    return hn::Mul(a, b);
  } else {
    // Unsigned, so that it wraps; wide enough not to be promoted to int.
    const auto product =
        static_cast<uint64_t>(hn::GetLane(a)) * static_cast<uint64_t>(hn::GetLane(b));
    return hn::Set(d, static_cast<T>(product));
  }
#else
  if constexpr (sizeof(hn::TFromD<D>) == 1) {
    const hn::Repartition<uint16_t, D> d16;
    const auto wide_a = hn::BitCast(d16, a);
    const auto wide_b = hn::BitCast(d16, b);
    const auto low = hn::Set(d16, 0x00ff);
    const auto even = hn::And(hn::Mul(wide_a, wide_b), low);
    const auto odd = hn::Mul(hn::AndNot(low, wide_a), hn::ShiftRight<8>(wide_b));
    return hn::BitCast(d, hn::Or(even, odd));
  } else {
    return hn::Mul(a, b);
  }
#endif
}

struct Mul {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return multiply(d, a, b);
  }
};
struct Square {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return multiply(d, a, a);
  }
};
struct Cube {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return multiply(d, multiply(d, a, a), a);
  }
};
struct Reciprocal {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), a);
  }
};
struct Sqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    return hn::Sqrt(a);
  }
};
struct Rsqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), hn::Sqrt(a));
  }
};
struct AddScaled {
  explicit AddScaled(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V scale = hn::Set(d, param<hn::TFromD<D>>(params, 0));
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::MulAdd(b, scale, a);
    } else {
      return hn::Add(a, multiply(d, b, scale));
    }
  }
  PointwiseParams params;
};

struct Addcmul {
  explicit Addcmul(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b, V c) const {
    using T = hn::TFromD<D>;
    const V scaled = multiply(d, hn::Set(d, param<T>(params, 0)), b);
    if constexpr (hwy::IsFloat<T>()) {
      return hn::MulAdd(scaled, c, a);
    } else {
      return hn::Add(a, multiply(d, scaled, c));
    }
  }
  PointwiseParams params;
};

// Of equals, such as the two zeros, the first.
struct Maximum {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::IfThenElse(hn::IsNaN(b), b, max_or_second(d, b, a));
    } else {
      return max_or_second(d, a, b);
    }
  }
};
struct Minimum {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::IfThenElse(hn::IsNaN(b), b, min_or_second(d, b, a));
    } else {
      return min_or_second(d, a, b);
    }
  }
};

struct Abs {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    if constexpr (hwy::IsSigned<hn::TFromD<D>>()) {
      return hn::Abs(a);
    } else {
      return a;
    }
  }
};
struct Neg {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Neg(a);
    } else {
      return hn::Sub(hn::Zero(d), a);
    }
  }
};
// The sign of NaN is 0, as in torch.
struct Sign {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    using T = hn::TFromD<D>;
    const V one = hn::Set(d, T{1});
    const V zero = hn::Zero(d);
    if constexpr (hwy::IsSigned<T>()) {
      const V minus_one = hn::Set(d, static_cast<T>(-1));
      const V positive = hn::IfThenElseZero(hn::Gt(a, zero), one);
      return hn::IfThenElse(hn::Lt(a, zero), minus_one, positive);
    } else {
      return hn::Min(a, one);
    }
  }
};
struct Relu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    if constexpr (hwy::IsSigned<hn::TFromD<D>>()) {
      return max_or_second(d, hn::Zero(d), a);
    } else {
      return a;
    }
  }
};
struct Heaviside {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    using T = hn::TFromD<D>;
    const V zero = hn::Zero(d);
    V step;
    if constexpr (hwy::IsSigned<T>()) {
      // 0 below zero, otherwise 1; NaN compares false and gives 0, as in torch.
      step = hn::IfThenElseZero(hn::Gt(a, zero), hn::Set(d, T{1}));
    } else {
      step = hn::Min(a, hn::Set(d, T{1}));
    }
    return hn::IfThenElse(hn::Eq(a, zero), b, step);
  }
};

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
