#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// Refuse to write a result into a tensor of another dtype than its own, in torch's words, where
// the op's traits do not allow it.
void check_out_dtype(const ops::Op& base, ops::Args args, DType result, const Tensor& out);
void check_inplace_dtype(const ops::Op& base, ops::Args args, DType result, const Tensor& self);

}  // namespace mindtorch::dispatch
