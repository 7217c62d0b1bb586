#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <string>
#include <vector>

#include "mindtorch/backends/cpu/capability.h"
#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"
#include "mindtorch/backends/cpu/tiles/norm.h"
#include "mindtorch/backends/cpu/tiles/scalar_operand.h"
#include "mindtorch/backends/cpu/tiles/short_lines.h"
#include "mindtorch/backends/cpu/tiles/table.h"

namespace mindtorch::cpu {

// The instruction sets that are compiled in and that this machine can and may run.
inline std::vector<int64_t> runnable_targets() {
  const int64_t runnable = allowed_targets() | HWY_STATIC_TARGET;
  std::vector<int64_t> targets;
  for (const int64_t target : {HWY_SCALAR, HWY_AVX2, HWY_AVX3, HWY_NEON}) {
    if ((HWY_TARGETS & runnable & target) != 0) targets.push_back(target);
  }
  return targets;
}

// Runs `body` with the kernels of every one of them that are not chosen once and for all.
template <typename Body>
void on_every_target(const Body& body) {
  for (const int64_t target : runnable_targets()) {
    hwy::GetChosenTarget().Update(target);
    SCOPED_TRACE(hwy::TargetName(target));
    body();
  }
  hwy::GetChosenTarget().Update(allowed_targets());
}

// The tiles of every one of them.
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
    for (const int64_t target : runnable_targets()) {
      hwy::GetChosenTarget().Update(target);
      result.push_back({hwy::TargetName(target), build_tables(), build_scalar_operand_table(),
                        build_lines_table(), build_half_table(), build_norm_table()});
    }
    hwy::GetChosenTarget().Update(allowed_targets());
    return result;
  }();
  return targets;
}

}  // namespace mindtorch::cpu
