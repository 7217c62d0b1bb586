#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/backends/cpu/sorting.h"
#include "mindtorch/backends/cpu/sorting/keys.h"
#include "mindtorch/backends/cpu/sorting/radix.h"
#include "mindtorch/backends/cpu/sorting/vector.h"

namespace mindtorch::cpu {
namespace {

using namespace sorting;

struct Row {
  DType dtype;
  const void* in;
  int64_t n;
  bool descending;
  void* values_out;      // may be null
  int64_t* indices_out;  // may be null
};

// values_out[i] = in[indices[i]] for i in [begin, end).
template <typename Bits, typename Index>
void gather_values(const Row& row, const Index* indices, int64_t begin, int64_t end) {
  const auto* in = static_cast<const Bits*>(row.in);
  auto* out = static_cast<Bits*>(row.values_out);
  for (int64_t i = begin; i < end; ++i) out[i] = in[indices[i]];
}

// The stretch of sorted keys that are `key`: by place, found through `key_at(place)`.
template <typename Key, typename KeyAt>
std::pair<int64_t, int64_t> places_of(Key key, int64_t n, KeyAt key_at) {
  const auto first_not_below = [&](auto below) {
    int64_t begin = 0;
    for (int64_t length = n; length > 0;) {
      const int64_t half = length / 2;
      if (below(key_at(begin + half))) {
        begin += half + 1;
        length -= half + 1;
      } else {
        length = half;
      }
    }
    return begin;
  };
  return {first_not_below([key](Key other) { return other < key; }),
          first_not_below([key](Key other) { return other <= key; })};
}

// Where the elements stand, in a sorted row, whose keys are equal though they differ: zeros and
// NaNs.
struct Twins {
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t key = 0;  // ascending
};

template <typename T, typename KeyAt>
std::array<Twins, 2> find_twins(const Row& row, KeyAt key_at) {
  std::array<Twins, 2> twins;
  if constexpr (kIsFloat<T>) {
    const KeyOf<T> mask = direction_mask<KeyOf<T>>(row.descending);
    size_t count = 0;
    for (const KeyOf<T> key : {kZeroKey<T>, kNanKey<T>}) {
      const WideKey<T> sorted_key = static_cast<KeyOf<T>>(key ^ mask);
      const auto [begin, end] = places_of(sorted_key, row.n, key_at);
      twins[count++] = {begin, end, key};
    }
  }
  return twins;
}

void emit_in_order(const Row& row) {
  if (row.values_out) {
    std::memcpy(row.values_out, row.in, static_cast<size_t>(row.n * size_bytes(row.dtype)));
  }
  if (row.indices_out) std::iota(row.indices_out, row.indices_out + row.n, int64_t{0});
}

// Turns a row that never ascends around; runs of equal elements keep their order.
template <typename T>
void emit_reversed(const Row& row) {
  const auto* in = static_cast<const KeyOf<T>*>(row.in);
  auto* values = static_cast<KeyOf<T>*>(row.values_out);
  int64_t place = 0;
  for (int64_t end = row.n; end > 0;) {
    int64_t begin = end - 1;
    const KeyOf<T> key = key_of_bits<T>(in[begin]);
    while (begin > 0 && key_of_bits<T>(in[begin - 1]) == key) --begin;
    for (int64_t i = begin; i < end; ++i, ++place) {
      if (values) values[place] = in[i];
      if (row.indices_out) row.indices_out[place] = i;
    }
    end = begin;
  }
}

template <typename T>
void sort_short(const Row& row) {
  uint32_t ranks[kMostRanked];
  rank_row(row.dtype, row.in, row.n, row.descending, ranks);
  if (row.values_out) {
    const auto* in = static_cast<const KeyOf<T>*>(row.in);
    auto* out = static_cast<KeyOf<T>*>(row.values_out);
    for (int64_t i = 0; i < row.n; ++i) out[ranks[i]] = in[i];
  }
  if (row.indices_out) {
    for (int64_t i = 0; i < row.n; ++i) row.indices_out[ranks[i]] = i;
  }
}

// More elements than an item can number: slow, but right.
template <typename T>
void sort_huge(const Row& row, const WideKey<T>* keys, int64_t* indices) {
  std::iota(indices, indices + row.n, int64_t{0});
  std::stable_sort(indices, indices + row.n,
                   [keys](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  if (!row.values_out) return;
  gather_values<KeyOf<T>>(row, indices, 0, row.n);
}

template <typename T>
void sort_with_indices(
    const Row& row, const WideKey<T>* keys, WideKey<T> low, WideKey<T> high, uint64_t* spare) {
  using Key = WideKey<T>;
  // The items end up where the indices go.
  auto* items = reinterpret_cast<uint64_t*>(row.indices_out);
  order_keys(keys, row.n, low, high, items, spare);
  if (!row.values_out || !items_hold_keys(low, high)) {
    for (int64_t i = 0; i < row.n; ++i) items[i] = static_cast<uint32_t>(items[i]);
    if (row.values_out) gather_values<KeyOf<T>>(row, items, 0, row.n);
    return;
  }
  const auto twins = find_twins<T>(
      row, [&](int64_t i) { return static_cast<Key>(static_cast<Key>(items[i] >> 32) + low); });
  decode_items(row.dtype, items, row.n, low, row.descending, row.values_out);
  for (const Twins& same : twins) gather_values<KeyOf<T>>(row, items, same.begin, same.end);
}

template <typename T>
void sort_values(
    const Row& row, WideKey<T>* keys, WideKey<T> low, WideKey<T> high, WideKey<T>* spare) {
  sort_keys(keys, row.n, low, high, spare);
  const auto twins = find_twins<T>(row, [&](int64_t i) { return keys[i]; });
  decode_keys(row.dtype, keys, row.n, row.descending, row.values_out);
  const auto* in = static_cast<const KeyOf<T>*>(row.in);
  auto* out = static_cast<KeyOf<T>*>(row.values_out);
  for (const Twins& same : twins) {
    int64_t place = same.begin;
    for (int64_t i = 0; place < same.end; ++i) {
      if (key_of_bits<T>(in[i]) == same.key) out[place++] = in[i];
    }
  }
}

template <typename T>
void sort_any(const Row& row) {
  using Key = WideKey<T>;
  if (row.n <= most_ranked(row.dtype)) return sort_short<T>(row);
  // Keys lie in values_out where they fit.
  const bool borrow = row.values_out != nullptr && sizeof(T) == sizeof(Key);
  const size_t key_bytes = borrow ? 0 : KeptScratch::room<Key>(row.n);
  const size_t spare_bytes =
      row.indices_out ? KeptScratch::room<uint64_t>(row.n) : KeptScratch::room<Key>(row.n);
  KeptScratch scratch(key_bytes + spare_bytes);
  Key* keys = borrow ? static_cast<Key*>(row.values_out) : scratch.take<Key>(row.n);
  const KeyRange range = encode_keys(row.dtype, row.in, row.n, row.descending, keys);
  if (range.ascending) return emit_in_order(row);
  if (range.descending) return emit_reversed<T>(row);
  const Key low = static_cast<Key>(range.low);
  const Key high = static_cast<Key>(range.high);
  if (row.n > int64_t{std::numeric_limits<uint32_t>::max()}) {
    std::vector<int64_t> order;
    if (!row.indices_out) order.resize(static_cast<size_t>(row.n));
    return sort_huge<T>(row, keys, row.indices_out ? row.indices_out : order.data());
  }
  if (row.indices_out) {
    sort_with_indices<T>(row, keys, low, high, scratch.take<uint64_t>(row.n));
  } else {
    sort_values<T>(row, keys, low, high, scratch.take<Key>(row.n));
  }
}

}  // namespace

void sort_row(DType dtype,
              const void* in,
              int64_t n,
              bool descending,
              bool /*stable*/,
              void* values_out,
              int64_t* indices_out) {
  if (n == 0 || (!values_out && !indices_out)) return;
  const Row row{dtype, in, n, descending, values_out, indices_out};
  visit_dtype(dtype, [&]<typename T>() { sort_any<T>(row); });
}

}  // namespace mindtorch::cpu
