#include "mindtorch/backends/cpu/search.h"

#include <algorithm>
#include <type_traits>

#include "mindtorch/backends/cpu/sorting/keys.h"

// This file is compiled once per instruction set; plain loops below are vectorised for each.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/search.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu {
namespace HWY_NAMESPACE {

template <typename T>
constexpr bool kIsShortFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The 16-bit floats are compared as keys, which is as exact and needs no conversion.
template <typename T>
struct Compared {
  using type = std::conditional_t<kIsShortFloat<T>, uint16_t, T>;
  static type of(T value) {
    if constexpr (kIsShortFloat<T>)
      return sorting::key_of_bits<T>(value.bits);
    else
      return value;
  }
};

template <typename T>
bool is_nan(T value) {
  if constexpr (sorting::kIsFloat<T>)
    return static_cast<float>(value) != static_cast<float>(value);
  else
    return false;
}

// Whether an element comes before the value looked for. Every element does when that is NaN.
template <bool kRight, typename C>
bool comes_before(C element, C value) {
  if constexpr (kRight)
    return !(element > value);
  else
    return !(element >= value);
}

// Many binary searches in step: the loads of one round do not wait for each other.
template <typename T, bool kRight>
void search_together(const T* sorted, int64_t n, const T* values, int64_t m, int64_t* out) {
  using C = typename Compared<T>::type;
  constexpr int64_t kGroup = 16;
  for (int64_t begin = 0; begin < m; begin += kGroup) {
    const int64_t count = std::min(kGroup, m - begin);
    C wanted[kGroup];
    for (int64_t i = 0; i < kGroup; ++i) {
      wanted[i] = Compared<T>::of(values[begin + std::min(i, count - 1)]);
    }
    int64_t base[kGroup] = {};
    int64_t length = n;
    while (length > 1) {
      const int64_t half = length / 2;
      for (int64_t i = 0; i < kGroup; ++i) {
        const C element = Compared<T>::of(sorted[base[i] + half - 1]);
        base[i] += comes_before<kRight>(element, wanted[i]) ? half : 0;
      }
      length -= half;
    }
    for (int64_t i = 0; i < count; ++i) {
      const C element = Compared<T>::of(sorted[base[i]]);
      out[begin + i] = base[i] + comes_before<kRight>(element, wanted[i]);
    }
  }
}

// One search after the other, with the probes torch makes.
template <typename T, bool kRight>
void search_one_by_one(
    const T* sorted, int64_t n, const T* values, int64_t m, const int64_t* sorter, int64_t* out) {
  using C = std::conditional_t<kIsShortFloat<T>, float, T>;
  for (int64_t i = 0; i < m; ++i) {
    const C wanted = static_cast<C>(values[i]);
    int64_t begin = 0;
    int64_t end = n;
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      const C element = static_cast<C>(sorted[sorter ? sorter[middle] : middle]);
      if (comes_before<kRight>(element, wanted)) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    out[i] = begin;
  }
}

void SearchSorted(DType dtype,
                  const void* sorted,
                  int64_t n,
                  const void* values,
                  int64_t m,
                  bool right,
                  const int64_t* sorter,
                  int64_t* out) {
  if (n == 0) return void(std::fill(out, out + m, int64_t{0}));
  visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    const T* row = static_cast<const T*>(sorted);
    const T* wanted = static_cast<const T*>(values);
    if (sorter || is_nan(row[n - 1])) {
      right ? search_one_by_one<T, true>(row, n, wanted, m, sorter, out)
            : search_one_by_one<T, false>(row, n, wanted, m, sorter, out);
    } else {
      right ? search_together<T, true>(row, n, wanted, m, out)
            : search_together<T, false>(row, n, wanted, m, out);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mindtorch::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(SearchSorted);

void searchsorted_row(DType dtype,
                      const void* sorted,
                      int64_t n,
                      const void* values,
                      int64_t m,
                      bool right,
                      const int64_t* sorter,
                      int64_t* out) {
  HWY_DYNAMIC_DISPATCH(SearchSorted)(dtype, sorted, n, values, m, right, sorter, out);
}

}  // namespace mindtorch::cpu
#endif
