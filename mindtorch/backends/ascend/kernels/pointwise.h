#pragma once

#include "mindtorch/ops/kernel.h"
#include "mindtorch/ops/spec.h"

namespace mindtorch::ascend {

// Runs any pointwise op.
void run_pointwise(ops::Launch& on, const ops::PointwiseCall& call, const Tensor& out);
// Throws NotImplementedError where CANN takes no such dtype, as run_pointwise would.
void check_pointwise(const ops::PointwiseCall& call);

// Functions that CANN lacks, altogether or for the call's dtype, and others of its ops give.
bool has_composition(const ops::PointwiseCall& call);
// Throws NotImplementedError if there is none.
void run_composed(ops::Launch& on, const ops::PointwiseCall& call, const Tensor& out);

}  // namespace mindtorch::ascend
