#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mindtorch/ops/kernel.h"

namespace mindtorch::ops {

// Functions of whole rows (the last dim), or of what lies along the leading dims, that can be part
// of a fused group. The first ones give one element a row, the others a row. Variance and standard
// deviation have their correction in params.f[0].
enum class RowFunction : uint8_t {
  kNone,
  kSum,
  kMean,
  kAmax,
  kAmin,
  kVar,
  kStd,
  kSoftmax,
  kLogSoftmax
};
constexpr bool gives_row(RowFunction function) { return function >= RowFunction::kSoftmax; }

// Ops that run as one pass over memory: what a planner hands to a device's fusion engine.
//
// Every value has a number. Values [0, inputs.size()) are in memory, broadcast to `sizes`; each
// step makes one more. A step's result is stored where `stores` says; all others never reach
// memory. For each element a step reads its inputs before any later step writes.
struct FusedStep {
  RowFunction row = RowFunction::kNone;  // kNone: `function`
  bool is_copy = false;                  // no function: the operand, converted to `result`
  Pointwise function{};
  DType compute{};
  DType result{};       // what the value holds, and later steps see
  bool is_row = false;  // the value has one element a row; all operands have, or `row` makes it so
  // `row` goes over this many leading dims instead of rows. The value has one element for each of
  // the other dims; it is stored, and no step reads it.
  uint8_t leading_dims = 0;
  uint8_t count = 0;
  int8_t unrounded = -1;  // as in PointwiseCall
  uint16_t operands[kMaxOperands] = {};
  PointwiseParams params;
};

// How a tensor lies in memory, seen in the group's sizes: strides in elements, 0 where it is
// broadcast, in the last dim where it has one element a row, and in the leading dims that a step
// has gone over.
struct FusedLayout {
  Shape strides;
  DType dtype{};
  bool is_number = false;  // one element, in the host's memory
};

struct FusedGroup {
  struct Store {
    uint16_t value;
    FusedLayout layout;  // of the value's dtype
  };

  Device device;
  Shape sizes;
  std::vector<FusedStep> steps;
  std::vector<FusedLayout> inputs;
  std::vector<Store> stores;
};

// A group made ready, to be run many times, by any thread and by several at once.
class FusedProgram {
 public:
  virtual ~FusedProgram() = default;
  // Runs it, or queues it on the launch's stream. `addresses`: the first element of each input,
  // then of each store. Numbers (FusedLayout::is_number) are read before this returns.
  virtual void run(Launch& launch, std::span<void* const> addresses) const = 0;
};

// What an engine answers when it is asked for a group's program.
struct Preparation {
  std::shared_ptr<const FusedProgram> program;  // that runs it from now on; null: none so far
  bool is_final = false;                        // the engine is not asked again

  static Preparation ready(std::shared_ptr<const FusedProgram> program) {
    return {std::move(program), true};
  }
  // There may be a better one when the group runs again.
  static Preparation for_now(std::shared_ptr<const FusedProgram> program) {
    return {std::move(program), false};
  }
  static Preparation not_yet() { return {}; }
  static Preparation never() { return {nullptr, true}; }
};

struct FusionLimits {
  // The largest group.
  size_t max_steps = 0;
  size_t max_inputs = 0;
  size_t max_stores = 0;
  // Rows shorter than this are not worth it; rows longer only where no later step needs the whole
  // row's value.
  int64_t min_row = 0;
  int64_t max_row = 0;
  // Preparing a group takes longer than running its steps would: see Note [Groups are prepared].
  bool compiles = false;
  // A first program takes no time, but a better one does.
  bool compiles_later = false;
};

// What a device offers for ops that run together. It may refuse: the ops then run one by one. Never
// destroyed. Any thread may call it.
class FusionEngine {
 public:
  explicit FusionEngine(const FusionLimits& limits) : limits(limits) {}
  virtual ~FusionEngine() = default;

  // Groups may have such a step.
  virtual bool can_fuse(Pointwise function, DType compute) const = 0;
  virtual bool can_fuse(RowFunction, DType) const { return false; }
  // The same for FusedStep::leading_dims: the gradients of biases and of norms' weights.
  virtual bool can_fuse_leading(RowFunction, DType) const { return false; }
  // Asked when the group is about to run, until the answer is final. `before`: the program of the
  // last answer, or null. An error counts as "not yet", a few times. A call that runs by itself is
  // a group of one step, which may end in a cast: for these the answer is not "not yet".
  virtual Preparation prepare(const FusedGroup& group, const FusedProgram* before) const = 0;

  const FusionLimits limits;
};

}  // namespace mindtorch::ops
