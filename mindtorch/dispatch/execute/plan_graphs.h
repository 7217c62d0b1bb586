#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mindtorch/runtime/graph.h"
#include "mindtorch/tensor/device.h"

namespace mindtorch::dispatch {

// Note [Replayed traces]
// What a part of a plan queues depends on addresses, numbers and the stream, and on nothing else.
// When these have come before, the work is captured once, as a graph of the device, and from then
// on queued as one. Loops take turns between a few addresses, hence a few graphs for each. What a
// graph needs in between comes from a pool of its stream: graphs of one stream run one after the
// other, so that they share it. The graphs of all plans go when memory is short and when the cache
// is emptied; if one fails, the ops are launched instead, and raise the error. Where too many
// addresses come, those that came last take the place of others, and their graph is made of the
// other's, if the device can change graphs in place.

// The graphs of one part of a plan, for one device. One thread at a time; any thread may drop them.
class PlanGraphs {
 public:
  // Null: the device has none, or they are switched off.
  static std::unique_ptr<PlanGraphs> make(Device device);
  explicit PlanGraphs(runtime::DeviceRuntime& runtime);
  ~PlanGraphs();
  PlanGraphs(const PlanGraphs&) = delete;
  PlanGraphs& operator=(const PlanGraphs&) = delete;

  // Graphs go when memory is short and when the cache is emptied.
  static void install_hooks();

  // Of this thread. No stream: not this time.
  runtime::Stream stream();
  // `key`: all that the work depends on, but for the stream.
  using Key = std::span<const uint64_t>;
  // The rest of a key that begins like this one and came before: of those used before `before`,
  // the one used last. When that was, or 0: there is none.
  uint64_t find_known(Key beginning,
                      runtime::Stream stream,
                      uint64_t before,
                      std::vector<uint64_t>& rest) const;
  enum class Found : uint8_t { kQueued, kNothing, kWorthCapturing };
  // Where the graph's own results lie, for work that is queued next: see capture().
  using Addresses = std::vector<const void*>;
  Found replay(Key key, runtime::Stream stream, Addresses& results);
  // Captures what `launch` gives the current stream, and queues it. False: launch it. `results`:
  // what `launch` writes there is kept for replay(). Memory of the pool, the next graph's, too.
  bool capture(Key key,
               runtime::Stream stream,
               const std::function<void()>& launch,
               const Addresses& results);

 private:
  struct Entry {
    std::vector<uint64_t> key;
    runtime::Stream stream;
    uint64_t last_use = 0;
    int times_seen = 0;
    Addresses results;
    std::unique_ptr<runtime::Graph> graph;   // null: not captured so far
    std::unique_ptr<runtime::Graph> former;  // of another key, to be changed into this one's
  };
  using Graphs = std::vector<std::unique_ptr<runtime::Graph>>;

  Entry* find(Key key, runtime::Stream stream);
  Found queue(std::unique_ptr<runtime::Graph>& graph, runtime::Stream stream);
  Found queue_reading(Key key, runtime::Stream stream, std::unique_ptr<runtime::Graph> graph);
  std::unique_ptr<runtime::Graph> renewed(Key key,
                                          runtime::Stream stream,
                                          std::unique_ptr<runtime::Graph> newer);
  void take_graphs(Graphs& taken);
  static Graphs take_all_graphs();
  static bool drop_for_memory();
  static void drop_for_empty_cache();

  runtime::DeviceRuntime& runtime_;
  std::vector<Entry> entries_;
  uint64_t uses_ = 0;
  int misses_ = 0;  // since the last replay
  bool given_up_ = false;
};

}  // namespace mindtorch::dispatch
