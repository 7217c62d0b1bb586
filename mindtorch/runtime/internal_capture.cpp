#include "mindtorch/runtime/internal_capture.h"

#include <mutex>

#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/graph.h"

namespace mindtorch::runtime {

std::unique_ptr<Graph> InternalCapture::capture(DeviceRuntime& runtime,
                                                PoolId pool,
                                                const std::function<void()>& work) {
  InternalCapture& captures = runtime.internal_capture();
  const std::unique_lock lock(captures.mutex_, std::try_to_lock);
  if (!lock.owns_lock() || runtime.memory().capturing()) return nullptr;
  struct Mine {
    explicit Mine(std::atomic<std::thread::id>& thread) : thread(thread) {
      thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Mine() { thread.store({}, std::memory_order_relaxed); }
    std::atomic<std::thread::id>& thread;
  };
  const Mine mine(captures.thread_);
  const Stream stream = runtime.capture_stream();
  const StreamGuard guard(stream);
  auto graph = std::make_unique<Graph>();
  graph->begin(stream, pool, driver::CaptureMode::kThreadLocal);
  work();
  graph->end();
  return graph;
}

}  // namespace mindtorch::runtime
