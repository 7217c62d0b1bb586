#pragma once

#include <memory>
#include <span>
#include <vector>

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
  // The same for the recording of expected(), if it is there already; or null. `params`: of its
  // first ops; those of the others are the same as expected.
  WindowPlan* get_expected(std::span<const uint8_t> visible,
                           std::span<const ops::PointwiseParams> params);
  // What is recorded next, if the program repeats itself; or null.
  const Recording* expected() const;
  uint64_t made() const { return made_; }

 private:
  static constexpr size_t kCapacity = 256;
  struct Kept {
    uint64_t hash;
    uint64_t last_use;
    std::unique_ptr<WindowPlan> plan;
  };
  WindowPlan& use(Kept& kept);
  void drop_oldest();

  std::vector<Kept> plans_;
  WindowPlan* last_ = nullptr;
  uint64_t uses_ = 0;
  uint64_t made_ = 0;
};

}  // namespace mindtorch::dispatch
