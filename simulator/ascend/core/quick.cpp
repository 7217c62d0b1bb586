#include "simulator/ascend/core/quick.h"

#include "mindtorch/base/cpu_relax.h"
#include "simulator/ascend/core/faults.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

Modes modes;

void refresh_modes() {
  const Settings& s = settings();
  modes.quick = !s.any_check() && !s.any_delay() && !log_is_on() && !any_faults();
  modes.compute = s.compute;
  modes.phase_one_ns = s.phase_one_ns;
  modes.repeat_ns = s.repeat_ns;
}

uint64_t HostTime::now() { return now_ns(); }

void HostTime::spend() const {
  while (now() < start_ns_ + cost_ns_) mindtorch::cpu_relax();
}

}  // namespace sim
