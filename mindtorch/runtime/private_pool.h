#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace mindtorch::runtime {

// (0, 0) is the default pool; the first number is set for pools made by a graph capture, the
// second for pools made by users.
using PoolId = std::pair<uint64_t, uint64_t>;

// Memory kept apart from the default pool: for a captured graph, whose addresses must stay, or for
// a user's MemPool. Owned by PrivatePools.
struct PrivatePool {
  PoolId id;
  // Graphs, pools and open scopes that hold it; 0: its memory may go. Changes under the lock of
  // PrivatePools, read without.
  std::atomic<int> use_count{0};
  bool use_on_oom = false;  // the default pool may take its free blocks before it fails
  bool no_split = false;
};

}  // namespace mindtorch::runtime
