#pragma once

#include <memory>
#include <span>

#include "mindtorch/backends/cpu/jit/code_memory.h"
#include "mindtorch/ops/fusion.h"

namespace mindtorch::cpu::jit {

// Consecutive steps of a fused group that become one loop with all values in registers. Values are
// numbered as in the group.
struct Run {
  struct Input {
    uint16_t value;
    DType dtype{};
    bool single = false;  // one element for the whole line
  };

  std::span<const ops::FusedStep> steps;
  uint16_t first = 0;                 // the value that the first step makes
  std::span<const Input> inputs;      // every operand that no step of the run makes
  std::span<const uint16_t> outputs;  // values of the run that reach memory
};

// Machine code for a run. Its results are those of the tiles, bit for bit, which compute the same
// operations in the same order; of NaN only that it is one.
class Kernel {
 public:
  // Each input and output is a line of n elements (an input may be a single one), in the run's
  // order and of any alignment. An output may lie exactly where an input does.
  void operator()(const void* const* inputs, void* const* outputs, int64_t n) const {
    reinterpret_cast<Function>(code_.data() + entry_)(inputs, outputs, n);
  }

 private:
  using Function = void (*)(const void* const*, void* const*, int64_t);
  friend std::unique_ptr<Kernel> compile(const Run& run);
  Kernel(CodeMemory code, size_t entry) : code_(std::move(code)), entry_(entry) {}

  CodeMemory code_;
  size_t entry_;
};

// Whether this machine can run generated code and MINDTORCH_CPU_JIT is not 0.
bool available();

// Whether there is code for a step; `operands` are the dtypes of its operands.
bool can_generate(const ops::FusedStep& step, std::span<const DType> operands);

// Whether the code of a step is one long chain of operations. The processor hides its latency by
// working on several iterations at once; a loop with two such chains is too long for that, and
// slower than two loops.
bool is_long(const ops::FusedStep& step);

// Null where the run has more values alive than the machine has registers, or the system gives no
// executable memory: then the tiles do it.
std::unique_ptr<Kernel> compile(const Run& run);

}  // namespace mindtorch::cpu::jit
