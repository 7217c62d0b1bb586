#pragma once

#include <memory>
#include <vector>

#include "mindtorch/backends/cpu/fusion_program.h"

namespace mindtorch::cpu {

// No step needs a row function's result at full width, so that rows can be divided.
bool has_trailing_reductions(const ops::FusedGroup& group);

// A group with trailing reductions whose rows are too long to be held in buffers: a pass over tiles
// that leaves a partial result for each, which are combined in order, whoever computed them, and a
// program of its own for what comes after.
class LongRowProgram final : public ops::FusedProgram {
 public:
  LongRowProgram(const ops::FusedGroup& group, bool generate);

  void run(ops::Launch& launch, std::span<void* const> addresses) const override;

 private:
  struct Reduction {
    ops::FusedStep step;
    RowFn combine;    // of partial results; null for moments
    CastFn round;     // to the value's dtype
    size_t first;     // of its partial results, in bytes of the workspace
    size_t combined;  // of its values, one a row
  };

  void finish(const Reduction& reduction, const char* partials, char* value) const;
  void combine(const Reduction& reduction, char* workspace) const;

  std::unique_ptr<TiledProgram> pass_;
  std::unique_ptr<ops::FusedProgram> tail_;  // null: nothing to store
  std::vector<Reduction> reductions_;
  size_t inputs_;
  std::vector<size_t> pass_stores_;  // by number of the group's store
  std::vector<size_t> tail_stores_;
  int64_t rows_ = 1;
  int64_t row_ = 0;  // elements
  size_t bytes_ = 0;
};

}  // namespace mindtorch::cpu
