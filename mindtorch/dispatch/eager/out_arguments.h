#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// Where arguments that differ from the caller's live during a call.
struct OutArguments {
  SmallVector<ops::Value, 8> values;
  Tensor broadcast;
};

// The arguments of `base` when its result goes into `out`: the caller's, or those in `fitted` where
// the op's traits let out= change some.
ops::Args fit_to_out(const Tensor& out, const ops::Op& base, ops::Args args, OutArguments& fitted);
// The same for self of an in-place form.
ops::Args accumulate_in_dtype_of(const Tensor& self,
                                 const ops::Op& base,
                                 ops::Args args,
                                 OutArguments& fitted);

}  // namespace mindtorch::dispatch
