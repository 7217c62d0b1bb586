// softmax and log_softmax of neighbouring columns, and their gradients: a column for each lane.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/softmax_columns.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/math-inl.h"
#include "mindtorch/backends/cpu/tiles/norm.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// Access to `count` neighbouring columns, a vector of them at a time; kAll: all vectors are full.
template <bool kAll, class D>
struct Columns {
  static constexpr size_t kLanes = hn::MaxLanes(D());
  D d;
  size_t count;

  template <class T>
  HWY_INLINE hn::Vec<D> load(const T* row, size_t vector = 0) const {
    if constexpr (kAll) return load_wide(d, row + vector * kLanes);
    return load_wide_first(d, row + vector * kLanes, count_of(vector), T());
  }
  template <class T>
  HWY_INLINE void store(hn::Vec<D> v, T* row, size_t vector = 0) const {
    if constexpr (kAll) return store_wide(d, v, row + vector * kLanes);
    store_wide_first(d, v, row + vector * kLanes, count_of(vector));
  }
  HWY_INLINE size_t count_of(size_t vector) const {
    return std::min(count - std::min(count, vector * kLanes), kLanes);
  }
};

// The sum of term(i) over all rows. Sums of blocks are added, so that rounding errors stay small.
template <class D, class Term>
HWY_INLINE hn::Vec<D> sum_rows(D d, size_t n, const Term& term) {
  constexpr size_t kBlock = 64;
  auto total = hn::Zero(d);
  for (size_t at = 0; at < n;) {
    auto sum = hn::Zero(d);
    for (const size_t end = std::min(n, at + kBlock); at < end; ++at) sum = hn::Add(sum, term(at));
    total = hn::Add(total, sum);
  }
  return total;
}

// Vectors of columns that are read together: half-precision ones would otherwise read half a cache
// line, and the other half when it is no longer near.
template <class T>
constexpr size_t kVectors = kIsHalf<T> ? 2 : 1;

// Of n vectors. They become what is only to be multiplied by the result, or kLog: to have it
// subtracted.
template <bool kLog, class D>
HWY_NOINLINE hn::Vec<D> exponentiate(D d, size_t n, hn::Vec<D> largest, hn::TFromD<D>* terms) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  const auto sum = sum_rows(d, n, [&](size_t i) HWY_ATTR {
    const auto x = hn::Sub(hn::Load(d, terms + i * kLanes), largest);
    const auto e = math::exp_negative(d, x);
    hn::Store(kLog ? x : e, d, terms + i * kLanes);
    return e;
  });
  return kLog ? math::log(d, sum) : hn::Div(hn::Set(d, 1), sum);
}

// The columns are widened into `terms`, n vectors for each of kVectors, so that memory is read and
// written once, and rounded once.
template <bool kLog, class T, class Columns>
HWY_INLINE void softmax(
    const Columns& columns, const T* in, T* out, size_t n, size_t stride, Wide<T>* terms) {
  const auto d = columns.d;
  constexpr size_t kLanes = Columns::kLanes;
  using V = decltype(hn::Zero(d));
  V last[kVectors<T>];
  for (V& v : last) v = hn::Neg(math::infinity(d));
  for (size_t i = 0; i < n; ++i) {
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors<T>; ++v) {
      const auto x = columns.load(in + i * stride, v);
      last[v] = Maximum()(d, last[v], x);
      hn::Store(x, d, terms + (v * n + i) * kLanes);
    }
  }
  for (size_t v = 0; v < kVectors<T>; ++v) {
    last[v] = exponentiate<kLog>(d, n, last[v], terms + v * n * kLanes);
  }
  for (size_t i = 0; i < n; ++i) {
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors<T>; ++v) {
      const auto x = hn::Load(d, terms + (v * n + i) * kLanes);
      columns.store(kLog ? hn::Sub(x, last[v]) : hn::Mul(x, last[v]), out + i * stride, v);
    }
  }
}

template <bool kLog, class T, class Columns>
HWY_INLINE void gradient(
    const Columns& columns, const T* grad, const T* result, T* out, size_t n, size_t stride) {
  const auto d = columns.d;
  const auto sum = sum_rows(d, n, [&](size_t i) HWY_ATTR {
    const auto g = columns.load(grad + i * stride);
    if constexpr (kLog) return g;
    return hn::Mul(g, columns.load(result + i * stride));
  });
  for (size_t i = 0; i < n; ++i) {
    const auto g = columns.load(grad + i * stride);
    const auto y = columns.load(result + i * stride);
    if constexpr (kLog) {
      columns.store(hn::NegMulAdd(math::exp_negative(d, y), sum, g), out + i * stride);
    } else {
      columns.store(hn::Mul(y, hn::Sub(g, sum)), out + i * stride);
    }
  }
}

// body(columns, the first) for all columns, kV vectors of them at a time.
template <size_t kV, class D, class Body>
HWY_INLINE void for_columns(D d, size_t width, const Body& body) {
  constexpr size_t kAtOnce = kV * hn::MaxLanes(D());
  size_t at = 0;
  for (; at + kAtOnce <= width; at += kAtOnce) body(Columns<true, D>{d, kAtOnce}, at);
  if (at < width) body(Columns<false, D>{d, width - at}, at);
}

template <bool kLog, class T>
void columns_softmax(const void* from, void* to, int64_t n, int64_t width, int64_t stride) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const hn::ScalableTag<Wide<T>> d;
  HWY_ALIGN Wide<T> terms[kLongestSoftmaxColumn * kVectors<T> * hn::MaxLanes(d)];
  for_columns<kVectors<T>>(d, static_cast<size_t>(width),
                           [&](const auto& columns, size_t at) HWY_ATTR {
                             softmax<kLog>(columns, in + at, out + at, static_cast<size_t>(n),
                                           static_cast<size_t>(stride), terms);
                           });
}
template <bool kLog, class T>
void columns_gradient(
    const void* grads, const void* results, void* to, int64_t n, int64_t width, int64_t stride) {
  const T* grad = static_cast<const T*>(grads);
  const T* result = static_cast<const T*>(results);
  T* out = static_cast<T*>(to);
  for_columns<1>(hn::ScalableTag<Wide<T>>(), static_cast<size_t>(width),
                 [&](const auto& columns, size_t at) HWY_ATTR {
                   gradient<kLog>(columns, grad + at, result + at, out + at, static_cast<size_t>(n),
                                  static_cast<size_t>(stride));
                 });
}

template <class T>
void enter_softmax_columns(NormTable& tiles) {
  constexpr auto kDType = static_cast<int>(DTypeOf<T>::value);
  constexpr auto kPlain = static_cast<int>(Softmax::kPlain);
  constexpr auto kLog = static_cast<int>(Softmax::kLog);
  tiles.softmax_columns[kPlain][kDType] = &columns_softmax<false, T>;
  tiles.softmax_columns[kLog][kDType] = &columns_softmax<true, T>;
  tiles.softmax_columns_gradients[kPlain][kDType] = &columns_gradient<false, T>;
  tiles.softmax_columns_gradients[kLog][kDType] = &columns_gradient<true, T>;
}

}  // namespace

void softmax_columns(NormTable& tiles) {
  enter_softmax_columns<float>(tiles);
  enter_softmax_columns<double>(tiles);
  enter_softmax_columns<Half>(tiles);
  enter_softmax_columns<BFloat16>(tiles);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(softmax_columns);
void add_softmax_columns(NormTable& tiles) { HWY_DYNAMIC_DISPATCH(softmax_columns)(tiles); }
}  // namespace mindtorch::cpu
#endif
