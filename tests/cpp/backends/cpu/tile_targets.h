#pragma once

#include <hwy/targets.h>

#include <string>
#include <vector>

#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"
#include "mindtorch/backends/cpu/tiles/norm.h"
#include "mindtorch/backends/cpu/tiles/scalar_operand.h"
#include "mindtorch/backends/cpu/tiles/short_lines.h"
#include "mindtorch/backends/cpu/tiles/table.h"

namespace mindtorch::cpu {

// The instruction sets that are compiled in and that this machine can run.
inline std::vector<int64_t> runnable_targets() {
  hwy::SetSupportedTargetsForTest(0);
  const int64_t runnable = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  std::vector<int64_t> targets;
  for (const int64_t target : {HWY_SCALAR, HWY_AVX2, HWY_AVX3, HWY_NEON}) {
    if ((HWY_TARGETS & runnable & target) != 0) targets.push_back(target);
  }
  return targets;
}

// The tiles of every instruction set that is compiled in and that this machine can run.
struct TargetTable {
  std::string name;
  TileTable table;
  ScalarOperandTable scalar_operands;
  LinesTable lines;
  HalfTable halves;
  NormTable norms;
};

inline const std::vector<TargetTable>& all_targets() {
  static const std::vector<TargetTable> targets = [] {
    std::vector<TargetTable> result;
    const std::vector<int64_t> runnable = runnable_targets();
    const int64_t supported = hwy::SupportedTargets();
    for (const int64_t target : runnable) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(target);
      result.push_back({hwy::TargetName(target), build_tables(), build_scalar_operand_table(),
                        build_lines_table(), build_half_table(), build_norm_table()});
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(supported);
    return result;
  }();
  return targets;
}

}  // namespace mindtorch::cpu
