#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "mindtorch/dispatch/plan/group_builder.h"
#include "mindtorch/dispatch/plan/plan.h"

namespace mindtorch::dispatch {
namespace {

// Less host work than this is done before another thread would have noticed.
constexpr int64_t kLongElements = 64 * 1024;
// Ops that a group may reach over to find one more of its members. Each costs planning time.
constexpr size_t kMaxSkipped = 8;

// Nothing to run: its memory is allocated with the first op that uses it.
bool makes_nothing(const OpRecord& op) { return op.op->fusion == ops::FusionKind::kMemory; }

// The number that a fill writes into each element, in the result's dtype.
uint64_t fill_bits(const Trace& trace, const OpRecord& op) {
  const ops::FillTrait& fill = op.op->fill;
  const Scalar value =
      fill.argument < 0
          ? fill.constant
          : decode(trace.arguments_of(op)[static_cast<size_t>(fill.argument)], trace.payload)
                .scalar();
  uint64_t bits = 0;
  visit_dtype(trace.tensors[trace.outputs(op)[0]].dtype, [&]<typename T>() {
    const T element = value.to<T>();
    std::memcpy(&bits, &element, sizeof(T));
  });
  return bits;
}

// The storages that the ops a group reaches over read and write.
class SkippedOps {
 public:
  explicit SkippedOps(const Trace& trace) : trace_(trace) {}
  size_t count() const { return count_; }
  void add(const OpRecord& op) {
    ++count_;
    each_storage(trace_.operands(op), [&](uint32_t storage) { reads_.push_back(storage); });
    each_storage(trace_.outputs(op), [&](uint32_t storage) { writes_.push_back(storage); });
  }
  // The op may run before them: it depends on none and disturbs none. If one of them fails, memory
  // that was there before the trace must be as it was, so that it may write new storages only.
  bool can_be_passed_by(const OpRecord& op) const {
    bool is_free = true;
    each_storage(trace_.operands(op),
                 [&](uint32_t storage) { is_free &= !contains(writes_, storage); });
    each_storage(trace_.outputs(op), [&](uint32_t storage) {
      is_free &= trace_.storages[storage].is_unallocated != 0 && !contains(reads_, storage) &&
                 !contains(writes_, storage);
    });
    return is_free;
  }

 private:
  static bool contains(const std::vector<uint32_t>& list, uint32_t storage) {
    return std::ranges::find(list, storage) != list.end();
  }
  template <typename Visit>
  void each_storage(std::span<const uint32_t> ids, Visit visit) const {
    for (const uint32_t id : ids) {
      if (id == kNoTensor || trace_.tensors[id].storage == kNumberStorage) continue;
      visit(trace_.tensors[id].storage);
    }
  }

  const Trace& trace_;
  std::vector<uint32_t> reads_;
  std::vector<uint32_t> writes_;
  size_t count_ = 0;
};

class Planner {
 public:
  Planner(const Trace& trace, std::span<const uint8_t> visible, std::span<const uint8_t> varying)
      : trace_(trace),
        varying_(varying),
        liveness_(find_liveness(trace, visible)),
        is_planned_(trace.ops.size()),
        first_constant_(trace.numbers.size()) {}

  Plan run() {
    find_fills();
    find_patterns();
    for (size_t i = 0; i < trace_.ops.size(); ++i) {
      if (is_planned_[i] != 0 || !is_live(i)) continue;
      if (is_in_pattern(i)) {
        add_pattern(i);
        continue;
      }
      const auto* const engine = ops::registry().fusion_engine(trace_.ops[i].device.type);
      if (engine == nullptr || !add_group(i, *engine)) add_single(i);
    }
    place_memory();
    find_ends();
    return std::move(plan_);
  }

 private:
  bool varies(size_t op) const { return !varying_.empty() && varying_[op] != 0; }
  bool is_live(size_t op) const {
    return liveness_.is_dead[op] == 0 && !makes_nothing(trace_.ops[op]);
  }
  bool is_in_pattern(size_t op) const { return !match_of_.empty() && match_of_[op] != kNoMatch; }
  void find_fills();
  void find_patterns();
  void add_pattern(size_t op);
  bool add_group(size_t first, const ops::FusionEngine& engine);
  void add_single(size_t op);
  void place_memory();
  void find_ends();
  void donate_buffers(std::span<const uint32_t> first, std::span<uint32_t> last);
  uint32_t find_donor(const OpRecord& op, uint32_t step, std::span<const uint32_t> last) const;
  bool spans_storage(const TensorRecord& tensor) const;
  bool is_private(const TensorRecord& tensor) const;

  const Trace& trace_;
  const std::span<const uint8_t> varying_;  // by op
  const Liveness liveness_;
  std::vector<uint8_t> is_planned_;  // by op
  const size_t first_constant_;      // behind the numbers of the trace
  std::vector<uint32_t> fills_;      // by op: the index of the number it fills with
  static constexpr uint32_t kNoMatch = UINT32_MAX;
  std::vector<PatternMatch> matches_;
  std::vector<uint32_t> match_of_;  // by op; empty: there are none
  Plan plan_;
};

// Fused groups take the numbers that ops fill their results with as inputs.
void Planner::find_fills() {
  fills_.resize(trace_.ops.size());
  for (size_t i = 0; i < trace_.ops.size(); ++i) {
    const OpRecord& op = trace_.ops[i];
    if (!is_live(i) || op.op->fusion != ops::FusionKind::kFill ||
        !is_common(trace_.tensors[trace_.outputs(op)[0]].dtype) ||
        ops::registry().fusion_engine(op.device.type) == nullptr) {
      continue;
    }
    const uint64_t bits = fill_bits(trace_, op);
    const auto found = std::ranges::find(plan_.constants, bits);
    fills_[i] = static_cast<uint32_t>(first_constant_ +
                                      static_cast<size_t>(found - plan_.constants.begin()));
    if (found == plan_.constants.end()) plan_.constants.push_back(bits);
  }
}

void Planner::find_patterns() {
  bool is_seen[kDeviceTypeCount] = {};
  for (const OpRecord& op : trace_.ops) {
    if (std::exchange(is_seen[static_cast<int>(op.device.type)], true)) continue;
    const std::vector<ParsedPattern>& patterns = patterns_of(op.device.type);
    if (patterns.empty()) continue;
    PatternMatcher matcher(trace_, liveness_, varying_);
    std::ranges::move(matcher.find(patterns, op.device.type), std::back_inserter(matches_));
  }
  if (!matches_.empty()) match_of_.resize(trace_.ops.size(), kNoMatch);
  for (uint32_t i = 0; i < matches_.size(); ++i) {
    for (const uint32_t op : matches_[i].ops) match_of_[op] = i;
  }
}

// In the place of its last op; the others are left out.
void Planner::add_pattern(size_t index) {
  is_planned_[index] = 1;
  PatternMatch& match = matches_[match_of_[index]];
  if (match.ops.back() != index) return;
  for (const uint32_t op : match.ops) {
    if (trace_.ops[op].is_pointwise != 0) plan_.fused_ops.push_back(op);
  }
  for (const uint32_t number : match.numbers) {
    plan_.fixed_numbers.push_back({number, trace_.numbers[number]});
  }
  PlanStep& step = plan_.steps.emplace_back();
  step.first_op = static_cast<uint32_t>(index);
  step.match = std::move(match);
}

// Collects ops from `first` on. Ops in between that cannot be members run after the group; what
// comes behind them joins if it may run before them. False: not worth fusing.
bool Planner::add_group(size_t first, const ops::FusionEngine& engine) {
  GroupBuilder builder(trace_, liveness_, fills_, engine, trace_.ops[first].device);
  if (varies(first) || !builder.add(trace_.ops[first])) return false;
  SkippedOps skipped(trace_);
  std::vector<size_t> members = {first};
  for (size_t i = first + 1; i < trace_.ops.size() && skipped.count() <= kMaxSkipped; ++i) {
    if (is_planned_[i] != 0 || !is_live(i)) continue;
    const OpRecord& op = trace_.ops[i];
    const bool may_join =
        !varies(i) && !is_in_pattern(i) &&
        (skipped.count() == 0 || (skipped.can_be_passed_by(op) && builder.touches(op)));
    if (may_join && builder.add(op)) {
      members.push_back(i);
    } else {
      skipped.add(op);
    }
  }
  if (builder.size() < 2 || !builder.is_worth_it()) return false;
  PlanStep& step = plan_.steps.emplace_back();
  for (const size_t i : members) {
    is_planned_[i] = 1;
    step.members.push_back(static_cast<uint32_t>(i));
    if (trace_.ops[i].is_pointwise != 0) plan_.fused_ops.push_back(static_cast<uint32_t>(i));
  }
  step.first_op = static_cast<uint32_t>(first);
  step.is_fused = true;
  step.group = builder.finish(is_planned_, step.addresses);
  const int64_t work = numel(step.group.sizes) * static_cast<int64_t>(step.group.steps.size());
  plan_.takes_long |= !step.group.device.is_accelerator() && work >= kLongElements;
  return true;
}

void Planner::add_single(size_t index) {
  const OpRecord& op = trace_.ops[index];
  is_planned_[index] = 1;
  plan_.steps.emplace_back().first_op = static_cast<uint32_t>(index);
  if (op.device.is_accelerator()) return;  // the host only queues it
  int64_t elements = 0;
  for (size_t k = 0; k < size_t{op.operand_count} + op.output_count; ++k) {
    const uint32_t id = trace_.tensor_ids[op.first_id + k];
    if (id != kNoTensor) elements += numel(trace_.sizes(trace_.tensors[id]));
  }
  plan_.takes_long |= elements >= kLongElements / 8;
}

// Memory is allocated before the first step that uses it and released after the last.
void Planner::place_memory() {
  constexpr uint32_t kNowhere = UINT32_MAX;
  const size_t count = trace_.storages.size();
  std::vector<uint32_t> first(count, kNowhere);
  std::vector<uint32_t> last(count, kNowhere);
  for (uint32_t i = 0; i < plan_.steps.size(); ++i) {
    const auto touch = [&](uint32_t storage) {
      if (storage == kNumberStorage) return;
      if (first[storage] == kNowhere) first[storage] = i;
      last[storage] = i;
    };
    const PlanStep& step = plan_.steps[i];
    if (step.is_fused) {
      for (const TensorAddress& address : step.addresses) touch(address.storage);
      continue;
    }
    if (step.match) {
      for (const auto& [name, id] : step.match->tensors) touch(trace_.tensors[id].storage);
      continue;
    }
    const OpRecord& op = trace_.ops[step.first_op];
    for (size_t k = 0; k < size_t{op.operand_count} + op.output_count; ++k) {
      const uint32_t id = trace_.tensor_ids[op.first_id + k];
      if (id != kNoTensor) touch(trace_.tensors[id].storage);
    }
  }
  plan_.buffer_of.resize(count);
  std::iota(plan_.buffer_of.begin(), plan_.buffer_of.end(), 0);
  donate_buffers(first, last);
  for (uint32_t storage = 0; storage < count; ++storage) {
    if (trace_.storages[storage].is_unallocated == 0 || plan_.buffer_of[storage] != storage) {
      continue;
    }
    const bool is_visible = liveness_.storages[storage].is_visible;
    if (first[storage] == kNowhere) {  // it stays in registers, or no op writes it
      const int64_t last_use = liveness_.storages[storage].last_use;
      if (is_visible) {
        plan_.unwritten.push_back(storage);
      } else if (last_use >= 0) {
        plan_.unstored.push_back({storage, static_cast<uint32_t>(last_use)});
      }
      continue;
    }
    plan_.steps[first[storage]].allocates.push_back(storage);
    if (is_visible) {
      plan_.outputs.push_back(storage);
    } else {
      plan_.steps[last[storage]].releases.push_back(storage);
    }
  }
}

void Planner::find_ends() {
  plan_.ends_within.resize(trace_.ops.size());
  for (const PlanStep& step : plan_.steps) {
    const std::vector<uint32_t>& ops = step.match ? step.match->ops : step.members;
    if (ops.empty()) continue;
    for (uint32_t op = ops.front(); op < ops.back(); ++op) plan_.ends_within[op] = 1;
  }
}

// The result of a pointwise op takes over the memory of an operand that is used no more.
void Planner::donate_buffers(std::span<const uint32_t> first, std::span<uint32_t> last) {
  for (uint32_t i = 0; i < plan_.steps.size(); ++i) {
    PlanStep& step = plan_.steps[i];
    const OpRecord& op = trace_.ops[step.first_op];
    if (step.is_fused || step.match || op.is_pointwise == 0) continue;
    const uint32_t out = trace_.tensors[trace_.outputs(op)[0]].storage;
    const uint32_t donor = first[out] == i ? find_donor(op, i, last) : kNumberStorage;
    if (donor == kNumberStorage) continue;
    plan_.buffer_of[out] = plan_.buffer_of[donor];
    last[plan_.buffer_of[donor]] = last[out];
    step.donated.push_back(out);
  }
  for (PlanStep& step : plan_.steps) {
    for (TensorAddress& address : step.addresses) {
      if (address.storage != kNumberStorage) address.storage = plan_.buffer_of[address.storage];
    }
  }
}

// All of its storage, in order.
bool Planner::spans_storage(const TensorRecord& tensor) const {
  const auto bytes = static_cast<uint64_t>(numel(trace_.sizes(tensor)) * size_bytes(tensor.dtype));
  return tensor.is_contiguous != 0 && tensor.offset == 0 &&
         trace_.storages[tensor.storage].size_bytes == bytes;
}

bool Planner::is_private(const TensorRecord& tensor) const {
  return tensor.storage != kNumberStorage && !liveness_.storages[tensor.storage].is_visible &&
         trace_.storages[tensor.storage].is_unallocated != 0 && spans_storage(tensor);
}

// Pointwise ops may write where they read, element for element, as in place. kNumberStorage: none.
uint32_t Planner::find_donor(const OpRecord& op,
                             uint32_t step,
                             std::span<const uint32_t> last) const {
  const TensorRecord& out = trace_.tensors[trace_.outputs(op)[0]];
  if (!is_private(out)) return kNumberStorage;
  const std::span operands = trace_.operands(op);
  for (const uint32_t operand : operands) {
    const TensorRecord& in = trace_.tensors[operand];
    if (!is_private(in) || in.storage == out.storage || last[in.storage] != step ||
        trace_.storages[in.storage].device != trace_.storages[out.storage].device ||
        in.dtype != out.dtype || !std::ranges::equal(trace_.sizes(in), trace_.sizes(out))) {
      continue;
    }
    const bool is_seen_otherwise = std::ranges::any_of(operands, [&](uint32_t other) {
      return other != operand && trace_.tensors[other].storage == in.storage;
    });
    if (!is_seen_otherwise) return in.storage;
  }
  return kNumberStorage;
}

}  // namespace

std::vector<PlanStep> single_steps(const Trace& trace, const Plan& plan, const PlanStep& group) {
  std::vector<PlanStep> steps(group.members.size());
  // What the group keeps in registers.
  const auto is_inside = [&](uint32_t storage) {
    return storage != kNumberStorage && trace.storages[storage].is_unallocated != 0 &&
           std::ranges::find(group.addresses, plan.buffer_of[storage], &TensorAddress::storage) ==
               group.addresses.end();
  };
  std::vector<uint32_t> inside;
  std::vector<size_t> last_use;
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].first_op = group.members[i];
    const OpRecord& op = trace.ops[group.members[i]];
    for (size_t k = 0; k < size_t{op.operand_count} + op.output_count; ++k) {
      const uint32_t id = trace.tensor_ids[op.first_id + k];
      if (id == kNoTensor || !is_inside(trace.tensors[id].storage)) continue;
      const uint32_t storage = trace.tensors[id].storage;
      const auto known = std::ranges::find(inside, storage) - inside.begin();
      if (known == std::ssize(inside)) {
        inside.push_back(storage);
        last_use.push_back(i);
        steps[i].allocates.push_back(storage);
      }
      last_use[static_cast<size_t>(known)] = i;
    }
  }
  for (size_t k = 0; k < inside.size(); ++k) steps[last_use[k]].releases.push_back(inside[k]);
  return steps;
}

Plan make_plan(const Trace& trace,
               std::span<const uint8_t> visible,
               std::span<const uint8_t> varying) {
  return Planner(trace, visible, varying).run();
}

}  // namespace mindtorch::dispatch
