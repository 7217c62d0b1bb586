#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/backends/cpu/sorting.h"
#include "mindtorch/backends/cpu/sorting/keys.h"
#include "mindtorch/backends/cpu/sorting/radix.h"
#include "mindtorch/backends/cpu/sorting/vector.h"

namespace mindtorch::cpu {
namespace {

using namespace sorting;

struct Selection {
  DType dtype;
  const void* in;
  int64_t n;
  int64_t k;
  bool largest;
  bool sorted;
  void* values_out;
  int64_t* indices_out;
};

template <typename Bits>
void emit(const Selection& s, int64_t place, int64_t index) {
  static_cast<Bits*>(s.values_out)[place] = static_cast<const Bits*>(s.in)[index];
  s.indices_out[place] = index;
}

// A candidate is ordered by key, then index. Short keys and indices share one word.
struct PackedCandidate {
  uint64_t item;

  static PackedCandidate make(uint64_t key, int64_t index) {
    return {key << 32 | static_cast<uint64_t>(index)};
  }
  [[nodiscard]] uint64_t key() const { return item >> 32; }
  [[nodiscard]] int64_t index() const { return static_cast<uint32_t>(item); }
  bool operator<(const PackedCandidate& other) const { return item < other.item; }
};

struct WideCandidate {
  uint64_t sort_key;
  int64_t position;

  static WideCandidate make(uint64_t key, int64_t index) { return {key, index}; }
  [[nodiscard]] uint64_t key() const { return sort_key; }
  [[nodiscard]] int64_t index() const { return position; }
  bool operator<(const WideCandidate& other) const {
    return sort_key != other.sort_key ? sort_key < other.sort_key : position < other.position;
  }
};

// Walks the row once, keeping what may still be among the best k. The bound only ever falls, so on
// most rows nearly every block is passed over after one vector minimum; the first are short, to
// have a bound early.
template <typename T, typename Candidate>
void select_by_bound(const Selection& s) {
  using Key = WideKey<T>;
  constexpr int64_t kFirstBlock = 64;
  constexpr int64_t kBlock = 512;
  KeptScratch scratch(KeptScratch::room<Candidate>(2 * s.k + kBlock));
  auto* candidates = scratch.take<Candidate>(2 * s.k + kBlock);
  int64_t count = 0;
  bool bounded = false;
  Key bound = std::numeric_limits<Key>::max();
  const auto keep_best = [&] {
    std::nth_element(candidates, candidates + s.k - 1, candidates + count);
    count = s.k;
    bounded = true;
    bound = static_cast<Key>(candidates[s.k - 1].key());
  };
  const auto* in = static_cast<const KeyOf<T>*>(s.in);
  for (int64_t begin = 0, length = 0; begin < s.n; begin += length) {
    length = std::min(bounded ? kBlock : kFirstBlock, s.n - begin);
    Key keys[kBlock];
    const uint64_t smallest = encode_block(s.dtype, in + begin, length, s.largest, keys);
    // An equal key has a higher index than the one that set the bound, and loses.
    if (bounded && smallest >= bound) continue;
    for (int64_t i = 0; i < length; ++i) {
      candidates[count] = Candidate::make(keys[i], begin + i);
      count += !bounded || keys[i] < bound;
    }
    if (count > (bounded ? 2 * s.k : s.k)) keep_best();
  }
  if (count > s.k) keep_best();
  if (s.sorted) std::sort(candidates, candidates + s.k);
  for (int64_t i = 0; i < s.k; ++i) emit<KeyOf<T>>(s, i, candidates[i].index());
}

// Rows of some thousand elements: a bound that few are below, and then all of those.
template <typename T, typename Candidate>
void select_close(const Selection& s) {
  using Key = WideKey<T>;
  const int64_t padded = ceil_div(s.n, 64) * 64;
  const int64_t most = most_close_keys(s.n, s.k);
  KeptScratch scratch(KeptScratch::room<Key>(padded) + KeptScratch::room<uint32_t>(most) +
                      KeptScratch::room<Candidate>(most));
  Key* keys = scratch.take<Key>(padded);
  auto* indices = scratch.take<uint32_t>(most);
  auto* candidates = scratch.take<Candidate>(most);
  const CloseKeys close = find_smallest(s.dtype, s.in, s.n, s.k, s.largest, keys, indices);
  for (int64_t i = 0; i < close.below; ++i) {
    candidates[i] = Candidate::make(keys[indices[i]], indices[i]);
  }
  const int64_t below = std::min(close.below, s.k);
  std::partial_sort(candidates, candidates + below, candidates + close.below);
  for (int64_t i = 0; i < below; ++i) emit<KeyOf<T>>(s, i, candidates[i].index());
  for (int64_t i = below; i < s.k; ++i) emit<KeyOf<T>>(s, i, indices[i]);
}

template <typename T>
void select_by_rank(const Selection& s) {
  uint8_t order[kMostRanked];
  order_row(s.dtype, s.in, s.n, s.largest, order);
  for (int64_t i = 0; i < s.k; ++i) emit<KeyOf<T>>(s, i, order[i]);
}

template <typename T>
void select_by_sort(const Selection& s) {
  using Key = WideKey<T>;
  KeptScratch scratch(KeptScratch::room<Key>(s.n) + 2 * KeptScratch::room<uint64_t>(s.n));
  Key* keys = scratch.take<Key>(s.n);
  auto* items = scratch.take<uint64_t>(s.n);
  auto* spare = scratch.take<uint64_t>(s.n);
  const KeyRange range = encode_keys(s.dtype, s.in, s.n, s.largest, keys);
  order_keys(keys, s.n, static_cast<Key>(range.low), static_cast<Key>(range.high), items, spare);
  for (int64_t i = 0; i < s.k; ++i) emit<KeyOf<T>>(s, i, static_cast<uint32_t>(items[i]));
}

template <typename T>
void select(const Selection& s) {
  constexpr int64_t kMostIndexed = std::numeric_limits<uint32_t>::max();
  constexpr int64_t kSortFrom = 16;  // sort everything when k is at least 1/16 of n
  using Candidate = std::conditional_t<sizeof(T) == 8, WideCandidate, PackedCandidate>;
  constexpr int64_t kLeastForBound = 96;
  constexpr int64_t kMostInCache = 8192;
  if (s.k <= kMostClose && s.n > kLeastForBound && s.n <= kMostInCache) {
    return select_close<T, Candidate>(s);
  }
  if (s.n <= most_ranked(s.dtype)) return select_by_rank<T>(s);
  if (s.n > kMostIndexed) return select_by_bound<T, WideCandidate>(s);
  if (s.k > s.n / kSortFrom) return select_by_sort<T>(s);
  select_by_bound<T, Candidate>(s);
}

}  // namespace

void topk_row(DType dtype,
              const void* in,
              int64_t n,
              int64_t k,
              bool largest,
              bool sorted,
              void* values_out,
              int64_t* indices_out) {
  if (k == 0) return;
  const Selection selection{dtype, in, n, k, largest, sorted, values_out, indices_out};
  visit_dtype(dtype, [&]<typename T>() { select<T>(selection); });
}

}  // namespace mindtorch::cpu
