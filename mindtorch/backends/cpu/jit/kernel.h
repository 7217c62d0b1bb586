#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mindtorch/backends/cpu/jit/code_memory.h"
#include "mindtorch/ops/fusion.h"

namespace mindtorch::cpu::jit {

// Instruction sets that code is made for. Each computes as the tiles of the same name do.
enum class Target : uint8_t { kNone, kAvx2, kAvx512 };

// The best that this machine can run: kNone where MINDTORCH_CPU_JIT is 0 or Xbyak was missing.
Target best_target();
inline bool available() { return best_target() != Target::kNone; }

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
    const int64_t rest = n & (multiple_ - 1);
    if (rest != n) function()(inputs, outputs, n - rest);
    if (MT_UNLIKELY(rest != 0)) run_rest(inputs, outputs, n - rest, rest);
  }

 private:
  using Function = void (*)(const void* const*, void* const*, int64_t);
  // What a line moves by from element to element: nothing, where it is a single one.
  struct Line {
    uint8_t size_bytes;
    bool single;
  };
  friend std::unique_ptr<Kernel> compile(const Run& run, Target target);

  Function function() const { return reinterpret_cast<Function>(code_.data() + entry_); }
  // Too few elements for a vector, through copies of full length.
  void run_rest(const void* const* inputs, void* const* outputs, int64_t start, int64_t n) const;

  CodeMemory code_;
  size_t entry_ = 0;
  int64_t multiple_ = 1;  // of what the code can do: whole vectors, without masked loads
  std::vector<Line> inputs_;
  std::vector<Line> outputs_;
};

// Whether there is code for a step; `operands` are the dtypes of its operands.
bool can_generate(const ops::FusedStep& step,
                  std::span<const DType> operands,
                  Target target = best_target());

// Whether the code of a step is one long chain of operations. The processor hides its latency by
// working on several iterations at once; a loop with two such chains is too long for that, and
// slower than two loops.
bool is_long(const ops::FusedStep& step);

// Null where the run has more values alive than the machine has registers, or the system gives no
// executable memory: then the tiles do it.
std::unique_ptr<Kernel> compile(const Run& run, Target target = best_target());

}  // namespace mindtorch::cpu::jit
