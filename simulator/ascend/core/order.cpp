#include "simulator/ascend/core/order.h"

#include <algorithm>

#include "simulator/ascend/core/event.h"
#include "simulator/ascend/core/footprint.h"
#include "simulator/ascend/core/memory.h"
#include "simulator/ascend/core/reports.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

static constexpr size_t kHostLane = 0;
static constexpr size_t kMostPast = 1024;

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

static const Access& access_of(const PastAccess& past) {
  return past.work->task.accesses[past.index];
}

static std::string who(const PastAccess& past) {
  const Access& access = access_of(past);
  const int32_t id = past.work->stream_id;
  return past.work->task.name + " on " +
         (id < 0 ? std::string("the host") : "stream " + std::to_string(id)) + " (" +
         (access.write ? "writes" : "reads") + (*access.name ? " " : "") + access.name +
         "), called" + describe_site(past.work->site);
}

// Whether a later access that is ordered after `past` makes it needless to remember.
static bool replaces(const PastAccess& now, const PastAccess& past) {
  const bool stronger = now.write || (!past.write && now.lane == past.lane);
  return stronger && now.dense && now.range.begin <= past.range.begin &&
         past.range.end <= now.range.end;
}

static bool conflict(const PastAccess& now, const PastAccess& past) {
  return (now.write || past.write) && now.range.begin < past.range.end &&
         past.range.begin < now.range.end && !now.order_unknown && !past.order_unknown &&
         overlap(access_of(now), access_of(past));
}

// `reported`: whether a race of this access was reported already.
static void meet(Block& block, PastAccess now, const Clock& clock, bool& reported) {
  const Clock& host = order().host;
  std::vector<PastAccess>& all = block.past;
  for (size_t i = 0; i < all.size();) {
    const PastAccess& past = all[i];
    const bool ordered = clock.at(past.lane) >= past.time;
    // What the host has waited for comes before everything that is yet to be called.
    if (ordered && (replaces(now, past) || host.at(past.lane) >= past.time)) {
      if (i + 1 < all.size()) all[i] = std::move(all.back());
      all.pop_back();
      continue;
    }
    if (!ordered && !reported && conflict(now, past)) {
      reported = true;
      report("races", who(now) + ", and " + who(past) + ", touch the same bytes of " +
                          describe(block) + " in no order");
    }
    ++i;
  }
  if (all.size() >= kMostPast) all.erase(all.begin());
  all.push_back(std::move(now));
}

static void meet_all(const std::shared_ptr<const Work>& work,
                     const std::vector<Touch>& touches,
                     size_t lane,
                     uint64_t time,
                     bool order_unknown,
                     const Clock& clock) {
  bool reported = false;
  for (size_t i = 0; i < touches.size(); ++i) {
    const auto& [index, block] = touches[i];
    if (i == 0 || touches[i - 1].access != index) reported = false;
    if (block->freed) continue;
    const Access& access = work->task.accesses[index];
    PastAccess now;
    const Range whole = range_of(access);
    now.range = {std::max(whole.begin, block->data),
                 std::min(whole.end, block->data + block->bytes)};
    now.time = time;
    now.lane = static_cast<uint32_t>(lane);
    now.index = static_cast<uint32_t>(index);
    now.write = access.write;
    now.dense = is_dense(access);
    now.order_unknown = order_unknown;
    now.work = work;
    meet(*block, std::move(now), clock, reported);
  }
}

void order_task(Stream& stream, const std::shared_ptr<const Work>& work) {
  stream.clock.join(order().host);
  const uint64_t time = tick(stream.lane, stream.clock);
  if (!settings().check_races || work->poison) return;
  meet_all(work, work->touches, stream.lane, time, stream.order_unknown, stream.clock);
}

void order_host(const Task& task, const std::vector<Touch>& touches) {
  if (!settings().check_races) return;
  const uint64_t time = tick(kHostLane, order().host);
  auto work = std::make_shared<Work>();
  work->task.name = task.name;
  work->task.accesses = task.accesses;
  work->stream_id = -1;
  work->site = call_site();
  meet_all(work, touches, kHostLane, time, false, order().host);
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
