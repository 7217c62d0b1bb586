#include "simulator/ascend/core/order.h"

#include "simulator/ascend/core/event.h"
#include "simulator/ascend/core/footprint.h"
#include "simulator/ascend/core/memory.h"
#include "simulator/ascend/core/reports.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

static constexpr size_t kHostLane = 0;
static constexpr size_t kMostPast = 128;

namespace {
struct Order {
  Clock host;
  std::vector<uint64_t> times{0};  // of each lane; a lane that is given anew goes on
  std::vector<size_t> unused;
};
}  // namespace

static Order& order() {
  static auto* the_order = new Order;
  return *the_order;
}

size_t take_lane() {
  Order& o = order();
  if (o.unused.empty()) {
    o.times.push_back(0);
    return o.times.size() - 1;
  }
  const size_t lane = o.unused.back();
  o.unused.pop_back();
  return lane;
}

void give_lane(size_t lane) { order().unused.push_back(lane); }

void reset_checks() { order() = Order{}; }

static uint64_t tick(size_t lane, Clock& clock) {
  const uint64_t time = ++order().times[lane];
  clock.set(lane, time);
  return time;
}

static std::string who(const std::string& name, int32_t stream_id, const Access& access) {
  return name + " on " +
         (stream_id < 0 ? std::string("the host") : "stream " + std::to_string(stream_id)) + " (" +
         (access.write ? "writes" : "reads") + (*access.name ? " " : "") + access.name + ")";
}

// Whether a later access that is ordered after `past` makes it needless to remember.
static bool replaces(const PastAccess& now, const PastAccess& past) {
  const bool stronger = now.access.write || (!past.access.write && now.lane == past.lane);
  if (!stronger || !is_dense(now.access)) return false;
  const Range a = range_of(now.access);
  const Range b = range_of(past.access);
  return a.begin <= b.begin && b.end <= a.end;
}

static void meet(Block& block, PastAccess now, const Clock& clock, bool compare) {
  bool told = false;
  std::erase_if(block.past, [&](const PastAccess& past) {
    if (clock.at(past.lane) >= past.time) return replaces(now, past);
    if (compare && !told && (now.access.write || past.access.write) &&
        overlap(now.access, past.access)) {
      told = true;
      report("races", who(now.name, now.stream_id, now.access) + ", called" +
                          describe_site(now.site) + ", and " +
                          who(past.name, past.stream_id, past.access) + ", called" +
                          describe_site(past.site) + ", touch the same bytes of " +
                          describe(block) + " in no order");
    }
    return false;
  });
  if (block.past.size() >= kMostPast) block.past.erase(block.past.begin());
  block.past.push_back(std::move(now));
}

void order_task(Stream& stream, const Work& work) {
  stream.clock.join(order().host);
  const uint64_t time = tick(stream.lane, stream.clock);
  if (!settings().check_races || work.poison) return;
  for (size_t i = 0; i < work.blocks.size(); ++i) {
    if (!work.blocks[i] || work.blocks[i]->freed) continue;
    meet(*work.blocks[i],
         {work.task.accesses[i], stream.lane, time, work.task.name, stream.id, work.site},
         stream.clock, !stream.order_unknown);
  }
}

void order_host(const Task& task, const std::vector<std::shared_ptr<Block>>& blocks) {
  if (!settings().check_races) return;
  const uint64_t time = tick(kHostLane, order().host);
  const Site site = call_site();
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i] || blocks[i]->freed) continue;
    meet(*blocks[i], {task.accesses[i], kHostLane, time, task.name, -1, site}, order().host, true);
  }
}

const PastAccess* unordered_with_host(const Block& block) {
  for (const PastAccess& past : block.past) {
    if (order().host.at(past.lane) < past.time) return &past;
  }
  return nullptr;
}

void on_record(Stream& stream, Record& record) {
  stream.clock.join(order().host);
  record.clock = stream.clock;
}

void on_wait(Stream& stream, const Record& record) { stream.clock.join(record.clock); }

void on_host_sync(const Clock& clock) { order().host.join(clock); }

}  // namespace sim
