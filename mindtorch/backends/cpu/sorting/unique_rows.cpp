#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "mindtorch/backends/cpu/sorting.h"
#include "mindtorch/backends/cpu/sorting/keys.h"
#include "mindtorch/backends/cpu/sorting/radix.h"
#include "mindtorch/backends/cpu/sorting/scratch.h"

namespace mindtorch::cpu {
namespace {

using namespace sorting;

template <typename T>
bool is_nan_bits(KeyOf<T> bits) {
  return kIsFloat<T> && key_of_bits<T>(bits) == kNanKey<T>;
}

template <typename T>
bool equal_rows(const KeyOf<T>* a, const KeyOf<T>* b, int64_t length) {
  for (int64_t i = 0; i < length; ++i) {
    if (key_of_bits<T>(a[i]) != key_of_bits<T>(b[i]) || is_nan_bits<T>(a[i])) return false;
  }
  return true;
}

// Copies the first of each run of equal rows. `row_at(i)` is the input row at place i, and
// `starts_run(i)` whether it differs from the one before.
template <typename RowAt, typename StartsRun>
int64_t emit_runs(const void* in, int64_t rows, size_t row_bytes, RowAt row_at,
                  StartsRun starts_run, const Allocate& values, int64_t* inverse,
                  const Allocate& counts) {
  int64_t runs = 0;
  for (int64_t i = 0; i < rows; ++i) runs += starts_run(i);
  auto* values_out = static_cast<std::byte*>(values ? values(runs) : nullptr);
  auto* counts_out = static_cast<int64_t*>(counts ? counts(runs) : nullptr);
  if (counts_out) std::fill(counts_out, counts_out + runs, int64_t{0});
  int64_t run = -1;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = row_at(i);
    if (starts_run(i)) {
      ++run;
      if (values_out && row_bytes > 0) {
        std::memcpy(values_out + static_cast<size_t>(run) * row_bytes,
                    static_cast<const std::byte*>(in) + static_cast<size_t>(row) * row_bytes,
                    row_bytes);
      }
    }
    if (counts_out) ++counts_out[run];
    if (inverse) inverse[row] = run;
  }
  return runs;
}

template <typename Key>
Key to_big_endian(Key key) {
  if constexpr (sizeof(Key) == 1 || std::endian::native == std::endian::big) {
    return key;
  } else if constexpr (sizeof(Key) == 2) {
    return __builtin_bswap16(key);
  } else if constexpr (sizeof(Key) == 4) {
    return __builtin_bswap32(key);
  } else {
    return __builtin_bswap64(key);
  }
}

// Rows as strings of bytes whose memcmp order is the order of the rows.
class RowStrings {
 public:
  RowStrings(int64_t rows, size_t row_bytes)
      : row_bytes_(row_bytes),
        bytes_(static_cast<size_t>(rows) * row_bytes),
        has_nan_(static_cast<size_t>(rows)) {}

  template <typename T>
  void encode(const void* in, int64_t rows, int64_t row_length) {
    const auto* bits = static_cast<const KeyOf<T>*>(in);
    std::byte* to = bytes_.data();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < row_length; ++i, ++bits, to += sizeof(T)) {
        const KeyOf<T> key = to_big_endian(key_of_bits<T>(*bits));
        std::memcpy(to, &key, sizeof key);
        if (is_nan_bits<T>(*bits)) has_nan_[static_cast<size_t>(row)] = 1;
      }
    }
  }

  // The first 8 bytes as a number of the same order.
  [[nodiscard]] uint64_t prefix(int64_t row) const {
    uint64_t word = 0;
    if (row_bytes_ > 0) std::memcpy(&word, at(row), std::min(row_bytes_, sizeof word));
    return to_big_endian(word);
  }
  [[nodiscard]] bool less(int64_t a, int64_t b) const {
    return std::memcmp(at(a), at(b), row_bytes_) < 0;
  }
  [[nodiscard]] bool equal(int64_t a, int64_t b) const {
    if (has_nan_[static_cast<size_t>(a)]) return false;
    return row_bytes_ == 0 || std::memcmp(at(a), at(b), row_bytes_) == 0;
  }

 private:
  [[nodiscard]] const std::byte* at(int64_t row) const {
    return bytes_.data() + static_cast<size_t>(row) * row_bytes_;
  }

  size_t row_bytes_;
  std::vector<std::byte> bytes_;
  std::vector<uint8_t> has_nan_;
};

// Radix sort by the first 8 bytes, then plain comparisons among rows that share them.
void order_rows(const RowStrings& strings, int64_t rows, bool prefix_is_all, uint64_t* items) {
  Scratch scratch(2 * Scratch::room<uint64_t>(rows));
  auto* prefixes = scratch.take<uint64_t>(rows);
  uint64_t low = std::numeric_limits<uint64_t>::max();
  uint64_t high = 0;
  for (int64_t row = 0; row < rows; ++row) {
    prefixes[row] = strings.prefix(row);
    low = std::min(low, prefixes[row]);
    high = std::max(high, prefixes[row]);
  }
  order_keys(prefixes, rows, low, high, items, scratch.take<uint64_t>(rows));
  for (int64_t i = 0; i < rows; ++i) items[i] = static_cast<uint32_t>(items[i]);
  if (prefix_is_all) return;
  for (int64_t begin = 0; begin < rows;) {
    int64_t end = begin + 1;
    while (end < rows && prefixes[items[end]] == prefixes[items[begin]]) ++end;
    std::stable_sort(items + begin, items + end, [&](uint64_t a, uint64_t b) {
      return strings.less(static_cast<int64_t>(a), static_cast<int64_t>(b));
    });
    begin = end;
  }
}

}  // namespace

int64_t unique_rows(DType dtype, const void* in, int64_t rows, int64_t row_length,
                    const Allocate& values, int64_t* inverse, const Allocate& counts) {
  MT_CHECK(rows <= int64_t{std::numeric_limits<uint32_t>::max()}, NotImplementedError,
           "unique: not implemented for 2^32 or more rows, got ", rows);
  const size_t row_bytes = static_cast<size_t>(row_length * size_bytes(dtype));
  RowStrings strings(rows, row_bytes);
  visit_dtype(dtype, [&]<typename T>() { strings.encode<T>(in, rows, row_length); });
  std::vector<uint64_t> items(static_cast<size_t>(rows));
  if (rows > 0) order_rows(strings, rows, row_bytes <= sizeof(uint64_t), items.data());
  const auto row_at = [&](int64_t i) { return static_cast<int64_t>(items[static_cast<size_t>(i)]); };
  return emit_runs(
      in, rows, row_bytes, row_at,
      [&](int64_t i) { return i == 0 || !strings.equal(row_at(i), row_at(i - 1)); }, values,
      inverse, counts);
}

int64_t unique_consecutive(DType dtype, const void* in, int64_t rows, int64_t row_length,
                           const Allocate& values, int64_t* inverse, const Allocate& counts) {
  const size_t row_bytes = static_cast<size_t>(row_length * size_bytes(dtype));
  return visit_dtype(dtype, [&]<typename T>() {
    const auto* bits = static_cast<const KeyOf<T>*>(in);
    return emit_runs(
        in, rows, row_bytes, [](int64_t i) { return i; },
        [&](int64_t i) {
          return i == 0 ||
                 !equal_rows<T>(bits + (i - 1) * row_length, bits + i * row_length, row_length);
        },
        values, inverse, counts);
  });
}

}  // namespace mindtorch::cpu
