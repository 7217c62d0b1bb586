// Sigmoid and tanh of vectors, compiled once per instruction set.

#include "mindtorch/backends/cpu/tiles/math-inl.h"

#if defined(MT_TILES_SIGMOID_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_SIGMOID_INL_H_
#undef MT_TILES_SIGMOID_INL_H_
#else
#define MT_TILES_SIGMOID_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    const auto e = std::exp(-std::fabs(a.raw));
    return V((a.raw < 0 ? e : 1) / (1 + e));
  }
};

struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    return V(std::tanh(a.raw));
  }
};

#else

// 1 / (1 + e^-|x|) and, for negative x, e^-|x| / (1 + e^-|x|): accurate also where it is tiny.
struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = math::constant(d, 1);
    const V x = max_or_second(d, math::constant(d, -104.0f, -746.0), hn::Or(a, hn::SignBit(d)));
    const auto n = math::reduce_exp(d, x);
    const V e = math::scale_by_power(d, math::exp_of_rest(d, n.rest), n);
    return hn::Div(hn::IfThenElse(hn::Lt(a, hn::Zero(d)), e, one), hn::Add(one, e));
  }
};

// On |x|; beyond the clamp the result is 1. float32 has a polynomial for the small arguments, where
// 1 - 2 / (e^2x + 1) would cancel. float64 uses t / (t + 2) with t = e^2x - 1 instead, and puts
// back what the sum t + 2 rounded away.
struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = math::constant(d, 1);
    const V two = math::constant(d, 2);
    const V x = min_or_second(d, math::constant(d, 10.0f, 20.0), hn::Abs(a));
    if constexpr (math::kIsFloat32<D>) {
      const V square = hn::Mul(x, x);
      const V small =
          hn::MulAdd(hn::Mul(math::polynomial(d, square, polynomials::kTanh), square), x, x);
      const auto is_small = hn::Lt(x, one);
      if (hn::AllTrue(d, is_small)) return hn::CopySign(small, a);
      // e^2x = 2^whole e^(2 rest); the low bits of the shifted number are those of 2^whole.
      const V magic = hn::Set(d, 0x1.8p23f + 127);
      const V shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p1f), magic);
      const V whole = hn::Sub(shifted, magic);
      const V rest = hn::NegMulAdd(whole, hn::Set(d, 0x1.62e43p-2f), x);
      const hn::RebindToSigned<D> di;
      const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
      const V e = math::polynomial(d, rest, polynomials::kTanhExp);
      const V large = hn::Sub(one, hn::Div(two, hn::MulAdd(e, scale, one)));
      return hn::CopySign(hn::IfThenElse(is_small, small, large), a);
    } else {
      const auto n = math::reduce_exp(d, hn::Add(x, x));
      const V scale = math::power_of_two(d, n.whole);
      const V t = hn::MulAdd(scale, math::expm1_of_rest(d, n.rest), hn::Sub(scale, one));
      const V sum = hn::Add(t, two);
      const V lost = hn::Sub(t, hn::Sub(sum, two));
      const V quotient = hn::Div(t, sum);
      // The clamp bounds sum from below by 2: dividing by it is close to scaling what is lost.
      const V corrected = hn::NegMulAdd(hn::Mul(quotient, lost), hn::Div(one, sum), quotient);
      return hn::CopySign(corrected, a);
    }
  }
};

#endif  // HWY_SCALAR

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
