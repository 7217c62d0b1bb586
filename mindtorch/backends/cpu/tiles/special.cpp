// Error functions, gamma functions and logit.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/special.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <math.h>  // lgamma_r

#include "mindtorch/backends/cpu/tiles/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// clang-format off
struct LibraryErf { template <class T> T operator()(T x) const { return std::erf(x); } };
struct LibraryErfc { template <class T> T operator()(T x) const { return std::erfc(x); } };
// clang-format on

// std::lgamma writes the sign to a global variable, which threads must not share.
struct Lgamma {
  double operator()(double x) const {
    int sign = 0;
    return ::lgamma_r(x, &sign);
  }
  float operator()(float x) const { return static_cast<float>((*this)(static_cast<double>(x))); }
};

// Reflection for negative x, recurrence up to 10, then the asymptotic series.
struct Digamma {
  double operator()(double x) const {
    if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
    double result = 0;
    if (x < 0) {
      const double fraction = x - std::trunc(x);
      if (fraction == 0) return std::numeric_limits<double>::quiet_NaN();
      result = -kPi / std::tan(kPi * fraction);
      x = 1 - x;
    }
    for (; x < 10; x += 1) result -= 1 / x;
    const double z = 1 / (x * x);
    // Bernoulli numbers over their index: B(2k) / 2k.
    const double series =
        z *
        (1.0 / 12 -
         z * (1.0 / 120 -
              z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
    return result + std::log(x) - 0.5 / x - (x < 1e17 ? series : 0);
  }
  float operator()(float x) const { return static_cast<float>((*this)(static_cast<double>(x))); }
  static constexpr double kPi = 0x1.921fb54442d18p1;
};

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

struct LogitDouble {
  explicit LogitDouble(const PointwiseParams& params) : eps(params.f[0]) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = hn::Set(d, 1.0);
    V x = a;
    if (eps >= 0) {
      x = max_or_second(d, hn::Set(d, eps), x);
      x = min_or_second(d, hn::Set(d, 1 - eps), x);
    }
    return math::log(d, hn::Div(x, hn::Sub(one, x)));
  }
  double eps;
};
struct LogitFloat {
  explicit LogitFloat(const PointwiseParams& params) : in_double(params) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(in_double, d, a);
  }
  LogitDouble in_double;
};

#if HWY_TARGET != HWY_SCALAR

// Up to 1 an odd polynomial; beyond, 1 - e^-Q with a polynomial Q, exact enough since what is
// subtracted from 1 is small.
struct Erf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    static constexpr float kNear[] = {0x1.06eba8p-3f,  -0x1.81273ep-2f, 0x1.ce2ce6p-4f,
                                      -0x1.b7f71ap-6f, 0x1.53f224p-8f,  -0x1.a3515ep-11f,
                                      0x1.4771fcp-14f};
    static constexpr float kFar[] = {0x1.6e751ep-12f, 0x1.2086c8p0f,   0x1.46c20cp-1f,
                                     0x1.a621b6p-4f,  -0x1.656ce8p-6f, 0x1.819f46p-9f,
                                     -0x1.85aeeap-13f};
    const V one = hn::Set(d, 1.0f);
    const V x = min_or_second(d, hn::Set(d, 4.0f), hn::Abs(a));
    const V square = hn::Mul(x, x);
    const V close = hn::MulAdd(math::polynomial(d, square, kNear), x, x);
    const auto n = math::reduce_exp(d, hn::Neg(math::polynomial(d, x, kFar)));
    const V rest = math::exp_of_rest(d, n.rest);
    const V far = hn::NegMulAdd(rest, math::power_of_two(d, n.whole), one);
    return hn::CopySign(hn::IfThenElse(hn::Gt(x, one), far, close), a);
  }
};

// e^(-x^2) times a quotient of polynomials.
struct Erfc {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(InDouble(), d, a);
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
      const V fall = math::exp_negative(d, hn::Neg(hn::Mul(x, x)));
      const V top = hn::Mul(math::polynomial(d, x, kTop), fall);
      const V tail = hn::Div(top, math::polynomial(d, x, kBottom));
      return hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Sub(hn::Set(d, 2.0), tail), tail);
    }
  };
};

// y times a function of w = -log(1 - y^2): a polynomial in w in the middle, in sqrt(w) at the ends.
struct Erfinv {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(InDouble(), d, a);
  }
  struct InDouble {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V a) const {
      static constexpr double kMiddle[] = {
          0x1.805c5d07444c3p+0,   0x1.f91e8b0ae9eb8p-3,  -0x1.11c4202df0f24p-8,
          -0x1.486645f487b28p-10, 0x1.c9c59a0f51d17p-13, -0x1.4cfcbdeb6c3b0p-18,
          -0x1.ccfc8a0468f23p-19, 0x1.f43eb8d0eca75p-22, 0x1.35e4ce00e8e74p-26,
          -0x1.2d6d26c7e9158p-27, 0x1.70db719871accp-32};
      static constexpr double kEnds[] = {0x1.6a9efbdbdcff3p+1,   0x1.006dc5486f6aep+0,
                                         0x1.3580cdfed4ff2p-7,   -0x1.f484703754962p-8,
                                         0x1.74b3907f5fe3ap-8,   -0x1.d784f2a3ba43fp-9,
                                         0x1.854f606fff71ap-10,  -0x1.dc4a422dc2aacp-15,
                                         -0x1.449f1db6f0b35p-12, 0x1.e553248dd0952p-14};
      const V one = hn::Set(d, 1.0);
      const V w = hn::Neg(math::log(d, hn::Mul(hn::Sub(one, a), hn::Add(one, a))));
      const V middle = math::polynomial(d, hn::Sub(w, hn::Set(d, 2.5)), kMiddle);
      const V ends = math::polynomial(d, hn::Sub(hn::Sqrt(w), hn::Set(d, 3.0)), kEnds);
      const V result = hn::Mul(a, hn::IfThenElse(hn::Lt(w, hn::Set(d, 5.0)), middle, ends));
      return hn::IfThenElse(hn::Eq(hn::Abs(a), one), hn::CopySign(math::infinity(d), a), result);
    }
  };
};

#endif

template <class T>
void enter(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kErf, kDType, &scalar_tile<LibraryErf, T, 1>);
  table.add(Pointwise::kErfc, kDType, &scalar_tile<LibraryErfc, T, 1>);
  table.add(Pointwise::kErfinv, kDType, &scalar_tile<ErfinvByIteration, T, 1>);
  table.add(Pointwise::kLgamma, kDType, &scalar_tile<Lgamma, T, 1>);
  table.add(Pointwise::kDigamma, kDType, &scalar_tile<Digamma, T, 1>);
}

}  // namespace

void special(TileTable& table) {
  enter<float>(table);
  enter<double>(table);
  table.add(Pointwise::kLogit, DType::kFloat32, &map_tile<LogitFloat, float, 1>);
  table.add(Pointwise::kLogit, DType::kFloat64, &map_tile<LogitDouble, double, 1>);
#if HWY_TARGET != HWY_SCALAR
  table.add(Pointwise::kErf, DType::kFloat32, &map_tile<Erf, float, 2>);
  table.add(Pointwise::kErfc, DType::kFloat32, &map_tile<Erfc, float, 2>);
  table.add(Pointwise::kErfinv, DType::kFloat32, &map_tile<Erfinv, float, 1>);
#endif
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(special);
void add_special(TileTable& table) { HWY_DYNAMIC_DISPATCH(special)(table); }
}  // namespace mindtorch::cpu
#endif
