#include "mindtorch/backends/cpu/fusion.h"

#include <algorithm>

#include "mindtorch/backends/cpu/fusion_builder.h"
#include "mindtorch/backends/cpu/fusion_rows.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kMinRow = 16;
constexpr int64_t kMaxRow = 16 * 1024;

void check(const ops::PointwiseCall& call) {
  const DType compute = fused_dtype(call.function, call.compute);
  MT_CHECK(find_tile(call.function, compute) != nullptr, NotImplementedError, "\"",
           info(call.function).name, "\" not implemented for '", legacy_name(call.compute), "'");
}

std::unique_ptr<ops::FusedProgram> prepare(const ops::FusedGroup& group) {
  const bool has_rows =
      std::any_of(group.steps.begin(), group.steps.end(), [](const ops::FusedStep& step) {
        return step.is_row || step.row != ops::RowFunction::kNone;
      });
  if (!has_rows) return std::make_unique<TiledProgram>(group, Rows::kNone);
  if (group.sizes.back() > kMaxRow && has_trailing_reductions(group)) {
    return std::make_unique<LongRowProgram>(group);
  }
  return std::make_unique<TiledProgram>(group, Rows::kWhole);
}

bool has_row(ops::RowFunction function, DType compute) {
  if (function == ops::RowFunction::kMean && !is_floating_point(compute)) return false;
  return find_row(row_kernel(function), compute) != nullptr;
}

}  // namespace

ops::FusionEngine fusion_engine() {
  return {.check = &check,
          .prepare = &prepare,
          .min_row = kMinRow,
          .max_row = kMaxRow,
          .has_row = &has_row};
}

}  // namespace mindtorch::cpu
