// Arithmetic of complex numbers, as pairs of floats. The loops are plain: the compiler vectorises
// them for each target. Products and quotients are torch's: infinities and NaNs are not repaired.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/complex.cpp"
#include <cmath>
#include <complex>

#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "mindtorch/backends/cpu/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

using ops::Pointwise;
using ops::PointwiseParams;

template <class T>
struct Pair {
  T re;
  T im;
};

template <class T>
HWY_INLINE Pair<T> product(Pair<T> a, Pair<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// Smith's way: divided by the larger part of the divisor first, so that its square neither
// overflows nor vanishes.
template <class T>
HWY_INLINE Pair<T> quotient(Pair<T> a, Pair<T> b) {
  const bool is_flat = std::fabs(b.re) >= std::fabs(b.im);
  const T large = is_flat ? b.re : b.im;
  const T ratio = (is_flat ? b.im : b.re) / large;
  const T scale = T{1} / (large + (is_flat ? b.im : b.re) * ratio);
  const Pair<T> result{(is_flat ? a.re + a.im * ratio : a.re * ratio + a.im) * scale,
                       (is_flat ? a.im - a.re * ratio : a.im * ratio - a.re) * scale};
  const T zero = std::fabs(b.re);
  return large == 0 ? Pair<T>{a.re / zero, a.im / zero} : result;
}

struct Add {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a, Pair<T> b) const {
    return {a.re + b.re, a.im + b.im};
  }
};
struct Sub {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a, Pair<T> b) const {
    return {a.re - b.re, a.im - b.im};
  }
};
struct Mul {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a, Pair<T> b) const {
    return product(a, b);
  }
};
struct Div {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a, Pair<T> b) const {
    return quotient(a, b);
  }
};
struct NanToNum {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a, const PointwiseParams& params) const {
    return {number(a.re, params), number(a.im, params)};
  }
  template <class T>
  HWY_INLINE T number(T a, const PointwiseParams& params) const {
    if (a != a) return static_cast<T>(params.f[0]);
    if (std::isinf(a)) return static_cast<T>(a > 0 ? params.f[1] : params.f[2]);
    return a;
  }
};
struct Neg {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a) const {
    return {-a.re, -a.im};
  }
};
struct Conj {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a) const {
    return {a.re, -a.im};
  }
};
struct Square {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a) const {
    return product(a, a);
  }
};
struct Cube {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a) const {
    return product(product(a, a), a);
  }
};
struct Reciprocal {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a) const {
    return quotient(Pair<T>{1, 0}, a);
  }
};
struct InverseSquare {
  template <class T>
  HWY_INLINE Pair<T> operator()(Pair<T> a) const {
    return quotient(Pair<T>{1, 0}, product(a, a));
  }
};

template <class F, class T>
HWY_NOINLINE void map1(const void* const* inputs, void* out, int64_t n, const PointwiseParams&) {
  const auto* a = static_cast<const Pair<T>*>(inputs[0]);
  auto* to = static_cast<Pair<T>*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = F()(a[i]);
}

template <class T>
HWY_NOINLINE void nan_to_num(const void* const* inputs,
                             void* out,
                             int64_t n,
                             const PointwiseParams& params) {
  const auto* a = static_cast<const Pair<T>*>(inputs[0]);
  auto* to = static_cast<Pair<T>*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = NanToNum()(a[i], params);
}

template <class F, class T>
HWY_NOINLINE void map2(const void* const* inputs, void* out, int64_t n, const PointwiseParams&) {
  const auto* a = static_cast<const Pair<T>*>(inputs[0]);
  const auto* b = static_cast<const Pair<T>*>(inputs[1]);
  auto* to = static_cast<Pair<T>*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = F()(a[i], b[i]);
}

template <class T>
Pair<T> param(const PointwiseParams& params, int index) {
  return {static_cast<T>(params.f[index]), static_cast<T>(params.imag[index])};
}

template <class T>
HWY_NOINLINE void add_scaled(const void* const* inputs,
                             void* out,
                             int64_t n,
                             const PointwiseParams& params) {
  const auto* a = static_cast<const Pair<T>*>(inputs[0]);
  const auto* b = static_cast<const Pair<T>*>(inputs[1]);
  auto* to = static_cast<Pair<T>*>(out);
  const Pair<T> scale = param<T>(params, 0);
  for (int64_t i = 0; i < n; ++i) to[i] = Add()(a[i], product(scale, b[i]));
}

template <class T, bool kDivides>
HWY_NOINLINE void add_product(const void* const* inputs,
                              void* out,
                              int64_t n,
                              const PointwiseParams& params) {
  const auto* a = static_cast<const Pair<T>*>(inputs[0]);
  const auto* b = static_cast<const Pair<T>*>(inputs[1]);
  const auto* c = static_cast<const Pair<T>*>(inputs[2]);
  auto* to = static_cast<Pair<T>*>(out);
  const Pair<T> scale = param<T>(params, 0);
  for (int64_t i = 0; i < n; ++i) {
    const Pair<T> scaled = product(scale, b[i]);
    to[i] = Add()(a[i], kDivides ? quotient(scaled, c[i]) : product(scaled, c[i]));
  }
}

// a + w * (b - a), from the nearer end.
template <class T>
HWY_INLINE Pair<T> interpolated(Pair<T> a, Pair<T> b, Pair<T> w) {
  const Pair<T> span = Sub()(b, a);
  if (w.re * w.re + w.im * w.im < T{0.25}) return Add()(a, product(w, span));
  return Sub()(b, product(span, Sub()(Pair<T>{1, 0}, w)));
}

template <class T, bool kScalar>
HWY_NOINLINE void lerp(const void* const* inputs,
                       void* out,
                       int64_t n,
                       const PointwiseParams& params) {
  const auto* a = static_cast<const Pair<T>*>(inputs[0]);
  const auto* b = static_cast<const Pair<T>*>(inputs[1]);
  const auto* w = kScalar ? nullptr : static_cast<const Pair<T>*>(inputs[2]);
  auto* to = static_cast<Pair<T>*>(out);
  const Pair<T> weight = param<T>(params, 0);
  for (int64_t i = 0; i < n; ++i) to[i] = interpolated(a[i], b[i], kScalar ? weight : w[i]);
}

template <class T>
HWY_NOINLINE void where(const void* const* inputs, void* out, int64_t n, const PointwiseParams&) {
  const auto* condition = static_cast<const uint8_t*>(inputs[0]);
  const auto* a = static_cast<const Pair<T>*>(inputs[1]);
  const auto* b = static_cast<const Pair<T>*>(inputs[2]);
  auto* to = static_cast<Pair<T>*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = condition[i] != 0 ? a[i] : b[i];
}

struct Eq {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a, Pair<T> b) const {
    return (a.re == b.re) & (a.im == b.im);
  }
};
struct Ne {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a, Pair<T> b) const {
    return (a.re != b.re) | (a.im != b.im);
  }
};
template <class T>
HWY_INLINE bool is_set(Pair<T> a) {
  return (a.re != 0) | (a.im != 0);
}
struct LogicalAnd {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a, Pair<T> b) const {
    return is_set(a) & is_set(b);
  }
};
struct LogicalOr {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a, Pair<T> b) const {
    return is_set(a) | is_set(b);
  }
};
struct LogicalXor {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a, Pair<T> b) const {
    return is_set(a) != is_set(b);
  }
};
struct LogicalNot {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a) const {
    return !is_set(a);
  }
};
struct IsNan {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a) const {
    return (a.re != a.re) | (a.im != a.im);
  }
};
struct IsInf {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a) const {
    return std::isinf(a.re) | std::isinf(a.im);
  }
};
struct IsFinite {
  template <class T>
  HWY_INLINE bool operator()(Pair<T> a) const {
    return std::isfinite(a.re) & std::isfinite(a.im);
  }
};

template <class F, class T>
HWY_NOINLINE void test1(const void* const* inputs, void* out, int64_t n, const PointwiseParams&) {
  const auto* a = static_cast<const Pair<T>*>(inputs[0]);
  auto* to = static_cast<bool*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = F()(a[i]);
}
template <class F, class T>
HWY_NOINLINE void test2(const void* const* inputs, void* out, int64_t n, const PointwiseParams&) {
  const auto* a = static_cast<const Pair<T>*>(inputs[0]);
  const auto* b = static_cast<const Pair<T>*>(inputs[1]);
  auto* to = static_cast<bool*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = F()(a[i], b[i]);
}

template <class T>
void enter_complex(TileTable& table) {
  constexpr DType kDType = DTypeOf<std::complex<T>>::value;
  const auto add = [&](Pointwise function, TileFn tile) { table.add(function, kDType, tile); };
  add(Pointwise::kAdd, &map2<Add, T>);
  add(Pointwise::kSub, &map2<Sub, T>);
  add(Pointwise::kMul, &map2<Mul, T>);
  add(Pointwise::kDiv, &map2<Div, T>);
  add(Pointwise::kAddScaled, &add_scaled<T>);
  add(Pointwise::kAddcmul, &add_product<T, false>);
  add(Pointwise::kAddcdiv, &add_product<T, true>);
  add(Pointwise::kLerp, &lerp<T, false>);
  add(Pointwise::kLerpScalar, &lerp<T, true>);
  add(Pointwise::kWhere, &where<T>);
  add(Pointwise::kNanToNum, &nan_to_num<T>);
  add(Pointwise::kNeg, &map1<Neg, T>);
  add(Pointwise::kConj, &map1<Conj, T>);
  add(Pointwise::kSquare, &map1<Square, T>);
  add(Pointwise::kCube, &map1<Cube, T>);
  add(Pointwise::kReciprocal, &map1<Reciprocal, T>);
  add(Pointwise::kInverseSquare, &map1<InverseSquare, T>);
  add(Pointwise::kEq, &test2<Eq, T>);
  add(Pointwise::kNe, &test2<Ne, T>);
  add(Pointwise::kLogicalAnd, &test2<LogicalAnd, T>);
  add(Pointwise::kLogicalOr, &test2<LogicalOr, T>);
  add(Pointwise::kLogicalXor, &test2<LogicalXor, T>);
  add(Pointwise::kLogicalNot, &test1<LogicalNot, T>);
  add(Pointwise::kIsNan, &test1<IsNan, T>);
  add(Pointwise::kIsInf, &test1<IsInf, T>);
  add(Pointwise::kIsFinite, &test1<IsFinite, T>);
}

}  // namespace

void complex_arithmetic(TileTable& table) {
  enter_complex<float>(table);
  enter_complex<double>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(complex_arithmetic);
void add_complex(TileTable& table) { HWY_DYNAMIC_DISPATCH(complex_arithmetic)(table); }
}  // namespace mindtorch::cpu
#endif
