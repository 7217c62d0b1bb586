#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mindtorch/dispatch/execute/plan_runner.h"
#include "mindtorch/dispatch/trace/trace.h"

namespace mindtorch::dispatch {

// The plans used last, by trace. A program that repeats itself finds its plans here.
class PlanCache {
 public:
  // A plan for the trace, made where there is none. `visible`: of each storage, whether something
  // outside the trace can see it.
  PlanRunner& get(const Trace& trace, std::span<const uint8_t> visible);
  // The same for the trace predicted(), if it is there already; or null. `recorded`: with all
  // numbers, and the params of its first ops; those of the others are as predicted.
  PlanRunner* find_predicted(std::span<const uint8_t> visible, const Trace& recorded);
  // What is recorded next, if the program repeats itself; or null.
  const PlanRunner* predicted() const { return last_ == nullptr ? nullptr : last_->successor; }
  uint64_t made() const { return made_; }
  // The plan found last served a few traces ago, too: it is not new, and still in the CPU's caches.
  bool was_recent() const { return was_recent_; }

 private:
  static constexpr size_t kCapacity = 256;
  static constexpr uint64_t kFewTraces = 32;
  // Plans that differ in params only (alpha=). A program that uses more has new ones every time:
  // it gets a plan that takes them as they come.
  static constexpr size_t kFewParams = 8;
  struct Entry {
    uint64_t hash;
    std::unique_ptr<PlanRunner> runner;
  };
  PlanRunner& use(PlanRunner& runner);
  void evict();

  std::vector<Entry> entries_;
  PlanRunner* last_ = nullptr;
  uint64_t uses_ = 0;
  uint64_t made_ = 0;
  bool was_recent_ = false;
};

}  // namespace mindtorch::dispatch
