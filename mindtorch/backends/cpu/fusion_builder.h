#pragma once

#include "mindtorch/backends/cpu/fusion_program.h"

namespace mindtorch::cpu {

// 16-bit floats compute in float32, but for the few functions that ask for their own bits.
DType fused_dtype(ops::Pointwise function, DType compute);

// The kernel of a row function, the dtype of its result before that is rounded, and the bytes of
// what it gives for a part of a row.
Row row_kernel(ops::RowFunction function);
DType row_dtype(const ops::FusedStep& step);
int64_t partial_bytes(const ops::FusedStep& step);

// Turns the steps of a group into actions. A value that is not in memory as an action wants it is
// gathered, converted or spread by an action of its own, once for all that want the same. Buffers
// are given out last, when it is known how long each value is needed.
class FusionBuilder {
 public:
  FusionBuilder(const ops::FusedGroup& group, Rows rows, TiledProgram& program);
  void build();

 private:
  struct Value {
    DType dtype{};
    Width width = Width::kWhole;
    bool is_fixed = false;  // the same for every tile: made before the first one
    int32_t slot = kNoSlot;
  };
  static constexpr int32_t kNoSlot = -1;
  static constexpr int32_t kGathered = -2;  // an input that no action can read where it lies

  // A value made of another one.
  struct Derived {
    uint16_t from;
    uint16_t value;
    DType dtype;
    Width width;
  };
  // How a step is computed.
  struct Choice {
    TileFn tile = nullptr;
    DType native{};                     // what the tile gives
    DType wanted[ops::kMaxOperands]{};  // of its operands
    int single = -1;                    // the operand of which the tile takes one element
  };

  const FusionLoop& loop() const { return program_.loop_; }
  // Adds the actions of one step or several, and returns the next one.
  size_t add_steps(size_t first);
  void add_step(const ops::FusedStep& step, uint16_t value);
  void add_copy(const ops::FusedStep& step, uint16_t value);
  void add_row_step(const ops::FusedStep& step, uint16_t value);
  uint16_t computed_as(DType native, uint16_t value);
  // Adds what makes `value` of the value computed for it, and its stores.
  void finish(uint16_t computed, uint16_t value);
  size_t add_generated(size_t first);
  size_t end_of_generated(size_t first) const;
  bool generate(size_t first, size_t end);
  uint16_t as_input(const ops::FusedStep& step, int k);
  bool is_needed(uint16_t value, size_t end) const;
  Choice choose(const ops::FusedStep& step, Width width) const;
  Width width_of(const ops::FusedStep& step) const;
  void place_in_memory(uint16_t value);
  void add_scatters(uint16_t value);

  // The value in this dtype and width, for an action to read.
  uint16_t as(uint16_t value, DType dtype, Width width);
  // A step's operand becomes float16 or bfloat16 before the step widens it.
  bool must_round(const ops::FusedStep& step, int k) const;
  uint16_t rounded(const ops::FusedStep& step, int k);
  uint16_t derive(uint16_t from, DType dtype, Width width, FusionAction action);
  uint16_t new_value(DType dtype, Width width, bool is_fixed);
  // Adds an action that makes `out` of `count` values.
  void add(FusionAction action, uint16_t out, const uint16_t* operands, int count);
  void give_buffers();

  const ops::FusedGroup& group_;
  const Rows rows_;
  TiledProgram& program_;
  size_t partials_ = 0;
  // Until buffers are given, actions name values and not slots.
  std::vector<Value> values_;
  std::vector<Derived> derived_;
};

}  // namespace mindtorch::cpu
