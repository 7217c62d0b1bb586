#include "simulator/ascend/core/quick.h"

#include "simulator/ascend/core/faults.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/settings.h"

namespace sim {

Modes modes;

void refresh_modes() {
  const Settings& s = settings();
  modes.quick = !s.any_check() && !s.any_delay() && !log_is_on() && !any_faults();
  modes.compute = s.compute;
}

}  // namespace sim
