#include "mindtorch/backends/cpu/random_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mindtorch/backends/cpu/random_numbers.h"
#include "mindtorch/backends/cpu/random_transform.h"
#include "mindtorch/backends/cpu/tile.h"

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

// Calls body(to, begin, count) for blocks that together make up out[0 .. n). `to` holds the compute
// type of T: the elements themselves, or a buffer that is then rounded into them.
template <typename T, typename Body>
void for_blocks(T* out, int64_t n, int64_t block, const Body& body) {
  if constexpr (kIsHalfSized<T>) {
    const CastFn round = find_cast(DType::kFloat32, DTypeOf<T>::value);
    float numbers[kBlockWords];
    for (int64_t begin = 0; begin < n; begin += block) {
      const int64_t count = std::min(block, n - begin);
      body(numbers, begin, count);
      round(numbers, out + begin, count);
    }
  } else {
    for (int64_t begin = 0; begin < n; begin += block) {
      body(out + begin, begin, std::min(block, n - begin));
    }
  }
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

// out[i] = map(next 32 bits), where map gives T's compute type.
template <typename T, typename Map>
void map_words32(Source& source, T* out, int64_t n, const Map& map) {
  uint32_t words[kBlockWords];
  for_blocks(out, n, kBlockWords, [&](Compute<T>* to, int64_t, int64_t count) {
    source.engine.fill(words, count);
    for (int64_t i = 0; i < count; ++i) to[i] = map(words[i]);
  });
}

// The same with the next 64 bits.
template <typename T, typename Map>
void map_words64(Source& source, T* out, int64_t n, const Map& map) {
  uint32_t words[kBlockWords];
  for_blocks(out, n, kBlockWords / 2, [&](Compute<T>* to, int64_t, int64_t count) {
    source.engine.fill(words, 2 * count);
    for (int64_t i = 0; i < count; ++i) {
      to[i] = map(uint64_t{words[2 * i]} << 32 | words[2 * i + 1]);
    }
  });
}

// n <= kBlockWords / 2.
void draw_uniform(Source& source, float* out, int64_t n, float from, float to) {
  uint32_t words[kBlockWords / 2];
  source.engine.fill(words, n);
  uniform_floats(words, out, n, from, to);
}
void draw_uniform(Source& source, double* out, int64_t n, double from, double to) {
  uint32_t words[kBlockWords];
  source.engine.fill(words, 2 * n);
  uniform_doubles(words, out, n, from, to);
}

// out[i] = map(number of [0, 1) in double precision).
template <typename T, typename Map>
void map_units(Source& source, T* out, int64_t n, const Map& map) {
  double numbers[kBlockWords / 2];
  for_blocks(out, n, kBlockWords / 2, [&](Compute<T>* to, int64_t, int64_t count) {
    draw_uniform(source, numbers, count, 0.0, 1.0);
    for (int64_t i = 0; i < count; ++i) to[i] = convert<Compute<T>>(map(numbers[i]));
  });
}

// torch draws for the whole of a float32 or float64 tensor first; the numbers of an incomplete last
// group are then spent for nothing, and the last 16 elements drawn anew.
template <typename T>
void draw_normal_groups(Source& source, T* out, int64_t n, double mean, double std) {
  using C = Compute<T>;
  const int64_t rest = n % 16;
  const auto draw = [&](C* to, int64_t, int64_t count) {
    draw_uniform(source, to, count, C{0}, C{1});
    box_muller(to, count, static_cast<C>(mean), static_cast<C>(std));
  };
  for_blocks(out, n - rest, kBlockWords / 2, draw);
  if (rest == 0) return;
  if constexpr (!kIsHalfSized<T>) source.engine.skip(rest * static_cast<int64_t>(sizeof(T) / 4));
  for_blocks(out + n - 16, 16, 16, draw);
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

// Fisher and Yates: each place, from the first, takes one of the values not placed yet.
template <typename T>
void shuffle_small(Source& source, T* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = convert<T>(i);
  uint32_t words[kBlockWords];
  for (int64_t begin = 0; begin < n - 1; begin += kBlockWords) {
    const int64_t count = std::min(kBlockWords, n - 1 - begin);
    source.engine.fill(words, count);
    for (int64_t i = 0; i < count; ++i) {
      T* place = values + begin + i;
      std::swap(*place, place[words[i] % static_cast<uint32_t>(n - begin - i)]);
    }
  }
}

// Where remainders of 32 bits would no longer be even, torch takes 64 and the other direction: each
// value in turn goes to one of the places so far, and what was there moves to the end.
template <typename T>
void shuffle_large(Source& source, T* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t place = source.engine.next64() % static_cast<uint64_t>(i + 1);
    values[i] = values[place];
    values[place] = convert<T>(i);
  }
}

}  // namespace

void fill_uniform(Generator& generator, DType dtype, void* out, int64_t n, double from, double to) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("check_uniform_bounds", dtype, [&]<typename T>() {
    T* values = static_cast<T*>(out);
    using C = Compute<T>;
    for_blocks(values, n, kBlockWords / 2, [&](C* numbers, int64_t, int64_t count) {
      draw_uniform(*source, numbers, count, static_cast<C>(from), static_cast<C>(to));
    });
    if constexpr (kIsHalfSized<T>) {
      // The second rounding may have reached `to` again. Zero has two spellings.
      const T low(static_cast<float>(from));
      const T high(static_cast<float>(to));
      const uint16_t digits = float{high} == 0 ? 0x7fff : 0xffff;
      for (int64_t i = 0; i < n; ++i) {
        if ((values[i].bits & digits) == (high.bits & digits)) values[i] = low;
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
        return convert<Compute<T>>(static_cast<int64_t>(bits % range + offset));
      });
    } else {
      const Remainder32 remainder(static_cast<uint32_t>(range));
      map_words32(*source, values, n, [&](uint32_t bits) {
        return convert<Compute<T>>(static_cast<int64_t>(remainder(bits) + offset));
      });
    }
  });
}

void fill_random_full(Generator& generator, DType dtype, void* out, int64_t n) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_dtype(dtype, [&]<typename T>() {
    T* values = static_cast<T*>(out);
    const auto reduce = [](auto bits) {
      if constexpr (std::is_same_v<T, bool>) {
        return (bits & 1) != 0;
      } else if constexpr (kIsFloatingPoint<T>) {
        constexpr decltype(bits) kCount = (decltype(bits){1} << kDigits<T>)+1;
        return convert<Compute<T>>(bits % kCount);
      } else {
        return static_cast<T>(bits & static_cast<uint64_t>(std::numeric_limits<T>::max()));
      }
    };
    if constexpr (sizeof(T) == 8) {
      map_words64(*source, values, n, reduce);
    } else {
      map_words32(*source, values, n, reduce);
    }
  });
}

void fill_random_full64(Generator& generator, DType dtype, void* out, int64_t n) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                  std::is_same_v<T, float> || std::is_same_v<T, BFloat16>) {
      map_words64(*source, static_cast<T*>(out), n,
                  [](uint64_t bits) { return convert<Compute<T>>(static_cast<int64_t>(bits)); });
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
    } else if (n < int64_t{std::numeric_limits<uint32_t>::max() / 20}) {
      shuffle_small(*source, static_cast<T*>(out), n);
    } else {
      shuffle_large(*source, static_cast<T*>(out), n);
    }
  });
}

void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t n, double p) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  // 53 bits are below this exactly when their value over 2^53 is below p.
  const uint64_t threshold = static_cast<uint64_t>(std::ceil(p * 0x1p53));
  visit_dtype(dtype, [&]<typename T>() {
    map_words64(*source, static_cast<T*>(out), n, [=](uint64_t bits) {
      return convert<Compute<T>>(static_cast<int>((bits & kDoubleDigits) < threshold));
    });
  });
}

void fill_bernoulli(
    Generator& generator, DType dtype, void* out, int64_t n, DType p_dtype, const void* p) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("bernoulli_tensor_cpu_p_", p_dtype, [&]<typename P>() {
    using C = Compute<P>;
    const P* all = static_cast<const P*>(p);
    visit_dtype(dtype, [&]<typename T>() {
      C numbers[kBlockWords / 2];
      C probabilities[kBlockWords / 2];
      const CastFn widen = find_cast(p_dtype, DTypeOf<C>::value);
      for_blocks(static_cast<T*>(out), n, kBlockWords / 2,
                 [&](Compute<T>* to, int64_t begin, int64_t count) {
                   widen(all + begin, probabilities, count);
                   const bool are_valid =
                       std::all_of(probabilities, probabilities + count,
                                   [](C value) { return value >= 0 && value <= 1; });
                   MT_CHECK(are_valid, RuntimeError,
                            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
                   draw_uniform(*source, numbers, count, C{0}, C{1});
                   for (int64_t i = 0; i < count; ++i) {
                     to[i] = convert<Compute<T>>(static_cast<int>(numbers[i] < probabilities[i]));
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
    if constexpr (std::is_same_v<T, double>) {
      map_units(*source, values, n, [=](double unit) { return scale * std::log1p(-unit); });
    } else {
      // A vector logarithm: the last bit of a double is lost on the way to T anyway.
      double numbers[kBlockWords / 2];
      for_blocks(values, n, kBlockWords / 2, [&](float* to, int64_t, int64_t count) {
        draw_uniform(*source, numbers, count, 0.0, 1.0);
        scaled_log_complement(numbers, count, scale);
        for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(numbers[i]);
      });
    }
  });
}

void fill_cauchy(
    Generator& generator, DType dtype, void* out, int64_t n, double median, double sigma) {
  const CpuGenerator::Lock source(CpuGenerator::from(generator));
  visit_floating_point("cauchy_cpu", dtype, [&]<typename T>() {
    map_units(*source, static_cast<T*>(out), n, [=](double unit) {
      return std::fma(sigma, std::tan(std::numbers::pi * (unit - 0.5)), median);
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
      map_units(*source, static_cast<T*>(out), n,
                [=](double unit) { return std::ceil(std::log(unit) / log_failure); });
    }
  });
}

}  // namespace mindtorch::cpu
