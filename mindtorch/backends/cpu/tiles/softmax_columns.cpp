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

// Access to `count` columns; kAll: as many as there are lanes.
template <bool kAll, class D>
struct Lanes {
  D d;
  size_t count;

  template <class T>
  HWY_INLINE hn::Vec<D> load(const T* from) const {
    if constexpr (kAll) return load_wide(d, from);
    return load_wide_first(d, from, count, T());
  }
  template <class T>
  HWY_INLINE void store(hn::Vec<D> v, T* to) const {
    if constexpr (kAll) return store_wide(d, v, to);
    store_wide_first(d, v, to, count);
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

// The columns are widened into `terms`, n vectors, so that memory is read and written once, and
// rounded once.
template <bool kLog, bool kAll, class T, class D>
HWY_INLINE void softmax(
    const Lanes<kAll, D>& lanes, const T* in, T* out, size_t n, size_t stride, Wide<T>* terms) {
  const D d = lanes.d;
  constexpr size_t kLanes = hn::MaxLanes(D());
  const Maximum best;
  auto largest = hn::Neg(math::infinity(d));
  for (size_t i = 0; i < n; ++i) {
    const auto x = lanes.load(in + i * stride);
    largest = best(d, largest, x);
    hn::Store(x, d, terms + i * kLanes);
  }
  const auto sum = sum_rows(d, n, [&](size_t i) HWY_ATTR {
    const auto x = hn::Sub(hn::Load(d, terms + i * kLanes), largest);
    const auto e = math::exp_negative(d, x);
    hn::Store(kLog ? x : e, d, terms + i * kLanes);
    return e;
  });
  const auto last = kLog ? math::log(d, sum) : hn::Div(hn::Set(d, 1), sum);
  for (size_t i = 0; i < n; ++i) {
    const auto x = hn::Load(d, terms + i * kLanes);
    lanes.store(kLog ? hn::Sub(x, last) : hn::Mul(x, last), out + i * stride);
  }
}

template <bool kLog, bool kAll, class T, class D>
HWY_INLINE void gradient(
    const Lanes<kAll, D>& lanes, const T* grad, const T* result, T* out, size_t n, size_t stride) {
  const D d = lanes.d;
  const auto sum = sum_rows(d, n, [&](size_t i) HWY_ATTR {
    const auto g = lanes.load(grad + i * stride);
    if constexpr (kLog) return g;
    return hn::Mul(g, lanes.load(result + i * stride));
  });
  for (size_t i = 0; i < n; ++i) {
    const auto g = lanes.load(grad + i * stride);
    const auto y = lanes.load(result + i * stride);
    if constexpr (kLog) {
      lanes.store(hn::NegMulAdd(math::exp_negative(d, y), sum, g), out + i * stride);
    } else {
      lanes.store(hn::Mul(y, hn::Sub(g, sum)), out + i * stride);
    }
  }
}

// body(lanes, first column) for all columns.
template <class D, class Body>
HWY_INLINE void for_columns(D d, size_t width, const Body& body) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  size_t at = 0;
  for (; at + kLanes <= width; at += kLanes) body(Lanes<true, D>{d, kLanes}, at);
  if (at < width) body(Lanes<false, D>{d, width - at}, at);
}

template <bool kLog, class T>
void columns_softmax(const void* from, void* to, int64_t n, int64_t width, int64_t stride) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const hn::ScalableTag<Wide<T>> d;
  HWY_ALIGN Wide<T> terms[kLongestSoftmaxColumn * hn::MaxLanes(d)];
  for_columns(d, static_cast<size_t>(width), [&](const auto& lanes, size_t at) HWY_ATTR {
    softmax<kLog>(lanes, in + at, out + at, static_cast<size_t>(n), static_cast<size_t>(stride),
                  terms);
  });
}
template <bool kLog, class T>
void columns_gradient(
    const void* grads, const void* results, void* to, int64_t n, int64_t width, int64_t stride) {
  const T* grad = static_cast<const T*>(grads);
  const T* result = static_cast<const T*>(results);
  T* out = static_cast<T*>(to);
  for_columns(hn::ScalableTag<Wide<T>>(), static_cast<size_t>(width),
              [&](const auto& lanes, size_t at) HWY_ATTR {
                gradient<kLog>(lanes, grad + at, result + at, out + at, static_cast<size_t>(n),
                               static_cast<size_t>(stride));
              });
}

template <class T>
void enter(NormTable& tiles) {
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
  enter<float>(tiles);
  enter<double>(tiles);
  enter<Half>(tiles);
  enter<BFloat16>(tiles);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(softmax_columns);
void add_softmax_columns(NormTable& tiles) { HWY_DYNAMIC_DISPATCH(softmax_columns)(tiles); }
}  // namespace mindtorch::cpu
#endif
