// The error function, its complement and its inverse.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/error_function.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/erf-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

// clang-format off
struct LibraryErf { template <class T> T operator()(T x) const { return std::erf(x); } };
struct LibraryErfc { template <class T> T operator()(T x) const { return std::erfc(x); } };
// clang-format on

// A rough closed form, then two steps of Halley's method, each of which triples the digits. Near
// the ends the residual is taken from erfc, which still has its digits there.
struct ErfinvByIteration {
  double operator()(double y) const {
    const double magnitude = std::fabs(y);
    if (!(magnitude < 1)) {
      if (magnitude == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (magnitude < 1e-9) return y * 0x1.c5bf891b4ef6bp-1;  // sqrt(pi) / 2
    const double logarithm = std::log((1 - magnitude) * (1 + magnitude));
    const double t = 4.3307467508 + logarithm / 2;  // 2 / (0.147 pi)
    double x = std::sqrt(std::sqrt(t * t - logarithm / 0.147) - t);
    for (int step = 0; step < 2; ++step) {
      const double residual =
          magnitude < 0.5 ? std::erf(x) - magnitude : (1 - magnitude) - std::erfc(x);
      const double newton = residual / (0x1.20dd750429b6dp0 * std::exp(-x * x));  // 2 / sqrt(pi)
      x -= newton / (1 + x * newton);
    }
    return std::copysign(x, y);
  }
  float operator()(float y) const { return static_cast<float>((*this)(static_cast<double>(y))); }
};

#else

// Up to 1 an odd polynomial; beyond, 1 - e^-Q with a polynomial Q, exact enough since what is
// subtracted from 1 is small.
struct ErfFloat {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = hn::Set(d, 1.0f);
    const V x = min_or_second(d, hn::Set(d, 4.0f), hn::Abs(a));
    const V square = hn::Mul(x, x);
    const V close = hn::MulAdd(math::polynomial(d, square, polynomials::kErfNear), x, x);
    const auto is_far = hn::Gt(x, one);
    if (hn::AllFalse(d, is_far)) return hn::CopySign(close, a);
    const auto n = math::reduce_exp(d, hn::Neg(math::polynomial(d, x, polynomials::kErfFar)));
    const V rest = math::exp_of_rest(d, n.rest);
    const V far = hn::NegMulAdd(rest, math::power_of_two(d, n.whole), one);
    return hn::CopySign(hn::IfThenElse(is_far, far, close), a);
  }
};

struct ErfDouble {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = hn::Abs(a);
#if HWY_TARGET <= HWY_AVX3
    return hn::CopySign(math::erf_by_table(d, x), a);
#else
    const V one = hn::Set(d, 1.0);
    const V close = math::erf_of_small(d, min_or_second(d, one, x));
    const auto is_close = hn::Le(x, one);
    if (hn::AllTrue(d, is_close)) return hn::CopySign(close, a);
    const V limited = min_or_second(d, hn::Set(d, 6.0), x);
    const V far = hn::Sub(one, math::erfc_of_positive(d, limited));
    return hn::CopySign(hn::IfThenElse(is_close, close, far), a);
#endif
  }
};

// Up to 1 it is 1 - x - x times the series of erf: both differences keep their digits.
struct ErfcDouble {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = hn::Set(d, 1.0);
    const V close = hn::NegMulAdd(a, math::erf_series(d, a), hn::Sub(one, a));
    const auto is_close = hn::Le(hn::Abs(a), one);
    if (hn::AllTrue(d, is_close)) return close;
    const V tail = math::erfc_of_positive(d, hn::Abs(a));
    const V far = hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Sub(hn::Set(d, 2.0), tail), tail);
    return hn::IfThenElse(is_close, close, far);
  }
};

// The far part in float64, to the accuracy that float32 needs: e^(-x^2) times a shorter quotient.
struct ErfcFloat {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = hn::Set(d, 1.0f);
    const V series = math::polynomial(d, hn::Mul(a, a), polynomials::kErfNear);
    const V close = hn::NegMulAdd(a, series, hn::Sub(one, a));
    const auto is_close = hn::Le(hn::Abs(a), one);
    if (hn::AllTrue(d, is_close)) return close;
    return hn::IfThenElse(is_close, close, math::through_double(InDouble(), d, a));
  }
  struct InDouble {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V a) const {
      static constexpr double kTop[] = {1.0,
                                        0x1.9da0a4ebc409p+0,
                                        0x1.4867fc0056065p+0,
                                        0x1.39d9e09068072p-1,
                                        0x1.78dfdad52cb74p-3,
                                        0x1.0e29575afc669p-5,
                                        0x1.6f87ef5691836p-9};
      static constexpr double kBottom[] = {1.0,
                                           0x1.5f3f0cf85ff34p+1,
                                           0x1.b08ac687bf537p+1,
                                           0x1.37938a33a4d36p+1,
                                           0x1.1da127236978ep+0,
                                           0x1.508a343ce7947p-2,
                                           0x1.ded95e92facadp-5,
                                           0x1.45b73fe328d6p-8};
      const V x = min_or_second(d, hn::Set(d, 12.0), hn::Abs(a));
      const V fall = math::short_exp(d, hn::Neg(hn::Mul(x, x)));
      const V top = hn::Mul(math::polynomial(d, x, kTop), fall);
      const V tail = hn::Div(top, math::polynomial(d, x, kBottom));
      return hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Sub(hn::Set(d, 2.0), tail), tail);
    }
  };
};

// The inverse in the middle of its range: y times a quotient of polynomials in 1 - y^2, all of
// whose terms are positive.
struct ErfinvMiddleFloat {
  static constexpr double kLimit = 0.985;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y) const {
    static constexpr double kTop[] = {
        0x1.4471429907f88p+1,  0x1.706bd144c8835p+9,  0x1.2aaad2091f016p+15, 0x1.10aa28e9993fdp+19,
        0x1.3ed13a2721cbdp+21, 0x1.d266915cf13a8p+21, 0x1.5c8e9609deb61p+20, 0x1.f05a61794748bp+15};
    static constexpr double kBottom[] = {1.0,
                                         0x1.6539a62188a0cp+8,
                                         0x1.576911a455d0ap+14,
                                         0x1.76c0d6740de23p+18,
                                         0x1.0e95093bd677ap+21,
                                         0x1.054194e1fec57p+22,
                                         0x1.29f4296a6ed5cp+21,
                                         0x1.08be0d12e10b3p+18};
    const V u = hn::NegMulAdd(y, y, hn::Set(d, 1.0));
    const V top = hn::Mul(y, math::polynomial(d, u, kTop));
    return math::quick_quotient(d, top, math::polynomial(d, u, kBottom));
  }
};
// A part that is proportional to y, and the rest, which counts less.
struct ErfinvMiddleDouble {
  static constexpr double kLimit = 0.98;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y) const {
    static constexpr double kTop[] = {
        0x1.c827286302104p+0,  0x1.16e5d00ef1c16p+10, 0x1.2704e346a5106p+17, 0x1.b7d5acef89112p+22,
        0x1.1742f64829efap+27, 0x1.492f6f076fabep+30, 0x1.73991bb9a0ce0p+32, 0x1.8d77b1fe36617p+33,
        0x1.7c6595bc1bf6bp+33, 0x1.1cc8c65af4000p+32, 0x1.dec9503a2f482p+28, 0x1.9c3c8176fb412p+20};
    static constexpr double kBottom[] = {1.0,
                                         0x1.98596f943f4fep+9,
                                         0x1.09ca46c0faadap+17,
                                         0x1.e37e1174ea4e3p+22,
                                         0x1.7a416e78d1b45p+27,
                                         0x1.19164acbcf3f4p+31,
                                         0x1.9f3ce34f048d8p+33,
                                         0x1.33ad2f11a820dp+35,
                                         0x1.be757cf8cc775p+35,
                                         0x1.2886af73d2746p+35,
                                         0x1.37f3b2ac138ccp+33,
                                         0x1.6c0457d6ac7bep+29};
    const V square = hn::Mul(y, y);
    const V u = hn::NegMulAdd(y, y, hn::Set(d, 1.0));
    const V top = hn::Mul(hn::Mul(y, square), math::polynomial(d, u, kTop));
    const V rest = hn::Div(top, math::polynomial(d, u, kBottom));
    return hn::MulAdd(y, hn::Set(d, 0x1.c5bf891b4ef6bp-1), rest);  // sqrt(pi) / 2
  }
};

// Near the ends of its range the inverse is y times a function of w = -log(1 - y^2): a polynomial
// in w in the middle, in sqrt(w) at the ends.
template <size_t kEndTerms, class D, class V = hn::Vec<D>>
HWY_INLINE V erfinv_guess(D d, V y, const double (&ends)[kEndTerms]) {
  static constexpr double kMiddle[] = {
      0x1.805c5d07444c3p+0,  0x1.f91e8b0ae9eb8p-3,   -0x1.11c4202df0f24p-8,  -0x1.486645f487b28p-10,
      0x1.c9c59a0f51d17p-13, -0x1.4cfcbdeb6c3b0p-18, -0x1.ccfc8a0468f23p-19, 0x1.f43eb8d0eca75p-22,
      0x1.35e4ce00e8e74p-26, -0x1.2d6d26c7e9158p-27, 0x1.70db719871accp-32};
  const V one = hn::Set(d, 1.0);
  const V w = hn::Neg(math::log(d, hn::Mul(hn::Sub(one, y), hn::Add(one, y))));
  const V inner = math::polynomial(d, hn::Sub(w, hn::Set(d, 2.5)), kMiddle);
  const auto is_inner = hn::Lt(w, hn::Set(d, 5.0));
  if (hn::AllTrue(d, is_inner)) return hn::Mul(y, inner);
  const V outer = math::polynomial(d, hn::Sub(hn::Sqrt(w), hn::Set(d, 3.0)), ends);
  return hn::Mul(y, hn::IfThenElse(is_inner, inner, outer));
}

struct ErfinvEndsFloat {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    static constexpr double kEnds[] = {0x1.6a9efbdbdcff3p+1,   0x1.006dc5486f6aep+0,
                                       0x1.3580cdfed4ff2p-7,   -0x1.f484703754962p-8,
                                       0x1.74b3907f5fe3ap-8,   -0x1.d784f2a3ba43fp-9,
                                       0x1.854f606fff71ap-10,  -0x1.dc4a422dc2aacp-15,
                                       -0x1.449f1db6f0b35p-12, 0x1.e553248dd0952p-14};
    const V result = erfinv_guess(d, a, kEnds);
    const auto end = hn::Eq(hn::Abs(a), hn::Set(d, 1.0));
    return hn::IfThenElse(end, hn::CopySign(math::infinity(d), a), result);
  }
};
// In float64 one step of Halley's method follows, which triples the digits of a guess good to 20
// bits. Near the ends the residual is taken from erfc, which still has its digits there.
struct ErfinvEndsDouble {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    static constexpr double kEnds[] = {
        0x1.6a9ef7672302cp+1,  0x1.006eb78e486c4p+0,  0x1.35fd93cc8dd9cp-7,  -0x1.fd4d8212db355p-8,
        0x1.754ddcf44469ep-8,  -0x1.aa04fe396ac56p-9, 0x1.418193f936647p-10, -0x1.20ab6a17bc705p-12,
        0x1.0cc11e9fd211ap-15, -0x1.7367304cc3905p-20};
    const V one = hn::Set(d, 1.0);
    const V y = hn::Abs(a);
    const V x = erfinv_guess(d, y, kEnds);
    const V rise = math::exp(d, hn::Mul(x, x));
    const V scaled_erfc = hn::Div(math::scaled_erfc_top(d, x), math::scaled_erfc_bottom(d, x));
    const V outer = hn::MulSub(hn::Sub(one, y), rise, scaled_erfc);
    const V inner = hn::Mul(hn::Sub(math::erf_of_small(d, x), y), rise);
    const V residual = hn::IfThenElse(hn::Lt(y, hn::Set(d, 0.5)), inner, outer);
    const V newton = hn::Mul(residual, hn::Set(d, 0x1.c5bf891b4ef6bp-1));  // sqrt(pi) / 2
    const V better = hn::Sub(x, hn::Div(newton, hn::MulAdd(x, newton, one)));
    return hn::CopySign(hn::IfThenElse(hn::Eq(y, one), math::infinity(d), better), a);
  }
};

// Few numbers lie near the ends, where the function takes longer.
template <class Middle, class Ends>
struct Erfinv {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const auto is_middle = hn::Le(hn::Abs(a), math::constant(d, Middle::kLimit));
    const V middle = widened(Middle(), d, a);
    if (HWY_LIKELY(hn::AllTrue(d, is_middle))) return middle;
    return hn::IfThenElse(is_middle, middle, ends(d, a));
  }

 private:
  template <class F, class D, class V>
  static HWY_INLINE V widened(F function, D d, V a) {
    if constexpr (math::kIsFloat32<D>) {
      return math::through_double(function, d, a);
    } else {
      return function(d, a);
    }
  }
  template <class D, class V>
  static HWY_NOINLINE V ends(D d, V a) {
    return widened(Ends(), d, a);
  }
};

#endif

}  // namespace

void error_function(TileTable& table) {
#if HWY_TARGET == HWY_SCALAR
  table.add(Pointwise::kErf, DType::kFloat32, &scalar_tile<LibraryErf, float, 1>);
  table.add(Pointwise::kErf, DType::kFloat64, &scalar_tile<LibraryErf, double, 1>);
  table.add(Pointwise::kErfc, DType::kFloat32, &scalar_tile<LibraryErfc, float, 1>);
  table.add(Pointwise::kErfc, DType::kFloat64, &scalar_tile<LibraryErfc, double, 1>);
  table.add(Pointwise::kErfinv, DType::kFloat32, &scalar_tile<ErfinvByIteration, float, 1>);
  table.add(Pointwise::kErfinv, DType::kFloat64, &scalar_tile<ErfinvByIteration, double, 1>);
#else
  table.add(Pointwise::kErf, DType::kFloat32, &map_tile<ErfFloat, float, 2>);
  table.add(Pointwise::kErf, DType::kFloat64, &map_tile<ErfDouble, double, 2>);
  table.add(Pointwise::kErfc, DType::kFloat32, &map_tile<ErfcFloat, float, 1>);
  table.add(Pointwise::kErfc, DType::kFloat64, &map_tile<ErfcDouble, double, 1>);
  table.add(Pointwise::kErfinv, DType::kFloat32,
            &map_tile<Erfinv<ErfinvMiddleFloat, ErfinvEndsFloat>, float, 1>);
  table.add(Pointwise::kErfinv, DType::kFloat64,
            &map_tile<Erfinv<ErfinvMiddleDouble, ErfinvEndsDouble>, double, 2>);
#endif
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(error_function);
void add_error_function(TileTable& table) { HWY_DYNAMIC_DISPATCH(error_function)(table); }
}  // namespace mindtorch::cpu
#endif
