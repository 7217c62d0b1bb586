#pragma once

#include <algorithm>
#include <limits>

#include "mindtorch/backends/cpu/attention/attention.h"
#include "mindtorch/backends/cpu/attention/rows.h"

namespace mindtorch::cpu::attention {

// Queries and keys of a tile of scores.
struct Block {
  int64_t first_query;
  int64_t queries;
  int64_t first_key;
  int64_t keys;
  int64_t width;  // of a row of scores: keys, filled up to whole vectors
};

// How many keys the last of some queries sees, and with it all of them together.
inline int64_t seen_keys(bool is_causal, int64_t end_query, int64_t keys) {
  return is_causal ? std::min(keys, end_query) : keys;
}

// Adds one row of the bias.
template <typename T>
void shift(const Rows& bias, int64_t row, int64_t first_key, int64_t count, T* scores) {
  const int64_t step = bias.col_stride;
  const T* const from = reinterpret_cast<const T*>(bias.at(row)) + first_key * step;
  if (step == 1) {
    for (int64_t j = 0; j < count; ++j) scores[j] += from[j];
  } else {
    for (int64_t j = 0; j < count; ++j) scores[j] += from[j * step];
  }
}

// Adds the bias, and makes -infinity what is not seen or not there.
template <typename T>
void mask(const Settings& settings, int64_t number, const Block& block, T* scores) {
  const bool whole = !settings.is_causal || block.first_key + block.keys <= block.first_query + 1;
  const bool shifted = settings.bias.defined();
  if (whole && block.keys == block.width && !shifted) return;
  for (int64_t i = 0; i < block.queries; ++i, scores += block.width) {
    const int64_t row = block.first_query + i;
    const int64_t seen =
        whole ? block.keys : std::clamp<int64_t>(row + 1 - block.first_key, 0, block.keys);
    if (shifted) shift(Rows(settings.bias, number), row, block.first_key, seen, scores);
    std::fill(scores + seen, scores + block.width, -std::numeric_limits<T>::infinity());
  }
}

// As many heads of query as share one of key and value.
inline int64_t heads_per_key(const Tensor& query, const Tensor& key) {
  return query.dim() < 3 ? 1 : query.size(-3) / std::max<int64_t>(key.size(-3), 1);
}
// The number of matrices in a batch.
inline int64_t matrices(const Tensor& tensor) {
  int64_t count = 1;
  for (int64_t i = 0; i + 2 < tensor.dim(); ++i) count *= tensor.size(i);
  return count;
}

}  // namespace mindtorch::cpu::attention
