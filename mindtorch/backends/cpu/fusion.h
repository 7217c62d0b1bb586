#pragma once

#include "mindtorch/ops/fusion.h"

namespace mindtorch::cpu {

// The CPU's fusion engine; see ops/fusion.h. An interpreter over tiles that stay in the cache, with
// the SIMD functions that single ops use, so that results are the same bit for bit.
const ops::FusionEngine& fusion_engine();

}  // namespace mindtorch::cpu
