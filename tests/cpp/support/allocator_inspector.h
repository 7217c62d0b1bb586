#pragma once

#include <string>

#include "mindtorch/runtime/caching_allocator.h"

namespace mindtorch::runtime {

// Walks everything a CachingAllocator holds and recounts it.
class AllocatorInspector {
 public:
  explicit AllocatorInspector(CachingAllocator& allocator) : allocator_(allocator) {}

  // Empty when all is well; otherwise what is wrong. Checks that blocks tile their segments, that
  // free neighbours are merged and every free block can be found, that nothing overlaps, and that
  // the statistics equal a recount.
  std::string problems();
  size_t cached_blocks();

 private:
  CachingAllocator& allocator_;
};

}  // namespace mindtorch::runtime
