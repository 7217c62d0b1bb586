#include "mindtorch/dispatch/execute/plan_parts.h"

#include <algorithm>

namespace mindtorch::dispatch {
namespace {

// Fewer steps are launched as quickly as a graph is found.
constexpr size_t kFewSteps = 3;

std::vector<PlanPart> find_runs(std::span<const uint8_t> capturable) {
  std::vector<PlanPart> parts;
  const auto add = [&](size_t first, size_t end, bool may_be_graph) {
    if (!may_be_graph && !parts.empty() && !parts.back().may_be_graph) {
      parts.back().end = end;
    } else {
      parts.emplace_back(first, end, may_be_graph);
    }
  };
  for (size_t first = 0, end = 0; first < capturable.size(); first = end) {
    while (end < capturable.size() && capturable[end] == capturable[first]) ++end;
    add(first, end, capturable[first] != 0 && end - first > kFewSteps);
  }
  return parts;
}

void add_once(std::vector<uint32_t>& list, uint32_t value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

class Divider {
 public:
  Divider(const Trace& trace, const Plan& plan)
      : trace_(trace), plan_(plan), allocated_by_(trace.storages.size(), kNobody) {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      for (const uint32_t storage : plan.steps[i].allocates) allocated_by_[storage] = i;
    }
  }

  void fill(PlanPart& part) const {
    std::vector<uint8_t> is_input(trace_.storages.size());
    for (size_t i = part.first; i < part.end; ++i) {
      const PlanStep& step = plan_.steps[i];
      each_storage(trace_, step, [&](uint32_t storage, int64_t number) {
        if (storage == kNumberStorage) return add_once(part.numbers, static_cast<uint32_t>(number));
        if (is_input[storage] == 0 && is_there_before(storage, part)) {
          is_input[storage] = 1;
          part.inputs.push_back(storage);
        }
      });
      part.outputs.insert(part.outputs.end(), step.allocates.begin(), step.allocates.end());
    }
    for (size_t i = part.first; i < part.end; ++i) {
      for (const uint32_t storage : plan_.steps[i].releases) {
        if (part.has(allocated_by_[storage])) {
          std::erase(part.outputs, storage);
        } else {
          part.releases.push_back(storage);
        }
      }
    }
  }

 private:
  static constexpr size_t kNobody = SIZE_MAX;

  bool is_there_before(uint32_t storage, const PlanPart& part) const {
    const size_t allocated_by = allocated_by_[plan_.buffer_of[storage]];
    return allocated_by == kNobody || allocated_by < part.first;
  }

  const Trace& trace_;
  const Plan& plan_;
  std::vector<size_t> allocated_by_;  // by storage: a step
};

}  // namespace

std::vector<PlanPart> divide_plan(const Trace& trace,
                                  const Plan& plan,
                                  std::span<const uint8_t> capturable) {
  std::vector<PlanPart> parts = find_runs(capturable);
  const Divider divider(trace, plan);
  for (PlanPart& part : parts) divider.fill(part);
  return parts;
}

}  // namespace mindtorch::dispatch
