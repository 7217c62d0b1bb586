#pragma once

#include <memory>
#include <vector>

#include "mindtorch/backends/cpu/fusion_action.h"

namespace mindtorch::cpu {

// A group made ready: how its elements are walked, and what is done for each tile.
class TiledProgram final : public ops::FusedProgram {
 public:
  // Where rows are divided, row functions give a partial result a tile, to addresses that come
  // after those of the group's stores. `generate`: machine code for the steps that there is code
  // for.
  TiledProgram(const ops::FusedGroup& group, Rows rows, bool generate);

  int64_t tiles_of_row() const { return loop_.tiles_of_row(); }
  bool has_code() const { return !generated_.empty(); }

  void run(ops::Launch& launch, std::span<void* const> addresses) const override;

 private:
  friend class FusionBuilder;

  void run_units(std::span<void* const> addresses, int64_t begin, int64_t end) const;

  FusionLoop loop_;
  std::vector<ops::PointwiseParams> params_;                // what actions point at
  std::vector<std::unique_ptr<GeneratedSteps>> generated_;  // the same
  const bool generates_;
  std::vector<FusionAction> first_;    // once, before the first tile
  std::vector<FusionAction> actions_;  // for every tile
  size_t buffers_ = 0;                 // their slots come after those of tensors
  int64_t buffer_bytes_ = 0;
  int64_t grain_ = 1;  // tiles that a thread should get at least
};

}  // namespace mindtorch::cpu
