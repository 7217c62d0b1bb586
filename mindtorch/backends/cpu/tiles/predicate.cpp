// Questions about the class of a number; the result is bool.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/predicate.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <limits>

#include "mindtorch/backends/cpu/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

template <class D>
HWY_INLINE hn::Vec<D> infinity(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
}

struct IsNan {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a) const {
    return hn::IsNaN(a);
  }
};
struct IsInf {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a) const {
    return hn::Eq(hn::Abs(a), infinity(d));
  }
};
struct IsFinite {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a) const {
    return hn::Lt(hn::Abs(a), infinity(d));
  }
};
struct IsPosInf {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a) const {
    return hn::Eq(a, infinity(d));
  }
};
struct IsNegInf {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a) const {
    return hn::Eq(a, hn::Neg(infinity(d)));
  }
};
// Of floats the sign bit itself, which -0 and some NaN have; of integers "below zero".
struct Signbit {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a) const {
    const hn::RebindToSigned<D> di;
    return hn::RebindMask(D(), hn::Lt(hn::BitCast(di, a), hn::Zero(di)));
  }
};

template <bool kValue>
void constant_tile(const void* const*, void* out, int64_t n, const PointwiseParams&) {
  if (n > 0) std::memset(out, kValue ? 1 : 0, static_cast<size_t>(n));
}

}  // namespace

void predicate(TileTable& table) {
  add_test<IsNan, float, double>(table, Pointwise::kIsNan);
  add_test_steps<IsInf, float, double>(table, Pointwise::kIsInf);
  add_test_steps<IsFinite, float, double>(table, Pointwise::kIsFinite);
  add_test_steps<IsPosInf, float, double>(table, Pointwise::kIsPosInf);
  add_test_steps<IsNegInf, float, double>(table, Pointwise::kIsNegInf);
  add_test<Signbit, float, double, int8_t, int16_t, int32_t, int64_t>(table, Pointwise::kSignbit);
  table.add(Pointwise::kSignbit, DType::kBool, &constant_tile<false>);
  table.add(Pointwise::kSignbit, DType::kUInt8, &constant_tile<false>);
  for (DType dtype :
       {DType::kBool, DType::kUInt8, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    table.add(Pointwise::kIsNan, dtype, &constant_tile<false>);
    table.add(Pointwise::kIsInf, dtype, &constant_tile<false>);
    table.add(Pointwise::kIsFinite, dtype, &constant_tile<true>);
    table.add(Pointwise::kIsPosInf, dtype, &constant_tile<false>);
    table.add(Pointwise::kIsNegInf, dtype, &constant_tile<false>);
  }
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(predicate);
void add_predicate(TileTable& table) { HWY_DYNAMIC_DISPATCH(predicate)(table); }
}  // namespace mindtorch::cpu
#endif
