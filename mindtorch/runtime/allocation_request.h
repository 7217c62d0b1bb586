#pragma once

#include <cstddef>
#include <memory>

#include "mindtorch/runtime/block.h"

namespace mindtorch::runtime {

struct AllocationRequest {
  Arena* arena = nullptr;
  PoolKind pool = PoolKind::kSmall;
  size_t size = 0;          // rounded
  size_t requested = 0;     // as asked for
  size_t segment_size = 0;  // of a new segment, once one is needed
  std::shared_ptr<const CallContext> context;
};

}  // namespace mindtorch::runtime
