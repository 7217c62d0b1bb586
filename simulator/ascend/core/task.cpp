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

aclError enter_call(const char* function) { return enter(function, {}); }

}  // namespace sim
