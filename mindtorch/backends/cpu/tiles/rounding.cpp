// Rounding of floats. Integers are whole already: their tiles copy.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/rounding.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <cmath>
#include <limits>

#include "mindtorch/backends/cpu/tiles/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct Frac {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    return hn::Sub(a, trunc(a));
  }
};

// Scales by a power of ten, rounds, scales back.
struct RoundDecimals {
  explicit RoundDecimals(const PointwiseParams& params)
      : up(params.i[0] >= 0), scale(std::pow(10.0, static_cast<double>(std::abs(params.i[0])))) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V ten = hn::Set(d, static_cast<hn::TFromD<D>>(scale));
    return up ? hn::Div(round(hn::Mul(a, ten)), ten) : hn::Mul(round(hn::Div(a, ten)), ten);
  }
  bool up;
  double scale;
};

struct NanToNum {
  explicit NanToNum(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    using T = hn::TFromD<D>;
    const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
    const V value = hn::IfThenElse(hn::IsNaN(a), hn::Set(d, param<T>(params, 0)), a);
    const V below = hn::IfThenElse(hn::Eq(a, infinity), hn::Set(d, param<T>(params, 1)), value);
    return hn::IfThenElse(hn::Eq(a, hn::Neg(infinity)), hn::Set(d, param<T>(params, 2)), below);
  }
  PointwiseParams params;
};

}  // namespace

void rounding(TileTable& table) {
  add_map<Ceil, float, double>(table, Pointwise::kCeil);
  add_map<Floor, float, double>(table, Pointwise::kFloor);
  add_map<Round, float, double>(table, Pointwise::kRound);
  add_map<Trunc, float, double>(table, Pointwise::kTrunc);
  add_steps<Frac, float, double>(table, Pointwise::kFrac);
  add_map<RoundDecimals, float, double>(table, Pointwise::kRoundDecimals);
  add_steps<NanToNum, float, double>(table, Pointwise::kNanToNum);
  for (Pointwise function : {Pointwise::kCeil, Pointwise::kFloor, Pointwise::kRound,
                             Pointwise::kTrunc, Pointwise::kNanToNum}) {
    table.add(function, DType::kUInt8, &copy_tile<uint8_t>);
    table.add(function, DType::kInt8, &copy_tile<int8_t>);
    table.add(function, DType::kInt16, &copy_tile<int16_t>);
    table.add(function, DType::kInt32, &copy_tile<int32_t>);
    table.add(function, DType::kInt64, &copy_tile<int64_t>);
  }
  table.add(Pointwise::kNanToNum, DType::kBool, &copy_tile<bool>);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(rounding);
void add_rounding(TileTable& table) { HWY_DYNAMIC_DISPATCH(rounding)(table); }
}  // namespace mindtorch::cpu
#endif
