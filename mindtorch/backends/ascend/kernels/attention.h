#pragma once

#include "mindtorch/ops/kernel.h"

// What the forms of CANN's fused attention share. Tensors are [batch, heads, length, size].
namespace mindtorch::ascend {

// Keys that queries do not see: where `mask` is true, as CANN's sparseMode says.
struct HiddenKeys {
  Tensor mask;
  int64_t sparse = 0;
};

// With fewer dims, of leading dims of length 1.
Tensor in_four_dims(Tensor self);
// All keys behind a query's own place.
HiddenKeys hide_later_keys(ops::Launch& on, int64_t queries, int64_t keys);
// Where a mask of bools is false.
HiddenKeys hide_unseen_keys(ops::Launch& on, const Tensor& seen, int64_t queries, int64_t keys);
// CANN's fused ops are documented to take operands of these sizes.
bool fits_fused_attention(const Tensor& query, const Tensor& key, const Tensor& value);

}  // namespace mindtorch::ascend
