#include "mindtorch/backends/cpu/fusion.h"

#include <algorithm>

#include "mindtorch/backends/cpu/fusion_builder.h"
#include "mindtorch/backends/cpu/fusion_rows.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kMinRow = 2;
constexpr int64_t kMaxRow = 16 * 1024;

std::unique_ptr<ops::FusedProgram> make(const ops::FusedGroup& group, bool generate) {
  const bool has_rows =
      std::any_of(group.steps.begin(), group.steps.end(), [](const ops::FusedStep& step) {
        return step.is_row || step.row != ops::RowFunction::kNone;
      });
  if (!has_rows) return std::make_unique<TiledProgram>(group, Rows::kNone, generate);
  if (group.sizes.back() > kMaxRow && has_trailing_reductions(group)) {
    return std::make_unique<LongRowProgram>(group, generate);
  }
  return std::make_unique<TiledProgram>(group, Rows::kWhole, generate);
}

class Engine final : public ops::FusionEngine {
 public:
  Engine()
      : FusionEngine({.max_steps = 256,
                      .max_inputs = 16,
                      .max_stores = 24,
                      .min_row = kMinRow,
                      .max_row = kMaxRow,
                      .compiles_later = true}) {}

  bool can_fuse(ops::Pointwise function, DType compute) const override {
    return find_tile(function, fused_dtype(function, compute)) != nullptr;
  }
  bool can_fuse(ops::RowFunction function, DType compute) const override {
    if (function == ops::RowFunction::kMean && !is_floating_point(compute)) return false;
    return find_row(row_kernel(function), compute) != nullptr;
  }
  // Tiles at first. What runs a second time will run often: then code is made.
  ops::Preparation prepare(const ops::FusedGroup& group,
                           const ops::FusedProgram* before) const override {
    if (!jit::available()) return ops::Preparation::ready(make(group, false));
    if (before == nullptr) return ops::Preparation::for_now(make(group, false));
    return ops::Preparation::ready(make(group, true));
  }
};

}  // namespace

const ops::FusionEngine& fusion_engine() {
  static const auto* const engine = new Engine;
  return *engine;
}

}  // namespace mindtorch::cpu
