#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mindtorch/dispatch/trace/trace.h"

namespace mindtorch::dispatch {

// Who needs a storage that a trace uses.
struct StorageLiveness {
  bool is_visible = false;  // outside the trace
  bool is_needed = false;   // is_visible, or a live op reads it
  int64_t last_use = -1;    // the index of a live op
  int64_t last_write = -1;
};

struct Liveness {
  std::vector<StorageLiveness> storages;
  std::vector<uint8_t> is_dead;  // by op: its result is not used
};

// `visible`: of each storage, whether something outside the trace can see it.
Liveness find_liveness(const Trace& trace, std::span<const uint8_t> visible);

}  // namespace mindtorch::dispatch
