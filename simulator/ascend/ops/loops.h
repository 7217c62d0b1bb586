#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <type_traits>
#include <vector>

#include "simulator/ascend/nnopbase/planner.h"
#include "simulator/ascend/ops/elements.h"

namespace sim {

inline constexpr int64_t kBlock = 512;

template <class R>
using Stored = std::conditional_t<std::is_same_v<R, bool>, int64_t, R>;

// results[i] = f(values[0 * kBlock + i], values[1 * kBlock + i], ...), for i below n.
template <class C, class R>
using BlockFunction = void (*)(const void* f, const C* values, R* results, size_t n);

// The loop of map_elements around its function: one for each pair of types, not for each function.
template <class C, class R>
void map_blocks(
    const View& out, const View* in, size_t count, const void* f, BlockFunction<C, R> block) {
  std::vector<View> views;
  for (size_t k = 0; k < count; ++k) views.push_back(in[k].expand(out.shape));
  std::vector<C> values(count * kBlock);
  std::array<R, kBlock> results;
  const int64_t total = out.numel();
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t n = std::min(kBlock, total - first);
    for (size_t k = 0; k < count; ++k) load(views[k], first, n, values.data() + k * kBlock);
    block(f, values.data(), results.data(), static_cast<size_t>(n));
    store(out, first, n, results.data());
  }
}

// out[i] = f(in0[i], in1[i], ...), computed in C. The inputs are broadcast to `out`.
template <class C, size_t N, class F>
void map_elements(const View& out, const F& f, const std::array<View, N>& in) {
  [&]<size_t... K>(std::index_sequence<K...>) {
    using R = Stored<decltype(f((static_cast<void>(K), C())...))>;
    map_blocks<C, R>(out, in.data(), N, &f, [](const void* of, const C* v, R* results, size_t n) {
      const F& function = *static_cast<const F*>(of);
      for (size_t i = 0; i < n; ++i) {
        results[i] = static_cast<R>(function(v[K * kBlock + i]...));
      }
    });
  }(std::make_index_sequence<N>{});
}
template <class C, class F, class... In>
void map_elements(const View& out, const F& f, const In&... in) {
  map_elements<C>(out, f, std::array<View, sizeof...(In)>{in...});
}

template <class C>
C scalar_as(const aclScalar& scalar) {
  if constexpr (std::is_same_v<C, Complex64> || std::is_same_v<C, Complex128>) {
    const Complex128 value = scalar.complex();
    using Part = typename C::value_type;
    return C(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
  } else if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(scalar.integer());
  } else {
    return static_cast<C>(scalar.real());
  }
}

// All elements in order, as C.
template <class C>
std::vector<C> load_all(const View& view) {
  std::vector<C> values(static_cast<size_t>(view.numel()));
  load(view, 0, view.numel(), values.data());
  return values;
}

template <class C>
void store_all(const View& view, const std::vector<C>& values) {
  store(view, 0, view.numel(), values.data());
}

// Calls f(row number, values) for each line along `dim`. `view` of rank 0 is one line.
template <class C, class F>
void for_rows(const View& view, int64_t dim, F f) {
  const View lines = view.with_last(dim);
  const int64_t length = view.rank() == 0 ? 1 : view.size(dim);
  if (view.numel() == 0) return;
  std::vector<C> values(static_cast<size_t>(length));
  for (int64_t row = 0; row < view.numel() / length; ++row) {
    load(lines, row * length, length, values.data());
    f(row, values);
  }
}

// Writes a line that for_rows gave the number of.
template <class C>
void store_row(const View& view, int64_t dim, int64_t row, const std::vector<C>& values) {
  const auto length = static_cast<int64_t>(values.size());
  store(view.with_last(dim), row * length, length, values.data());
}

}  // namespace sim
