#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// Whether an op may write its result into a tensor of another dtype. Torch lets some ops cast, and
// says of the others in many ways that they may not. Called only when the dtypes differ.

// `args`: as the user gave them, for what depends on dtype=.
void check_out_dtype(const ops::Op& base, ops::Args args, DType result, const Tensor& target);
void check_inplace_dtype(const ops::Op& base, DType result, const Tensor& self);
void check_pointwise_dtype(const ops::Op& base, DType result, const Tensor& target, bool is_out);

// zeros and its like, which take device=.
bool is_factory(const ops::Op& op);

}  // namespace mindtorch::dispatch
