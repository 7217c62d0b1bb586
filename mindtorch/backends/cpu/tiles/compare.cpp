// Comparison and logic, on every dtype; the result is bool.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/compare.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "mindtorch/backends/cpu/tiles/compare-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// Logic: a value is true when it is not zero, so NaN is true.
template <class D, class V>
HWY_INLINE hn::Mask<D> truth(D d, V a) {
  return not_equal(a, hn::Zero(d));
}
struct LogicalAnd {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a, V b) const {
    return hn::And(truth(d, a), truth(d, b));
  }
};
struct LogicalOr {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a, V b) const {
    return hn::Or(truth(d, a), truth(d, b));
  }
};
struct LogicalXor {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a, V b) const {
    return hn::Xor(truth(d, a), truth(d, b));
  }
};
struct LogicalNot {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a) const {
    return hn::Eq(a, hn::Zero(d));
  }
};

// a > b is b < a: the same tile with its inputs exchanged.
template <TileFn kTile>
void swapped(const void* const* inputs, void* out, int64_t n, const PointwiseParams& params) {
  const void* const exchanged[2] = {inputs[1], inputs[0]};
  kTile(exchanged, out, n, params);
}

// kDType's elements, held as T.
template <DType kDType, class T>
void enter_compare(TileTable& table) {
  table.add(Pointwise::kEq, kDType, &test_tile<Eq, T>);
  table.add(Pointwise::kNe, kDType, &test_tile<Ne, T>);
  table.add(Pointwise::kLt, kDType, &test_tile<Lt, T>);
  table.add(Pointwise::kLe, kDType, &test_tile<Le, T>);
  table.add(Pointwise::kGt, kDType, &swapped<&test_tile<Lt, T>>);
  table.add(Pointwise::kGe, kDType, &swapped<&test_tile<Le, T>>);
  table.add(Pointwise::kLogicalAnd, kDType, &test_tile<LogicalAnd, T>);
  table.add(Pointwise::kLogicalOr, kDType, &test_tile<LogicalOr, T>);
  table.add(Pointwise::kLogicalXor, kDType, &test_tile<LogicalXor, T>);
  table.add(Pointwise::kLogicalNot, kDType, &test_tile<LogicalNot, T>);
}

}  // namespace

void compare(TileTable& table) {
  enter_compare<DType::kBool, uint8_t>(table);
  enter_compare<DType::kUInt8, uint8_t>(table);
  enter_compare<DType::kInt8, int8_t>(table);
  enter_compare<DType::kInt16, int16_t>(table);
  enter_compare<DType::kInt32, int32_t>(table);
  enter_compare<DType::kInt64, int64_t>(table);
  enter_compare<DType::kFloat32, float>(table);
  enter_compare<DType::kFloat64, double>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(compare);
void add_compare(TileTable& table) { HWY_DYNAMIC_DISPATCH(compare)(table); }
}  // namespace mindtorch::cpu
#endif
