#pragma once

#include <cstdint>

namespace mindtorch::cpu::sorting {

// Note [Items]
// A sort with indices moves 8-byte items `key << 32 | index`, so an index takes 32 bits and a row
// with indices has less than 2^32 elements. Keys wider than 32 bits put their upper 32 varying bits
// into the item; what then still ties is ordered by the whole keys.

// Whether items hold whole keys after order_keys: `(key - low) << 32 | index`.
constexpr bool items_hold_keys(uint64_t low, uint64_t high) { return (high - low) >> 32 == 0; }

// Stable order of n >= 1 keys between `low` and `high`. Fills items_out; their lower halves are
// indices. `spare` has room for n.
void order_keys(const uint32_t* keys,
                int64_t n,
                uint32_t low,
                uint32_t high,
                uint64_t* items_out,
                uint64_t* spare);
void order_keys(const uint64_t* keys,
                int64_t n,
                uint64_t low,
                uint64_t high,
                uint64_t* items_out,
                uint64_t* spare);

// Sorts n >= 1 keys between `low` and `high` in place; `spare` has room for n.
void sort_keys(uint32_t* keys, int64_t n, uint32_t low, uint32_t high, uint32_t* spare);
void sort_keys(uint64_t* keys, int64_t n, uint64_t low, uint64_t high, uint64_t* spare);

}  // namespace mindtorch::cpu::sorting
