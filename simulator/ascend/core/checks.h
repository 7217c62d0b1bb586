#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulator/ascend/core/clock.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/site.h"
#include "simulator/ascend/core/task.h"

namespace sim {

struct Block;
struct Record;
struct Work;

// The hooks of the checks, called with the lock held. A check reports (reports.h); what would crash
// the process, or corrupt memory that is not the program's, is also kept from running.
//
// Note [Order]. Ordering is computed where calls are made, not where tasks happen to run, so that a
// report does not depend on luck. The host is one lane for all its threads: what one thread waited
// for counts for all, because how threads synchronise with each other is not seen. That misses
// some races and never invents one.

// First and one past the last byte of an access; both null when it is empty.
struct Range {
  char* begin = nullptr;
  char* end = nullptr;
};

// Small, because long lists of these are searched; the rest is the work's.
struct PastAccess {
  Range range;
  uint64_t time = 0;
  uint32_t lane = 0;
  uint32_t index = 0;  // of the work's accesses
  bool write = false;
  bool dense = false;
  bool order_unknown = false;  // of a stream that waited for an event recorded later
  std::shared_ptr<const Work> work;
};

// A task takes its place in a stream: finds the blocks it touches (kept until it is done), and
// checks their life, bounds, device and order.
void on_issue(Stream& stream, const std::shared_ptr<Work>& work);
// The stream's thread takes the task up: reads of bytes never written.
void on_start(Work& work);
// The task is done, or dropped: its blocks are released, what it wrote counts as written.
void on_done(Work& work, bool ran);
// A synchronous copy or fill by the host. Not 0: must not be made.
aclError on_host_access(const Task& task);
void on_allocate(Block& block);
void on_free(Block& block);
void on_record(Stream& stream, Record& record);
void on_wait(Stream& stream, const Record& record);
// The host has waited for, or seen the end of, what this clock stands for.
void on_host_sync(const Clock& clock);
void on_finalize();

size_t take_lane();
void give_lane(size_t lane);
void reset_checks();

Range range_of(const Access& access);
bool overlap(const Access& a, const Access& b);

}  // namespace sim
