#include "mindtorch/backends/cpu/random_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "mindtorch/backends/cpu/random_transform.h"

namespace mindtorch::cpu {

namespace {

using Source = CpuGenerator::Source;

// Words are drawn in blocks of this many at most: small enough for the first cache, and a multiple
// of 32, the words of one Box-Muller group of doubles.
constexpr int64_t kBlockWords = 1024;

template <typename T>
constexpr bool kIsFloatingPoint = is_floating_point(DTypeOf<T>::value);
template <typename T>
constexpr bool kIsHalfSized = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
// What the numbers of a dtype are computed in.
template <typename T>
using Compute = std::conditional_t<kIsHalfSized<T>, float, T>;

// Value bits of a float: a draw of that many is exact.
template <typename T>
constexpr int kDigits = std::numeric_limits<T>::digits;
template <>
constexpr int kDigits<Half> = 11;
template <>
constexpr int kDigits<BFloat16> = 8;

template <typename T, typename V>
T convert(V value) {
  if constexpr (kIsHalfSized<T>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<V> && std::is_integral_v<T>) {
    // Beyond the range: what x86 gives, through 32 bits for the small dtypes.
    using Wide = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    constexpr Wide kLowest = std::numeric_limits<Wide>::lowest();
    constexpr V kLimit = -static_cast<V>(kLowest);
    return static_cast<T>(value >= -kLimit && value < kLimit ? static_cast<Wide>(value) : kLowest);
  } else {
    return static_cast<T>(value);
  }
}

template <typename T, typename V>
void convert_all(const V* from, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = convert<T>(from[i]);
}

[[noreturn]] void throw_not_implemented(std::string_view kernel, DType dtype) {
  MT_THROW(NotImplementedError, "\"", kernel, "\" not implemented for '", legacy_name(dtype), "'");
}

// Calls `body` with the C++ type of a float dtype.
template <typename Body>
void visit_floating_point(std::string_view kernel, DType dtype, const Body& body) {
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (kIsFloatingPoint<T>) {
      body.template operator()<T>();
    } else {
      throw_not_implemented(kernel, dtype);
    }
  });
}

// out[i] = map(next 32 bits).
template <typename T, typename Map>
void map_words32(Source& source, T* out, int64_t n, const Map& map) {
  uint32_t words[kBlockWords];
  for (int64_t begin = 0; begin < n; begin += kBlockWords) {
    const int64_t count = std::min(kBlockWords, n - begin);
    source.engine.fill(words, count);
    for (int64_t i = 0; i < count; ++i) out[begin + i] = map(words[i]);
  }
}

// out[i] = map(next 64 bits).
template <typename T, typename Map>
void map_words64(Source& source, T* out, int64_t n, const Map& map) {
  constexpr int64_t kBlock = kBlockWords / 2;
  uint32_t words[kBlockWords];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    source.engine.fill(words, 2 * count);
    for (int64_t i = 0; i < count; ++i) {
      out[begin + i] = map(uint64_t{words[2 * i]} << 32 | words[2 * i + 1]);
    }
  }
}

template <typename T, typename Map>
void map_words(Source& source, T* out, int64_t n, const Map& map) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
    map_words64(source, out, n, map);
  } else {
    map_words32(source, out, n, map);
  }
}

void draw_uniform(Source& source, float* out, int64_t n, float from, float to) {
  uint32_t words[kBlockWords];
  for (int64_t begin = 0; begin < n; begin += kBlockWords) {
    const int64_t count = std::min(kBlockWords, n - begin);
    source.engine.fill(words, count);
    uniform_floats(words, out + begin, count, from, to);
  }
}

void draw_uniform(Source& source, double* out, int64_t n, double from, double to) {
  constexpr int64_t kBlock = kBlockWords / 2;
  uint32_t words[kBlockWords];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    source.engine.fill(words, 2 * count);
    uniform_doubles(words, out + begin, count, from, to);
  }
}

// Calls body(numbers, begin, count) for blocks that together hold n uniform numbers of [0, 1).
template <typename V, typename Body>
void for_unit_blocks(Source& source, int64_t n, const Body& body) {
  constexpr int64_t kBlock = kBlockWords / 2;
  V numbers[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    draw_uniform(source, numbers, count, V{0}, V{1});
    body(numbers, begin, count);
  }
}

// torch draws for the whole of a float32 or float64 tensor first; the numbers of an incomplete last
// group are then spent for nothing, and the last 16 elements drawn anew.
template <typename T>
void draw_normal_groups(Source& source, T* out, int64_t n, double mean, double std) {
  using C = Compute<T>;
  const C shift = static_cast<C>(mean);
  const C scale = static_cast<C>(std);
  const int64_t rest = n % 16;
  for_unit_blocks<C>(source, n - rest, [&](C* numbers, int64_t begin, int64_t count) {
    box_muller(numbers, count, shift, scale);
    convert_all(numbers, out + begin, count);
  });
  if (rest == 0) return;
  if constexpr (!kIsHalfSized<T>) source.engine.skip(rest * (sizeof(T) / 4));
  C last[16];
  draw_uniform(source, last, 16, C{0}, C{1});
  box_muller(last, 16, shift, scale);
  convert_all(last, out + n - 16, 16);
}

// One normal number in double precision; every second one was kept from the call before.
double next_normal(Source& source, double mean, double std) {
  if (source.next_double_normal) {
    const double kept = *source.next_double_normal;
    source.next_double_normal.reset();
    return std::fma(kept, std, mean);
  }
  double u[2];
  draw_uniform(source, u, 2, 0.0, 1.0);
  const double radius = std::sqrt(-2 * std::log1p(-u[1]));
  const double angle = 2 * std::numbers::pi * u[0];
  source.next_double_normal = radius * std::sin(angle);
  return std::fma(radius * std::cos(angle), std, mean);
}

// The remainder of many numbers by one divisor, without a division for each. After Lemire, Kaser
// and Kurz, "Faster remainder by direct computation" (2019); exact for every 32-bit pair.
class Remainder32 {
 public:
  explicit Remainder32(uint32_t divisor)
      : divisor_(divisor), inverse_(std::numeric_limits<uint64_t>::max() / divisor + 1) {}
  uint32_t operator()(uint32_t value) const {
    const uint64_t fraction = inverse_ * value;
    return static_cast<uint32_t>(static_cast<unsigned __int128>(fraction) * divisor_ >> 64);
  }

 private:
  uint64_t divisor_;
  uint64_t inverse_;
};

// 2^53 p, rounded up: 53 drawn bits are below it exactly when their value over 2^53 is below p.
uint64_t bernoulli_threshold(double p) { return static_cast<uint64_t>(std::ceil(p * 0x1p53)); }

}  // namespace

void fill_uniform(Generator& generator, DType dtype, void* out, int64_t n, double from, double to) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("check_uniform_bounds", dtype, [&]<typename T>() {
    T* values = static_cast<T*>(out);
    using C = Compute<T>;
    const C low = static_cast<C>(from);
    const C high = static_cast<C>(to);
    if constexpr (!kIsHalfSized<T>) {
      draw_uniform(*source, values, n, low, high);
    } else {
      const T rounded_low(low);
      const T rounded_high(high);
      float numbers[kBlockWords];
      for (int64_t begin = 0; begin < n; begin += kBlockWords) {
        const int64_t count = std::min(kBlockWords, n - begin);
        draw_uniform(*source, numbers, count, low, high);
        for (int64_t i = 0; i < count; ++i) {
          const T value(numbers[i]);
          values[begin + i] = float{value} == float{rounded_high} ? rounded_low : value;
        }
      }
    }
  });
}

void fill_normal(Generator& generator, DType dtype, void* out, int64_t n, double mean, double std) {
  if (n < 16) return fill_normal_serial(generator, dtype, out, n, mean, std);
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("normal_kernel_cpu", dtype, [&]<typename T>() {
    draw_normal_groups(*source, static_cast<T*>(out), n, mean, std);
  });
}

void fill_normal_serial(
    Generator& generator, DType dtype, void* out, int64_t n, double mean, double std) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("normal_kernel_cpu", dtype, [&]<typename T>() {
    T* values = static_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) values[i] = convert<T>(next_normal(*source, mean, std));
  });
}

void fill_random_range(
    Generator& generator, DType dtype, void* out, int64_t n, int64_t base, uint64_t range) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  const uint64_t offset = static_cast<uint64_t>(base);
  visit_dtype(dtype, [&]<typename T>() {
    T* values = static_cast<T*>(out);
    // Beyond 2^28 the remainder of 32 bits would favour small numbers by more than a few percent.
    if (range >= uint64_t{1} << 28) {
      map_words64(*source, values, n, [&](uint64_t bits) {
        return convert<T>(static_cast<int64_t>(bits % range + offset));
      });
    } else {
      const Remainder32 remainder(static_cast<uint32_t>(range));
      map_words32(*source, values, n, [&](uint32_t bits) {
        return convert<T>(static_cast<int64_t>(remainder(bits) + offset));
      });
    }
  });
}

void fill_random_full(Generator& generator, DType dtype, void* out, int64_t n) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_dtype(dtype, [&]<typename T>() {
    map_words(*source, static_cast<T*>(out), n, [](auto bits) {
      if constexpr (std::is_same_v<T, bool>) {
        return (bits & 1) != 0;
      } else if constexpr (kIsFloatingPoint<T>) {
        return convert<T>(bits % ((uint64_t{1} << kDigits<T>)+1));
      } else {
        return static_cast<T>(bits & static_cast<uint64_t>(std::numeric_limits<T>::max()));
      }
    });
  });
}

void fill_random_full64(Generator& generator, DType dtype, void* out, int64_t n) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                  std::is_same_v<T, float> || std::is_same_v<T, BFloat16>) {
      map_words64(*source, static_cast<T*>(out), n,
                  [](uint64_t bits) { return convert<T>(static_cast<int64_t>(bits)); });
    } else {
      throw_not_implemented("random_full_64_bits_range_kernel_cpu", dtype);
    }
  });
}

void fill_permutation(Generator& generator, DType dtype, void* out, int64_t n) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      throw_not_implemented("randperm", dtype);
    } else {
      T* values = static_cast<T*>(out);
      for (int64_t i = 0; i < n; ++i) values[i] = convert<T>(i);
      // 32 bits serve where their remainders are nearly even.
      const bool is_small = n < int64_t{std::numeric_limits<uint32_t>::max() / 20};
      uint32_t words[kBlockWords];
      const int64_t block = is_small ? kBlockWords : kBlockWords / 2;
      for (int64_t begin = 0; begin < n - 1; begin += block) {
        const int64_t count = std::min(block, n - 1 - begin);
        source->engine.fill(words, is_small ? count : 2 * count);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t at = begin + i;
          const uint64_t left = static_cast<uint64_t>(n - at);
          const uint64_t pick =
              is_small ? words[i] % static_cast<uint32_t>(left)
                       : (uint64_t{words[2 * i]} << 32 | words[2 * i + 1]) % left;
          std::swap(values[at], values[at + static_cast<int64_t>(pick)]);
        }
      }
    }
  });
}

void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t n, double p) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  const uint64_t threshold = bernoulli_threshold(p);
  visit_dtype(dtype, [&]<typename T>() {
    map_words64(*source, static_cast<T*>(out), n, [=](uint64_t bits) {
      return convert<T>(static_cast<int>((bits & ((uint64_t{1} << 53) - 1)) < threshold));
    });
  });
}

void fill_bernoulli(
    Generator& generator, DType dtype, void* out, int64_t n, DType p_dtype, const void* p) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("bernoulli_tensor_cpu_p_", p_dtype, [&]<typename P>() {
    using C = std::conditional_t<std::is_same_v<P, double>, double, float>;
    const P* probabilities = static_cast<const P*>(p);
    visit_dtype(dtype, [&]<typename T>() {
      T* values = static_cast<T*>(out);
      for_unit_blocks<C>(*source, n, [&](const C* numbers, int64_t begin, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          const C probability = static_cast<C>(probabilities[begin + i]);
          MT_CHECK(probability >= 0 && probability <= 1, RuntimeError,
                   "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
          values[begin + i] = convert<T>(static_cast<int>(numbers[i] < probability));
        }
      });
    });
  });
}

void fill_exponential(Generator& generator, DType dtype, void* out, int64_t n, double lambda) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  const double scale = -1 / lambda;
  visit_floating_point("exponential_cpu", dtype, [&]<typename T>() {
    T* values = static_cast<T*>(out);
    for_unit_blocks<double>(*source, n, [&](double* numbers, int64_t begin, int64_t count) {
      if constexpr (std::is_same_v<T, double>) {
        for (int64_t i = 0; i < count; ++i) values[begin + i] = scale * std::log1p(-numbers[i]);
      } else {
        // The last bit of a double is lost on the way to T anyway.
        scaled_log_complement(numbers, count, scale);
        convert_all(numbers, values + begin, count);
      }
    });
  });
}

void fill_cauchy(
    Generator& generator, DType dtype, void* out, int64_t n, double median, double sigma) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("cauchy_cpu", dtype, [&]<typename T>() {
    T* values = static_cast<T*>(out);
    for_unit_blocks<double>(*source, n, [&](const double* numbers, int64_t begin, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const double tangent = std::tan(std::numbers::pi * (numbers[i] - 0.5));
        values[begin + i] = convert<T>(std::fma(sigma, tangent, median));
      }
    });
  });
}

void fill_log_normal(
    Generator& generator, DType dtype, void* out, int64_t n, double mean, double std) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("log_normal_cpu", dtype, [&]<typename T>() {
    T* values = static_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) {
      values[i] = convert<T>(std::exp(next_normal(*source, mean, std)));
    }
  });
}

void fill_geometric(Generator& generator, DType dtype, void* out, int64_t n, double p) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  const double log_failure = std::log1p(-p);
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      throw_not_implemented("geometric_cpu", dtype);
    } else {
      T* values = static_cast<T*>(out);
      for_unit_blocks<double>(*source, n, [&](const double* numbers, int64_t begin, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          values[begin + i] = convert<T>(std::ceil(std::log(numbers[i]) / log_failure));
        }
      });
    }
  });
}

}  // namespace mindtorch::cpu
