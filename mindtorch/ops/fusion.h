#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mindtorch/ops/kernel.h"

namespace mindtorch::ops {

// Functions of whole rows (the last dim) that can be part of a fused group. The first ones give one
// element a row, the others a row. Variance and standard deviation have their correction in
// params.f[0].
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
  uint8_t count = 0;
  int8_t unrounded = -1;  // as in PointwiseCall
  uint16_t operands[kMaxOperands] = {};
  PointwiseParams params;
};

// How a tensor lies in memory, seen in the group's sizes: strides in elements, 0 where it is
// broadcast and, for one element a row, in the last dim.
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

// A group made ready, to be run many times, by any thread.
class FusedProgram {
 public:
  virtual ~FusedProgram() = default;
  // Runs it, or queues it on the launch's stream. `addresses`: the first element of each input,
  // then of each store. Numbers (FusedLayout::is_number) are read before this returns.
  virtual void run(Launch& launch, std::span<void* const> addresses) const = 0;
};

// What a device offers for ops that run together: what it can fuse, and its limits.
struct FusionEngine {
  // Throws where the device has no such function for the dtype, as the op itself would.
  void (*check)(const PointwiseCall& call) = nullptr;
  // Null: the device runs them one by one.
  std::unique_ptr<FusedProgram> (*prepare)(const FusedGroup& group) = nullptr;
  // The largest group.
  size_t max_steps = 0;
  size_t max_inputs = 0;
  size_t max_stores = 0;
  // Rows shorter than this are not worth it; rows longer only where no later step needs the whole
  // row's value.
  int64_t min_row = 0;
  int64_t max_row = 0;
  // Has such a row function for the dtype.
  bool (*has_row)(RowFunction function, DType compute) = nullptr;
};

}  // namespace mindtorch::ops
