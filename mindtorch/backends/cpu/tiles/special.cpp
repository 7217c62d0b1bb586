// Gamma and Bessel functions and logit.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/special.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/bessel-inl.h"
#include "mindtorch/backends/cpu/tiles/gamma-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// float32 is computed in float64 and rounded once.
template <class F>
struct InDouble {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    if constexpr (math::kIsFloat32<D>) {
      return math::through_double(F(), d, a);
    } else {
      return F()(d, a);
    }
  }
};

template <bool kRounded>
struct Lgamma {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::lgamma<kRounded>(d, a);
  }
};
struct Digamma {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::digamma(d, a);
  }
};
#if HWY_TARGET != HWY_SCALAR
template <int kOrder, bool kScaled>
struct BesselI {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::bessel_i<kOrder, kScaled>(d, a);
  }
};
#endif

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
void enter_special(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  constexpr bool kIsRounded = std::is_same_v<T, float>;
  table.add(Pointwise::kLgamma, kDType, &map_tile<InDouble<Lgamma<kIsRounded>>, T, 1>);
  table.add(Pointwise::kDigamma, kDType, &map_tile<InDouble<Digamma>, T, 1>);
  table.add(Pointwise::kTrigamma, kDType, &scalar_tile<Trigamma, T, 1>);
#if HWY_TARGET != HWY_SCALAR
  table.add(Pointwise::kBesselI0, kDType, &map_tile<InDouble<BesselI<0, false>>, T, 1>);
  table.add(Pointwise::kBesselI0e, kDType, &map_tile<InDouble<BesselI<0, true>>, T, 1>);
  table.add(Pointwise::kBesselI1, kDType, &map_tile<InDouble<BesselI<1, false>>, T, 1>);
  table.add(Pointwise::kBesselI1e, kDType, &map_tile<InDouble<BesselI<1, true>>, T, 1>);
#endif
}

}  // namespace

void special(TileTable& table) {
  enter_special<float>(table);
  enter_special<double>(table);
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
