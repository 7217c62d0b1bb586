// Arithmetic on floats.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/arithmetic.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/sqrt-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct Div {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Div(a, b);
  }
};
struct InverseSquare {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), hn::Mul(a, a));
  }
};
struct Fmax {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return hn::IfThenElse(hn::IsNaN(a), b, max_or_second(d, b, a));
  }
};
struct Fmin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return hn::IfThenElse(hn::IsNaN(a), b, min_or_second(d, b, a));
  }
};
struct Copysign {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::CopySign(a, b);
  }
};

template <class... Ts>
void enter_arithmetic(TileTable& table) {
  add_map<Add, Ts...>(table, Pointwise::kAdd);
  add_map<Sub, Ts...>(table, Pointwise::kSub);
  add_map<Mul, Ts...>(table, Pointwise::kMul);
  add_steps<AddScaled, Ts...>(table, Pointwise::kAddScaled);
  add_map<Maximum, Ts...>(table, Pointwise::kMaximum);
  add_map<Minimum, Ts...>(table, Pointwise::kMinimum);
  add_map<Fmax, Ts...>(table, Pointwise::kFmax);
  add_map<Fmin, Ts...>(table, Pointwise::kFmin);
  add_map<Abs, Ts...>(table, Pointwise::kAbs);
  add_map<Neg, Ts...>(table, Pointwise::kNeg);
  add_steps<Sign, Ts...>(table, Pointwise::kSign);
  add_steps<Square, Ts...>(table, Pointwise::kSquare);
  add_steps<Cube, Ts...>(table, Pointwise::kCube);
  add_steps<Relu, Ts...>(table, Pointwise::kRelu);
  add_map<Copysign, Ts...>(table, Pointwise::kCopysign);
  add_steps<Heaviside, Ts...>(table, Pointwise::kHeaviside);
}

// What divides takes long enough to gain from whole vectors.
template <class T>
void enter_division(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kDiv, kDType, &map_tile<Div, T, 2>);
  table.override(Pointwise::kReciprocal, kDType, &map_tile<Reciprocal, T, 2>, Numbers::kStepwise);
  table.override(Pointwise::kInverseSquare, kDType, &map_tile<InverseSquare, T, 2>,
                 Numbers::kStepwise);
  table.add(Pointwise::kSqrt, kDType, &sqrt_tile<T>);
  table.override(Pointwise::kRsqrt, kDType, &map_tile<Rsqrt, T, 2>, Numbers::kStepwise);
}
}  // namespace

void arithmetic(TileTable& table) {
  enter_arithmetic<float, double>(table);
  enter_division<float>(table);
  enter_division<double>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(arithmetic);
void add_arithmetic(TileTable& table) { HWY_DYNAMIC_DISPATCH(arithmetic)(table); }
}  // namespace mindtorch::cpu
#endif
