#include "simulator/ascend/core/units.h"

#include "simulator/ascend/core/settings.h"

namespace sim {

static std::condition_variable& freed() {
  static auto* all = new std::condition_variable;
  return *all;
}

static Device& device_of(const Stream& stream) {
  return runtime().devices[static_cast<size_t>(stream.device)];
}

bool take_unit(Lock& lock, Stream& stream, const Work& work) {
  Device& device = device_of(stream);
  const auto place = device.ready.emplace(stream.priority, device.next_ready++).first;
  give_unit(stream);
  freed().wait(lock, [&] {
    const uint32_t units = settings().units;
    const bool free = units == 0 || device.busy_units < units;
    return work.cancelled || stream.stopping || (free && place == device.ready.begin());
  });
  device.ready.erase(place);
  stir_units();  // the next one may find another unit free
  if (work.cancelled || stream.stopping) return false;
  ++device.busy_units;
  stream.holds_unit = true;
  return true;
}

void give_unit(Stream& stream) {
  if (!stream.holds_unit) return;
  stream.holds_unit = false;
  --device_of(stream).busy_units;
  stir_units();
}

void stir_units() { freed().notify_all(); }

int32_t utilization(int32_t device) {
  const uint32_t units = settings().units;
  if (units == 0) {
    for (const auto& [_, stream] : runtime().streams) {
      if (stream->device == device && !stream->queue.idle()) return 100;
    }
    return 0;
  }
  const uint32_t busy = runtime().devices[static_cast<size_t>(device)].busy_units;
  return static_cast<int32_t>(100 * std::min(busy, units) / units);
}

}  // namespace sim
