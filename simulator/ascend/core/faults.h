#pragma once

#include <cstdint>
#include <string>

#include "mindtorch/backends/ascend/acl_abi.h"

namespace sim {

// Faults are words separated by spaces or semicolons; counting starts when a fault is set:
//   call:aclrtMalloc:3:207001   the third call of aclrtMalloc fails; 3+ for the third and all after
//   task:aclnnAdd:1:507015      the first task of aclnnAdd fails on the device; * for any task
//   hang:2:5                    the fifth task of stream 2 (its id; * for any) hangs until released
//   memory:0:1048576            device 0 has no more than so many bytes
// False: not understood, and nothing is changed.
bool add_faults(const std::string& text);
void set_faults(const std::string& text);  // replaces; reports what is not understood

bool any_faults();

// Not 0: the code that this call answers. Cheap when there are no faults.
aclError fault_of_call(const char* function);
struct TaskFault {
  aclError code = ACL_SUCCESS;
  bool hang = false;
};
TaskFault fault_of_task(const std::string& name, int32_t stream_id);
// Bytes that the device may give at most.
size_t memory_limit(int32_t device);

}  // namespace sim
