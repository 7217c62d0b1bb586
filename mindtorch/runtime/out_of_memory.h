#pragma once

#include "mindtorch/runtime/allocator_state.h"

namespace mindtorch::runtime {

// Throws OutOfMemoryError with torch's figures, who holds the memory, and what would help.
[[noreturn]] void throw_out_of_memory(AllocatorState& state,
                                      const AllocationRequest& request,
                                      bool capturing);
// For a size that no device has.
[[noreturn]] void throw_beyond_any_device(const driver::DeviceDriver& driver);

}  // namespace mindtorch::runtime
