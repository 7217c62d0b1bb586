#pragma once

#include "mindtorch/ops/kernel.h"

namespace mindtorch::ops {

// A pointwise call is a group of one step (and a cast, where `out` has another dtype than the
// call): the pointwise engine of a device that has a fusion engine only.
void run_as_group(Launch& launch, const PointwiseCall& call, const Tensor& out);
// Throws where the fusion engine of the call's device does not have the function in this dtype.
void check_as_group(const PointwiseCall& call);

}  // namespace mindtorch::ops
