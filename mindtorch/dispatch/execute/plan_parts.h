#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mindtorch/dispatch/plan/plan.h"
#include "mindtorch/dispatch/trace/trace.h"

namespace mindtorch::dispatch {

// Note [Parts of a plan]
// Not everything that a plan runs can be captured as a graph of the device: an optimizer's step
// that counts gets another number each time, as an op does whose seed is a number. What lies
// between such steps can. A plan is run part by part, and each part that can be a graph is one by
// itself: what it depends on is what lies in memory when it begins, and what it leaves there has
// memory before. So that it can be launched after all where capturing it fails, it gives nothing
// back that others gave it before its end.
struct PlanPart {
  size_t first = 0;  // steps
  size_t end = 0;
  bool may_be_graph = false;
  std::vector<uint32_t> inputs;    // storages in memory when it begins, of those that it uses
  std::vector<uint32_t> outputs;   // that get memory in it, and keep it
  std::vector<uint32_t> releases;  // used last in it, and in memory before. A graph's: at its end
  std::vector<uint32_t> numbers;   // of the trace, that it reads

  bool has(size_t step) const { return step >= first && step < end; }
};

// Visits what a step uses: each storage, and each number as kNumberStorage with its index.
template <typename Visit>
void each_storage(const Trace& trace, const PlanStep& step, const Visit& visit) {
  if (step.is_fused) {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(uint64_t));
    for (const TensorAddress& address : step.addresses) {
      visit(address.storage, address.offset_bytes / kBytes);
    }
    return;
  }
  const auto visit_tensor = [&](uint32_t id) {
    if (id != kNoTensor) visit(trace.tensors[id].storage, trace.tensors[id].offset);
  };
  if (step.match) {
    for (const auto& [name, id] : step.match->tensors) visit_tensor(id);
    return;
  }
  const OpRecord& op = trace.ops[step.first_op];
  for (const uint32_t id : trace.operands(op)) visit_tensor(id);
  for (const uint32_t id : trace.outputs(op)) visit_tensor(id);
}

// `capturable`: of each step, whether it may be part of a graph.
std::vector<PlanPart> divide_plan(const Trace& trace,
                                  const Plan& plan,
                                  std::span<const uint8_t> capturable);

}  // namespace mindtorch::dispatch
