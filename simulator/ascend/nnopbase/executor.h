#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/ascend/core/task.h"
#include "simulator/ascend/nnopbase/objects.h"
#include "simulator/ascend/nnopbase/view.h"

namespace sim {

inline constexpr aclnnStatus kRuntimeError = 361001;
inline constexpr aclnnStatus kInner = 561000;
inline constexpr aclnnStatus kInnerNull = 561103;

class Launch;

// The same text, at an address that stays valid for ever.
SIM_API const char* lasting(const std::string& text);

// One tensor of an op between the phases: described when planned, addressed when run.
struct Slot {
  View view;  // `data` stays null
  const aclTensor* tensor = nullptr;
  const char* name = "";  // lives for ever
  bool read = false;
  bool write = false;
  size_t parameter = 0;     // place among the op's inputs (or outputs), a list counting as one
  size_t member = 0;        // place in its list
  int64_t byte_offset = 0;  // of the first element from the tensor's address
  int64_t nibble = 0;       // of an INT4 tensor's first element in its byte
  bool empty = false;       // no elements
  int64_t packed_at = -1;   // where in the workspace a contiguous copy goes; -1: none is made
  // Of a layout of the device's own, which the view does not show; -1: as the view says.
  int64_t read_bytes = -1;
  int64_t write_bytes = -1;

  bool nibbles() const { return view.dtype == ACL_INT4; }
};

// What phase one found out. Runs on the stream's thread with the address of each slot's first
// element, then the workspace, as arguments.
struct SIM_API Plan : Kernel {
  std::deque<Slot> slots;
  std::vector<std::pair<const void*, uint64_t>> objects;  // that must live until phase two
  std::vector<const char*> object_names;
  uint64_t workspace_bytes = 0;
  std::function<void(Launch&)> body;  // none: nothing to do

  aclError run(void* const* arguments) const override;
};

// A failure on the device: what the next synchronising call reports.
struct DeviceFault {
  aclError code;
  std::string text;
};

// The op as it runs: every slot with its address.
class SIM_API Launch {
 public:
  Launch(const Plan& plan, void* const* arguments);
  const View& operator[](size_t slot) const { return views_[slot]; }
  char* workspace(uint64_t at) const { return workspace_ + at; }
  // Writes what the body left in copies (Note [Nibbles]).
  void finish(void* const* arguments) const;
  // Gives the true shape of an output whose size depends on data.
  void set_shape(size_t slot, const Shape& shape) const;

 private:
  const Plan* plan_;
  char* workspace_;
  std::vector<View> views_;
};

// A new one-shot executor.
SIM_API aclOpExecutor* make_executor(std::shared_ptr<Plan> plan);

// One for a plan that was made before, whose tensors' addresses, slot by slot, are given: their
// descriptions may be gone.
aclOpExecutor* make_bound_executor(std::shared_ptr<const Plan> plan, std::vector<void*> addresses);

// Phase two of every op.
SIM_API aclnnStatus execute(const char* op,
                            void* workspace,
                            uint64_t workspace_size,
                            aclOpExecutor* executor,
                            aclrtStream stream);

// Tensors whose elements the op brings along, as the caller had them in the host's memory.
using Constants = std::map<const aclTensor*, std::vector<char>>;

// Puts on the stream what phase one planned, under another name and with memory of its own in the
// workspace's place: for ops that are called by name. Uses the executor up.
SIM_API aclError execute_as(const char* name,
                            aclOpExecutor* executor,
                            std::shared_ptr<const Constants> constants,
                            aclrtStream stream);

}  // namespace sim
