#pragma once

#include <list>
#include <memory>
#include <span>
#include <unordered_map>

#include "mindtorch/dispatch/recording.h"

namespace mindtorch::dispatch {

class WindowPlan;

// The plans of a window that were used last. A program that repeats itself finds its plans here.
class PlanStore {
 public:
  PlanStore();
  ~PlanStore();

  // A plan for the recording, made where there is none. `visible`: of each storage, whether
  // somebody outside sees it.
  WindowPlan& get(const Recording& recording, std::span<const uint8_t> visible);
  // The same for the recording of expected(), if it is there already; or null.
  WindowPlan* get_expected(std::span<const uint8_t> visible);
  // What is recorded next, if the program repeats itself; or null.
  const Recording* expected() const;
  uint64_t made() const { return made_; }

 private:
  static constexpr size_t kCapacity = 64;
  using Plans = std::list<std::pair<uint64_t, std::unique_ptr<WindowPlan>>>;

  Plans plans_;  // used last comes first
  std::unordered_multimap<uint64_t, Plans::iterator> by_hash_;
  WindowPlan& use(WindowPlan& plan);
  void drop_oldest();

  WindowPlan* last_ = nullptr;
  uint64_t made_ = 0;
};

}  // namespace mindtorch::dispatch
