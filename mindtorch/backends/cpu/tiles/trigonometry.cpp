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

struct SincDouble {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V angle = hn::Mul(a, hn::Set(d, 0x1.921fb54442d18p1));
    const V result = hn::Div(math::sin(d, angle), angle);
    return hn::IfThenElse(hn::Eq(a, hn::Zero(d)), hn::Set(d, 1.0), result);
  }
};
struct SincFloat {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(SincDouble(), d, a);
  }
};

// clang-format off
struct LibraryAsin { template <class T> T operator()(T x) const { return std::asin(x); } };
struct LibraryAcos { template <class T> T operator()(T x) const { return std::acos(x); } };
struct LibraryAtan { template <class T> T operator()(T x) const { return std::atan(x); } };
struct LibraryAtan2 { template <class T> T operator()(T y, T x) const { return std::atan2(y, x); } };
// clang-format on

#if HWY_TARGET != HWY_SCALAR

// asin(s) for s in [0, 1/2], given s and its square.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V asin_small(D d, V s, V square) {
  static constexpr float kTerms[] = {0x1.55554cp-3f, 0x1.3338acp-4f, 0x1.6ca80ep-5f,
                                     0x1.04c3fp-5f,  0x1.d692a2p-7f, 0x1.3415f6p-5f};
  const V p = math::polynomial(d, square, kTerms);
  return hn::MulAdd(hn::Mul(p, square), s, s);
}

// Beyond 1/2 through asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)), where 1 - x is exact. pi/2 comes
// in two parts.
struct Asin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = hn::Abs(a);
    const V half = hn::Set(d, 0.5f);
    const auto large = hn::Gt(x, half);
    const V complement = hn::Mul(hn::Sub(hn::Set(d, 1.0f), x), half);
    const V square = hn::IfThenElse(large, complement, hn::Mul(x, x));
    const V s = hn::IfThenElse(large, hn::Sqrt(complement), x);
    const V small = asin_small(d, s, square);
    const V folded = hn::Add(hn::NegMulAdd(hn::Set(d, 2.0f), small, hn::Set(d, 0x1.921fb6p0f)),
                             hn::Set(d, -0x1.777a5cp-25f));
    return hn::CopySign(hn::IfThenElse(large, folded, small), a);
  }
};
struct Acos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = hn::Abs(a);
    const V half = hn::Set(d, 0.5f);
    const auto large = hn::Gt(x, half);
    const V complement = hn::Mul(hn::Sub(hn::Set(d, 1.0f), x), half);
    const V square = hn::IfThenElse(large, complement, hn::Mul(x, x));
    const V s = hn::IfThenElse(large, hn::Sqrt(complement), x);
    const V small = asin_small(d, s, square);
    // acos(x) = 2 asin(s) for x > 1/2, pi minus that for x < -1/2, pi/2 - asin(x) between.
    const V twice = hn::Add(small, small);
    const V low = hn::Set(d, -0x1.777a5cp-25f);
    const V pi_minus = hn::Sub(hn::Set(d, 0x1.921fb6p1f), hn::Sub(twice, hn::Add(low, low)));
    const V outer = hn::IfThenElse(hn::Lt(a, hn::Zero(d)), pi_minus, twice);
    const V inner = hn::Sub(hn::Set(d, 0x1.921fb6p0f), hn::Sub(hn::CopySign(small, a), low));
    return hn::IfThenElse(large, outer, inner);
  }
};

// atan(t) - t for t in [0, 1].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atan_correction(D d, V t) {
  static constexpr float kTerms[] = {-0x1.55553ep-2f, 0x1.9991e4p-3f, -0x1.2420a6p-3f,
                                     0x1.c08f38p-4f,  -0x1.58167p-4f, 0x1.da6828p-5f,
                                     -0x1.fe1aap-6f,  0x1.64f01p-7f,  -0x1.d5041cp-10f};
  const V z = hn::Mul(t, t);
  return hn::Mul(hn::Mul(math::polynomial(d, z, kTerms), z), t);
}
struct Atan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = hn::Abs(a);
    const V one = hn::Set(d, 1.0f);
    const auto large = hn::Gt(x, one);
    const V t = hn::Div(hn::IfThenElse(large, one, x), hn::IfThenElse(large, x, one));
    const V c = atan_correction(d, t);
    const V low = hn::Set(d, -0x1.777a5cp-25f);
    const V folded = hn::Sub(hn::Set(d, 0x1.921fb6p0f), hn::Add(t, hn::Sub(c, low)));
    return hn::CopySign(hn::IfThenElse(large, folded, hn::Add(t, c)), a);
  }
};
struct Atan2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V x) const {
    const V top = hn::Abs(y);
    const V side = hn::Abs(x);
    const V zero = hn::Zero(d);
    const V big = hn::Max(top, side);
    // Zero by zero is an angle of 0, infinity by infinity one of 45 degrees.
    const auto equal = hn::Eq(top, side);
    const V ratio = hn::Div(hn::Min(top, side), big);
    const V diagonal = hn::IfThenElse(hn::Eq(big, zero), zero, hn::Set(d, 1.0f));
    const V t = hn::IfThenElse(equal, diagonal, ratio);
    V angle = hn::Add(t, atan_correction(d, t));
    angle = hn::IfThenElse(hn::Gt(top, side), fold(d, hn::Set(d, 0x1.921fb6p0f), angle, 1), angle);
    const hn::RebindToSigned<D> di;
    const auto behind = hn::RebindMask(d, hn::Lt(hn::BitCast(di, x), hn::Zero(di)));
    angle = hn::IfThenElse(behind, fold(d, hn::Set(d, 0x1.921fb6p1f), angle, 2), angle);
    angle = hn::CopySign(angle, y);
    const auto nan = hn::Or(hn::IsNaN(x), hn::IsNaN(y));
    return hn::IfThenElse(nan, math::nan(d), angle);
  }

 private:
  // `whole` is `count` quarter turns, rounded; `low` what the rounding of one left out.
  template <class D, class V>
  static HWY_INLINE V fold(D d, V whole, V angle, int count) {
    const V low = hn::Set(d, -0x1.777a5cp-25f * static_cast<float>(count));
    return hn::Sub(whole, hn::Sub(angle, low));
  }
};

#endif

template <class T>
void enter(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kSin, kDType, &map_tile<Sin, T, 2>);
  table.add(Pointwise::kCos, kDType, &map_tile<Cos, T, 2>);
  table.add(Pointwise::kTan, kDType, &map_tile<Tan, T, 1>);
  table.add(Pointwise::kDeg2rad, kDType, &map_tile<Deg2rad, T>);
  table.add(Pointwise::kRad2deg, kDType, &map_tile<Rad2deg, T>);
  table.add(Pointwise::kAsin, kDType, &scalar_tile<LibraryAsin, T, 1>);
  table.add(Pointwise::kAcos, kDType, &scalar_tile<LibraryAcos, T, 1>);
  table.add(Pointwise::kAtan, kDType, &scalar_tile<LibraryAtan, T, 1>);
  table.add(Pointwise::kAtan2, kDType, &scalar_tile<LibraryAtan2, T, 2>);
}

}  // namespace

void trigonometry(TileTable& table) {
  enter<float>(table);
  enter<double>(table);
  table.add(Pointwise::kSinc, DType::kFloat32, &map_tile<SincFloat, float, 1>);
  table.add(Pointwise::kSinc, DType::kFloat64, &map_tile<SincDouble, double, 1>);
#if HWY_TARGET != HWY_SCALAR
  table.add(Pointwise::kAsin, DType::kFloat32, &map_tile<Asin, float, 2>);
  table.add(Pointwise::kAcos, DType::kFloat32, &map_tile<Acos, float, 2>);
  table.add(Pointwise::kAtan, DType::kFloat32, &map_tile<Atan, float, 2>);
  table.add(Pointwise::kAtan2, DType::kFloat32, &map_tile<Atan2, float, 2>);
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
