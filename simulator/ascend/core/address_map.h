#pragma once

#include <deque>
#include <map>

#include "simulator/ascend/core/memory.h"

namespace sim {

struct Reservation {
  size_t bytes = 0;
  int32_t device = -1;  // of what is mapped; -1: nothing yet
};

// Every address range that is known, by its first byte.
struct AddressMap {
  std::map<char*, std::shared_ptr<Block>> live;
  std::map<char*, std::shared_ptr<Block>> quarantine;
  std::deque<std::shared_ptr<Block>> quarantine_order;  // oldest first
  size_t quarantine_bytes = 0;
  std::map<char*, Reservation> reservations;
  struct Mapping {
    std::shared_ptr<Physical> physical;
  };
  std::map<char*, Mapping> mappings;
  uint64_t allocations = 0;
};

AddressMap& address_map();
aclError out_of_memory(int32_t device, size_t bytes);

}  // namespace sim
