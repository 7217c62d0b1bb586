// Arithmetic on integers and bool.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/arithmetic_int.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// bool is held as bytes of 0 and 1.
struct BoolOr {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Or(a, b);
  }
};
struct BoolAnd {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::And(a, b);
  }
};
struct BoolAddScaled {
  explicit BoolAddScaled(const PointwiseParams& p) : scale(p.i[0] != 0 ? 1 : 0) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return hn::Or(a, hn::And(b, hn::Set(d, scale)));
  }
  uint8_t scale;
};

template <class... Ts>
void enter_arithmetic_int(TileTable& table) {
  add_map<Add, Ts...>(table, Pointwise::kAdd);
  add_map<Sub, Ts...>(table, Pointwise::kSub);
  add_map<Mul, Ts...>(table, Pointwise::kMul);
  add_map<AddScaled, Ts...>(table, Pointwise::kAddScaled);
  add_map<Maximum, Ts...>(table, Pointwise::kMaximum);
  add_map<Minimum, Ts...>(table, Pointwise::kMinimum);
  add_map<Maximum, Ts...>(table, Pointwise::kFmax);
  add_map<Minimum, Ts...>(table, Pointwise::kFmin);
  add_map<Abs, Ts...>(table, Pointwise::kAbs);
  add_map<Neg, Ts...>(table, Pointwise::kNeg);
  add_map<Sign, Ts...>(table, Pointwise::kSign);
  add_map<Square, Ts...>(table, Pointwise::kSquare);
  add_map<Cube, Ts...>(table, Pointwise::kCube);
  add_map<Relu, Ts...>(table, Pointwise::kRelu);
  add_map<Heaviside, Ts...>(table, Pointwise::kHeaviside);
}

template <class Op>
void enter_bool(TileTable& table, Pointwise function) {
  table.add(function, DType::kBool, &map_tile<Op, uint8_t>);
}

}  // namespace

void arithmetic_int(TileTable& table) {
  enter_arithmetic_int<uint8_t, int8_t, int16_t, int32_t, int64_t>(table);
  enter_bool<BoolOr>(table, Pointwise::kAdd);
  enter_bool<BoolAnd>(table, Pointwise::kMul);
  enter_bool<BoolAddScaled>(table, Pointwise::kAddScaled);
  enter_bool<BoolOr>(table, Pointwise::kMaximum);
  enter_bool<BoolAnd>(table, Pointwise::kMinimum);
  enter_bool<BoolOr>(table, Pointwise::kFmax);
  enter_bool<BoolAnd>(table, Pointwise::kFmin);
  enter_bool<Heaviside>(table, Pointwise::kHeaviside);
  table.add(Pointwise::kSign, DType::kBool, &copy_tile<bool>);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(arithmetic_int);
void add_arithmetic_int(TileTable& table) { HWY_DYNAMIC_DISPATCH(arithmetic_int)(table); }
}  // namespace mindtorch::cpu
#endif
