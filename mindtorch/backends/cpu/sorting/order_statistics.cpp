#include <algorithm>
#include <array>
#include <bit>

#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/backends/cpu/sorting.h"
#include "mindtorch/backends/cpu/sorting/keys.h"
#include "mindtorch/backends/cpu/sorting/radix.h"
#include "mindtorch/backends/cpu/sorting/vector.h"

namespace mindtorch::cpu {
namespace {

using namespace sorting;

// Up to this many elements the standard library's sort, and so torch's, is one by insertion.
constexpr int64_t kInsertionLength = 16;

struct Wanted {
  DType dtype;
  const void* in;
  int64_t n;
  void* value_out;
  int64_t* index_out;  // may be null
};

template <typename T>
void emit(const Wanted& wanted, int64_t index) {
  static_cast<KeyOf<T>*>(wanted.value_out)[0] = static_cast<const KeyOf<T>*>(wanted.in)[index];
  if (wanted.index_out) *wanted.index_out = index;
}

// The key with `rank` others before it in order, by radix selection: counts the leading digit,
// keeps the keys of the one bucket the rank falls into, goes on with the next digit. `kept` has
// room for n; `keys` stay as they are.
template <typename Key>
Key select_key(const Key* keys, int64_t n, Key low, Key high, int64_t rank, Key* kept) {
  constexpr int kDigitBits = 11;
  constexpr int64_t kFew = 256;
  while (n > kFew && low != high) {
    const int bits = static_cast<int>(std::bit_width(static_cast<Key>(high - low)));
    const int shift = std::max(0, bits - kDigitBits);
    // Two tables, because equal neighbours would wait for each other's increment.
    std::array<std::array<int64_t, 1 << kDigitBits>, 2> counts{};
    for (int64_t i = 0; i < n; ++i) {
      ++counts[static_cast<size_t>(i & 1)][static_cast<size_t>((keys[i] - low) >> shift)];
    }
    size_t bucket = 0;
    for (;; ++bucket) {
      const int64_t count = counts[0][bucket] + counts[1][bucket];
      if (rank < count) break;
      rank -= count;
    }
    const Key bucket_low = static_cast<Key>(low + (static_cast<Key>(bucket) << shift));
    const Key width = static_cast<Key>((Key{1} << shift) - 1);
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Key key = keys[i];
      kept[count] = key;
      count += static_cast<Key>(key - bucket_low) <= width;
    }
    keys = kept;
    n = count;
    low = bucket_low;
    high = static_cast<Key>(bucket_low + width);
  }
  if (low == high) return low;
  if (keys != kept) std::copy(keys, keys + n, kept);
  std::nth_element(kept, kept + rank, kept + n);
  return kept[rank];
}

// Which of the elements equal to `key` has `rank` others before it, where equal ones stay in order.
template <typename Key>
int64_t find_ranked(const Key* keys, int64_t n, Key key, int64_t rank) {
  int64_t before = std::count_if(keys, keys + n, [key](Key each) { return each < key; });
  int64_t at = find_key(keys, n, key);
  for (; before < rank; ++before) {
    ++at;
    at += find_key(keys + at, n - at, key);
  }
  return at;
}

enum class AmongEqual : uint8_t { kFirst, kRanked };

// `choose_rank(keys, range)` gives the rank wanted, once the keys are known.
template <typename T, AmongEqual kAmongEqual = AmongEqual::kFirst, typename ChooseRank>
void select_rank(const Wanted& wanted, ChooseRank choose_rank) {
  using Key = WideKey<T>;
  const int64_t n = wanted.n;
  KeptScratch scratch(2 * KeptScratch::room<Key>(n));
  Key* keys = scratch.take<Key>(n);
  const KeyRange range = encode_keys(wanted.dtype, wanted.in, n, /*descending=*/false, keys);
  const int64_t rank = choose_rank(keys, range);
  const Key key = select_key(keys, n, static_cast<Key>(range.low), static_cast<Key>(range.high),
                             rank, scratch.take<Key>(n));
  if constexpr (kAmongEqual == AmongEqual::kRanked) {
    const bool is_nan = kIsFloat<T> && key == kNanKey<T>;
    if (wanted.index_out != nullptr && !is_nan) {
      return emit<T>(wanted, find_ranked(keys, n, key, rank));
    }
  }
  emit<T>(wanted, find_key(keys, n, key));
}

// Rows whose first elements in order topk finds faster.
constexpr int64_t kLeastForFirst = 96;
constexpr int64_t kMostForFirst = 8192;

// The k-th smallest, k <= kMostClose: the first of those equal to it has the lowest index.
template <typename T>
void select_first(const Wanted& wanted, int64_t k) {
  KeyOf<T> values[kMostClose];
  int64_t indices[kMostClose];
  topk_row(wanted.dtype, wanted.in, wanted.n, k, /*largest=*/false, /*sorted=*/true, values,
           indices);
  const auto key = [&](int64_t i) { return key_of_bits<T>(values[i]); };
  int64_t first = k - 1;
  while (first > 0 && key(first - 1) == key(k - 1)) --first;
  emit<T>(wanted, indices[first]);
}

template <typename T>
bool has_nan(const KeyRange& range) {
  return kIsFloat<T> && range.high == kNanKey<T>;
}

// Where the most frequent element of a short row with NaNs lies. torch sorts by `<`, which NaNs
// never are, and counts equal neighbours, which they never have; so the order that the elements
// came in decides. This is what sorting by insertion makes of it.
template <typename T>
int64_t mode_among_nans(const T* in, int64_t n) {
  const auto before = [in](int64_t a, int64_t b) { return in[a] < in[b]; };
  int64_t order[kInsertionLength] = {};
  for (int64_t i = 1; i < n; ++i) {
    int64_t at = i;
    if (before(i, order[0])) {
      at = 0;
    } else {
      while (at > 0 && before(i, order[at - 1])) --at;
    }
    std::copy_backward(order + at, order + i, order + i + 1);
    order[at] = i;
  }
  int64_t best = order[0];
  int64_t best_count = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    ++count;
    if (i + 1 < n && in[order[i]] == in[order[i + 1]]) continue;
    if (count > best_count) {
      best_count = count;
      best = order[i];
    }
    count = 0;
  }
  return best;
}

template <typename T>
void mode(const Wanted& wanted) {
  using Key = WideKey<T>;
  const int64_t n = wanted.n;
  KeptScratch scratch(3 * KeptScratch::room<Key>(n));
  Key* keys = scratch.take<Key>(n);
  Key* sorted = scratch.take<Key>(n);
  const KeyRange range = encode_keys(wanted.dtype, wanted.in, n, /*descending=*/false, keys);
  if constexpr (kIsFloat<T>) {
    if (has_nan<T>(range) && n <= kInsertionLength) {
      return emit<T>(wanted, mode_among_nans(static_cast<const T*>(wanted.in), n));
    }
  }
  std::copy(keys, keys + n, sorted);
  if (!range.ascending) {
    sort_keys(sorted, n, static_cast<Key>(range.low), static_cast<Key>(range.high),
              scratch.take<Key>(n));
  }
  int64_t numbers = n;
  if (has_nan<T>(range)) numbers = std::lower_bound(sorted, sorted + n, kNanKey<T>) - sorted;
  if (numbers == 0) return emit<T>(wanted, 0);
  Key best = sorted[0];
  int64_t best_count = 0;
  for (int64_t begin = 0; begin < numbers;) {
    int64_t end = begin + 1;
    while (end < numbers && sorted[end] == sorted[begin]) ++end;
    if (end - begin > best_count) {
      best_count = end - begin;
      best = sorted[begin];
    }
    begin = end;
  }
  int64_t last = n - 1;
  while (keys[last] != best) --last;
  emit<T>(wanted, last);
}

}  // namespace

void kthvalue_row(
    DType dtype, const void* in, int64_t n, int64_t k, void* value_out, int64_t* index_out) {
  visit_dtype(dtype, [&]<typename T>() {
    const Wanted wanted{dtype, in, n, value_out, index_out};
    if (k <= kMostClose && n > kLeastForFirst && n <= kMostForFirst)
      return select_first<T>(wanted, k);
    select_rank<T>(wanted, [&](const auto*, const KeyRange&) { return k - 1; });
  });
}

void median_row(DType dtype, const void* in, int64_t n, void* value_out, int64_t* index_out) {
  const Wanted wanted{dtype, in, n, value_out, index_out};
  visit_dtype(dtype, [&]<typename T>() {
    // NaNs come last in order: where there is one, the last rank is one.
    select_rank<T, AmongEqual::kRanked>(wanted, [n](const WideKey<T>*, const KeyRange& range) {
      return has_nan<T>(range) ? n - 1 : (n - 1) / 2;
    });
  });
}

void nanmedian_row(DType dtype, const void* in, int64_t n, void* value_out, int64_t* index_out) {
  const Wanted wanted{dtype, in, n, value_out, index_out};
  visit_dtype(dtype, [&]<typename T>() {
    select_rank<T, AmongEqual::kRanked>(wanted, [n](const WideKey<T>* keys, const KeyRange& range) {
      if (!has_nan<T>(range)) return (n - 1) / 2;
      const int64_t numbers = n - std::count(keys, keys + n, WideKey<T>{kNanKey<T>});
      return std::max<int64_t>(numbers - 1, 0) / 2;
    });
  });
}

void mode_row(DType dtype, const void* in, int64_t n, void* value_out, int64_t* index_out) {
  const Wanted wanted{dtype, in, n, value_out, index_out};
  visit_dtype(dtype, [&]<typename T>() { mode<T>(wanted); });
}

}  // namespace mindtorch::cpu
