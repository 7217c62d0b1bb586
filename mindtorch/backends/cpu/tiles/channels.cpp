// The steps of batch_norm and group_norm on a row: of one channel, or of an element of each.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/channels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/norm.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// A parameter of a row: one number, or one for each element.
template <bool kEach, class D>
class Param {
 public:
  using W = hn::TFromD<D>;
  HWY_INLINE Param(D d, const void* values)
      : d_(d), values_(static_cast<const W*>(values)), single_(hn::Set(d, *values_)) {}
  HWY_INLINE hn::Vec<D> at(size_t i) const {
    if constexpr (kEach) return hn::LoadU(d_, values_ + i);
    return single_;
  }
  HWY_INLINE hn::Vec<D> first(size_t i, size_t count) const {
    if constexpr (kEach) return load_wide_first(d_, values_ + i, count, W());
    return single_;
  }

 private:
  D d_;
  const W* values_;
  hn::Vec<D> single_;
};

template <bool kEach, class T>
void scale_row(const void* from, void* to, int64_t size, const void* scales, const void* shifts) {
  const hn::ScalableTag<Wide<T>> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);
  const Param<kEach, decltype(d)> scale(d, scales), shift(d, shifts);
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    store_wide(d, hn::MulAdd(load_wide(d, in + at), scale.at(at), shift.at(at)), out + at);
  }
  if (at < n) {
    const size_t count = n - at;
    const auto x = load_wide_first(d, in + at, count, T());
    const auto y = hn::MulAdd(x, scale.first(at, count), shift.first(at, count));
    store_wide_first(d, y, out + at, count);
  }
}

// Adds term(vectors of the operands at i) to `sums`: to the one number, through doubles, or to that
// of each element. `load(i)` and `load_first(i, count)` give what term takes; lanes behind the row
// must add 0.
template <bool kEach, class D, class Term, class TermFirst>
HWY_INLINE void add_terms(
    D d, size_t n, void* sums, const Term& term, const TermFirst& term_first) {
  using W = hn::TFromD<D>;
  constexpr size_t kLanes = hn::MaxLanes(D());
  W* const sum = static_cast<W*>(sums);
  size_t at = 0;
  if constexpr (kEach) {
    for (; at + kLanes <= n; at += kLanes) {
      hn::StoreU(term(at, hn::LoadU(d, sum + at)), d, sum + at);
    }
    if (at < n) {
      const size_t count = n - at;
      const auto old = load_wide_first(d, sum + at, count, W());
      store_wide_first(d, term_first(at, count, old), sum + at, count);
    }
  } else {
    constexpr size_t kBlock = 128 * kLanes;
    double total = 0;
    while (at + 2 * kLanes <= n) {
      auto s0 = hn::Zero(d), s1 = s0;
      const size_t end = std::min(n, at + kBlock);
      for (; at + 2 * kLanes <= end; at += 2 * kLanes) {
        s0 = term(at, s0);
        s1 = term(at + kLanes, s1);
      }
      total += static_cast<double>(sum_lanes(d, hn::Add(s0, s1)));
    }
    auto rest = hn::Zero(d);
    for (; at + kLanes <= n; at += kLanes) rest = term(at, rest);
    if (at < n) rest = term_first(at, n - at, rest);
    total += static_cast<double>(sum_lanes(d, rest));
    *sum = static_cast<W>(static_cast<double>(*sum) + total);
  }
}

template <bool kEach, class T>
void add_squares(const void* from, int64_t size, const void* centers, void* squares) {
  const hn::ScalableTag<Wide<T>> d;
  const T* in = static_cast<const T*>(from);
  const Param<kEach, decltype(d)> center(d, centers);
  add_terms<kEach>(
      d, static_cast<size_t>(size), squares,
      [&](size_t at, auto sum) HWY_ATTR {
        const auto distance = hn::Sub(load_wide(d, in + at), center.at(at));
        return hn::MulAdd(distance, distance, sum);
      },
      [&](size_t at, size_t count, auto sum) HWY_ATTR {
        const auto x = load_wide_first(d, in + at, count, T());
        const auto distance =
            hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(x, center.first(at, count)));
        return hn::MulAdd(distance, distance, sum);
      });
}

template <bool kEach, class T>
void add_sums(const void* grads,
              const void* from,
              int64_t size,
              const void* centers,
              void* sums,
              void* dots) {
  const hn::ScalableTag<Wide<T>> d;
  const T* grad = static_cast<const T*>(grads);
  const T* in = static_cast<const T*>(from);
  const size_t n = static_cast<size_t>(size);
  const Param<kEach, decltype(d)> center(d, centers);
  add_terms<kEach>(
      d, n, sums,
      [&](size_t at, auto sum) HWY_ATTR { return hn::Add(sum, load_wide(d, grad + at)); },
      [&](size_t at, size_t count, auto sum)
          HWY_ATTR { return hn::Add(sum, load_wide_first(d, grad + at, count, T())); });
  add_terms<kEach>(
      d, n, dots,
      [&](size_t at, auto sum) HWY_ATTR {
        const auto distance = hn::Sub(load_wide(d, in + at), center.at(at));
        return hn::MulAdd(load_wide(d, grad + at), distance, sum);
      },
      [&](size_t at, size_t count, auto sum) HWY_ATTR {
        const auto x = load_wide_first(d, in + at, count, T());
        const auto distance = hn::Sub(x, center.first(at, count));
        return hn::MulAdd(load_wide_first(d, grad + at, count, T()), distance, sum);
      });
}

template <bool kEach, class T>
void gradient_row(const void* grads,
                  const void* from,
                  void* to,
                  int64_t size,
                  const void* centers,
                  const void* grad_factors,
                  const void* input_factors,
                  const void* shifts) {
  const hn::ScalableTag<Wide<T>> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const T* grad = static_cast<const T*>(grads);
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);
  using P = Param<kEach, decltype(d)>;
  const P center(d, centers), by_grad(d, grad_factors), by_input(d, input_factors),
      shift(d, shifts);
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    const auto distance = hn::Sub(load_wide(d, in + at), center.at(at));
    const auto rest = hn::MulAdd(distance, by_input.at(at), shift.at(at));
    store_wide(d, hn::MulAdd(load_wide(d, grad + at), by_grad.at(at), rest), out + at);
  }
  if (at < n) {
    const size_t count = n - at;
    const auto x = load_wide_first(d, in + at, count, T());
    const auto g = load_wide_first(d, grad + at, count, T());
    const auto distance = hn::Sub(x, center.first(at, count));
    const auto rest = hn::MulAdd(distance, by_input.first(at, count), shift.first(at, count));
    store_wide_first(d, hn::MulAdd(g, by_grad.first(at, count), rest), out + at, count);
  }
}

template <class T>
void enter_channels(NormTable& tiles) {
  constexpr auto kDType = static_cast<int>(DTypeOf<T>::value);
  tiles.channels[static_cast<int>(ChannelsOfRow::kOne)][kDType] = {
      &scale_row<false, T>, &add_squares<false, T>, &add_sums<false, T>, &gradient_row<false, T>};
  tiles.channels[static_cast<int>(ChannelsOfRow::kEach)][kDType] = {
      &scale_row<true, T>, &add_squares<true, T>, &add_sums<true, T>, &gradient_row<true, T>};
}

}  // namespace

void channels(NormTable& tiles) {
  enter_channels<float>(tiles);
  enter_channels<double>(tiles);
  enter_channels<Half>(tiles);
  enter_channels<BFloat16>(tiles);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(channels);
void add_channels(NormTable& tiles) { HWY_DYNAMIC_DISPATCH(channels)(tiles); }
}  // namespace mindtorch::cpu
#endif
