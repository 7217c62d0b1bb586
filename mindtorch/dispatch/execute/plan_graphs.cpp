#include "mindtorch/dispatch/execute/plan_graphs.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/runtime/host_wait.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::dispatch {
namespace {

// The layers of a model share a plan, and each has addresses of its own.
constexpr size_t kGraphs = 64;
constexpr int kTimesBefore = 2;  // seen, before it is captured
// Addresses that never come again: so many runs without a graph, then so many without a look.
constexpr int kPatience = 32;
constexpr int kPause = 512;

// A reference to a pool of a device: a pool without references may lose its memory at any moment,
// also to a thread that saw it without references before.
class HeldPool {
 public:
  HeldPool(runtime::DeviceRuntime& runtime, runtime::PoolId id) : runtime_(runtime), id_(id) {
    runtime_.memory().retain_pool(id_);
  }
  ~HeldPool() { runtime_.memory().release_pool(id_); }
  HeldPool(const HeldPool&) = delete;
  HeldPool& operator=(const HeldPool&) = delete;
  runtime::PoolId id() const { return id_; }

 private:
  runtime::DeviceRuntime& runtime_;
  const runtime::PoolId id_;
};
using Pools = std::unordered_map<const runtime::StreamState*, std::shared_ptr<HeldPool>>;

struct Shared {
  std::mutex mutex;  // of every plan's graphs
  std::vector<PlanGraphs*> all MT_GUARDED_BY(mutex);
  Pools pools MT_GUARDED_BY(mutex);
};

Shared& shared() {
  static auto* const shared = new Shared;
  return *shared;
}

// The stream is to be idle; its error is raised by the next wait for it.
void wait_for(runtime::Stream stream) noexcept {
  runtime::DeviceRuntime& runtime = stream.runtime();
  try {
    const runtime::HostWait waiting;
    runtime.driver().wait_stream(stream.device(), stream.handle());
  } catch (...) {
    runtime.async_errors().keep(stream.handle(), std::current_exception());
  }
}

}  // namespace

std::unique_ptr<PlanGraphs> PlanGraphs::make(Device device) {
  runtime::DeviceRuntime& runtime = runtime_of(device);
  if (runtime.driver().graph_capture() == nullptr) return nullptr;
  const FlagOption* const wanted = runtime.driver().row().pipeline_graphs;
  if (wanted != nullptr && !wanted->get()) return nullptr;
  return std::make_unique<PlanGraphs>(runtime);
}

PlanGraphs::PlanGraphs(runtime::DeviceRuntime& runtime) : runtime_(runtime) {
  const std::scoped_lock lock(shared().mutex);
  shared().all.push_back(this);
}

void PlanGraphs::install_hooks() {
  runtime::hooks().on_memory_pressure.add(&drop_for_memory);
  runtime::hooks().before_empty_cache.add(&drop_for_empty_cache);
}

PlanGraphs::~PlanGraphs() {
  const std::scoped_lock lock(shared().mutex);
  std::erase(shared().all, this);
}

runtime::Stream PlanGraphs::stream() {
  if (given_up_ || runtime_.memory().capturing()) return {};
  if (MT_UNLIKELY(misses_ >= kPatience)) {
    if (++misses_ < kPatience + kPause) return {};
    misses_ = 0;
  }
  return runtime::current_stream(runtime_);
}

PlanGraphs::Entry* PlanGraphs::find(Key key, runtime::Stream stream) {
  for (Entry& entry : entries_) {
    if (entry.stream == stream && std::ranges::equal(entry.key, key)) return &entry;
  }
  return nullptr;
}

uint64_t PlanGraphs::find_known(Key beginning,
                                runtime::Stream stream,
                                uint64_t before,
                                std::vector<uint64_t>& rest) const {
  const std::scoped_lock lock(shared().mutex);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.last_use < before && (found == nullptr || found->last_use < entry.last_use) &&
        entry.stream == stream && entry.key.size() >= beginning.size() &&
        std::ranges::equal(Key(entry.key).first(beginning.size()), beginning)) {
      found = &entry;
    }
  }
  if (found == nullptr) return 0;
  const Key known = Key(found->key).subspan(beginning.size());
  rest.assign(known.begin(), known.end());
  return found->last_use;
}

PlanGraphs::Found PlanGraphs::replay(Key key, runtime::Stream stream, Addresses& results) {
  std::unique_ptr<runtime::Graph> replaced;
  std::unique_ptr<runtime::Graph> reading;
  {
    const std::scoped_lock lock(shared().mutex);
    Entry* entry = find(key, stream);
    if (entry == nullptr) {
      if (entries_.size() < kGraphs) {
        entry = &entries_.emplace_back();
      } else {
        entry = &*std::ranges::min_element(entries_, {}, &Entry::last_use);
      }
      if (entry->graph != nullptr && runtime_.driver().graph_editing() != nullptr) {
        entry->former.swap(entry->graph);
      }
      replaced = std::move(entry->graph);
      entry->key.assign(key.begin(), key.end());
      entry->stream = stream;
      entry->times_seen = 0;
    }
    entry->last_use = ++uses_;
    if (MT_UNLIKELY(entry->graph == nullptr)) {
      ++misses_;
      return entry->times_seen++ < kTimesBefore ? Found::kNothing : Found::kWorthCapturing;
    }
    results = entry->results;
    if (entry->graph->inputs().empty()) return queue(entry->graph, stream);
    reading = std::move(entry->graph);
  }
  return queue_reading(key, stream, std::move(reading));
}

// What the driver refuses was not queued.
PlanGraphs::Found PlanGraphs::queue(std::unique_ptr<runtime::Graph>& graph,
                                    runtime::Stream stream) {
  try {
    graph->replay(stream);
  } catch (...) {  // if it is more than the graph, launching raises it
    graph.reset();
    given_up_ = true;
    return Found::kNothing;
  }
  misses_ = 0;
  return Found::kQueued;
}

// To write what a graph reads may take memory, and that all graphs be dropped for it: without the
// lock. Nobody else has this graph meanwhile.
PlanGraphs::Found PlanGraphs::queue_reading(Key key,
                                            runtime::Stream stream,
                                            std::unique_ptr<runtime::Graph> graph) {
  const Found found = queue(graph, stream);
  const std::scoped_lock lock(shared().mutex);
  if (Entry* const entry = find(key, stream)) entry->graph = std::move(graph);
  return found;
}

bool PlanGraphs::capture(Key key,
                         runtime::Stream stream,
                         const std::function<void()>& launch,
                         const Addresses& results) {
  std::unique_ptr<runtime::Graph> graph;
  try {
    std::shared_ptr<HeldPool> pool;
    {
      const std::scoped_lock lock(shared().mutex);
      std::shared_ptr<HeldPool>& known = shared().pools[&stream.state()];
      if (known == nullptr) {
        known = std::make_shared<HeldPool>(runtime_, runtime::Graph::make_pool_id());
      }
      pool = known;
    }
    graph = runtime::InternalCapture::capture(runtime_, pool->id(), launch);
  } catch (...) {  // some ops cannot be captured; any other error is raised by launching
    given_up_ = true;
  }
  if (graph == nullptr) return false;
  {
    const std::scoped_lock lock(shared().mutex);
    if (Entry* const entry = find(key, stream)) entry->results = results;
  }
  return queue_reading(key, stream, renewed(key, stream, std::move(graph))) == Found::kQueued;
}

// The graph whose place this key took, made to do what the newer one does; or the newer one.
std::unique_ptr<runtime::Graph> PlanGraphs::renewed(Key key,
                                                    runtime::Stream stream,
                                                    std::unique_ptr<runtime::Graph> newer) {
  std::unique_ptr<runtime::Graph> former;
  {
    const std::scoped_lock lock(shared().mutex);
    if (Entry* const entry = find(key, stream)) former = std::move(entry->former);
  }
  try {
    if (former != nullptr && former->update(*newer)) return former;
  } catch (...) {  // the newer one is as good
  }
  return newer;
}

void PlanGraphs::take_graphs(Graphs& taken) {
  for (Entry& entry : entries_) {
    for (auto* const graph : {&entry.graph, &entry.former}) {
      if (*graph != nullptr) taken.push_back(std::move(*graph));
    }
  }
  entries_.clear();
}

PlanGraphs::Graphs PlanGraphs::take_all_graphs() {
  Graphs taken;
  Pools pools;
  const std::scoped_lock lock(shared().mutex);
  pools.swap(shared().pools);
  for (PlanGraphs* const graphs : shared().all) graphs->take_graphs(taken);
  return taken;
}

bool PlanGraphs::drop_for_memory() { return !take_all_graphs().empty(); }

void PlanGraphs::drop_for_empty_cache() {
  const Graphs taken = take_all_graphs();
  for (const auto& graph : taken) {
    const runtime::Stream stream = graph->last_replay();
    if (!stream.runtime().memory().capturing()) wait_for(stream);
  }
}

}  // namespace mindtorch::dispatch
