#pragma once

#include <atomic>
#include <cstdint>

#include "simulator/ascend/core/export.h"

namespace sim {

// Note [Quick path]. With the checks, the log, the faults and all delays off, nothing needs to know
// about a launch but its stream: it then takes no lock that other streams take, allocates nothing
// and makes no system call while the stream's worker is awake. Handles are trusted, as hardware
// trusts them. A replay of a captured model then is one entry of the queue. Everything else goes
// through Work and the runtime's lock, in the same queue.
//
// Read without a lock: whoever changes a setting while other threads launch has no say about which
// launch is the first to see it.
struct Modes {
  std::atomic<bool> quick{false};  // false until the settings are read
  std::atomic<bool> compute{true};
  std::atomic<uint64_t> phase_one_ns{0};
  std::atomic<uint64_t> repeat_ns{0};
};
SIM_API extern Modes modes;

inline bool quick() { return modes.quick.load(std::memory_order_relaxed); }
inline bool computes() { return modes.compute.load(std::memory_order_relaxed); }

// Keeps the calling thread busy from its making until so much time has gone, as CANN would.
class SIM_API HostTime {
 public:
  explicit HostTime(const std::atomic<uint64_t>& cost_ns)
      : cost_ns_(cost_ns.load(std::memory_order_relaxed)), start_ns_(cost_ns_ ? now() : 0) {}
  ~HostTime() {
    if (cost_ns_) spend();
  }
  HostTime(const HostTime&) = delete;
  HostTime& operator=(const HostTime&) = delete;

 private:
  static uint64_t now();
  void spend() const;

  uint64_t cost_ns_;
  uint64_t start_ns_;
};

// After a change of settings, log or faults. Wants the lock.
void refresh_modes();

}  // namespace sim
