#pragma once

#include "simulator/ascend/core/stream.h"

namespace sim {

// Compute units of a device (setting "units"): a task waits for a free one. A stream of higher
// priority (a lower number) goes first, then who is ready first. The functions want the lock.

// False: the work was cancelled while it waited. A unit that the stream holds goes to whoever is
// next, which may be the stream itself.
bool take_unit(Lock& lock, Stream& stream, const Work& work);
// If the stream holds one.
void give_unit(Stream& stream);
// Whoever waits shall look again.
void stir_units();
// Of the device, in percent.
int32_t utilization(int32_t device);

}  // namespace sim
