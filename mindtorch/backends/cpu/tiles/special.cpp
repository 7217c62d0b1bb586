// Gamma functions and logit.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/special.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <math.h>  // lgamma_r

#include "mindtorch/backends/cpu/tiles/math-inl.h"
#include "mindtorch/ops/functions/special_functions.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// std::lgamma writes the sign to a global variable, which threads must not share.
struct Lgamma {
  double operator()(double x) const {
    int sign = 0;
    return ::lgamma_r(x, &sign);
  }
  float operator()(float x) const { return static_cast<float>((*this)(static_cast<double>(x))); }
};

struct Digamma {
  double operator()(double x) const { return ops::special::digamma(x); }
  float operator()(float x) const { return static_cast<float>((*this)(static_cast<double>(x))); }
};

// The derivative of digamma: reflection, recurrence up to 10, then the asymptotic series.
struct Trigamma {
  double operator()(double x) const {
    double sign = 1;
    double result = 0;
    if (x < 0.5) {
      const double sine = std::sin(kPi * (x - std::trunc(x)));
      result = kPi * kPi / (sine * sine);
      sign = -1;
      x = 1 - x;
    }
    for (; x < 10; x += 1) result += sign / (x * x);
    const double z = 1 / (x * x);
    // Bernoulli numbers B(2k).
    const double series =
        z / x *
        (1.0 / 6 -
         z * (1.0 / 30 -
              z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730 - z * 7 / 6))))));
    return result + sign * (1 / x + z / 2 + series);
  }
  float operator()(float x) const { return static_cast<float>((*this)(static_cast<double>(x))); }
  static constexpr double kPi = 0x1.921fb54442d18p1;
};

struct Logit {
  explicit Logit(const PointwiseParams& params) : params(params) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = math::constant(d, 1);
    V x = a;
    if (params.f[0] >= 0) {
      // The lower bound decides where it lies above the upper one.
      const V low = math::constant(d, params.f[0]);
      const V high = math::constant(d, params.f[1]);
      x = hn::IfThenElse(hn::Lt(a, low), low, hn::IfThenElse(hn::Gt(a, high), high, a));
    }
    return math::log(d, hn::Div(x, hn::Sub(one, x)));
  }
  PointwiseParams params;
};

template <class T>
void enter(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kLgamma, kDType, &scalar_tile<Lgamma, T, 1>);
  table.add(Pointwise::kDigamma, kDType, &scalar_tile<Digamma, T, 1>);
  table.add(Pointwise::kTrigamma, kDType, &scalar_tile<Trigamma, T, 1>);
}

}  // namespace

void special(TileTable& table) {
  enter<float>(table);
  enter<double>(table);
  table.add(Pointwise::kLogit, DType::kFloat32, &map_tile<Logit, float, 1>);
  table.add(Pointwise::kLogit, DType::kFloat64, &map_tile<Logit, double, 1>);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(special);
void add_special(TileTable& table) { HWY_DYNAMIC_DISPATCH(special)(table); }
}  // namespace mindtorch::cpu
#endif
