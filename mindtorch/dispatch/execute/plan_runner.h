#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mindtorch/dispatch/execute/plan_graphs.h"
#include "mindtorch/dispatch/execute/plan_parts.h"
#include "mindtorch/dispatch/plan/plan.h"
#include "mindtorch/dispatch/trace/trace.h"
#include "mindtorch/tensor/storage.h"

namespace mindtorch::dispatch {

// A plan made ready to run many times: fused groups are prepared by their device's engine (until
// then, and where it refuses, their ops run one by one), kernels have their arguments. A run
// supplies addresses and numbers only. Kernels work on proxies, storages of the runner's own over
// the same bytes: the real ones stay pending until the run is done. One thread at a time.
class PlanRunner {
 public:
  // `varying`: as in make_plan().
  PlanRunner(const Trace& trace,
             std::span<const uint8_t> visible,
             std::span<const uint8_t> varying = {});
  ~PlanRunner();

  const Trace& trace() const { return trace_; }
  // Was made for the same storages being visible.
  bool has_visible(std::span<const uint8_t> visible) const {
    return std::ranges::equal(visible, visible_);
  }
  // The trace may as well end after so many ops, and another begin: no group or pattern has ops on
  // both sides, and `is_visible` says of no storage that it must have bytes there and has not. One
  // that failed stays whole, so that its error comes where it came before.
  template <typename IsVisible>
  bool can_end_after(size_t ops, const IsVisible& is_visible) const {
    return has_run_ && plan_.ends_within[ops - 1] == 0 &&
           std::ranges::none_of(plan_.unstored, [&](const Unstored& each) {
             return each.last_op < ops && is_visible(each.storage);
           });
  }
  // Fused ops have these params and numbers. `params`: of the first ops; the others' are known to
  // be the same.
  bool has_params(std::span<const ops::PointwiseParams> params,
                  std::span<const uint64_t> numbers) const;
  // Marks the ops of the trace that have others.
  void mark_other_params(const Trace& other, std::vector<uint8_t>& ops) const;
  using Storages = std::span<StorageImpl* const>;
  // `recorded`: with all numbers; its other lists may be shorter than trace()'s, and then the same.
  // `done`: the index of the op that failed, if this throws.
  void run(Storages storages, const Trace& recorded, size_t& done);
  // The runner that ran after this one the last time, and when this one was last used: of the cache
  // that it is in.
  PlanRunner* successor = this;
  uint64_t last_use = 0;
  size_t launches() const { return launches_; }  // of the last run
  bool takes_long() const { return plan_.takes_long; }

 private:
  struct Step;
  struct Singles;
  struct Part;
  using HostNumber = std::array<uint64_t, 2>;  // up to complex128

  void prepare(Step& step, const PlanStep& plan);
  void prepare_single(Step& step, const OpRecord& op);
  void prepare_pattern(Step& step, const PatternMatch& match);
  void divide();
  bool can_be_captured(size_t step) const;
  bool is_host_number(uint32_t storage) const;
  bool can_be_kept(const PlanPart& part) const;
  void add_to_key(const StorageImpl& storage);
  void take_params(const Trace& recorded);
  void note_varying(const Trace& recorded);
  bool has_other_numbers(const PlanStep& step, const Trace& recorded) const;
  void hash_params(Part& part) const;
  void take_numbers(Step& step, const OpRecord& op);
  bool are_groups_final();
  void run_part(Part& part, Storages storages, size_t& done);
  void launch(Part& part, Storages storages, size_t& done);
  void rebind(Storages storages, uint32_t storage);
  void run_step(Step& step, const PlanStep& plan, Storages storages);
  void launch_step(Step& step, const PlanStep& plan, Storages storages);
  void launch_fused(const Step& step,
                    const ops::FusedProgram& program,
                    const PlanStep& plan,
                    Storages storages);
  void run_singles(Step& step, const PlanStep& plan, Storages storages);
  // For people: its op, or "fused(add, relu)".
  std::string name_of(const PlanStep& step) const;
  // Queues the part as a graph of the device. False: it must be launched.
  bool replay(Part& part, Storages storages);
  bool capture(Part& part, Storages storages, runtime::Stream stream);
  // Gives outputs memory, where there is a graph for it if that is free.
  void allocate_outputs(Part& part, Storages storages, runtime::Stream stream);
  size_t allocate_outputs_at(const PlanPart& part,
                             Storages storages,
                             std::span<const uint64_t> addresses);
  void note_kept(Part& part, size_t output);
  bool can_be_copied(uint32_t storage) const;
  void release_outputs(const PlanPart& part, Storages storages);
  void release_intermediates(const PlanPart& part, Storages storages);
  const Tensor& tensor(uint32_t id);
  ops::Value value(const Argument& argument, Step& step);

  Trace trace_;  // with the numbers of the last run
  const std::vector<uint8_t> visible_;
  const Plan plan_;
  std::vector<Step> steps_;        // as plan_.steps
  std::vector<Part> parts_;        // of all steps
  std::vector<Storage> proxies_;   // by storage; null: no kernel uses it
  std::vector<Tensor> tensors_;    // by tensor, over proxies
  std::vector<uint64_t> numbers_;  // of this run, then the plan's constants
  std::vector<void*> addresses_;
  std::vector<uint64_t> graph_key_;
  std::vector<uint64_t> known_outputs_;  // addresses that a graph wrote before
  PlanGraphs::Addresses results_;        // of the graph that was queued, in its own memory
  uint64_t runs_ = 0;
  size_t workspace_bytes_ = 0;  // the largest
  size_t launches_ = 0;
  bool are_groups_final_ = false;  // are_groups_final() once and for all
  bool has_run_ = false;           // to its end, the last time
};

}  // namespace mindtorch::dispatch
