// Reflectors of columns, one by one; compiled once per instruction set.

#include <cmath>
#include <cstdint>
#include <limits>

#include "mindtorch/backends/cpu/lapack.h"
#include "mindtorch/backends/cpu/product/load-inl.h"

#if defined(MT_LINALG_REFLECT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_LINALG_REFLECT_INL_H_
#undef MT_LINALG_REFLECT_INL_H_
#else
#define MT_LINALG_REFLECT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

template <typename T>
inline constexpr bool kIsLong = kLanesOf<T> * sizeof(T) > 16;

// Calls body(load, store) for vectors of n elements; partial ones load zeros beside them. The
// `before` elements in front may be read, and written as they were. Vectors begin at multiples of
// their length from the first of those, wherever in a column the n elements begin: a load that
// spans two earlier stores would have to wait for them. Vectors of 16 bytes are too short for this
// to pay.
template <typename T, typename Body>
HWY_INLINE void for_vectors(int64_t n, int64_t before, const Body& body) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t outside = kIsLong<T> ? before % lanes : 0;
  int64_t at = 0;
  if (outside != 0 && outside + n >= lanes) {
    at = -outside;
    const auto skipped = hn::FirstN(d, static_cast<size_t>(outside));
    body([&](const T* from)
             HWY_ATTR { return hn::IfThenZeroElse(skipped, hn::LoadU(d, from + at)); },
         [&](auto v, T* to) HWY_ATTR {
           hn::StoreU(hn::IfThenElse(skipped, hn::LoadU(d, to + at), v), d, to + at);
         });
    at += lanes;
  }
  for (; at + lanes <= n; at += lanes) {
    body([&](const T* from) HWY_ATTR { return hn::LoadU(d, from + at); },
         [&](auto v, T* to) HWY_ATTR { hn::StoreU(v, d, to + at); });
  }
  if (at == n) return;
  const auto rest = static_cast<size_t>(n - at);
  body([&](const T* from) HWY_ATTR { return load_wide_first(d, from + at, rest, T(0)); },
       [&](auto v, T* to) HWY_ATTR { store_wide_first(d, v, to + at, rest); });
}

template <typename T>
T sum_of_squares(const T* x, int64_t n, int64_t before) {
  const Tag<T> d;
  auto sum = hn::Zero(d);
  for_vectors<T>(n, before, [&](const auto& load, const auto&) HWY_ATTR {
    const auto v = load(x);
    sum = hn::MulAdd(v, v, sum);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// The reflector that turns (alpha, x) into (beta, 0): alpha becomes beta, x the vector's elements
// behind a 1. `before` as for_vectors has it.
template <typename T>
T make_reflector(T& alpha, T* x, int64_t n, int64_t before) {
  const T squares = sum_of_squares(x, n, before);
  if (squares == T(0) && alpha == alpha) {
    bool is_zero = true;
    for (int64_t i = 0; i < n; ++i) is_zero = is_zero && x[i] == T(0);
    if (is_zero) return T(0);
  }
  const T all = squares + alpha * alpha;
  constexpr T kEps = std::numeric_limits<T>::epsilon();
  if (!(squares > std::numeric_limits<T>::min() / (kEps * kEps)) ||
      !(all < std::numeric_limits<T>::max() * kEps)) {
    T tau{};  // squares are out of range: LAPACK scales
    lapack::larfg(static_cast<int>(n + 1), &alpha, x, 1, &tau);
    return tau;
  }
  const T beta = -std::copysign(std::sqrt(all), alpha);
  const Tag<T> d;
  const auto factor = hn::Set(d, T(1) / (alpha - beta));
  for_vectors<T>(n, before, [&](const auto& load, const auto& store) HWY_ATTR {
    store(hn::Mul(load(x), factor), x);
  });
  const T tau = (beta - alpha) / beta;
  alpha = beta;
  return tau;
}

// Applies a reflector of (1, v) to kCount columns; `heads` are their elements beside the 1, and
// what is `before` is before v and before what is behind the heads.
template <int kCount, typename T>
HWY_INLINE void reflect(int64_t n, int64_t before, const T* v, T tau, T* heads, int64_t ld) {
  const Tag<T> d;
  hn::Vec<Tag<T>> sums[kCount];
  HWY_UNROLL(4)
  for (int j = 0; j < kCount; ++j) sums[j] = hn::Zero(d);
  for_vectors<T>(n, before, [&](const auto& load, const auto&) HWY_ATTR {
    const auto x = load(v);
    HWY_UNROLL(4)
    for (int j = 0; j < kCount; ++j) {
      sums[j] = hn::MulAdd(x, load(heads + j * ld + 1), sums[j]);
    }
  });
  hn::Vec<Tag<T>> factors[kCount];
  HWY_UNROLL(4)
  for (int j = 0; j < kCount; ++j) {
    const T factor = tau * (hn::GetLane(hn::SumOfLanes(d, sums[j])) + heads[j * ld]);
    heads[j * ld] -= factor;
    factors[j] = hn::Set(d, factor);
  }
  for_vectors<T>(n, before, [&](const auto& load, const auto& store) HWY_ATTR {
    const auto x = load(v);
    HWY_UNROLL(4)
    for (int j = 0; j < kCount; ++j) {
      store(hn::NegMulAdd(factors[j], x, load(heads + j * ld + 1)), heads + j * ld + 1);
    }
  });
}

// Applies it to `columns` of them.
template <typename T>
HWY_NOINLINE void reflect_columns(
    int64_t columns, int64_t n, int64_t before, const T* v, T tau, T* heads, int64_t ld) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) reflect<4>(n, before, v, tau, heads + j * ld, ld);
  for (; j < columns; ++j) reflect<1>(n, before, v, tau, heads + j * ld, ld);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
