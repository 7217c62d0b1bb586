// Functions of two floats built on powers and logarithms.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/power.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// clang-format off
struct LibraryPow { template <class T> T operator()(T x, T y) const { return std::pow(x, y); } };
struct LibraryHypot { template <class T> T operator()(T x, T y) const { return std::hypot(x, y); } };
struct Nextafter { template <class T> T operator()(T x, T y) const { return std::nextafter(x, y); } };
// clang-format on

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

// |a|^b = 2^(b log2 |a|) to 34 bits, which is what a float32 needs; then the sign and the cases
// that the C standard lists for pow.
struct PowDouble {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, 1.0);
    const V base = hn::Abs(a);
    const V infinity = math::infinity(d);

    V logarithm = log2_of_base(d, base);
    logarithm = hn::IfThenElse(hn::Eq(base, zero), hn::Neg(infinity), logarithm);
    logarithm = hn::IfThenElse(hn::Lt(base, infinity), logarithm, base);  // infinity and NaN
    const V power = exp2_of_product(d, hn::Mul(b, logarithm));

    // Both NaN operands and infinity times zero have made NaN by now.
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

#endif

template <class T>
void enter(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kPow, kDType, &scalar_tile<LibraryPow, T, 2>);
  table.add(Pointwise::kHypot, kDType, &scalar_tile<LibraryHypot, T, 2>);
  table.add(Pointwise::kNextafter, kDType, &scalar_tile<Nextafter, T, 2>);
  table.add(Pointwise::kXlogy, kDType, &map_tile<Xlogy, T, 2>);
  table.add(Pointwise::kLogaddexp, kDType, &map_tile<Logaddexp, T, 1>);
  table.add(Pointwise::kLogaddexp2, kDType, &map_tile<Logaddexp2, T, 1>);
}

}  // namespace

void power(TileTable& table) {
  enter<float>(table);
  enter<double>(table);
  // The one function that widening to float32 would change.
  table.add(Pointwise::kNextafter, DType::kFloat16, &scalar_tile<NextafterBits, Half, 2>);
  table.add(Pointwise::kNextafter, DType::kBFloat16, &scalar_tile<NextafterBits, BFloat16, 2>);
#if HWY_TARGET != HWY_SCALAR
  table.add(Pointwise::kPow, DType::kFloat32, &map_tile<Widened<PowDouble>, float, 1>);
  table.add(Pointwise::kHypot, DType::kFloat32, &map_tile<Widened<HypotDouble>, float, 2>);
  table.add(Pointwise::kHypot, DType::kFloat64, &map_tile<Hypot, double, 2>);
#endif
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(power);
void add_power(TileTable& table) { HWY_DYNAMIC_DISPATCH(power)(table); }
}  // namespace mindtorch::cpu
#endif
