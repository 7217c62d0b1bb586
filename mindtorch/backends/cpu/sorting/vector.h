#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu::sorting {

// The loops of sorting and selection that run on vectors, chosen for this machine's instruction
// set. See Note [Order-preserving keys].

struct KeyRange {
  uint64_t low = 0;
  uint64_t high = 0;
  bool ascending = true;   // no key is smaller than the one before it
  bool descending = true;  // no key is larger than the one before it
};

// Writes the keys of n >= 1 elements (uint64_t for 8-byte dtypes, else uint32_t).
KeyRange encode_keys(DType dtype, const void* in, int64_t n, bool descending, void* keys_out);

// The same without the range; gives the smallest key.
uint64_t encode_block(DType dtype, const void* in, int64_t n, bool descending, void* keys_out);

// The bytes of the values of `keys`; zeros and NaNs of floats get some zero and some NaN. `out` may
// be `keys` itself when both have the same width.
void decode_keys(DType dtype, const void* keys, int64_t n, bool descending, void* out);

// Turns n items `(key - low) << 32 | index` into their indices, in place, and writes the values.
void decode_items(
    DType dtype, uint64_t* items, int64_t n, uint64_t low, bool descending, void* values_out);

// Rows up to this length are sorted by rank_row; it beats everything else there.
constexpr int64_t most_ranked(DType dtype) { return size_bytes(dtype) == 8 ? 144 : 192; }
inline constexpr int64_t kMostRanked = 192;

// ranks_out[i] = the place of element i in the sorted row, equal elements in the order they come.
void rank_row(DType dtype, const void* in, int64_t n, bool descending, uint32_t* ranks_out);
// order_out[i] = the index of the element at place i.
void order_row(DType dtype, const void* in, int64_t n, bool descending, uint8_t* order_out);

// What may be among the k <= kMostClose smallest of n >= kMostClose keys: `below` indices of all
// keys that are below some bound, and behind them those of the first keys that are equal to it, so
// many that there are k in all. Either ascend. `keys` has room for n keys, rounded up to a multiple
// of 64, and is left with all of them; `indices_out` for most_close_keys(n, k).
inline constexpr int64_t kMostClose = 32;
constexpr int64_t most_close_keys(int64_t n, int64_t k) { return (k - 1) * ((n + 63) / 64) + k; }
struct CloseKeys {
  int64_t below;
  int64_t count;
};
CloseKeys find_smallest(DType dtype,
                        const void* in,
                        int64_t n,
                        int64_t k,
                        bool descending,
                        void* keys,
                        uint32_t* indices_out);

// The first position that holds `key`, or n.
int64_t find_key(const uint32_t* keys, int64_t n, uint32_t key);
int64_t find_key(const uint64_t* keys, int64_t n, uint64_t key);

}  // namespace mindtorch::cpu::sorting
