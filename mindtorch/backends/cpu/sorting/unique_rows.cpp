#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/backends/cpu/sorting.h"
#include "mindtorch/backends/cpu/sorting/keys.h"
#include "mindtorch/backends/cpu/sorting/radix.h"

namespace mindtorch::cpu {
namespace {

using namespace sorting;

template <typename T>
bool is_nan_bits(KeyOf<T> bits) {
  return kIsFloat<T> && key_of_bits<T>(bits) == kNanKey<T>;
}

// Values that are not equal: every NaN differs from every value.
template <typename T>
bool differ(KeyOf<T> a, KeyOf<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    return !(std::bit_cast<T>(a) == std::bit_cast<T>(b));
  } else {
    return (key_of_bits<T>(a) != key_of_bits<T>(b)) | is_nan_bits<T>(a);
  }
}

// Copies the first of each run of equal rows. `row_at(i)` is the input row at place i, and
// `starts_run(i)`, for i > 0, whether it differs from the one before. `copy(to, run, row)` copies.
template <typename RowAt, typename StartsRun, typename Copy>
int64_t emit_runs(int64_t rows,
                  RowAt row_at,
                  StartsRun starts_run,
                  Copy copy,
                  const Allocate& values,
                  int64_t* inverse,
                  const Allocate& counts) {
  int64_t runs = rows > 0 ? 1 : 0;
  for (int64_t i = 1; i < rows; ++i) runs += starts_run(i);
  void* values_out = values ? values(runs) : nullptr;
  auto* begins = static_cast<int64_t*>(counts ? counts(runs) : nullptr);
  // From the end, so that the first row of a run is the last one written: no branch needed.
  for (int64_t i = rows - 1, run = runs - 1; i >= 0; --i) {
    const int64_t row = row_at(i);
    if (values_out) copy(values_out, run, row);
    if (begins) begins[run] = i;
    if (inverse) inverse[row] = run;
    run -= i > 0 && starts_run(i);
  }
  if (begins) {
    for (int64_t run = 0; run < runs; ++run) {
      begins[run] = (run + 1 < runs ? begins[run + 1] : rows) - begins[run];
    }
  }
  return runs;
}

auto row_copier(const void* in, size_t row_bytes) {
  return [in, row_bytes](void* to, int64_t run, int64_t row) {
    if (row_bytes == 0) return;
    std::memcpy(static_cast<std::byte*>(to) + static_cast<size_t>(run) * row_bytes,
                static_cast<const std::byte*>(in) + static_cast<size_t>(row) * row_bytes,
                row_bytes);
  };
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
  KeptScratch scratch(2 * KeptScratch::room<uint64_t>(rows));
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

int64_t unique_rows(DType dtype,
                    const void* in,
                    int64_t rows,
                    int64_t row_length,
                    const Allocate& values,
                    int64_t* inverse,
                    const Allocate& counts) {
  MT_CHECK(rows <= int64_t{std::numeric_limits<uint32_t>::max()}, NotImplementedError,
           "unique: not implemented for 2^32 or more rows, got ", rows);
  const size_t row_bytes = static_cast<size_t>(row_length * size_bytes(dtype));
  RowStrings strings(rows, row_bytes);
  visit_dtype(dtype, [&]<typename T>() { strings.encode<T>(in, rows, row_length); });
  std::vector<uint64_t> items(static_cast<size_t>(rows));
  if (rows > 0) order_rows(strings, rows, row_bytes <= sizeof(uint64_t), items.data());
  const auto row_at = [&](int64_t i) {
    return static_cast<int64_t>(items[static_cast<size_t>(i)]);
  };
  return emit_runs(
      rows, row_at, [&](int64_t i) { return !strings.equal(row_at(i), row_at(i - 1)); },
      row_copier(in, row_bytes), values, inverse, counts);
}

int64_t unique_consecutive(DType dtype,
                           const void* in,
                           int64_t rows,
                           int64_t row_length,
                           const Allocate& values,
                           int64_t* inverse,
                           const Allocate& counts) {
  return visit_dtype(dtype, [&]<typename T>() {
    using Bits = KeyOf<T>;
    const auto* bits = static_cast<const Bits*>(in);
    const auto row_at = [](int64_t i) { return i; };
    if (row_length == 1) {
      return emit_runs(
          rows, row_at, [bits](int64_t i) { return differ<T>(bits[i], bits[i - 1]); },
          [bits](void* to, int64_t run, int64_t i) { static_cast<Bits*>(to)[run] = bits[i]; },
          values, inverse, counts);
    }
    const auto differ_from_last = [bits, row_length](int64_t i) {
      const Bits* row = bits + i * row_length;
      for (int64_t j = 0; j < row_length; ++j) {
        if (differ<T>(row[j], row[j - row_length])) return true;
      }
      return false;
    };
    return emit_runs(rows, row_at, differ_from_last,
                     row_copier(in, static_cast<size_t>(row_length) * sizeof(T)), values, inverse,
                     counts);
  });
}

}  // namespace mindtorch::cpu
