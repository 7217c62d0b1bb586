// Powers, and functions of two floats built on powers and logarithms.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/power.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/math-inl.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// clang-format off
struct LibraryPow { template <class T> T operator()(T x, T y) const { return std::pow(x, y); } };
struct LibraryHypot { template <class T> T operator()(T x, T y) const { return std::hypot(x, y); } };
struct Nextafter { template <class T> T operator()(T x, T y) const { return std::nextafter(x, y); } };
// clang-format on

// The same with one exponent for all.
struct LibraryPowScalar {
  explicit LibraryPowScalar(const PointwiseParams& p) : params(p) {}
  template <class T>
  T operator()(T x) const {
    return std::pow(x, param<T>(params, 0));
  }
  PointwiseParams params;
};
template <class Op>
struct PowScalar {
  explicit PowScalar(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return Op()(d, a, hn::Set(d, param<hn::TFromD<D>>(params, 0)));
  }
  PointwiseParams params;
};

// Products of 16-bit floats. torch rounds each product of bfloat16, and of float16 the last result.
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE V rounded(D d, V v) {
  if constexpr (std::is_same_v<T, Half>) {
    return v;
  } else {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(d, static_cast<float>(T(hn::GetLane(v))));
#else
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto sum = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
    const auto kept = hn::And(sum, hn::Set(du, 0xffff0000u));
    return hn::IfThenElse(hn::IsNaN(v), v, hn::BitCast(d, kept));
#endif
  }
}
template <class T>
struct HalfCube {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Mul(rounded<T>(d, hn::Mul(a, a)), a);
  }
};
template <class T>
struct HalfInverseSquare {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Div(hn::Set(d, 1.0f), rounded<T>(d, hn::Mul(a, a)));
  }
};
template <class Op, class T>
void half_tile(const void* const* inputs, void* to, int64_t size, const PointwiseParams&) {
  const hn::ScalableTag<float> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const Op op;
  const auto* in = static_cast<const T*>(inputs[0]);
  auto* out = static_cast<T*>(to);
  const auto n = static_cast<size_t>(size);
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) store_wide(d, op(d, load_wide(d, in + at)), out + at);
  if (at == n) return;
  const auto rest = load_wide_first(d, in + at, n - at, T(1.0f));
  store_wide_first(d, op(d, rest), out + at, n - at);
}

// The neighbours of a 16-bit float are those of its bits, sign and magnitude.
struct NextafterBits {
  template <class T>
  T operator()(T x, T y) const {
    const float from = x;
    const float to = y;
    if (std::isnan(from) || std::isnan(to)) return std::isnan(from) ? x : y;
    if (from == to) return y;
    if (from == 0) return T::from_bits(static_cast<uint16_t>(to > 0 ? 1 : 0x8001));
    const bool away = (from < to) == (from > 0);
    return T::from_bits(static_cast<uint16_t>(x.bits + (away ? 1 : -1)));
  }
};

// A function of float32 that is computed in float64.
template <class InDouble>
struct Widened {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return math::through_double(InDouble(), d, a, b);
  }
};

// max + log(1 + e^-|a - b|); equal infinities are their own result.
struct Logaddexp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V distance = hn::Abs(hn::Sub(a, b));
    const V rise = math::log1p(d, math::exp_negative(d, hn::Neg(distance)));
    const auto same_infinity = hn::And(hn::Eq(a, b), hn::Eq(hn::Abs(a), math::infinity(d)));
    return hn::IfThenElse(same_infinity, a, hn::Add(max_or_second(d, a, b), rise));
  }
};
struct Logaddexp2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V distance = hn::Abs(hn::Sub(a, b));
    const V rise = math::log1p(d, math::exp2(d, hn::Neg(distance)));
    const V scaled = hn::Mul(rise, math::constant(d, 0x1.71547652b82fep0));  // log2(e)
    const auto same_infinity = hn::And(hn::Eq(a, b), hn::Eq(hn::Abs(a), math::infinity(d)));
    return hn::IfThenElse(same_infinity, a, hn::Add(max_or_second(d, a, b), scaled));
  }
};

// a log(b), and 0 where a is 0, whatever b is, unless NaN.
struct Xlogy {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V product = hn::Mul(a, math::log(d, b));
    const auto zero = hn::And(hn::Eq(a, hn::Zero(d)), hn::Eq(b, b));
    return hn::IfThenZeroElse(zero, product);
  }
};

#if HWY_TARGET != HWY_SCALAR

struct HypotDouble {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V root = hn::Sqrt(hn::MulAdd(a, a, hn::Mul(b, b)));
    const auto infinite =
        hn::Or(hn::Eq(hn::Abs(a), math::infinity(d)), hn::Eq(hn::Abs(b), math::infinity(d)));
    return hn::IfThenElse(infinite, math::infinity(d), root);  // also beside a NaN
  }
};

// In float64 the squares could overflow or vanish: both operands are scaled by a power of two that
// brings the larger one near 1.
struct Hypot {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const hn::RebindToUnsigned<D> du;
    const auto mask = hn::Set(du, uint64_t{0x7ff} << 52);
    const V big = hn::Max(hn::Abs(a), hn::Abs(b));
    const auto exponent = hn::And(hn::BitCast(du, big), mask);
    const auto limited = hn::BitCast(du, hn::Min(hn::BitCast(d, exponent), hn::Set(d, 0x1p1022)));
    const auto up = hn::Sub(hn::Set(du, uint64_t{2046} << 52), limited);
    const V shrink = hn::BitCast(d, up);
    const V grow = hn::BitCast(d, hn::Sub(hn::Set(du, uint64_t{2046} << 52), up));
    const V root = HypotDouble()(d, hn::Mul(a, shrink), hn::Mul(b, shrink));
    return hn::Mul(root, grow);
  }
};

// a^b from |a|^b: the sign, and the cases that the C standard lists for pow. NaN operands have made
// a NaN by now, and so have infinity and zero times each other.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V pow_edges(D d, V a, V b, V power) {
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0);
  const V base = hn::Abs(a);
  const V infinity = math::infinity(d);
  const auto unit = hn::And(hn::Eq(base, one), hn::Eq(hn::Abs(b), infinity));
  const auto is_one = hn::Or(hn::Eq(b, zero), hn::Or(hn::Eq(a, one), unit));
  V result = hn::IfThenElse(is_one, one, power);

  const V half = hn::Mul(b, hn::Set(d, 0.5));
  const auto whole = hn::Eq(hn::Round(b), b);
  const auto odd = hn::And(whole, not_equal(hn::Round(half), half));
  result = hn::IfThenElse(odd, hn::Or(result, hn::And(a, hn::SignBit(d))), result);
  const auto negative = hn::And(hn::Lt(a, zero), hn::Lt(base, infinity));
  const auto undefined = hn::And(negative, not_equal(hn::Round(b), b));
  return hn::IfThenElse(undefined, math::nan(d), result);
}

// |a|^b = 2^(b log2 |a|) to 34 bits, which is what a float32 needs.
struct PowDouble {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V base = hn::Abs(a);
    const V infinity = math::infinity(d);
    V logarithm = log2_of_base(d, base);
    logarithm = hn::IfThenElse(hn::Eq(base, hn::Zero(d)), hn::Neg(infinity), logarithm);
    logarithm = hn::IfThenElse(hn::Lt(base, infinity), logarithm, base);  // infinity and NaN
    return pow_edges(d, a, b, exp2_of_product(d, hn::Mul(b, logarithm)));
  }

 private:
  template <class D, class V>
  static HWY_INLINE V log2_of_base(D d, V x) {
    // log2(m) = s p(s^2) with s = (m - 1) / (m + 1).
    static constexpr double kTerms[] = {
        0x1.71547652b8308p+1, 0x1.ec709dc388505p-1, 0x1.2776c534386cdp-1, 0x1.a6173750d326fp-2,
        0x1.48570cec42f23p-2, 0x1.0aea126fc305fp-2, 0x1.012727bcb2f0ep-2};
    const V one = hn::Set(d, 1.0);
    V exponent, mantissa;
    math::split_float(d, x, exponent, mantissa);
    const V s = hn::Div(hn::Sub(mantissa, one), hn::Add(mantissa, one));
    return hn::MulAdd(s, math::polynomial(d, hn::Mul(s, s), kTerms), exponent);
  }
  template <class D, class V>
  static HWY_INLINE V exp2_of_product(D d, V x) {
    static constexpr double kTerms[] = {
        0x1.ffffffffabbb6p-1, 0x1.62e42ff116241p-1,  0x1.ebfbe0a4bf63p-3,   0x1.c6b08aaf320ep-5,
        0x1.3b29dc403865ap-7, 0x1.5d8a70857417cp-10, 0x1.446a204d94dd9p-13, 0x1.fe1787dd95f6fp-17};
    // Far enough out that rounding to float32 gives 0 or infinity.
    const V below = min_or_second(d, hn::Set(d, 200.0), x);
    const V clamped = max_or_second(d, hn::Set(d, -200.0), below);
    const V magic = math::round_magic(d);
    const V n = hn::Sub(hn::Add(clamped, magic), magic);
    const V p = math::polynomial(d, hn::Sub(clamped, n), kTerms);
    return hn::Mul(p, math::power_of_two(d, n));
  }
};

// |a|^b = e^(b log |a|), where the logarithm is a sum of two numbers: b may multiply its error by
// more than a thousand.
struct Pow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V base = hn::Abs(a);
    const V infinity = math::infinity(d);
    V high, low;
    log_of_base(d, base, high, low);
    const V edge = hn::IfThenElse(hn::Eq(base, hn::Zero(d)), hn::Neg(infinity), base);
    const auto inside = hn::And(hn::Lt(hn::Zero(d), base), hn::Lt(base, infinity));
    high = hn::IfThenElse(inside, high, edge);  // zero, infinity and NaN
    const V product = hn::Mul(b, high);
    const V lost = hn::MulAdd(b, low, hn::MulSub(b, high, product));
    return pow_edges(d, a, b, exp_of_sum(d, product, lost));
  }

 private:
  // With 42 bits: its products with exponents are exact.
  static constexpr double kLn2High = 0x1.62e42fefa38p-1;
  static constexpr double kLn2Low = 0x1.ef35793c7673p-45;

  // log(2^k m) = k log 2 + 2 s + s^3 (2/3 + s^2 (2/5 + s^2 q(s^2))) with s = (m - 1) / (m + 1),
  // |s| <= 1/5. All but q counts beyond the last place of the result, and is kept in two parts.
  template <class D, class V>
  static HWY_INLINE void log_of_base(D d, V x, V& high, V& low) {
    static constexpr double kTerms[] = {
        0x1.2492492492483p-2, 0x1.c71c71c72152ep-3, 0x1.745d1740efd77p-3, 0x1.3b13b3ac6f26ep-3,
        0x1.1110619f9f3dap-3, 0x1.e21b83b66af75p-4, 0x1.a9ad4ff4de0d8p-4, 0x1.cce42a0b16eabp-4};
    const V one = hn::Set(d, 1.0);
    const V thirds = hn::Set(d, 0x1.5555555555555p-1);
    const V fifths = hn::Set(d, 0x1.999999999999ap-2);
    V exponent, mantissa;
    math::split_float(d, x, exponent, mantissa);
    const V top = hn::Sub(mantissa, one);
    const V bottom = hn::Add(mantissa, one);
    const V bottom_low = hn::Sub(mantissa, hn::Sub(bottom, one));
    const V inverse = hn::Div(one, bottom);
    const V s = hn::Mul(top, inverse);
    const V rest = hn::NegMulAdd(s, bottom_low, hn::NegMulAdd(s, bottom, top));
    const V s_low = hn::Mul(rest, inverse);
    const V z = hn::Mul(s, s);
    const V z_low = hn::MulAdd(hn::Add(s, s), s_low, hn::MulSub(s, s, z));

    const V end = hn::Mul(z, math::polynomial(d, z, kTerms));
    const V inner = hn::Add(fifths, end);
    const V inner_low =
        hn::Add(hn::Add(hn::Sub(fifths, inner), end), hn::Set(d, -0x1.999999999999ap-56));
    const V tail = hn::Mul(z, inner);
    const V tail_low =
        hn::MulAdd(z, inner_low, hn::MulAdd(z_low, inner, hn::MulSub(z, inner, tail)));
    const V factor = hn::Add(thirds, tail);
    const V factor_low = hn::Add(hn::Add(hn::Sub(thirds, factor), tail),
                                 hn::Add(tail_low, hn::Set(d, 0x1.5555555555555p-55)));
    const V cube = hn::Mul(s, z);
    const V cube_low = hn::MulAdd(s, z_low, hn::MulAdd(s_low, z, hn::MulSub(s, z, cube)));
    const V series = hn::Mul(cube, factor);
    const V series_low = hn::MulAdd(cube, factor_low,
                                    hn::MulAdd(cube_low, factor, hn::MulSub(cube, factor, series)));

    // Each sum is smaller than the one before it, or that is zero: what it lost is exact.
    const V whole = hn::Mul(exponent, hn::Set(d, kLn2High));
    const V twice = hn::Add(s, s);
    const V first = hn::Add(whole, twice);
    const V second = hn::Add(first, series);
    V lost =
        hn::Add(hn::Sub(twice, hn::Sub(first, whole)), hn::Sub(series, hn::Sub(second, first)));
    lost = hn::Add(lost, hn::MulAdd(exponent, hn::Set(d, kLn2Low),
                                    hn::MulAdd(hn::Set(d, 2.0), s_low, series_low)));
    high = hn::Add(second, lost);
    low = hn::Sub(lost, hn::Sub(high, second));
  }

  // e^(x + lost)
  template <class D, class V>
  static HWY_INLINE V exp_of_sum(D d, V x, V lost) {
    // Far enough out that the result is 0 or infinity.
    const V below = min_or_second(d, hn::Set(d, 800.0), x);
    const V clamped = max_or_second(d, hn::Set(d, -800.0), below);
    const V magic = math::round_magic(d);
    const V shifted = hn::MulAdd(clamped, hn::Set(d, 0x1.71547652b82fep0), magic);
    math::Reduced<D> n;
    n.whole = hn::Sub(shifted, magic);
    n.bits = hn::BitCast(hn::RebindToSigned<D>(), shifted);
    const V high = hn::NegMulAdd(n.whole, hn::Set(d, kLn2High), clamped);
    const V low =
        hn::NegMulAdd(n.whole, hn::Set(d, kLn2Low), hn::IfThenElseZero(hn::Eq(clamped, x), lost));
    n.rest = hn::Add(high, low);
    const V rest_low = hn::Sub(low, hn::Sub(n.rest, high));
    const V p = math::exp_series(d, n.rest);
    const V tail = hn::Add(n.rest, hn::MulAdd(hn::Mul(p, n.rest), n.rest, rest_low));
    return math::scale_by_power(d, hn::Add(hn::Set(d, 1.0), tail), n);
  }
};

#endif

template <class T>
void enter_power(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kPow, kDType, &scalar_tile<LibraryPow, T, 2>);
  table.add(Pointwise::kPowScalar, kDType,
            &pow_scalar_tile<T, &scalar_tile<LibraryPowScalar, T, 1>>);
  table.add(Pointwise::kHypot, kDType, &scalar_tile<LibraryHypot, T, 2>);
  table.add(Pointwise::kNextafter, kDType, &scalar_tile<Nextafter, T, 2>);
  table.override(Pointwise::kXlogy, kDType, &map_tile<Xlogy, T, 2>, Numbers::kExact);
  table.override(Pointwise::kLogaddexp, kDType, &map_tile<Logaddexp, T, 1>, Numbers::kExact);
  table.override(Pointwise::kLogaddexp2, kDType, &map_tile<Logaddexp2, T, 1>, Numbers::kExact);
}

// Of 16-bit floats: float32, a few at a time.
template <class T, TileFn kFloat>
void pow_scalar_half_tile(const void* const* inputs,
                          void* to,
                          int64_t n,
                          const PointwiseParams& params) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
  constexpr int64_t kAtOnce = 64 * kLanes;
  HWY_ALIGN float wide[kAtOnce];
  const auto* in = static_cast<const T*>(inputs[0]);
  auto* out = static_cast<T*>(to);
  for (int64_t begin = 0; begin < n; begin += kAtOnce) {
    const int64_t count = std::min(kAtOnce, n - begin);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::Store(load_wide(d, in + begin + i), d, wide + i);
    }
    for (; i < count; ++i) wide[i] = in[begin + i];
    const void* const from[1] = {wide};
    kFloat(from, wide, count, params);
    for (i = 0; i + kLanes <= count; i += kLanes) {
      store_wide(d, hn::Load(d, wide + i), out + begin + i);
    }
    for (; i < count; ++i) out[begin + i] = T(wide[i]);
  }
}

template <class T, TileFn kFloat>
void enter_half(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  // Functions that widening to float32 would change, or that are less work without.
  table.add(Pointwise::kNextafter, kDType, &scalar_tile<NextafterBits, T, 2>);
  table.add(Pointwise::kCube, kDType, &half_tile<HalfCube<T>, T>);
  table.add(Pointwise::kInverseSquare, kDType, &half_tile<HalfInverseSquare<T>, T>);
  table.add(Pointwise::kPowScalar, kDType, &pow_scalar_tile<T, &pow_scalar_half_tile<T, kFloat>>);
}

}  // namespace

void power(TileTable& table) {
  enter_power<float>(table);
  enter_power<double>(table);
#if HWY_TARGET == HWY_SCALAR
  constexpr TileFn kPowScalarFloat = &scalar_tile<LibraryPowScalar, float, 1>;
#else
  constexpr TileFn kPowScalarFloat = &map_tile<PowScalar<Widened<PowDouble>>, float, 1>;
  table.add(Pointwise::kPow, DType::kFloat32, &map_tile<Widened<PowDouble>, float, 1>);
  table.add(Pointwise::kPow, DType::kFloat64, &map_tile<Pow, double, 1>);
  table.add(Pointwise::kPowScalar, DType::kFloat32, &pow_scalar_tile<float, kPowScalarFloat>);
  table.add(Pointwise::kPowScalar, DType::kFloat64,
            &pow_scalar_tile<double, &map_tile<PowScalar<Pow>, double, 1>>);
  table.add(Pointwise::kHypot, DType::kFloat32, &map_tile<Widened<HypotDouble>, float, 2>);
  table.add(Pointwise::kHypot, DType::kFloat64, &map_tile<Hypot, double, 2>);
#endif
  enter_half<Half, kPowScalarFloat>(table);
  enter_half<BFloat16, kPowScalarFloat>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(power);
void add_power(TileTable& table) { HWY_DYNAMIC_DISPATCH(power)(table); }
}  // namespace mindtorch::cpu
#endif
