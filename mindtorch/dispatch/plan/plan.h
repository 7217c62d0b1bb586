#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mindtorch/dispatch/plan/pattern_matcher.h"
#include "mindtorch/dispatch/trace/trace.h"
#include "mindtorch/ops/fusion.h"

namespace mindtorch::dispatch {

// The first element of a tensor: in a storage or, with kNumberStorage, in the list of numbers.
struct TensorAddress {
  uint32_t storage;
  int64_t offset_bytes;
};

// One step of a plan: a fused group, a pattern of the device, or the op `first_op` by itself.
struct PlanStep {
  uint32_t first_op = 0;  // of a pattern, in whose place it runs: the last
  bool is_fused = false;
  ops::FusedGroup group;                 // of a fused step,
  std::vector<TensorAddress> addresses;  // with the address of each input, then of each store
  std::vector<uint32_t> members;         // and its ops: single_steps()
  std::optional<PatternMatch> match;
  std::vector<uint32_t> allocates;  // storages that get memory before the step
  std::vector<uint32_t> donated;    // storages that take over an operand's: Plan::buffer_of
  std::vector<uint32_t> releases;   // storages whose last use it is
};

// A number of the trace that a pattern was found for: with another value the plan does not hold.
struct FixedNumber {
  uint32_t index;
  uint64_t bits;
};

// A storage that stays in registers, and the last op that uses it.
struct Unstored {
  uint32_t storage;
  uint32_t last_op;
};

// How to run a trace. Plain data: it names no device's code and holds no memory, so that it can be
// tested without a device. Dead ops are left out; ops that a device can run as one pass over memory
// are fused; memory comes with the first write and goes after the last use.
struct Plan {
  std::vector<PlanStep> steps;
  std::vector<uint32_t> fused_ops;  // pointwise ops whose params are part of a group or pattern
  std::vector<FixedNumber> fixed_numbers;
  std::vector<uint64_t> constants;  // behind the trace's numbers: what fused fills write
  std::vector<uint32_t> buffer_of;  // by storage: the one whose memory it has
  std::vector<uint32_t> unwritten;  // visible storages that no op writes
  std::vector<uint32_t> outputs;    // visible storages that get memory
  std::vector<Unstored> unstored;
  std::vector<uint8_t> ends_within;  // by op: a step has ops up to it and behind it
  bool takes_long = false;           // enough work on the host that other threads should run
};

// `visible`: of each storage, whether something outside the trace can see it. `varying`: of each
// op, whether its params differ from run to run, so that they cannot be part of a group; empty:
// none's do.
Plan make_plan(const Trace& trace,
               std::span<const uint8_t> visible,
               std::span<const uint8_t> varying = {});

// The ops of a fused step, one by one, in its place: for as long as its engine has no program for
// it. They allocate and release what the group as one never has in memory.
std::vector<PlanStep> single_steps(const Trace& trace, const Plan& plan, const PlanStep& group);

}  // namespace mindtorch::dispatch
