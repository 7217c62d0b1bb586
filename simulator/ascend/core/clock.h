#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

// A vector clock: how far each lane (the host is lane 0, each stream has its own) is known to have
// come. What is not stored is 0.
class Clock {
 public:
  uint64_t at(size_t lane) const { return lane < times_.size() ? times_[lane] : 0; }
  void set(size_t lane, uint64_t time) {
    if (lane >= times_.size()) times_.resize(lane + 1);
    times_[lane] = time;
  }
  void join(const Clock& other) {
    if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
    for (size_t i = 0; i < other.times_.size(); ++i)
      times_[i] = std::max(times_[i], other.times_[i]);
  }

 private:
  std::vector<uint64_t> times_;
};

}  // namespace sim
