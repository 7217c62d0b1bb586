#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "mindtorch/backends/cpu/random_fill.h"

namespace mindtorch::cpu {

namespace {

constexpr const char* kNoWeight = "invalid multinomial distribution (sum of probabilities <= 0)";

// What weights are added and divided in.
template <typename T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The first index whose share of the row, counted up to and including itself, reaches a number of
// [0, 1).
template <typename T>
void sample_with_replacement(CpuGenerator& generator,
                             std::span<const T> weights,
                             int64_t categories,
                             int64_t samples,
                             int64_t* out) {
  using C = Compute<T>;
  const CpuGenerator::Lock source(generator);
  const size_t row_size = static_cast<size_t>(categories);
  std::vector<C> shares(row_size);
  for (size_t begin = 0; begin < weights.size(); begin += row_size) {
    C sum = 0;
    for (size_t i = 0; i < row_size; ++i) {
      const C weight = static_cast<C>(weights[begin + i]);
      MT_CHECK(weight >= 0, RuntimeError,
               "invalid multinomial distribution (encountering probability entry < 0)");
      MT_CHECK(std::isfinite(weight), RuntimeError,
               "invalid multinomial distribution (encountering probability entry = infinity or "
               "NaN)");
      sum += weight;
      shares[i] = sum;
    }
    MT_CHECK(sum > 0, RuntimeError, kNoWeight);
    for (C& share : shares) share /= sum;
    shares.back() = 1;

    for (int64_t i = 0; i < samples; ++i) {
      constexpr uint64_t kMask = (uint64_t{1} << 53) - 1;
      const double number = static_cast<double>(source->engine.next64() & kMask) * 0x1p-53;
      *out++ = std::lower_bound(shares.begin(), shares.end(), number) - shares.begin();
    }
  }
}

template <typename T>
void check_weights(std::span<const T> weights, int64_t categories) {
  using C = Compute<T>;
  for (const T weight : weights) {
    const C value = static_cast<C>(weight);
    MT_CHECK(value >= 0 && value < std::numeric_limits<C>::infinity(), RuntimeError,
             "probability tensor contains either `inf`, `nan` or element < 0");
  }
  const size_t row_size = static_cast<size_t>(categories);
  for (size_t begin = 0; begin < weights.size(); begin += row_size) {
    const auto row = weights.subspan(begin, row_size);
    MT_CHECK(
        std::any_of(row.begin(), row.end(), [](T weight) { return static_cast<C>(weight) > 0; }),
        RuntimeError, kNoWeight);
  }
}

// A race: each category finishes after an exponential time divided by its weight, and the first
// `samples` to finish are a sample without replacement. As in torch, the largest of the inverse
// times win, with NaN above all. Ties occur in the 16-bit dtypes; they end as the standard
// library's selection leaves them, so torch's choice between its two algorithms matters.
template <typename T>
void sample_without_replacement(Generator& generator,
                                std::span<const T> weights,
                                int64_t categories,
                                int64_t samples,
                                int64_t* out) {
  using C = Compute<T>;
  check_weights(weights, categories);
  std::vector<T> times(weights.size());
  fill_exponential(generator, DTypeOf<T>::value, times.data(), static_cast<int64_t>(times.size()),
                   1);

  struct Runner {
    C speed;
    int64_t index;
  };
  const auto wins = [](const Runner& a, const Runner& b) {
    return (std::isnan(a.speed) && !std::isnan(b.speed)) || a.speed > b.speed;
  };
  const size_t row_size = static_cast<size_t>(categories);
  std::vector<Runner> runners(row_size);
  for (size_t begin = 0; begin < weights.size(); begin += row_size) {
    for (size_t i = 0; i < row_size; ++i) {
      const C speed = static_cast<C>(weights[begin + i]) / static_cast<C>(times[begin + i]);
      runners[i] = {static_cast<C>(static_cast<T>(speed)), static_cast<int64_t>(i)};
    }
    const auto first = runners.begin();
    if (samples == 1) {
      *out++ = std::min_element(first, runners.end(), wins)->index;
      continue;
    }
    if (samples * 64 <= categories) {
      std::partial_sort(first, first + samples, runners.end(), wins);
    } else {
      std::nth_element(first, first + samples - 1, runners.end(), wins);
      std::sort(first, first + samples - 1, wins);
    }
    out = std::transform(first, first + samples, out,
                         [](const Runner& runner) { return runner.index; });
  }
}

}  // namespace

void sample_multinomial(Generator& generator,
                        DType dtype,
                        const void* weights,
                        int64_t rows,
                        int64_t categories,
                        int64_t samples,
                        bool replacement,
                        int64_t* out) {
  CpuGenerator& source = CpuGenerator::from(generator);
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (is_floating_point(DTypeOf<T>::value)) {
      const std::span<const T> all(static_cast<const T*>(weights),
                                   static_cast<size_t>(rows * categories));
      // One sample needs no replacement, and torch then takes the race.
      if (replacement && samples > 1) {
        sample_with_replacement(source, all, categories, samples, out);
      } else {
        sample_without_replacement(source, all, categories, samples, out);
      }
    } else {
      MT_THROW(RuntimeError, "multinomial only supports floating-point dtypes for input, got: ",
               legacy_name(dtype));
    }
  });
}

}  // namespace mindtorch::cpu
