#include "mindtorch/backends/cpu/sorting/radix.h"
#include "mindtorch/backends/cpu/ceil_div.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace mindtorch::cpu::sorting {
namespace {

constexpr int kMostDigitBits = 11;
constexpr int kMostPasses = 4;

int varying_bits(uint64_t range) { return std::max(1, static_cast<int>(std::bit_width(range))); }

// Wide digits save passes. Short rows do not amortise their tables, and the more buckets a long row
// has, the more of them miss the cache and the page tables.
int most_digit_bits(int64_t n) {
  if (n < 3000) return 8;
  if (n <= int64_t{1} << 18) return kMostDigitBits;
  if (n <= int64_t{1} << 21) return 10;
  return 8;
}

// Least-significant-digit radix sort: one stable scatter per digit that is not constant.
class RadixPasses {
 public:
  // Sorts by the lower `key_bits` (1 to 32) bits of `key_at(i)`.
  template <typename KeyAt>
  RadixPasses(int64_t n, int key_bits, KeyAt key_at) : n_(n) {
    const int passes = ceil_div(key_bits, most_digit_bits(n));
    digit_bits_ = ceil_div(key_bits, passes);
    for (int p = 0; p < passes; ++p) std::fill_n(tables_[p].data(), size_t{1} << digit_bits_, 0u);
    switch (passes) {
      case 1:
        count_digits<1>(key_at);
        break;
      case 2:
        count_digits<2>(key_at);
        break;
      case 3:
        count_digits<3>(key_at);
        break;
      default:
        count_digits<4>(key_at);
        break;
    }
    const uint64_t first = key_at(0);
    for (int p = 0; p < passes; ++p) {
      if (tables_[p][(first >> (p * digit_bits_)) & mask()] != static_cast<uint32_t>(n)) {
        turns_[used_++] = p;
        counts_to_offsets(tables_[p].data());
      }
    }
  }

  // Number of scatters. Zero when all keys are equal.
  [[nodiscard]] int count() const { return used_; }

  // The scatter number `turn`: `write(place, i)` for every i in turn, in order of `key_at(i)`.
  template <typename KeyAt, typename Write>
  void scatter(int turn, KeyAt key_at, Write write) {
    const int pass = turns_[static_cast<size_t>(turn)];
    uint32_t* offsets = tables_[static_cast<size_t>(pass)].data();
    // Locals: the compiler must assume that a store through `offsets` changes members.
    const int shift = pass * digit_bits_;
    const uint64_t mask = this->mask();
    const int64_t n = n_;
    for (int64_t i = 0; i < n; ++i) write(offsets[(uint64_t{key_at(i)} >> shift) & mask]++, i);
  }

 private:
  [[nodiscard]] uint64_t mask() const { return (uint64_t{1} << digit_bits_) - 1; }

  template <int kPasses, typename KeyAt>
  void count_digits(KeyAt key_at) {
    const int bits = digit_bits_;
    const uint64_t mask = this->mask();
    const int64_t n = n_;
    for (int64_t i = 0; i < n; ++i) {
      uint64_t key = key_at(i);
      for (int p = 0; p < kPasses; ++p, key >>= bits) ++tables_[p][key & mask];
    }
  }

  void counts_to_offsets(uint32_t* table) const {
    uint32_t sum = 0;
    for (size_t d = 0; d < size_t{1} << digit_bits_; ++d) {
      sum += std::exchange(table[d], sum);
    }
  }

  int64_t n_;
  int digit_bits_;
  int used_ = 0;
  std::array<int, kMostPasses> turns_;
  std::array<std::array<uint32_t, 1 << kMostDigitBits>, kMostPasses> tables_;  // left uninitialised
};

// items_out = key_at(i) << 32 | index_at(i) in stable order of the keys. Neither may read items_out
// or spare.
template <typename KeyAt, typename IndexAt>
void order(
    int64_t n, int key_bits, KeyAt key_at, IndexAt index_at, uint64_t* items_out, uint64_t* spare) {
  RadixPasses passes(n, key_bits, key_at);
  const auto item_at = [&](int64_t i) { return uint64_t{key_at(i)} << 32 | index_at(i); };
  if (passes.count() == 0) {
    for (int64_t i = 0; i < n; ++i) items_out[i] = item_at(i);
    return;
  }
  // Buffers alternate so that the last pass writes items_out.
  uint64_t* to = passes.count() % 2 == 1 ? items_out : spare;
  uint64_t* from = to == items_out ? spare : items_out;
  passes.scatter(0, key_at, [&](uint32_t place, int64_t i) { to[place] = item_at(i); });
  for (int turn = 1; turn < passes.count(); ++turn) {
    std::swap(from, to);
    passes.scatter(
        turn, [from](int64_t i) { return from[i] >> 32; },
        [from, to](uint32_t place, int64_t i) { to[place] = from[i]; });
  }
}

constexpr int64_t kInsertionRun = 24;

// Puts a run of items whose upper key bits tie in order of the whole keys.
void sort_tied_run(const uint64_t* keys,
                   uint64_t low_mask,
                   uint64_t base,
                   uint64_t* items,
                   int64_t n,
                   uint64_t* spare) {
  if (n <= kInsertionRun) {
    std::array<uint64_t, kInsertionRun> run_keys;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t item = items[i];
      const uint64_t key = keys[static_cast<uint32_t>(item)];
      int64_t hole = i;
      for (; hole > 0 && run_keys[static_cast<size_t>(hole - 1)] > key; --hole) {
        run_keys[static_cast<size_t>(hole)] = run_keys[static_cast<size_t>(hole - 1)];
        items[hole] = items[hole - 1];
      }
      run_keys[static_cast<size_t>(hole)] = key;
      items[hole] = item;
    }
    return;
  }
  const std::vector<uint64_t> run(items, items + n);
  const auto index_at = [&run](int64_t i) {
    return static_cast<uint32_t>(run[static_cast<size_t>(i)]);
  };
  const auto key_at = [&](int64_t i) { return (keys[index_at(i)] - base) & low_mask; };
  order(n, varying_bits(low_mask), key_at, index_at, items, spare);
}

// Counting sort pays when its table is no larger than the row, and stays in the cache.
template <typename Key>
bool counting_pays(int64_t n, Key range) {
  constexpr Key kMostCounted = Key{1} << 17;
  return range < kMostCounted && static_cast<int64_t>(range) < n;
}

template <typename Key>
void counting_sort(Key* keys, int64_t n, Key low, Key range) {
  // Two tables, because equal neighbours would wait for each other's increment.
  const size_t size = static_cast<size_t>(range) + 1;
  std::vector<uint32_t> table(2 * size);
  uint32_t* even = table.data();
  uint32_t* odd = table.data() + size;
  int64_t i = 0;
  for (; i + 1 < n; i += 2) {
    ++even[static_cast<size_t>(keys[i] - low)];
    ++odd[static_cast<size_t>(keys[i + 1] - low)];
  }
  if (i < n) ++even[static_cast<size_t>(keys[i] - low)];
  for (size_t d = 0; d < size; ++d) {
    keys = std::fill_n(keys, even[d] + odd[d], static_cast<Key>(low + static_cast<Key>(d)));
  }
}

// Short rows do not amortise tables, and longer ones than an offset can number are not radix
// sorted.
bool plain_sort_pays(int64_t n) { return n < 128 || n > int64_t{UINT32_MAX}; }

template <typename Key>
void radix_sort_keys(Key* keys, int64_t n, Key low, int shift, int key_bits, Key* spare) {
  const auto digits_of = [low, shift](Key key) { return static_cast<Key>(key - low) >> shift; };
  RadixPasses passes(n, key_bits, [&](int64_t i) { return digits_of(keys[i]); });
  Key* from = keys;
  Key* to = spare;
  for (int turn = 0; turn < passes.count(); ++turn) {
    passes.scatter(
        turn, [&](int64_t i) { return digits_of(from[i]); },
        [from, to](uint32_t place, int64_t i) { to[place] = from[i]; });
    std::swap(from, to);
  }
  if (from != keys) std::memcpy(keys, from, static_cast<size_t>(n) * sizeof(Key));
}

}  // namespace

void order_keys(const uint32_t* keys,
                int64_t n,
                uint32_t low,
                uint32_t high,
                uint64_t* items_out,
                uint64_t* spare) {
  order(
      n, varying_bits(high - low), [keys, low](int64_t i) { return keys[i] - low; },
      [](int64_t i) { return static_cast<uint64_t>(i); }, items_out, spare);
}

void order_keys(const uint64_t* keys,
                int64_t n,
                uint64_t low,
                uint64_t high,
                uint64_t* items_out,
                uint64_t* spare) {
  const int bits = varying_bits(high - low);
  const int shift = std::max(0, bits - 32);
  order(
      n, bits - shift, [keys, low, shift](int64_t i) { return (keys[i] - low) >> shift; },
      [](int64_t i) { return static_cast<uint64_t>(i); }, items_out, spare);
  if (shift == 0) return;
  const uint64_t low_mask = (uint64_t{1} << shift) - 1;
  for (int64_t begin = 0; begin + 1 < n;) {
    const uint64_t upper = items_out[begin] >> 32;
    int64_t end = begin + 1;
    while (end < n && items_out[end] >> 32 == upper) ++end;
    if (end - begin > 1) {
      sort_tied_run(keys, low_mask, low, items_out + begin, end - begin, spare);
    }
    begin = end;
  }
}

void sort_keys(uint32_t* keys, int64_t n, uint32_t low, uint32_t high, uint32_t* spare) {
  const uint32_t range = high - low;
  if (range == 0) return;
  if (plain_sort_pays(n)) return std::sort(keys, keys + n);
  if (counting_pays(n, range)) return counting_sort(keys, n, low, range);
  radix_sort_keys(keys, n, low, 0, varying_bits(range), spare);
}

void sort_keys(uint64_t* keys, int64_t n, uint64_t low, uint64_t high, uint64_t* spare) {
  const uint64_t range = high - low;
  if (range == 0) return;
  if (plain_sort_pays(n)) return std::sort(keys, keys + n);
  if (counting_pays(n, range)) return counting_sort(keys, n, low, range);
  const int bits = varying_bits(range);
  const int shift = std::max(0, bits - 32);
  radix_sort_keys(keys, n, low, shift, bits - shift, spare);
  if (shift == 0) return;
  for (int64_t begin = 0; begin + 1 < n;) {
    const uint64_t upper = (keys[begin] - low) >> shift;
    int64_t end = begin + 1;
    while (end < n && (keys[end] - low) >> shift == upper) ++end;
    const int64_t length = end - begin;
    if (length > kInsertionRun) {
      // Within a run 32 bits vary at most: the lower ones.
      const uint64_t run_low = low + (upper << shift);
      radix_sort_keys(keys + begin, length, run_low, 0, shift, spare);
    } else if (length > 1) {
      std::sort(keys + begin, keys + end);
    }
    begin = end;
  }
}

}  // namespace mindtorch::cpu::sorting
