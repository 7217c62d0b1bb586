#include "simulator/ascend/core/checks.h"

#include <cstring>

#include "simulator/ascend/core/books.h"
#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/memory.h"
#include "simulator/ascend/core/order.h"
#include "simulator/ascend/core/reports.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"
#include "simulator/ascend/core/written.h"

namespace sim {

static std::string name_of(const Access& access) {
  return *access.name ? std::string(" (") + access.name + ")" : std::string();
}

// What is wrong with the access, or nothing.
static std::string flaw(const Task& task,
                        const Access& access,
                        const Range& range,
                        const Block* block,
                        int32_t device) {
  const std::string what = (access.write ? "writes" : "reads") + name_of(access);
  if (!block) {
    if (is_reserved(range.begin)) return what + " addresses to which no memory is mapped";
    if (task.moves) return {};  // ordinary host memory
    return what + " memory that is no device memory";
  }
  if (block->freed) {
    return what + " " + describe(*block) + ", which was freed" + describe_site(block->free_site);
  }
  if (range.end > block->data + block->bytes) {
    return what + " " + std::to_string(range.end - (block->data + block->bytes)) +
           " bytes past the end of " + describe(*block) + ", allocated" +
           describe_site(block->site) + ",";
  }
  if (task.moves) return {};
  if (block->place == Place::kPinned) return what + " " + describe(*block) + " on a device";
  if (block->place == Place::kDevice && block->device != device &&
      !runtime().devices[static_cast<size_t>(device)].peers.count(block->device)) {
    return what + " " + describe(*block) + " from device " + std::to_string(device) +
           " without peer access";
  }
  return {};
}

static std::vector<std::string> flaws_of(const Task& task,
                                         int32_t device,
                                         std::vector<std::shared_ptr<Block>>& blocks) {
  std::vector<std::string> found;
  blocks.assign(task.accesses.size(), nullptr);
  for (size_t i = 0; i < task.accesses.size(); ++i) {
    const Range range = range_of(task.accesses[i]);
    if (!range.begin) continue;
    blocks[i] = find_block(range.begin);
    if (!settings().check_memory) continue;
    const std::string text = flaw(task, task.accesses[i], range, blocks[i].get(), device);
    if (!text.empty()) found.push_back(text);
  }
  return found;
}

void on_issue(Stream& stream, const std::shared_ptr<Work>& work) {
  const Settings& s = settings();
  if (s.check_memory || s.check_races || s.check_lifetime) work->site = call_site();
  const auto flaws = flaws_of(work->task, stream.device, work->blocks);
  for (const std::string& text : flaws) {
    work->poison = ACL_ERROR_RT_AICORE_EXCEPTION;
    work->poison_text = text;
    report("memory", work->task.name + " on stream " + std::to_string(stream.id) + " " + text +
                         describe_site(work->site));
  }
  for (const auto& block : work->blocks) {
    if (block) block->pending.push_back(work.get());
  }
  order_task(stream, work);
}

aclError on_host_access(const Task& task) {
  std::shared_ptr<Context> context;
  const int32_t device = current_context(context) ? 0 : context->device;
  std::vector<std::shared_ptr<Block>> blocks;
  const auto flaws = flaws_of(task, device, blocks);
  for (const std::string& text : flaws) {
    report("memory", task.name + " " + text + describe_site(call_site()));
  }
  if (!flaws.empty()) return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, flaws.front());
  order_host(task, blocks);
  if (settings().check_uninitialized) mark_written(task, blocks);
  return ACL_SUCCESS;
}

void on_start(Work& work) {
  if (!settings().check_uninitialized || work.task.moves || work.poison) return;
  for (size_t i = 0; i < work.task.accesses.size(); ++i) {
    const Access& access = work.task.accesses[i];
    if (access.write || !work.blocks[i]) continue;
    const size_t unwritten = count_unwritten(access, *work.blocks[i]);
    if (!unwritten) continue;
    report("uninitialized", work.task.name + " on stream " + std::to_string(work.stream_id) +
                                " reads" + name_of(access) + " " + std::to_string(unwritten) +
                                " bytes that were never written, of " + describe(*work.blocks[i]) +
                                describe_site(work.site));
  }
}

void on_done(Work& work, bool ran) {
  if (ran && settings().check_uninitialized) mark_written(work.task, work.blocks);
  for (const auto& block : work.blocks) {
    if (block) std::erase(block->pending, &work);
  }
  work.blocks.clear();
}

void on_allocate(Block& block) {
  if (block.place != Place::kDevice) block.all_written = true;
  const Settings& s = settings();
  if (s.check_memory || s.check_leaks || s.check_lifetime) block.site = call_site();
}

void on_free(Block& block) {
  const Settings& s = settings();
  if (s.check_memory || s.check_lifetime) block.free_site = call_site();
  if (s.check_lifetime && !block.pending.empty()) {
    const Work& work = *block.pending.front();
    report("lifetime", describe(block) + " is freed" + describe_site(block.free_site) + " while " +
                           work.task.name + " on stream " + std::to_string(work.stream_id) +
                           ", queued" + describe_site(work.site) + ", still needs it");
  } else if (s.check_lifetime) {
    if (const PastAccess* past = unordered_with_host(block)) {
      report("lifetime", describe(block) + " is freed" + describe_site(block.free_site) +
                             ", and nothing made the host wait for " + past->work->task.name +
                             " on stream " + std::to_string(past->work->stream_id) + ", queued" +
                             describe_site(past->work->site));
    }
  }
  block.past.clear();
  block.written.reset();
}

void on_finalize() {
  if (!settings().check_leaks) return;
  for (const auto& block : live_blocks()) {
    if (block->place == Place::kRegistered) continue;
    report("leaks", describe(*block) + " was not freed; allocated" + describe_site(block->site));
  }
  for (const auto& [_, physical] : runtime().physical) {
    report("leaks", "physical memory #" + std::to_string(physical->number) + " of " +
                        std::to_string(physical->bytes) + " bytes was not freed");
  }
  for (const auto& [_, stream] : runtime().streams) {
    if (!stream->queue.idle()) {
      const auto front = stream->queue.front();
      report("leaks", "stream " + std::to_string(stream->id) + " is busy" +
                          (front ? ": " + front->task.name : ""));
    }
    if (!stream->is_default) {
      report("leaks", "stream " + std::to_string(stream->id) + " was not destroyed");
    }
  }
  const auto left = [](size_t count, const char* what) {
    if (count) report("leaks", std::to_string(count) + " " + what);
  };
  left(books().reservations.size(), "ranges of addresses were not released");
  left(runtime().models.size(), "captured models were not destroyed");
  for (const auto& [_, context] : runtime().contexts) {
    if (context->is_default) continue;
    report("leaks",
           "a context of device " + std::to_string(context->device) + " was not destroyed");
  }
  left(runtime().events.size(), "events were not destroyed");
}

}  // namespace sim
