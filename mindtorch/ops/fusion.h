#pragma once

#include <cstdint>
#include <vector>

#include "mindtorch/ops/kernel.h"

namespace mindtorch::ops {

// Pointwise ops that run as one pass over memory: what a planner hands to a device's fusion engine.
//
// Every value has a number. Values [0, inputs.size()) are tensors in memory, broadcast to `sizes`;
// each step makes one more. A step's result is stored where `stores` says; all others never reach
// memory. A step reads its inputs before any later step writes.
struct FusedStep {
  Pointwise function{};
  DType compute{};
  DType result{};  // what the value holds, and later steps see
  uint8_t count = 0;
  uint16_t operands[3] = {};
  PointwiseParams params;
};

struct FusedGroup {
  Shape sizes;
  std::vector<FusedStep> steps;
  std::vector<Tensor> inputs;
  struct Store {
    uint16_t value;
    Tensor target;  // of the value's dtype
  };
  std::vector<Store> stores;

  void clear() {
    steps.clear();
    inputs.clear();
    stores.clear();
  }
};

// What a device offers for pointwise ops that are run together.
struct FusionEngine {
  // Throws where the device has no such function for the dtype, as the op itself would.
  void (*check)(const PointwiseCall& call) = nullptr;
  // Null: the device runs them one by one.
  void (*run)(Launch& launch, const FusedGroup& group) = nullptr;
};

}  // namespace mindtorch::ops
