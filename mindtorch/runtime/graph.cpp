#include "mindtorch/runtime/graph.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/device_timeline.h"
#include "mindtorch/runtime/hooks.h"

namespace mindtorch::runtime {
namespace {

driver::GraphCapture& capture_of(DeviceRuntime& runtime) {
  driver::GraphCapture* const capture = runtime.driver().graph_capture();
  MT_CHECK(capture != nullptr, RuntimeError, runtime.name(), " cannot capture graphs");
  return *capture;
}

// What goes once a stream has passed a point.
struct Doomed {
  DeviceRuntime& runtime;
  driver::GraphHandle handle;
  std::vector<PoolId> pools;
  std::vector<std::shared_ptr<ReplayInput>> inputs;

  ~Doomed() {
    runtime.driver().graph_capture()->destroy(handle);
    inputs.clear();
    for (const PoolId& pool : pools) runtime.memory().release_pool(pool);
  }
};

// Captures that go on, by the stream they began on.
struct Captures {
  std::mutex mutex;
  std::map<const StreamState*, Graph*> graphs MT_GUARDED_BY(mutex);
};
Captures& captures() {
  static auto* const captures = new Captures;
  return *captures;
}

bool is_idle(Stream stream) noexcept {
  try {
    return !stream.is_capturing() &&
           stream.runtime().driver().query_stream(stream.device(), stream.handle());
  } catch (...) {  // waiting for the stream raises it
    return false;
  }
}

// After a failure: a stream that goes on capturing can do nothing else.
void leave_capture(driver::GraphCapture& capture, Stream stream) noexcept {
  try {
    if (!capture.is_capturing(stream.device(), stream.handle())) return;
    capture.destroy(capture.end(stream.device(), stream.handle()));
  } catch (...) {  // the first error is the one that is raised
  }
}

}  // namespace

Graph::~Graph() { reset(); }

PoolId Graph::make_pool_id() noexcept {
  static std::atomic<uint64_t> next{1};
  return {next.fetch_add(1, std::memory_order_relaxed), 0};
}

void Graph::begin(Stream stream, PoolId pool, driver::CaptureMode mode) {
  DeviceRuntime& runtime = stream.runtime();
  runtime.check_usable();
  MT_CHECK(!capturing_ && handle_ == nullptr, RuntimeError,
           "This graph has been captured already; reset() it first.");
  MT_CHECK(stream != runtime.default_stream(), RuntimeError,
           "Graphs must be captured on a non-default stream. (However, after capture, it's ok to "
           "replay them on the default stream.)");
  driver::GraphCapture& capture = capture_of(runtime);
  hooks().before_sync(SyncPoint::kRecordEvent);  // deferred work goes first, and not into the graph
  runtime_ = &runtime;
  pool_ = pool == PoolId() ? make_pool_id() : pool;
  runtime.memory().retain_pool(pool_);
  holds_pool_ = true;
  try {
    runtime.memory().begin_capture_scope(pool_, stream.handle());
    try {
      capture.begin(runtime.device(), stream.handle(), mode);
    } catch (...) {
      runtime.memory().end_scope(pool_);
      throw;
    }
  } catch (...) {
    give_pool_up();
    throw;
  }
  capturing_ = stream;
  const std::scoped_lock lock(captures().mutex);
  captures().graphs[&stream.state()] = this;
}

Graph* Graph::capturing(Stream stream) {
  const std::scoped_lock lock(captures().mutex);
  const auto found = captures().graphs.find(&stream.state());
  return found == captures().graphs.end() ? nullptr : found->second;
}

void Graph::end() {
  MT_CHECK(capturing_, RuntimeError, "No capture of this graph goes on.");
  const Stream stream = std::exchange(capturing_, Stream());
  const auto leave = [&] {
    runtime_->memory().end_scope(pool_);
    const std::scoped_lock lock(captures().mutex);
    captures().graphs.erase(&stream.state());
  };
  try {
    hooks().before_sync(SyncPoint::kRecordEvent);  // deferred work belongs to the graph
    handle_ = capture_of(*runtime_).end(stream.device(), stream.handle());
  } catch (...) {
    leave_capture(capture_of(*runtime_), stream);
    leave();
    inputs_.clear();
    give_pool_up();
    throw;
  }
  leave();
}

void Graph::replay(Stream stream) {
  MT_CHECK(handle_ != nullptr, RuntimeError,
           "Called replay() without a preceding successful capture.");
  MT_CHECK(&stream.runtime() == runtime_, RuntimeError, "The graph was captured on ",
           runtime_->name(), " and cannot run on ", stream.runtime().name());
  runtime_->check_usable();
  hooks().before_sync(SyncPoint::kRecordEvent);
  if (inputs_.empty()) {
    queue(stream);
  } else {
    queue_with_inputs(stream);
  }
  last_replay_ = stream;
}

void Graph::queue(Stream stream) {
  const LaunchSpan timed(stream, "Graph replay");
  capture_of(*runtime_).replay(handle_, stream.device(), stream.handle());
}

void Graph::queue_with_inputs(Stream stream) {
  const StreamGuard guard(stream);
  size_t prepared = 0;
  try {
    for (; prepared < inputs_.size(); ++prepared) inputs_[prepared]->prepare();
    queue(stream);
  } catch (...) {
    while (prepared > 0) inputs_[--prepared]->cancel();
    throw;
  }
}

driver::GraphEditing& Graph::editing(const char* what) const {
  MT_CHECK(handle_ != nullptr, RuntimeError, "The graph has no successful capture.");
  runtime_->check_usable();
  driver::GraphEditing* const found = runtime_->driver().graph_editing();
  MT_CHECK(found != nullptr, RuntimeError, runtime_->name(), " cannot ", what);
  return *found;
}

bool Graph::update(const Graph& newer) {
  driver::GraphEditing& found = editing("change a captured graph");
  MT_CHECK(newer.handle_ != nullptr && newer.runtime_ == runtime_, RuntimeError,
           "A graph can be changed to one that was captured on the same device, ",
           runtime_->name());
  if (!found.update(runtime_->device(), handle_, newer.handle_)) return false;
  if (newer.pool_ != pool_ &&
      std::ranges::find(pools_of_updates_, newer.pool_) == pools_of_updates_.end()) {
    runtime_->memory().retain_pool(newer.pool_);
    pools_of_updates_.push_back(newer.pool_);
  }
  inputs_ = newer.inputs_;
  return true;
}

void* Graph::raw() const {
  return editing("show a captured graph").raw(runtime_->device(), handle_);
}

void Graph::reset() noexcept {
  if (runtime_ == nullptr || runtime_->forked()) return;
  if (capturing_) {
    try {
      end();
    } catch (...) {  // it is given up anyway
    }
  }
  if (const driver::GraphHandle handle = std::exchange(handle_, nullptr)) {
    const Stream last = std::exchange(last_replay_, Stream());
    std::vector<PoolId> pools = std::exchange(pools_of_updates_, {});
    pools.push_back(pool_);
    std::unique_ptr<Doomed> doomed(
        new Doomed{*runtime_, handle, std::move(pools), std::exchange(inputs_, {})});
    holds_pool_ = false;
    // The pool's memory is the capture's stream's, which knows nothing of the replays.
    if (last && !is_idle(last)) {
      last.defer([](void* context) { delete static_cast<Doomed*>(context); }, doomed.release());
    }
  }
  give_pool_up();
}

void Graph::give_pool_up() noexcept {
  if (std::exchange(holds_pool_, false)) runtime_->memory().release_pool(pool_);
}

PoolId Graph::pool() const {
  MT_CHECK(holds_pool_, RuntimeError,
           "Called pool() without a preceding successful capture_begin().");
  return pool_;
}

}  // namespace mindtorch::runtime
