#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "mindtorch/backends/cpu/search.h"
#include "mindtorch/backends/cpu/sorting/keys.h"

// This file is compiled once per instruction set; plain loops below are vectorised for each.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/histogram.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu {
namespace HWY_NAMESPACE {

template <typename T>
int64_t count_bins(const T* in, int64_t n, int64_t minlength) {
  if (n == 0) return minlength;
  T low = in[0];
  T high = in[0];
  for (int64_t i = 0; i < n; ++i) {
    low = in[i] < low ? in[i] : low;
    high = in[i] > high ? in[i] : high;
  }
  if (std::is_signed_v<T> && low < T{0}) return -1;
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  MT_CHECK(static_cast<int64_t>(high) < kLargest, RuntimeError,
           "maximum value of input overflowed, it should be < ", kLargest, " but got ", kLargest);
  return std::max(minlength, static_cast<int64_t>(high) + 1);
}

int64_t BincountSize(DType dtype, const void* in, int64_t n, int64_t minlength) {
  return visit_dtype(dtype, [&]<typename T>() HWY_ATTR -> int64_t {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return count_bins(static_cast<const T*>(in), n, minlength);
    } else {
      MT_THROW(NotImplementedError, "\"bincount_cpu\" not implemented for '", legacy_name(dtype),
               "'");
    }
  });
}

// The bin of each of n elements; elements that belong to none get `bins`.
template <typename T>
void find_bins(
    const T* HWY_RESTRICT in, int64_t n, int64_t bins, T min, T max, uint32_t* HWY_RESTRICT out) {
  const T count = static_cast<T>(bins);
  const T width = max - min;
  const auto last = static_cast<int32_t>(bins - 1);
  for (int64_t i = 0; i < n; ++i) {
    const T value = in[i];
    const bool inside = (value >= min) & (value <= max);
    // Outside values may be NaN or too large to convert: they become min first.
    const T place = ((inside ? value : min) - min) * count / width;
    const int32_t bin = static_cast<int32_t>(place);
    out[i] = static_cast<uint32_t>(inside ? (bin < last ? bin : last) : last + 1);
  }
}

// torch rounds every step to the dtype.
template <typename T>
void find_bins_rounded(
    const T* in, int64_t n, int64_t bins, double min, double max, uint32_t* out) {
  const float low = T(static_cast<float>(min));
  const float high = T(static_cast<float>(max));
  const float width = T(high - low);
  for (int64_t i = 0; i < n; ++i) {
    const float value = in[i];
    out[i] = static_cast<uint32_t>(bins);
    if (!(value >= low && value <= high)) continue;
    const float scaled = T(T(value - low) * static_cast<float>(T(static_cast<float>(bins))));
    const auto bin = static_cast<int64_t>(static_cast<float>(T(scaled / width)));
    out[i] = static_cast<uint32_t>(std::min(bin, bins - 1));
  }
}

void FindBins(
    DType dtype, const void* in, int64_t n, int64_t bins, double min, double max, uint32_t* out) {
  visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    if constexpr (std::is_floating_point_v<T>) {
      find_bins<T>(static_cast<const T*>(in), n, bins, static_cast<T>(min), static_cast<T>(max),
                   out);
    } else if constexpr (sorting::kIsFloat<T>) {
      find_bins_rounded<T>(static_cast<const T*>(in), n, bins, min, max, out);
    } else {
      MT_THROW(NotImplementedError, "\"histogram_cpu\" not implemented for '", legacy_name(dtype),
               "'");
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mindtorch::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {

HWY_EXPORT(BincountSize);
HWY_EXPORT(FindBins);

// Equal neighbours wait for each other's increment, so few bins get four tables in turn.
constexpr int64_t kFewBins = 4096;
constexpr int64_t kTables = 4;

template <typename T>
void count_elements(const T* in, int64_t n, int64_t* out, int64_t bins) {
  std::fill(out, out + bins, int64_t{0});
  int64_t i = 0;
  if (bins <= kFewBins && n >= kTables * bins) {
    std::vector<int64_t> tables(static_cast<size_t>(kTables * bins));
    int64_t* table = tables.data();
    for (; i + kTables <= n; i += kTables) {
      ++table[static_cast<int64_t>(in[i])];
      ++table[static_cast<int64_t>(in[i + 1]) + bins];
      ++table[static_cast<int64_t>(in[i + 2]) + 2 * bins];
      ++table[static_cast<int64_t>(in[i + 3]) + 3 * bins];
    }
    for (int64_t bin = 0; bin < bins; ++bin) {
      for (int64_t t = 0; t < kTables; ++t) out[bin] += table[bin + t * bins];
    }
  }
  for (; i < n; ++i) ++out[static_cast<int64_t>(in[i])];
}

template <typename T, typename Weight>
void sum_weights(const T* in, int64_t n, const Weight* weights, Weight* out, int64_t bins) {
  std::fill(out, out + bins, Weight{0});
  for (int64_t i = 0; i < n; ++i) out[static_cast<int64_t>(in[i])] += weights[i];
}

}  // namespace

int64_t bincount_size(DType dtype, const void* in, int64_t n, int64_t minlength) {
  return HWY_DYNAMIC_DISPATCH(BincountSize)(dtype, in, n, minlength);
}

void bincount(DType dtype,
              const void* in,
              int64_t n,
              const void* weights,
              DType out_dtype,
              void* out,
              int64_t bins) {
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const T* from = static_cast<const T*>(in);
      if (out_dtype == DType::kInt64) {
        count_elements(from, n, static_cast<int64_t*>(out), bins);
      } else if (out_dtype == DType::kFloat32) {
        sum_weights(from, n, static_cast<const float*>(weights), static_cast<float*>(out), bins);
      } else {
        MT_ASSERT(out_dtype == DType::kFloat64);
        sum_weights(from, n, static_cast<const double*>(weights), static_cast<double*>(out), bins);
      }
    } else {
      MT_THROW(NotImplementedError, "\"bincount_cpu\" not implemented for '", legacy_name(dtype),
               "'");
    }
  });
}

void histc_range(DType dtype, const void* in, int64_t n, double* min, double* max) {
  if (*min == *max && n > 0) {
    visit_dtype(dtype, [&]<typename T>() {
      const T* from = static_cast<const T*>(in);
      auto low = static_cast<double>(from[0]);
      auto high = low;
      for (int64_t i = 1; i < n && !std::isnan(low); ++i) {
        const auto value = static_cast<double>(from[i]);
        low = !(value >= low) ? value : low;  // NaN stays
        high = !(value <= high) ? value : high;
      }
      *min = low;
      *max = high;
    });
  }
  MT_CHECK(std::isfinite(*min) && std::isfinite(*max), RuntimeError, "torch.histc: range of [",
           *min, ", ", *max, "] is not finite");
  if (*min == *max) {
    *min -= 1;
    *max += 1;
  }
  MT_CHECK(*min < *max, RuntimeError, "torch.histc: max must be larger than min");
}

namespace {

// counts[bin] for `bins` bins and one more, for what lies outside.
std::vector<int64_t> count_in_bins(
    DType dtype, const void* in, int64_t n, int64_t bins, double min, double max) {
  constexpr int64_t kBlock = 1024;
  std::array<uint32_t, kBlock> places;
  const auto size = static_cast<size_t>(bins + 1);
  std::vector<int64_t> counts(bins < kFewBins ? kTables * size : size);
  const size_t step = bins < kFewBins ? size : 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const auto length = static_cast<size_t>(std::min(kBlock, n - begin));
    HWY_DYNAMIC_DISPATCH(FindBins)
    (dtype, static_cast<const std::byte*>(in) + begin * size_bytes(dtype),
     static_cast<int64_t>(length), bins, min, max, places.data());
    size_t i = 0;
    for (; i + kTables <= length; i += kTables) {
      ++counts[places[i]];
      ++counts[places[i + 1] + step];
      ++counts[places[i + 2] + 2 * step];
      ++counts[places[i + 3] + 3 * step];
    }
    for (; i < length; ++i) ++counts[places[i]];
  }
  for (size_t i = size; i < counts.size(); ++i) counts[i % size] += counts[i];
  return counts;
}

// The same for long rows of a 16-bit dtype: counts the 65536 patterns, then finds their bins.
std::vector<int64_t> count_patterns_in_bins(
    DType dtype, const void* in, int64_t n, int64_t bins, double min, double max) {
  constexpr int64_t kPatterns = 65536;
  std::vector<int64_t> seen(kPatterns);
  count_elements(static_cast<const uint16_t*>(in), n, seen.data(), kPatterns);
  std::vector<uint16_t> patterns(kPatterns);
  std::iota(patterns.begin(), patterns.end(), uint16_t{0});
  std::vector<uint32_t> places(kPatterns);
  HWY_DYNAMIC_DISPATCH(FindBins)
  (dtype, patterns.data(), kPatterns, bins, min, max, places.data());
  std::vector<int64_t> counts(static_cast<size_t>(bins + 1));
  for (size_t i = 0; i < kPatterns; ++i) counts[places[i]] += seen[i];
  return counts;
}

}  // namespace

void histc(
    DType dtype, const void* in, int64_t n, int64_t bins, double min, double max, void* out) {
  MT_CHECK(bins < int64_t{std::numeric_limits<int32_t>::max()}, RuntimeError,
           "torch.histc: too many bins: ", bins);
  const bool by_pattern = size_bytes(dtype) == 2 && n >= 100000;
  const std::vector<int64_t> counts = by_pattern
                                          ? count_patterns_in_bins(dtype, in, n, bins, min, max)
                                          : count_in_bins(dtype, in, n, bins, min, max);
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (sorting::kIsFloat<T>) {
      using Rounded = std::conditional_t<std::is_same_v<T, double>, double, float>;
      for (int64_t bin = 0; bin < bins; ++bin) {
        const auto count = static_cast<Rounded>(counts[static_cast<size_t>(bin)]);
        static_cast<T*>(out)[bin] = static_cast<T>(count);
      }
    }
  });
}

}  // namespace mindtorch::cpu
#endif
