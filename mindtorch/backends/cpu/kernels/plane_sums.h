#pragma once

#include <algorithm>
#include <complex>
#include <memory>
#include <type_traits>

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/tensor/dtype.h"

// Planes whose elements are sums: gradients of borders, and images of columns.
namespace mindtorch::cpu {

// What sums of T are made in.
template <typename T>
using PlaneSum =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// Fills `count` planes of n elements each: add(i, sums) adds up those of plane i. 16-bit floats are
// rounded once. `grain`: the planes that are worth a thread.
template <typename T, typename Add>
void sum_planes(int64_t count, int64_t n, int64_t grain, T* out, const Add& add) {
  using W = PlaneSum<T>;
  constexpr bool kIsWide = !std::is_same_v<T, W>;
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    // Not a std::vector: one of bool has no elements that can be pointed to.
    const auto wide = std::make_unique<W[]>(kIsWide ? static_cast<size_t>(n) : 1);
    for (int64_t i = begin; i < end; ++i) {
      T* const plane = out + i * n;
      W* sums = wide.get();
      if constexpr (!kIsWide) sums = plane;
      std::fill_n(sums, n, W{});
      add(i, sums);
      if constexpr (kIsWide) {
        std::transform(sums, sums + n, plane, [](W sum) { return static_cast<T>(sum); });
      }
    }
  });
}

// Calls body.template operator()<T>() with the type of a dtype: of bools, floats or complex
// numbers.
template <typename Body>
void visit_planes(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kBool:
      return body.template operator()<bool>();
    case DType::kComplex64:
      return body.template operator()<std::complex<float>>();
    case DType::kComplex128:
      return body.template operator()<std::complex<double>>();
    case DType::kFloat64:
      return body.template operator()<double>();
    case DType::kFloat32:
      return body.template operator()<float>();
    case DType::kFloat16:
      return body.template operator()<Half>();
    default:
      return body.template operator()<BFloat16>();
  }
}

}  // namespace mindtorch::cpu
