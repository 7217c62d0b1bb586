#pragma once

#include "mindtorch/ops/fusion.h"

namespace mindtorch::cpu {

// The CPU's fusion engine; see ops/fusion.h.
void check_fusable(const ops::PointwiseCall& call);
void run_fused(ops::Launch& launch, const ops::FusedGroup& group);

}  // namespace mindtorch::cpu
