#include "simulator/ascend/core/checks.h"

#include <cstring>

#include "simulator/ascend/core/address_map.h"
#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/footprint.h"
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

namespace {
// Where an access lies.
struct Found {
  Range range;
  std::shared_ptr<Block> last;  // with bytes of it before the first that lie in none
  bool complete = true;         // all of its bytes lie in blocks
};
}  // namespace

// Appends the blocks of an access: one, or mapped ones from the first to the last that it reaches.
static Found find_touches(const Task& task, size_t index, std::vector<Touch>& touches) {
  const Access& access = task.accesses[index];
  Found found{range_of(access), nullptr, true};
  if (!found.range.begin) return found;
  std::shared_ptr<Block> block = find_block(found.range.begin);
  while (block && found.complete) {
    touches.push_back({index, block});
    found.last = block;
    // The next one with bytes of the access; between them must be none.
    do {
      const char* end = block->data + block->bytes;
      if (found.range.end <= end) return found;
      block = block->is_virtual ? next_mapped(*block) : nullptr;
      found.complete = !reaches(access, end, block ? block->data : found.range.end);
    } while (block && found.complete && !reaches(access, block->data, block->data + block->bytes));
  }
  return found;
}

// What is wrong with the access, or nothing.
static std::string flaw(const Task& task,
                        const Access& access,
                        const Found& found,
                        int32_t device) {
  const Block* block = found.last.get();
  const std::string what = (access.write ? "writes" : "reads") + name_of(access);
  if (!block) {
    if (is_reserved(found.range.begin)) return what + " addresses to which no memory is mapped";
    if (task.moves) return {};  // ordinary host memory
    return what + " memory that is no device memory";
  }
  if (block->freed) {
    return what + " " + describe(*block) + ", which was freed" + describe_site(block->free_site);
  }
  if (!found.complete && block->is_virtual) {
    return what + " addresses past the end of " + describe(*block) +
           " to which no memory is mapped; the last was mapped" + describe_site(block->site) + ",";
  }
  if (!found.complete) {
    return what + " " + std::to_string(found.range.end - (block->data + block->bytes)) +
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
                                         std::vector<Touch>& touches) {
  std::vector<std::string> flaws;
  touches.reserve(task.accesses.size());
  for (size_t i = 0; i < task.accesses.size(); ++i) {
    const Found found = find_touches(task, i, touches);
    if (!found.range.begin || !settings().check_memory) continue;
    const std::string text = flaw(task, task.accesses[i], found, device);
    if (!text.empty()) flaws.push_back(text);
  }
  return flaws;
}

void on_issue(Stream& stream, const std::shared_ptr<Work>& work) {
  const Settings& s = settings();
  if (s.check_memory || s.check_races || s.check_lifetime) work->site = call_site();
  const auto flaws = flaws_of(work->task, stream.device, work->touches);
  for (const std::string& text : flaws) {
    work->poison = ACL_ERROR_RT_AICORE_EXCEPTION;
    work->poison_text = text;
    report("memory", work->task.name + " on stream " + std::to_string(stream.id) + " " + text +
                         describe_site(work->site));
  }
  for (const Touch& touch : work->touches) touch.block->pending.push_back(work.get());
  order_task(stream, work);
}

aclError on_host_access(const Task& task) {
  std::shared_ptr<Context> context;
  const int32_t device = current_context(context) ? 0 : context->device;
  std::vector<Touch> touches;
  const auto flaws = flaws_of(task, device, touches);
  for (const std::string& text : flaws) {
    report("memory", task.name + " " + text + describe_site(call_site()));
  }
  if (!flaws.empty()) return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, flaws.front());
  order_host(task, touches);
  if (settings().check_uninitialized) mark_written(task, touches);
  return ACL_SUCCESS;
}

void on_start(Work& work) {
  if (!settings().check_uninitialized || work.task.moves || work.poison) return;
  for (const auto& [index, block] : work.touches) {
    const Access& access = work.task.accesses[index];
    if (access.write) continue;
    const size_t unwritten = count_unwritten(access, *block);
    if (!unwritten) continue;
    report("uninitialized", work.task.name + " on stream " + std::to_string(work.stream_id) +
                                " reads" + name_of(access) + " " + std::to_string(unwritten) +
                                " bytes that were never written, of " + describe(*block) +
                                describe_site(work.site));
  }
}

void on_done(Work& work, bool ran) {
  if (ran && settings().check_uninitialized) mark_written(work.task, work.touches);
  for (const Touch& touch : work.touches) std::erase(touch.block->pending, &work);
  work.touches.clear();
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
  left(address_map().reservations.size(), "ranges of addresses were not released");
  left(runtime().models.size(), "captured models were not destroyed");
  for (const auto& [_, context] : runtime().contexts) {
    if (context->is_default) continue;
    report("leaks",
           "a context of device " + std::to_string(context->device) + " was not destroyed");
  }
  left(runtime().events.size(), "events were not destroyed");
}

}  // namespace sim
