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
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The running sums of rows beside each other, each added up from the left as one alone is: several
// sums wait for their last addition at the same time. False if a weight is refused.
template <size_t kRows, typename T>
bool add_rows(const T* weights, size_t row_size, Wide<T>* sums) {
  using C = Wide<T>;
  C sum[kRows] = {};
  C least[kRows] = {};
  for (size_t i = 0; i < row_size; ++i) {
    for (size_t row = 0; row < kRows; ++row) {
      const C weight = static_cast<C>(weights[row * row_size + i]);
      least[row] = weight < least[row] ? weight : least[row];
      sum[row] += weight;
      sums[row * row_size + i] = sum[row];
    }
  }
  bool accepted = true;
  for (size_t row = 0; row < kRows; ++row) {
    accepted &= least[row] >= 0 && std::isfinite(sum[row]) && sum[row] > 0;
  }
  return accepted;
}

// The same of one row, with torch's errors. A sum of finite weights may be infinite.
template <typename T>
void add_row(const T* weights, size_t row_size, Wide<T>* sums) {
  using C = Wide<T>;
  C sum = 0;
  for (size_t i = 0; i < row_size; ++i) {
    const C weight = static_cast<C>(weights[i]);
    MT_CHECK(weight >= 0, RuntimeError,
             "invalid multinomial distribution (encountering probability entry < 0)");
    MT_CHECK(std::isfinite(weight), RuntimeError,
             "invalid multinomial distribution (encountering probability entry = infinity or "
             "NaN)");
    sum += weight;
    sums[i] = sum;
  }
  MT_CHECK(sum > 0, RuntimeError, kNoWeight);
}

// The first of `count` ascending numbers that is not below, or `count`. Without branches, of which
// the processor would guess every other one wrong.
template <typename C, typename IsBelow>
int64_t first_not_below(const C* numbers, size_t count, const IsBelow& is_below) {
  const C* first = numbers;
  while (count > 0) {
    const size_t half = (count + 1) / 2;
    first += half & (size_t{0} - static_cast<size_t>(is_below(first[half - 1])));
    count -= half;
  }
  return first - numbers;
}

// The first index whose share of the row, counted up to and including itself, reaches a number of
// [0, 1).
template <typename C>
void sample_row(const CpuGenerator::Lock& source,
                std::span<C> sums,
                int64_t samples,
                int64_t* out) {
  const auto draw = [&] {
    constexpr uint64_t kMask = (uint64_t{1} << 53) - 1;
    return static_cast<double>(source->engine.next64() & kMask) * 0x1p-53;
  };
  constexpr int64_t kProbes = 16;  // of one search, about
  const C total = sums.back();
  const size_t others = sums.size() - 1;  // the last share is 1, which every number is below
  if (samples * kProbes < static_cast<int64_t>(sums.size()) && std::isfinite(total)) {
    for (int64_t i = 0; i < samples; ++i) {
      const double number = draw();
      out[i] = first_not_below(sums.data(), others,
                               [=](C sum) { return static_cast<double>(sum / total) < number; });
    }
    return;
  }
  for (C& sum : sums) sum /= total;
  sums.back() = 1;
  for (int64_t i = 0; i < samples; ++i) {
    const double number = draw();
    // Shares of an infinite sum are not ascending: the steps of this search give torch's result.
    out[i] = std::isfinite(total)
                 ? first_not_below(sums.data(), others, [=](C share) { return share < number; })
                 : std::lower_bound(sums.begin(), sums.end(), number) - sums.begin();
  }
}

template <typename T>
void sample_with_replacement(CpuGenerator& generator,
                             std::span<const T> weights,
                             int64_t categories,
                             int64_t samples,
                             int64_t* out) {
  using C = Wide<T>;
  constexpr size_t kRows = 4;
  constexpr size_t kMostNumbers = 8192;  // of several rows
  const CpuGenerator::Lock source(generator);
  const size_t row_size = static_cast<size_t>(categories);
  const bool is_short = kRows * row_size <= kMostNumbers;
  std::vector<C> sums((is_short ? kRows : 1) * row_size);
  for (size_t begin = 0; begin < weights.size();) {
    size_t rows = 1;
    if (is_short && begin + kRows * row_size <= weights.size() &&
        add_rows<kRows>(weights.data() + begin, row_size, sums.data())) {
      rows = kRows;
    } else {
      add_row(weights.data() + begin, row_size, sums.data());
    }
    for (size_t row = 0; row < rows; ++row, out += samples) {
      sample_row<C>(source, std::span(sums).subspan(row * row_size, row_size), samples, out);
    }
    begin += rows * row_size;
  }
}

template <typename T>
void check_weights(std::span<const T> weights, int64_t categories) {
  using C = Wide<T>;
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
                                bool by_columns,
                                int64_t* out) {
  using C = Wide<T>;
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
  const size_t step = by_columns ? weights.size() / row_size : 1;
  std::vector<Runner> runners(row_size);
  for (size_t begin = 0; begin < weights.size(); begin += row_size) {
    const T* const own = times.data() + (by_columns ? begin / row_size : begin);
    for (size_t i = 0; i < row_size; ++i) {
      const C speed = static_cast<C>(weights[begin + i]) / static_cast<C>(own[i * step]);
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
                        bool by_columns,
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
        sample_without_replacement(source, all, categories, samples, by_columns, out);
      }
    } else {
      MT_THROW(RuntimeError, "multinomial only supports floating-point dtypes for input, got: ",
               legacy_name(dtype));
    }
  });
}

}  // namespace mindtorch::cpu
