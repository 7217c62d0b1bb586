// Steps of optimizers.
#include "mindtorch/backends/cpu/tiles/optimizer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/optimizer.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// Elements of an array of T at one vector's place; the last place may hold fewer.
template <class T, class D>
struct Place {
  D d;
  size_t at;
  size_t count;

  HWY_INLINE hn::Vec<D> load(const T* from) const {
    return HWY_LIKELY(count == hn::Lanes(d)) ? load_wide(d, from + at)
                                             : load_wide_first(d, from + at, count, T());
  }
  HWY_INLINE void store(hn::Vec<D> v, T* to) const {
    if (HWY_LIKELY(count == hn::Lanes(d))) {
      store_wide(d, v, to + at);
    } else {
      store_wide_first(d, v, to + at, count);
    }
  }
};

template <class T, class D, class Step>
HWY_INLINE void each_place(D d, size_t n, const Step& step) {
  const size_t lanes = hn::Lanes(d);
  size_t at = 0;
  for (; at + lanes <= n; at += lanes) step(Place<T, D>{d, at, lanes});
  if (at < n) step(Place<T, D>{d, at, n - at});
}

template <class T>
void adam(const AdamArrays& arrays, size_t n, const AdamStep& s) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<W>(value)); };
  const auto sign = set(s.sign), l2 = set(s.l2), decay = set(s.decay), eps = set(s.eps);
  const auto first = set(1 - s.beta1), beta2 = set(s.beta2), second = set(1 - s.beta2);
  const auto size = set(-s.step_size), inverse = set(s.inverse_second);
  const bool has_l2 = s.l2 != 0;
  auto* const param = static_cast<T*>(arrays.param);
  const auto* const grad = static_cast<const T*>(arrays.grad);
  auto* const mean = static_cast<T*>(arrays.mean);
  auto* const square = static_cast<T*>(arrays.square);
  auto* const largest = static_cast<T*>(arrays.largest);
  each_place<T>(d, n, [&](const auto& place) HWY_ATTR {
    auto p = place.load(param);
    auto g = hn::Mul(place.load(grad), sign);
    if (has_l2) g = hn::MulAdd(l2, p, g);
    p = hn::Mul(p, decay);
    auto m = place.load(mean);
    m = hn::MulAdd(first, hn::Sub(g, m), m);
    place.store(m, mean);
    auto v = hn::Mul(place.load(square), beta2);
    v = hn::MulAdd(hn::Mul(second, g), g, v);
    place.store(v, square);
    if (largest != nullptr) {
      v = hn::Max(place.load(largest), v);
      place.store(v, largest);
    }
    const auto root = hn::MulAdd(hn::Sqrt(v), inverse, eps);
    place.store(hn::Add(p, hn::Div(hn::Mul(size, m), root)), param);
  });
}

template <class T>
void sgd(const SgdArrays& arrays, size_t n, const SgdStep& s) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<W>(value)); };
  const auto sign = set(s.sign), l2 = set(s.l2), rate = set(-s.lr);
  const auto momentum = set(s.momentum), fresh = set(1 - s.dampening);
  const bool has_l2 = s.l2 != 0, nesterov = s.nesterov, is_first = s.is_first;
  auto* const param = static_cast<T*>(arrays.param);
  const auto* const grad = static_cast<const T*>(arrays.grad);
  auto* const buffer = static_cast<T*>(arrays.buffer);
  each_place<T>(d, n, [&](const auto& place) HWY_ATTR {
    const auto p = place.load(param);
    auto g = hn::Mul(place.load(grad), sign);
    if (has_l2) g = hn::MulAdd(l2, p, g);
    if (buffer != nullptr) {
      const auto b = is_first ? g : hn::MulAdd(fresh, g, hn::Mul(place.load(buffer), momentum));
      place.store(b, buffer);
      g = nesterov ? hn::MulAdd(momentum, b, g) : b;
    }
    place.store(hn::MulAdd(rate, g, p), param);
  });
}

template <class T>
void adagrad(const AdagradArrays& arrays, size_t n, const AdagradStep& s) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<W>(value)); };
  const auto sign = set(s.sign), l2 = set(s.l2), rate = set(-s.rate), eps = set(s.eps);
  const bool has_l2 = s.l2 != 0;
  auto* const param = static_cast<T*>(arrays.param);
  const auto* const grad = static_cast<const T*>(arrays.grad);
  auto* const sum = static_cast<T*>(arrays.sum);
  each_place<T>(d, n, [&](const auto& place) HWY_ATTR {
    const auto p = place.load(param);
    auto g = hn::Mul(place.load(grad), sign);
    if (has_l2) g = hn::MulAdd(l2, p, g);
    const auto total = hn::MulAdd(g, g, place.load(sum));
    place.store(total, sum);
    const auto root = hn::Add(hn::Sqrt(total), eps);
    place.store(hn::Add(p, hn::Div(hn::Mul(rate, g), root)), param);
  });
}

template <class T>
void unscale(T* grad, size_t n, double scale) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const auto by = hn::Set(d, static_cast<W>(scale));
  each_place<T>(
      d, n, [&](const auto& place) HWY_ATTR { place.store(hn::Div(place.load(grad), by), grad); });
}

template <class T>
bool unscale_and_check(T* grad, size_t n, double inverse) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const auto by = hn::Set(d, static_cast<W>(inverse));
  // 0 for finite numbers, NaN for others; a sum keeps a NaN.
  auto trouble = hn::Zero(d);
  each_place<T>(d, n, [&](const auto& place) HWY_ATTR {
    const auto g = place.load(grad);
    trouble = hn::Add(trouble, hn::Mul(g, hn::Zero(d)));
    place.store(hn::Mul(g, by), grad);
  });
  return hn::AllFalse(d, hn::IsNaN(trouble));
}

template <class Function>
void in_dtype(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kFloat32:
      return function(float());
    case DType::kFloat64:
      return function(double());
    case DType::kFloat16:
      return function(Half());
    default:
      return function(BFloat16());
  }
}

}  // namespace

void adam_of(DType dtype, const AdamArrays& arrays, int64_t n, const AdamStep& step) {
  in_dtype(dtype, [&](auto zero) { adam<decltype(zero)>(arrays, static_cast<size_t>(n), step); });
}
void sgd_of(DType dtype, const SgdArrays& arrays, int64_t n, const SgdStep& step) {
  in_dtype(dtype, [&](auto zero) { sgd<decltype(zero)>(arrays, static_cast<size_t>(n), step); });
}
void adagrad_of(DType dtype, const AdagradArrays& arrays, int64_t n, const AdagradStep& step) {
  in_dtype(dtype,
           [&](auto zero) { adagrad<decltype(zero)>(arrays, static_cast<size_t>(n), step); });
}
void unscale_of(DType dtype, void* grad, int64_t n, double scale) {
  in_dtype(dtype, [&](auto zero) {
    unscale(static_cast<decltype(zero)*>(grad), static_cast<size_t>(n), scale);
  });
}
bool unscale_and_check_of(DType dtype, void* grad, int64_t n, double inverse) {
  bool is_finite = true;
  in_dtype(dtype, [&](auto zero) {
    is_finite =
        unscale_and_check(static_cast<decltype(zero)*>(grad), static_cast<size_t>(n), inverse);
  });
  return is_finite;
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(adam_of);
HWY_EXPORT(sgd_of);
HWY_EXPORT(adagrad_of);
HWY_EXPORT(unscale_of);
HWY_EXPORT(unscale_and_check_of);

void adam_tile(DType dtype, const AdamArrays& arrays, int64_t n, const AdamStep& step) {
  HWY_DYNAMIC_DISPATCH(adam_of)(dtype, arrays, n, step);
}
void sgd_tile(DType dtype, const SgdArrays& arrays, int64_t n, const SgdStep& step) {
  HWY_DYNAMIC_DISPATCH(sgd_of)(dtype, arrays, n, step);
}
void adagrad_tile(DType dtype, const AdagradArrays& arrays, int64_t n, const AdagradStep& step) {
  HWY_DYNAMIC_DISPATCH(adagrad_of)(dtype, arrays, n, step);
}
void unscale_tile(DType dtype, void* grad, int64_t n, double scale) {
  HWY_DYNAMIC_DISPATCH(unscale_of)(dtype, grad, n, scale);
}
bool unscale_and_check_tile(DType dtype, void* grad, int64_t n, double inverse) {
  return HWY_DYNAMIC_DISPATCH(unscale_and_check_of)(dtype, grad, n, inverse);
}

}  // namespace mindtorch::cpu
#endif
