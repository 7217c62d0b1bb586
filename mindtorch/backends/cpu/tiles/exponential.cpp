// Exponentials and logarithms.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/exponential.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/lookup-inl.h"
#include "mindtorch/backends/cpu/tiles/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::exp(d, a);
  }
};
struct Exp2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::exp2(d, a);
  }
};
struct Expm1 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::expm1(d, a);
  }
};
struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::log(d, a);
  }
};
struct Log2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::log2(d, a);
  }
};
struct Log10 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::log10(d, a);
  }
};
struct Log1p {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::log1p(d, a);
  }
};

#if HWY_TARGET <= HWY_AVX3

struct TableExp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::exp_by_table(d, a);
  }
};
struct TableExp2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::exp2_by_table(d, a);
  }
};
struct TableLog2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::log2_by_table(d, a);
  }
};
struct TableLog10 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::log10_by_table(d, a);
  }
};

#endif

template <class T>
void enter_exponential(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kExp, kDType, &map_tile<Exp, T>);
  table.add(Pointwise::kExp2, kDType, &map_tile<Exp2, T, 2>);
  table.add(Pointwise::kExpm1, kDType, &map_tile<Expm1, T, 2>);
  table.add(Pointwise::kLog, kDType, &map_tile<Log, T>);
  table.add(Pointwise::kLog2, kDType, &map_tile<Log2, T, 2>);
  table.add(Pointwise::kLog10, kDType, &map_tile<Log10, T, 2>);
  table.add(Pointwise::kLog1p, kDType, &map_tile<Log1p, T, 2>);
}

}  // namespace

void exponential(TileTable& table) {
  enter_exponential<float>(table);
  enter_exponential<double>(table);
#if HWY_TARGET <= HWY_AVX3
  table.add(Pointwise::kExp, DType::kFloat64, &map_tile<TableExp, double, 2>);
  table.add(Pointwise::kExp2, DType::kFloat64, &map_tile<TableExp2, double, 2>);
  table.add(Pointwise::kLog2, DType::kFloat64, &map_tile<TableLog2, double, 2>);
  table.add(Pointwise::kLog10, DType::kFloat64, &map_tile<TableLog10, double, 2>);
#endif
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(exponential);
void add_exponential(TileTable& table) { HWY_DYNAMIC_DISPATCH(exponential)(table); }
}  // namespace mindtorch::cpu
#endif
