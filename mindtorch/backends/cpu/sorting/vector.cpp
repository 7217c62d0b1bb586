#include "mindtorch/backends/cpu/sorting/vector.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/sorting/keys.h"

// This file is compiled once per instruction set; plain loops below are vectorised for each.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/sorting/vector.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::sorting {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kBlock = 2048;

template <typename T>
KeyRange encode(const void* in, int64_t n, bool descending, WideKey<T>* HWY_RESTRICT keys) {
  using Key = WideKey<T>;
  const auto* HWY_RESTRICT bits = static_cast<const KeyOf<T>*>(in);
  const KeyOf<T> mask = direction_mask<KeyOf<T>>(descending);
  Key low = static_cast<Key>(~Key{0});
  Key high = 0;
  bool up = true;
  bool down = true;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    for (int64_t i = begin; i < end; ++i) {
      const Key key = static_cast<KeyOf<T>>(key_of_bits<T>(bits[i]) ^ mask);
      keys[i] = key;
      low = key < low ? key : low;
      high = key > high ? key : high;
    }
    // Only a sorted row is looked at to its end; a random one stops after one block.
    const int64_t first = begin == 0 ? 1 : begin;
    if (up) {
      Key bad = 0;
      for (int64_t i = first; i < end; ++i) bad |= static_cast<Key>(keys[i] < keys[i - 1]);
      up = bad == 0;
    }
    if (down) {
      Key bad = 0;
      for (int64_t i = first; i < end; ++i) bad |= static_cast<Key>(keys[i] > keys[i - 1]);
      down = bad == 0;
    }
  }
  return {low, high, up, down};
}

template <typename T>
uint64_t encode_smallest(const void* in,
                         int64_t n,
                         bool descending,
                         WideKey<T>* HWY_RESTRICT keys) {
  using Key = WideKey<T>;
  const auto* HWY_RESTRICT bits = static_cast<const KeyOf<T>*>(in);
  const KeyOf<T> mask = direction_mask<KeyOf<T>>(descending);
  Key low = static_cast<Key>(~Key{0});
  for (int64_t i = 0; i < n; ++i) {
    const Key key = static_cast<KeyOf<T>>(key_of_bits<T>(bits[i]) ^ mask);
    keys[i] = key;
    low = key < low ? key : low;
  }
  return low;
}

template <typename T>
void decode(const void* keys, int64_t n, bool descending, void* out) {
  const auto* wide = static_cast<const WideKey<T>*>(keys);
  auto* bits = static_cast<KeyOf<T>*>(out);
  const KeyOf<T> mask = direction_mask<KeyOf<T>>(descending);
  for (int64_t i = 0; i < n; ++i) {
    bits[i] = bits_of_key<T>(static_cast<KeyOf<T>>(static_cast<KeyOf<T>>(wide[i]) ^ mask));
  }
}

template <typename T>
void split_items(
    uint64_t* HWY_RESTRICT items, int64_t n, uint64_t low, bool descending, void* out) {
  auto* HWY_RESTRICT bits = static_cast<KeyOf<T>*>(out);
  const KeyOf<T> mask = direction_mask<KeyOf<T>>(descending);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t item = items[i];
    bits[i] =
        bits_of_key<T>(static_cast<KeyOf<T>>(static_cast<KeyOf<T>>((item >> 32) + low) ^ mask));
    items[i] = static_cast<uint32_t>(item);
  }
}

KeyRange EncodeKeys(DType dtype, const void* in, int64_t n, bool descending, void* keys) {
  return visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    return encode<T>(in, n, descending, static_cast<WideKey<T>*>(keys));
  });
}

uint64_t EncodeBlock(DType dtype, const void* in, int64_t n, bool descending, void* keys) {
  return visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    return encode_smallest<T>(in, n, descending, static_cast<WideKey<T>*>(keys));
  });
}

void DecodeKeys(DType dtype, const void* keys, int64_t n, bool descending, void* out) {
  visit_dtype(dtype, [&]<typename T>() HWY_ATTR { decode<T>(keys, n, descending, out); });
}

void DecodeItems(
    DType dtype, uint64_t* items, int64_t n, uint64_t low, bool descending, void* out) {
  visit_dtype(dtype,
              [&]<typename T>() HWY_ATTR { split_items<T>(items, n, low, descending, out); });
}

// One more in the lanes of the mask.
template <class D>
HWY_INLINE hn::Vec<D> count_if(D d, hn::Vec<D> count, hn::Mask<D> mask) {
#if HWY_TARGET <= HWY_AVX3
  const auto more = hn::Add(count, hn::Set(d, hn::TFromD<D>{1}));
  return hn::IfThenElse(mask, more, count);
#else
  return hn::Sub(count, hn::VecFromMask(d, mask));
#endif
}

// less[i] = how many of the n keys are smaller than keys[i], for kVectors vectors of keys.
template <int kVectors, class D, typename Signed = hn::TFromD<D>>
HWY_INLINE void count_smaller(D d,
                              const Signed* HWY_RESTRICT all,
                              int64_t n,
                              const Signed* HWY_RESTRICT keys,
                              Signed* HWY_RESTRICT less) {
  const size_t lanes = hn::Lanes(d);
  const auto k0 = hn::Load(d, keys);
  const auto k1 = hn::Load(d, keys + (kVectors > 1 ? lanes : 0));
  const auto k2 = hn::Load(d, keys + (kVectors > 2 ? 2 * lanes : 0));
  auto c0 = hn::Zero(d), c1 = hn::Zero(d), c2 = hn::Zero(d);
  for (int64_t j = 0; j < n; ++j) {
    const auto other = hn::Set(d, all[j]);
    c0 = count_if(d, c0, hn::Lt(other, k0));
    if constexpr (kVectors > 1) c1 = count_if(d, c1, hn::Lt(other, k1));
    if constexpr (kVectors > 2) c2 = count_if(d, c2, hn::Lt(other, k2));
  }
  hn::Store(c0, d, less);
  if constexpr (kVectors > 1) hn::Store(c1, d, less + lanes);
  if constexpr (kVectors > 2) hn::Store(c2, d, less + 2 * lanes);
}

// The same for `padded` keys, whole vectors of them.
template <class D, typename Signed = hn::TFromD<D>>
HWY_INLINE void count_all_smaller(
    D d, const Signed* keys, int64_t n, int64_t padded, Signed* less) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t begin = 0;
  for (; begin + 2 * lanes < padded; begin += 3 * lanes) {
    count_smaller<3>(d, keys, n, keys + begin, less + begin);
  }
  if (begin + lanes < padded) {
    count_smaller<2>(d, keys, n, keys + begin, less + begin);
  } else if (begin < padded) {
    count_smaller<1>(d, keys, n, keys + begin, less + begin);
  }
}

// Sorting by counting for every key how many others are smaller: n^2 comparisons without a branch.
// Calls put(i, place) for every element.
template <typename T, typename Put>
HWY_INLINE void rank(const void* in, int64_t n, bool descending, const Put& put) {
  using Key = WideKey<T>;
  using Signed = std::make_signed_t<Key>;
  const hn::ScalableTag<Signed> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Room for whole vectors; signed, because unsigned comparisons do not exist on every target.
  alignas(64) Signed keys[kMostRanked];
  alignas(64) Signed less[kMostRanked];
  const auto* HWY_RESTRICT bits = static_cast<const KeyOf<T>*>(in);
  const KeyOf<T> mask = direction_mask<KeyOf<T>>(descending);
  for (int64_t i = 0; i < n; ++i) {
    const Key key = static_cast<KeyOf<T>>(key_of_bits<T>(bits[i]) ^ mask);
    keys[i] = static_cast<Signed>(key ^ kSignBit<Key>);
  }
  const int64_t padded = ceil_div(n, lanes) * lanes;
  for (int64_t i = n; i < padded; ++i) keys[i] = 0;
  count_all_smaller(d, keys, n, padded, less);
  // Equal keys counted the same; they take consecutive places in the order they come.
  uint8_t taken[kMostRanked];
  std::memset(taken, 0, static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const auto smaller = static_cast<uint32_t>(less[i]);
    put(i, smaller + taken[smaller]++);
  }
}

void RankRow(DType dtype, const void* in, int64_t n, bool descending, uint32_t* ranks) {
  visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    rank<T>(in, n, descending, [ranks](int64_t i, uint32_t place) { ranks[i] = place; });
  });
}

void OrderRow(DType dtype, const void* in, int64_t n, bool descending, uint8_t* order) {
  visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    rank<T>(in, n, descending,
            [order](int64_t i, uint32_t place) { order[place] = static_cast<uint8_t>(i); });
  });
}

constexpr int64_t kGroup = 64;

// The k-th smallest of kGroup keys.
template <typename Key>
Key select_of_group(const Key* keys, int64_t k) {
  using Signed = std::make_signed_t<Key>;
  const hn::ScalableTag<Signed> d;
  alignas(64) Signed ordered[kGroup];
  alignas(64) Signed less[kGroup];
  for (int64_t i = 0; i < kGroup; ++i) ordered[i] = static_cast<Signed>(keys[i] ^ kSignBit<Key>);
  count_all_smaller(d, ordered, kGroup, kGroup, less);
  Key found = 0;
  for (int64_t i = 0; i < kGroup; ++i) {
    const Key key = less[i] < k ? keys[i] : Key{0};
    found = key > found ? key : found;
  }
  return found;
}

// Bit i says that key i of kGroup is below the bound, or equal to it.
struct GroupBits {
  uint64_t below;
  uint64_t equal;
};
template <typename Key>
HWY_INLINE GroupBits compare_group(const Key* keys, Key bound) {
  using Signed = std::make_signed_t<Key>;
  const hn::ScalableTag<Signed> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto sign = hn::Set(d, static_cast<Signed>(kSignBit<Key>));
  const auto limit = hn::Set(d, static_cast<Signed>(bound ^ kSignBit<Key>));
  GroupBits bits = {0, 0};
  const auto put = [&](auto mask, int64_t at, uint64_t& to) HWY_ATTR {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, mask, bytes);
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    to |= word << at;
  };
  for (int64_t i = 0; i < kGroup; i += lanes) {
    const auto key = hn::Xor(hn::LoadU(d, reinterpret_cast<const Signed*>(keys + i)), sign);
    put(hn::Lt(key, limit), i, bits.below);
    put(hn::Eq(key, limit), i, bits.equal);
  }
  return bits;
}

// Key i belongs to set i % kGroup. The k-th smallest of the smallest keys of these sets is a bound:
// k keys at least are not above it, and of all others that are, few are below it, too.
template <typename T>
CloseKeys close_keys(const void* in,
                     int64_t n,
                     int64_t k,
                     bool descending,
                     WideKey<T>* HWY_RESTRICT keys,
                     uint32_t* HWY_RESTRICT indices) {
  using Key = WideKey<T>;
  const auto* HWY_RESTRICT bits = static_cast<const KeyOf<T>*>(in);
  const KeyOf<T> mask = direction_mask<KeyOf<T>>(descending);
  Key least[kGroup];
  for (Key& key : least) key = static_cast<Key>(~Key{0});
  const auto encode_some = [&](int64_t begin, int64_t count) HWY_ATTR {
    for (int64_t i = 0; i < count; ++i) {
      const Key key = static_cast<KeyOf<T>>(key_of_bits<T>(bits[begin + i]) ^ mask);
      keys[begin + i] = key;
      least[i] = key < least[i] ? key : least[i];
    }
  };
  const int64_t whole = n / kGroup * kGroup;
  for (int64_t begin = 0; begin < whole; begin += kGroup) encode_some(begin, kGroup);
  encode_some(whole, n - whole);
  const Key bound = select_of_group(least, k);

  CloseKeys found = {0, 0};
  uint32_t equal[kMostClose];
  int64_t equal_count = 0;
  for (int64_t begin = 0; begin < n; begin += kGroup) {
    GroupBits group = compare_group(keys + begin, bound);
    if (begin == whole) {
      const uint64_t inside = (uint64_t{1} << (n - whole)) - 1;
      group = {group.below & inside, group.equal & inside};
    }
    for (; group.below != 0; group.below &= group.below - 1) {
      indices[found.below++] = static_cast<uint32_t>(begin + std::countr_zero(group.below));
    }
    for (; group.equal != 0 && equal_count < k; group.equal &= group.equal - 1) {
      equal[equal_count++] = static_cast<uint32_t>(begin + std::countr_zero(group.equal));
    }
  }
  found.count = found.below;
  for (int64_t i = 0; found.count < k; ++i) indices[found.count++] = equal[i];
  return found;
}

CloseKeys FindSmallest(DType dtype,
                       const void* in,
                       int64_t n,
                       int64_t k,
                       bool descending,
                       void* keys,
                       uint32_t* indices) {
  return visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    return close_keys<T>(in, n, k, descending, static_cast<WideKey<T>*>(keys), indices);
  });
}

template <typename Key>
int64_t find(const Key* keys, int64_t n, Key key) {
  constexpr int64_t kStep = 256;
  int64_t begin = 0;
  for (; begin + kStep <= n; begin += kStep) {
    Key found = 0;
    for (int64_t i = 0; i < kStep; ++i) found |= static_cast<Key>(keys[begin + i] == key);
    if (found != 0) break;
  }
  return std::find(keys + begin, keys + n, key) - keys;
}

int64_t Find32(const uint32_t* keys, int64_t n, uint32_t key) { return find(keys, n, key); }
int64_t Find64(const uint64_t* keys, int64_t n, uint64_t key) { return find(keys, n, key); }

}  // namespace HWY_NAMESPACE
}  // namespace mindtorch::cpu::sorting
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::sorting {

HWY_EXPORT(EncodeKeys);
HWY_EXPORT(EncodeBlock);
HWY_EXPORT(DecodeKeys);
HWY_EXPORT(DecodeItems);
HWY_EXPORT(RankRow);
HWY_EXPORT(OrderRow);
HWY_EXPORT(FindSmallest);
HWY_EXPORT(Find32);
HWY_EXPORT(Find64);

KeyRange encode_keys(DType dtype, const void* in, int64_t n, bool descending, void* keys_out) {
  return HWY_DYNAMIC_DISPATCH(EncodeKeys)(dtype, in, n, descending, keys_out);
}
uint64_t encode_block(DType dtype, const void* in, int64_t n, bool descending, void* keys_out) {
  return HWY_DYNAMIC_DISPATCH(EncodeBlock)(dtype, in, n, descending, keys_out);
}
void decode_keys(DType dtype, const void* keys, int64_t n, bool descending, void* out) {
  HWY_DYNAMIC_DISPATCH(DecodeKeys)(dtype, keys, n, descending, out);
}
void decode_items(
    DType dtype, uint64_t* items, int64_t n, uint64_t low, bool descending, void* values_out) {
  HWY_DYNAMIC_DISPATCH(DecodeItems)(dtype, items, n, low, descending, values_out);
}
void rank_row(DType dtype, const void* in, int64_t n, bool descending, uint32_t* ranks_out) {
  HWY_DYNAMIC_DISPATCH(RankRow)(dtype, in, n, descending, ranks_out);
}
void order_row(DType dtype, const void* in, int64_t n, bool descending, uint8_t* order_out) {
  HWY_DYNAMIC_DISPATCH(OrderRow)(dtype, in, n, descending, order_out);
}
CloseKeys find_smallest(DType dtype,
                        const void* in,
                        int64_t n,
                        int64_t k,
                        bool descending,
                        void* keys,
                        uint32_t* indices_out) {
  return HWY_DYNAMIC_DISPATCH(FindSmallest)(dtype, in, n, k, descending, keys, indices_out);
}
int64_t find_key(const uint32_t* keys, int64_t n, uint32_t key) {
  return HWY_DYNAMIC_DISPATCH(Find32)(keys, n, key);
}
int64_t find_key(const uint64_t* keys, int64_t n, uint64_t key) {
  return HWY_DYNAMIC_DISPATCH(Find64)(keys, n, key);
}

}  // namespace mindtorch::cpu::sorting
#endif
