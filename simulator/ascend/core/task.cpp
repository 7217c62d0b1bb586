#include "simulator/ascend/core/task.h"

#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

aclError enqueue(aclrtStream handle, Task task) {
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  if (stream->capture) return capture_task(*stream, std::move(task));
  auto work = std::make_shared<Work>();
  work->task = std::move(task);
  return issue(*stream, std::move(work));
}

// The stream that this thread launched on last, as long as nothing happened to any stream.
namespace {
struct Recent {
  aclrtStream handle = nullptr;
  void* context = nullptr;  // null: nothing is stored
  uint64_t generation = 0;
  std::shared_ptr<Stream> stream;
};
}  // namespace
static thread_local Recent recent;

aclError launch(aclrtStream handle,
                std::shared_ptr<const Kernel> kernel,
                void* const* arguments,
                size_t count) {
  static std::atomic<uint64_t>& generation = runtime().generation;
  Recent& last = recent;
  if (last.handle != handle || last.context == nullptr ||
      last.context != current_context_handle() ||
      last.generation != generation.load(std::memory_order_acquire)) {
    const Lock lock(runtime().mutex);
    last = {};
    std::shared_ptr<Stream> stream;
    if (const aclError code = find_stream(handle, stream)) return code;
    if (const aclError code = check_usable(*stream)) return code;
    if (stream->capture) {
      Task task;
      task.name = kernel->name;
      task.run = [own = std::move(kernel),
                  values = std::vector<void*>(arguments, arguments + count)] {
        return own->run(values.data());
      };
      return capture_task(*stream, std::move(task));
    }
    start_worker(*stream);
    last = {handle, stream->context, generation, std::move(stream)};
  }
  last.stream->queue.push(std::move(kernel), arguments, count);
  return ACL_SUCCESS;
}

aclError enter_call(const char* function) { return enter(function, {}); }

}  // namespace sim
