// Activations that need an exponential or a logarithm. Those that only compare are in select.cpp.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/activation.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <limits>

#include "mindtorch/backends/cpu/tiles/erf-inl.h"
#include "mindtorch/backends/cpu/tiles/half-inl.h"
#include "mindtorch/backends/cpu/tiles/sigmoid-inl.h"
#include "mindtorch/ops/functions.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

struct Silu {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    const double x = a.raw;
    const double e = std::exp(-std::fabs(x));
    return V(static_cast<hn::TFromD<D>>(x * (x < 0 ? e : 1) / (1 + e)));
  }
};
struct GeluTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    const double x = a.raw;
    const double z = x * (0x1.9884533d43651p0 + 0x1.2444f2a4d8b4bp-4 * (x * x));
    const double e = std::exp(-std::fabs(z));
    return V(static_cast<hn::TFromD<D>>(x * (x < 0 ? e : 1) / (1 + e)));
  }
};
struct Gelu {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    const double x = a.raw;
    if (x > 40) return a;  // also where the difference below would be infinity minus infinity
    // -x / sqrt(2), and to first order what its rounding changes.
    const double scaled = x * -0x1.6a09e667f3bcdp-1;
    const double lost = std::fma(x, -0x1.6a09e667f3bcdp-1, -scaled) + x * 0x1.bdd3413b26456p-55;
    const double slope = 0x1.20dd750429b6dp0 * std::exp(-scaled * scaled);  // 2 / sqrt(pi) e^-y^2
    return V(static_cast<hn::TFromD<D>>(x * 0.5 * (std::erfc(scaled) - lost * slope)));
  }
};
struct GeluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V grad) const {
    const double x = a.raw;
    const double below = 0.5 * std::erfc(x * -0x1.6a09e667f3bcdp-1);
    const double density = 0x1.9884533d43651p-2 * std::exp(-0.5 * x * x);  // 1 / sqrt(2 pi)
    return V(static_cast<hn::TFromD<D>>(grad.raw * (below + x * density)));
  }
};

#else

// -inf times a factor that has become 0 is NaN, in torch too.
template <class D, class V>
HWY_INLINE V nan_at_minus_infinity(D d, V a, V result) {
  using L = std::numeric_limits<hn::TFromD<D>>;
  return hn::IfThenElse(hn::Eq(a, hn::Set(d, -L::infinity())), hn::Set(d, L::quiet_NaN()), result);
}

template <class D, class V>
HWY_INLINE V one_unless_negative(D d, V a) {
  return hn::IfThenZeroElse(hn::Lt(a, hn::Zero(d)), math::constant(d, 1));
}
// max(a, 0) - q; NaN at minus infinity.
template <class D, class V>
HWY_INLINE V positive_part_less(D d, V a, V q) {
  return hn::MulSub(a, one_unless_negative(d, a), q);
}

// Sigmoid times x. The product comes before the power of two, which may make it subnormal.
struct Silu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = max_or_second(d, math::constant(d, -120.0f, -760.0), hn::Or(a, hn::SignBit(d)));
    const auto n = math::reduce_exp(d, x);
    const V rest = math::exp_of_rest<true>(d, n.rest);
    const V below = math::scale_by_power(d, hn::Mul(rest, x), n);
    const V bottom = hn::Add(math::constant(d, 1), math::scale_by_power(d, rest, n));
    const V result = hn::Div(hn::IfThenElse(hn::Lt(a, hn::Zero(d)), below, a), bottom);
    return nan_at_minus_infinity(d, a, result);
  }
};

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), 2u = x (c + k x^2). The exponential multiplies the error of
// its argument by its size, so the argument is carried in two parts.
struct GeluTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = math::constant(d, 1);
    const V c = math::constant(d, 0x1.988454p0f, 0x1.9884533d43651p0);
    const V k = math::constant(d, 0x1.2444f2p-4f, 0x1.2444f2a4d8b4bp-4);
    // Beyond this the result is a or zero.
    const V x = min_or_second(d, math::constant(d, 12.0f, 24.0), hn::Abs(a));
    const V square = hn::Mul(x, x);
    const V cubic = hn::Mul(k, square);
    const V inner = hn::Add(cubic, c);
    const V added = hn::Sub(inner, cubic);
    V low = hn::Add(hn::Sub(cubic, hn::Sub(inner, added)), hn::Sub(c, added));
    low = hn::Add(low, hn::MulSub(k, square, cubic));
    low = hn::MulAdd(k, hn::MulSub(x, x, square), low);
    low = hn::MulAdd(square, math::constant(d, 0x1.49b16ap-29f, 0), low);
    low = hn::Add(low, math::constant(d, -0x1.857936p-25f, 0));
    const V z = hn::Mul(x, inner);
    low = hn::MulAdd(x, low, hn::MulSub(x, inner, z));

    auto n = math::reduce_exp(d, hn::Neg(z));
    n.rest = hn::Sub(n.rest, low);
    const V rest = math::exp_of_rest<true>(d, n.rest);
    const V below = hn::Neg(math::scale_by_power(d, hn::Mul(rest, x), n));
    const V bottom = hn::Add(one, math::scale_by_power(d, rest, n));
    const V result = hn::Div(hn::IfThenElse(hn::Lt(a, hn::Zero(d)), below, a), bottom);
    return nan_at_minus_infinity(d, a, result);
  }
};

// x Phi(x): with t = |x| and q = t Phi(-t) it is max(x, -0) - q. Phi(-t) is
// e^(-t^2 / 2) times a slowly falling function, here a quotient of polynomials.
struct Gelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    if constexpr (math::kIsFloat32<D>) {
      const V t = min_or_second(d, hn::Set(d, 14.5f), hn::Abs(a));
      const V magic = math::round_magic(d);
      // t^2 = rest - 2 ln(2) whole. The product with the first part of 2 ln(2) is exact.
      const V scaled = hn::Mul(t, hn::Set(d, -0x1.715476p-1f));  // -1 / (2 ln 2)
      const V shifted = hn::MulAdd(t, scaled, magic);
      math::Reduced<D> n;
      n.whole = hn::Sub(shifted, magic);
      n.bits = hn::BitCast(hn::RebindToSigned<D>(), shifted);
      n.rest = hn::MulAdd(t, t, hn::Mul(n.whole, hn::Set(d, 0x1.62e4p0f)));
      n.rest = hn::MulAdd(n.whole, hn::Set(d, 0x1.7f7d1cp-19f), n.rest);
      const V above = hn::Mul(math::polynomial(d, t, polynomials::kGeluTop), t);
      const V top = hn::Mul(above, math::polynomial(d, n.rest, polynomials::kGeluExp));
      const V bottom = math::polynomial(d, t, polynomials::kGeluBottom);
      return positive_part_less(d, a, math::scale_by_power(d, hn::Div(top, bottom), n));
    } else {
      const V t = min_or_second(d, hn::Set(d, 38.6), hn::Abs(a));
      const V x = hn::Mul(t, hn::Set(d, 0x1.6a09e667f3bcdp-1));
      const V half = hn::Set(d, 0.5);
      return positive_part_less(d, a, math::gaussian_tail(d, t, half, x, hn::Mul(t, half)));
    }
  }
};

// Its derivative times `grad`: Phi(x) + x phi(x), with one exponential for both.
struct GeluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V grad) const {
    const V t = min_or_second(d, hn::Set(d, 14.5f), hn::Abs(a));
    const V minus_half = hn::Set(d, -0.5f);
    const V square = hn::Mul(t, t);
    auto n = math::reduce_exp(d, hn::Mul(square, minus_half));
    n.rest = hn::MulAdd(hn::MulSub(t, t, square), minus_half, n.rest);
    const V fall = math::scale_by_power(d, math::exp_of_rest(d, n.rest), n);
    const V top = hn::Mul(math::polynomial(d, t, polynomials::kGeluTop), fall);
    const V tail = hn::Div(top, math::polynomial(d, t, polynomials::kGeluBottom));
    const V below = hn::IfThenElse(hn::Lt(a, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
    const V density = hn::Mul(fall, hn::Set(d, 0x1.988454p-2f));  // 1 / sqrt(2 pi)
    return hn::Mul(grad, hn::MulAdd(a, density, below));
  }
};

// Gelu to the accuracy of 16-bit floats. Phi is 1/2 plus an odd polynomial in the middle; farther
// out t Phi(-t) is e^(-t^2 / 2) times a polynomial in 1 / t^2.
struct HalfGelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    static constexpr float kMiddle[] = {0x1.9883cep-2f,   -0x1.104e04p-4f, 0x1.464936p-7f,
                                        -0x1.33d28cp-10f, 0x1.cad50ep-14f, -0x1.0403b2p-17f,
                                        0x1.8c3f84p-22f,  -0x1.28e9cep-27f};
    const V t = min_or_second(d, hn::Set(d, 14.0f), hn::Abs(a));
    const V square = hn::Mul(t, t);
    const auto is_middle = hn::Le(t, hn::Set(d, 2.5f));
    const V phi = hn::MulAdd(a, math::polynomial(d, square, kMiddle), hn::Set(d, 0.5f));
    if (hn::AllTrue(d, is_middle)) return hn::Mul(a, phi);
    const V beyond = hn::IfThenZeroElse(is_middle, tail(d, square));
    return hn::MulSub(a, hn::IfThenElse(is_middle, phi, one_unless_negative(d, a)), beyond);
  }

 private:
  template <class D, class V>
  static HWY_INLINE V tail(D d, V square) {
    static constexpr float kTerms[] = {0x1.9880b8p-2f, -0x1.95edd6p-2f, 0x1.11d4e4p0f,
                                       -0x1.93858p1f, 0x1.480acap2f};
    static constexpr float kPower[] = {0x1.00002cp0f, 0x1.62d166p-1f, 0x1.ee7998p-3f,
                                       0x1.aa13a2p-5f, 0x1.bb7d66p-7f};  // 2^r for r in [0, 1)
    const V exponent = hn::Mul(square, hn::Set(d, -0x1.715476p-1f));     // -1 / (2 ln 2)
    math::Reduced<D> n;
    n.whole = hn::Floor(exponent);
    n.bits = hn::BitCast(hn::RebindToSigned<D>(), hn::Add(n.whole, math::round_magic(d)));
    n.rest = hn::Sub(exponent, n.whole);
    const V factor = math::polynomial(d, inverse(d, square), kTerms);
    return math::scale_by_power(d, hn::Mul(math::polynomial(d, n.rest, kPower), factor), n);
  }
  // To 14 bits.
  template <class D, class V>
  static HWY_INLINE V inverse(D d, V a) {
#if HWY_TARGET <= HWY_AVX3
    (void)d;
    return V{_mm512_rcp14_ps(a.raw)};
#else
    return hn::Div(hn::Set(d, 1.0f), a);
#endif
  }
};

#endif

// x tanh(log(1 + e^x)) = x u / (u + 2) with u = w (w + 2), w = e^x.
struct Mish {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V two = math::constant(d, 2);
    const V w = math::exp_negative(d, min_or_second(d, math::constant(d, 20.0f, 40.0), a));
    const V u = hn::Mul(w, hn::Add(w, two));
    return hn::Mul(a, hn::Div(u, hn::Add(u, two)));
  }
};

struct Elu {
  explicit Elu(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V alpha = math::constant(d, params.f[0] * params.f[1]);
    const V scale = math::constant(d, params.f[1]);
    const V input_scale = math::constant(d, params.f[2]);
    const auto is_negative = hn::Lt(a, hn::Zero(d));
    // NaN comes out of the product as well.
    if (hn::AllFalse(d, is_negative)) return hn::Mul(a, scale);
    const V below = hn::Mul(alpha, math::expm1(d, hn::Mul(a, input_scale)));
    return hn::IfThenElse(is_negative, below, hn::Mul(a, scale));
  }
  PointwiseParams params;
};

struct Softplus {
  explicit Softplus(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V beta = math::constant(d, params.f[0]);
    const V z = hn::Mul(a, beta);
    const V curve = hn::Div(math::log1p(d, math::exp(d, z)), beta);
    return hn::IfThenElse(hn::Gt(z, math::constant(d, params.f[1])), a, curve);
  }
  PointwiseParams params;
};

struct LogSigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V e = math::exp_negative(d, hn::Or(a, hn::SignBit(d)));
    return hn::Sub(min_or_second(d, hn::Zero(d), a), math::log1p(d, e));
  }
};

template <class T, int kUnroll>
void enter_activation(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kSigmoid, kDType, &map_tile<Sigmoid, T, kUnroll>);
  table.add(Pointwise::kSilu, kDType, &map_tile<Silu, T, kUnroll>);
  table.add(Pointwise::kGelu, kDType, &map_tile<Gelu, T, 2>);
  table.add(Pointwise::kGeluTanh, kDType, &map_tile<GeluTanh, T, 2>);
  table.add(Pointwise::kMish, kDType, &map_tile<Mish, T, 2>);
  table.add(Pointwise::kElu, kDType, &map_tile<Elu, T, 2>);
  table.add(Pointwise::kSoftplus, kDType, &map_tile<Softplus, T, 1>);
  table.add(Pointwise::kLogSigmoid, kDType, &map_tile<LogSigmoid, T, 1>);
}

}  // namespace

void activation(TileTable& table) {
  enter_activation<float, 4>(table);
  enter_activation<double, 2>(table);
  const Pointwise gelu_backward = ops::function_info(Pointwise::kGelu).derivatives[0].function;
  table.override(gelu_backward, DType::kFloat32, &map_tile<GeluBackward, float, 2>,
                 Numbers::kExact);
}

void half_activation(HalfTable& table) {
  enter_half<Elu>(table, Pointwise::kElu);
#if HWY_TARGET == HWY_SCALAR
  enter_half<Gelu>(table, Pointwise::kGelu);
#else
  enter_half<HalfGelu>(table, Pointwise::kGelu, Numbers::kExact);
#endif
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(activation);
HWY_EXPORT(half_activation);
void add_activation(TileTable& table) { HWY_DYNAMIC_DISPATCH(activation)(table); }
void add_half_activation(HalfTable& table) { HWY_DYNAMIC_DISPATCH(half_activation)(table); }
}  // namespace mindtorch::cpu
#endif
