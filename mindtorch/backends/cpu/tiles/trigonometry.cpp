// Trigonometry.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/trigonometry.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/trig-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct Sin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::sin(d, a);
  }
};
struct Cos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::cos(d, a);
  }
};
struct Tan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::tan(d, a);
  }
};
struct Deg2rad {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Mul(a, math::constant(d, 0x1.1df46a2529d39p-6));  // pi / 180
  }
};
struct Rad2deg {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Mul(a, math::constant(d, 0x1.ca5dc1a63c1f8p5));  // 180 / pi
  }
};

// The angle is rounded before its sine is taken, as in torch: whole numbers give no exact zeros.
struct Sinc {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V angle = hn::Mul(a, math::constant(d, 0x1.921fb6p1f, 0x1.921fb54442d18p1));
    const V result = hn::Div(math::sin(d, angle), angle);
    return hn::IfThenElse(hn::Eq(a, hn::Zero(d)), math::constant(d, 1), result);
  }
};

// clang-format off
struct LibraryAsin { template <class T> T operator()(T x) const { return std::asin(x); } };
struct LibraryAcos { template <class T> T operator()(T x) const { return std::acos(x); } };
struct LibraryAtan { template <class T> T operator()(T x) const { return std::atan(x); } };
struct LibraryAtan2 { template <class T> T operator()(T y, T x) const { return std::atan2(y, x); } };
// clang-format on

#if HWY_TARGET != HWY_SCALAR

// pi / 2 and what its rounding left out.
template <class D>
HWY_INLINE hn::Vec<D> half_pi(D d) {
  return math::constant(d, 0x1.921fb6p0f, 0x1.921fb54442d18p0);
}
template <class D>
HWY_INLINE hn::Vec<D> half_pi_low(D d) {
  return math::constant(d, -0x1.777a5cp-25f, 0x1.1a62633145c07p-54);
}

// asin(s) for s in [0, 1/2], given s and its square.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V asin_small(D d, V s, V square) {
  V p;
  if constexpr (math::kIsFloat32<D>) {
    static constexpr float kTerms[] = {0x1.55554cp-3f, 0x1.3338acp-4f, 0x1.6ca80ep-5f,
                                       0x1.04c3fp-5f,  0x1.d692a2p-7f, 0x1.3415f6p-5f};
    p = math::polynomial(d, square, kTerms);
  } else {
    static constexpr double kTerms[] = {
        0x1.5555555555577p-3, 0x1.333333332e10bp-4, 0x1.6db6db7215438p-5, 0x1.f1c71a9395849p-6,
        0x1.6e8bdf0d32e36p-6, 0x1.1c49ecd4ce882p-6, 0x1.ca1fe9e43f3b2p-7, 0x1.75825ce8741b5p-7,
        0x1.614f74a089937p-7, 0x1.e4c871fa9927ap-9, 0x1.63fc610025f78p-6, -0x1.588b0b92dca43p-6,
        0x1.0b74b9263df0cp-5};
    p = math::polynomial(d, square, kTerms);
  }
  return hn::MulAdd(hn::Mul(p, square), s, s);
}

// Beyond 1/2 through asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)), where 1 - x is exact.
template <class D>
struct FoldedAsin {
  hn::Vec<D> small;
  hn::Mask<D> large;

  HWY_INLINE FoldedAsin(D d, hn::Vec<D> x) {
    const auto half = math::constant(d, 0.5);
    large = hn::Gt(x, half);
    const auto complement = hn::Mul(hn::Sub(math::constant(d, 1), x), half);
    const auto square = hn::IfThenElse(large, complement, hn::Mul(x, x));
    small = asin_small(d, hn::IfThenElse(large, hn::Sqrt(complement), x), square);
  }
};
struct Asin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const FoldedAsin<D> f(d, hn::Abs(a));
    const V folded =
        hn::Add(hn::NegMulAdd(math::constant(d, 2), f.small, half_pi(d)), half_pi_low(d));
    return hn::CopySign(hn::IfThenElse(f.large, folded, f.small), a);
  }
};
struct Acos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    // acos(x) = 2 asin(s) for x > 1/2, pi minus that for x < -1/2, pi/2 - asin(x) between.
    const FoldedAsin<D> f(d, hn::Abs(a));
    const V pi = hn::Add(half_pi(d), half_pi(d));
    const V pi_low = hn::Add(half_pi_low(d), half_pi_low(d));
    const V twice = hn::Add(f.small, f.small);
    const V pi_minus = hn::Sub(pi, hn::Sub(twice, pi_low));
    const V outer = hn::IfThenElse(hn::Lt(a, hn::Zero(d)), pi_minus, twice);
    const V inner = hn::Sub(half_pi(d), hn::Sub(hn::CopySign(f.small, a), half_pi_low(d)));
    return hn::IfThenElse(f.large, outer, inner);
  }
};

// atan(top / bottom) for 0 <= top <= bottom, bottom > 0. float64 also folds at 22.5 degrees, which
// halves the length of its polynomial.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atan_of_ratio(D d, V top, V bottom) {
  if constexpr (math::kIsFloat32<D>) {
    static constexpr float kTerms[] = {-0x1.55553ep-2f, 0x1.9991e4p-3f, -0x1.2420a6p-3f,
                                       0x1.c08f38p-4f,  -0x1.58167p-4f, 0x1.da6828p-5f,
                                       -0x1.fe1aap-6f,  0x1.64f01p-7f,  -0x1.d5041cp-10f};
    const V t = hn::Div(top, bottom);
    const V z = hn::Mul(t, t);
    return hn::MulAdd(hn::Mul(math::polynomial(d, z, kTerms), z), t, t);
  } else {
    static constexpr double kTerms[] = {
        -0x1.5555555555554p-2, 0x1.9999999999584p-3, -0x1.249249246f58ap-3, 0x1.c71c71b458a16p-4,
        -0x1.745d14503e8b2p-4, 0x1.3b1364ef2cd63p-4, -0x1.110beb6723de6p-4, 0x1.e167ba2f5885ep-5,
        -0x1.ab3bec3b13e76p-5, 0x1.6fe4d3844ed21p-5, -0x1.0fd517e0c983cp-5, 0x1.e84be795b6f7cp-7};
    const auto steep = hn::Gt(top, hn::Mul(bottom, hn::Set(d, 0.4142135623730951)));
    const V numerator = hn::IfThenElse(steep, hn::Sub(top, bottom), top);
    const V t = hn::Div(numerator, hn::IfThenElse(steep, hn::Add(top, bottom), bottom));
    const V z = hn::Mul(t, t);
    const V small = hn::Mul(hn::Mul(math::polynomial(d, z, kTerms), z), t);
    const V eighth = hn::IfThenElseZero(steep, hn::Mul(half_pi(d), hn::Set(d, 0.5)));
    const V low = hn::IfThenElseZero(steep, hn::Mul(half_pi_low(d), hn::Set(d, 0.5)));
    return hn::Add(eighth, hn::Add(t, hn::Add(small, low)));
  }
}
// atan(x) of float64 for x up to 1, with a quotient of polynomials.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atan_up_to_one(D d, V x) {
  static constexpr double kTop[] = {-0x1.5555555555554p-2, -0x1.7fd8612ce30fdp-1,
                                    -0x1.2e7b2c7387158p-1, -0x1.8cf3aa02db076p-3,
                                    -0x1.8d6ca10e682ecp-6, -0x1.95aae44667c06p-11};
  static constexpr double kBottom[] = {1.0,
                                       0x1.6caf15ae770a7p1,
                                       0x1.86d067087af43p1,
                                       0x1.8694b7bda7c8p0,
                                       0x1.6d31f0120a6bep-2,
                                       0x1.15d9872968029p-5,
                                       0x1.c1d4be1c8f77p-11};
  const V z = hn::Mul(x, x);
  const V top = hn::Mul(hn::Mul(x, z), math::polynomial(d, z, kTop));
  return hn::Add(x, hn::Div(top, math::polynomial(d, z, kBottom)));
}
struct Atan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = hn::Abs(a);
    const V one = math::constant(d, 1);
    const auto large = hn::Gt(x, one);
    if constexpr (math::kIsFloat32<D>) {
      const V angle =
          atan_of_ratio(d, hn::IfThenElse(large, one, x), hn::IfThenElse(large, x, one));
      return fold(d, angle, large, a);
    } else {
      if (hn::AllFalse(d, large)) return hn::CopySign(atan_up_to_one(d, x), a);
      return fold(d, atan_up_to_one(d, hn::IfThenElse(large, hn::Div(one, x), x)), large, a);
    }
  }

 private:
  template <class D, class V>
  static HWY_INLINE V fold(D d, V angle, hn::Mask<D> large, V a) {
    const V folded = hn::Sub(half_pi(d), hn::Sub(angle, half_pi_low(d)));
    return hn::CopySign(hn::IfThenElse(large, folded, angle), a);
  }
};
struct Atan2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V x) const {
    const V up = hn::Abs(y);
    const V side = hn::Abs(x);
    const V zero = hn::Zero(d);
    const V one = math::constant(d, 1);
    const V big = hn::Max(up, side);
    // Zero by zero is an angle of 0, infinity by infinity one of 45 degrees.
    const auto equal = hn::Eq(up, side);
    const V diagonal = hn::IfThenElse(hn::Eq(big, zero), zero, one);
    // Halves, so that the sum of two large numbers does not overflow. Nothing is lost: where the
    // operands are subnormal they are doubled instead.
    const V scale = hn::IfThenElse(hn::Gt(big, one), math::constant(d, 0.5), math::constant(d, 2));
    const V top = hn::IfThenElse(equal, diagonal, hn::Mul(hn::Min(up, side), scale));
    const V bottom = hn::IfThenElse(equal, one, hn::Mul(big, scale));
    V angle = atan_of_ratio(d, top, bottom);
    const V steep = hn::Sub(half_pi(d), hn::Sub(angle, half_pi_low(d)));
    angle = hn::IfThenElse(hn::Gt(up, side), steep, angle);
    const hn::RebindToSigned<D> di;
    const auto behind = hn::RebindMask(d, hn::Lt(hn::BitCast(di, x), hn::Zero(di)));
    const V pi_low = hn::Add(half_pi_low(d), half_pi_low(d));
    const V back = hn::Sub(hn::Add(half_pi(d), half_pi(d)), hn::Sub(angle, pi_low));
    angle = hn::CopySign(hn::IfThenElse(behind, back, angle), y);
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), math::nan(d), angle);
  }
};

#endif

template <class T, int kTanUnroll>
void enter_trigonometry(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kSin, kDType, &map_tile<Sin, T, 2>);
  table.add(Pointwise::kCos, kDType, &map_tile<Cos, T, 2>);
  table.add(Pointwise::kTan, kDType, &map_tile<Tan, T, kTanUnroll>);
  table.add(Pointwise::kDeg2rad, kDType, &map_tile<Deg2rad, T>);
  table.add(Pointwise::kRad2deg, kDType, &map_tile<Rad2deg, T>);
  table.add(Pointwise::kAsin, kDType, &scalar_tile<LibraryAsin, T, 1>);
  table.add(Pointwise::kAcos, kDType, &scalar_tile<LibraryAcos, T, 1>);
  table.add(Pointwise::kAtan, kDType, &scalar_tile<LibraryAtan, T, 1>);
  table.add(Pointwise::kAtan2, kDType, &scalar_tile<LibraryAtan2, T, 2>);
}

}  // namespace

void trigonometry(TileTable& table) {
  enter_trigonometry<float, 1>(table);
  enter_trigonometry<double, 2>(table);
  table.add(Pointwise::kSinc, DType::kFloat32, &map_tile<Sinc, float, 1>);
  table.add(Pointwise::kSinc, DType::kFloat64, &map_tile<Sinc, double, 1>);
#if HWY_TARGET != HWY_SCALAR
  table.add(Pointwise::kAsin, DType::kFloat32, &map_tile<Asin, float, 2>);
  table.add(Pointwise::kAcos, DType::kFloat32, &map_tile<Acos, float, 2>);
  table.add(Pointwise::kAtan, DType::kFloat32, &map_tile<Atan, float, 2>);
  table.add(Pointwise::kAtan2, DType::kFloat32, &map_tile<Atan2, float, 2>);
  table.add(Pointwise::kAsin, DType::kFloat64, &map_tile<Asin, double, 1>);
  table.add(Pointwise::kAcos, DType::kFloat64, &map_tile<Acos, double, 1>);
  table.add(Pointwise::kAtan, DType::kFloat64, &map_tile<Atan, double, 1>);
  table.add(Pointwise::kAtan2, DType::kFloat64, &map_tile<Atan2, double, 1>);
#endif
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(trigonometry);
void add_trigonometry(TileTable& table) { HWY_DYNAMIC_DISPATCH(trigonometry)(table); }
}  // namespace mindtorch::cpu
#endif
