// The gradients of softmax and log_softmax of a row.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/softmax_gradient.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/math-inl.h"
#include "mindtorch/backends/cpu/tiles/norm.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// softmax: y * (grad - sum(grad * y)); log_softmax: grad - exp(y) * sum(grad).
template <bool kLog, class T>
void gradient(const void* grads, const void* results, void* to, int64_t size) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  constexpr size_t kBlock = 64 * kLanes;
  const T* grad = static_cast<const T*>(grads);
  const T* result = static_cast<const T*>(results);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);
  const auto term = [&](auto sum, auto g, const auto& y) HWY_ATTR {
    if constexpr (kLog) return hn::Add(sum, g);
    return hn::MulAdd(g, y(), sum);
  };
  const auto at_full = [&](size_t at) HWY_ATTR {
    return [&, at]() HWY_ATTR { return load_wide(d, result + at); };
  };
  double total = 0;
  size_t at = 0;
  while (at + 2 * kLanes <= n) {
    auto s0 = hn::Zero(d), s1 = s0;
    const size_t end = std::min(n, at + kBlock);
    for (; at + 2 * kLanes <= end; at += 2 * kLanes) {
      s0 = term(s0, load_wide(d, grad + at), at_full(at));
      s1 = term(s1, load_wide(d, grad + at + kLanes), at_full(at + kLanes));
    }
    total += static_cast<double>(sum_lanes(d, hn::Add(s0, s1)));
  }
  auto rest = hn::Zero(d);
  for (; at + kLanes <= n; at += kLanes) rest = term(rest, load_wide(d, grad + at), at_full(at));
  if (at < n) {
    const size_t count = n - at;  // the lanes behind have a gradient of 0
    rest = term(rest, load_wide_first(d, grad + at, count, T()),
                [&]() HWY_ATTR { return load_wide_first(d, result + at, count, T()); });
  }
  const auto sum = hn::Set(d, static_cast<W>(total + static_cast<double>(sum_lanes(d, rest))));

  const auto value = [&](auto g, auto y) HWY_ATTR {
    if constexpr (kLog) return hn::NegMulAdd(math::exp_negative(d, y), sum, g);
    return hn::Mul(y, hn::Sub(g, sum));
  };
  at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    store_wide(d, value(load_wide(d, grad + at), load_wide(d, result + at)), out + at);
  }
  if (at < n) {
    const size_t count = n - at;
    const auto g = load_wide_first(d, grad + at, count, T());
    store_wide_first(d, value(g, load_wide_first(d, result + at, count, T())), out + at, count);
  }
}

template <class T>
void enter_softmax_gradient(NormTable& tiles) {
  constexpr auto kDType = static_cast<int>(DTypeOf<T>::value);
  tiles.softmax_gradients[static_cast<int>(Softmax::kPlain)][kDType] = &gradient<false, T>;
  tiles.softmax_gradients[static_cast<int>(Softmax::kLog)][kDType] = &gradient<true, T>;
}

}  // namespace

void softmax_gradients(NormTable& tiles) {
  enter_softmax_gradient<float>(tiles);
  enter_softmax_gradient<double>(tiles);
  enter_softmax_gradient<Half>(tiles);
  enter_softmax_gradient<BFloat16>(tiles);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(softmax_gradients);
void add_softmax_gradients(NormTable& tiles) { HWY_DYNAMIC_DISPATCH(softmax_gradients)(tiles); }
}  // namespace mindtorch::cpu
#endif
