#include "mindtorch/backends/cpu/fusion.h"

#include <algorithm>
#include <atomic>
#include <mutex>

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

// Tiles at first. What runs a second time will run often: then code is made.
class TieredProgram final : public ops::FusedProgram {
 public:
  explicit TieredProgram(const ops::FusedGroup& group)
      : group_(group), tiles_(make(group, false)) {}

  void run(ops::Launch& launch, std::span<void* const> addresses) const override {
    const ops::FusedProgram* program = chosen_.load(std::memory_order_acquire);
    if (MT_UNLIKELY(program == nullptr)) program = choose();
    program->run(launch, addresses);
  }

 private:
  const ops::FusedProgram* choose() const {
    const std::lock_guard lock(mutex_);
    if (code_ == nullptr) {
      if (++runs_ == 1) return tiles_.get();
      code_ = make(group_, true);
      chosen_.store(code_.get(), std::memory_order_release);
    }
    return code_.get();
  }

  const ops::FusedGroup group_;
  const std::unique_ptr<ops::FusedProgram> tiles_;
  mutable std::mutex mutex_;
  mutable int runs_ = 0;
  mutable std::unique_ptr<ops::FusedProgram> code_;
  mutable std::atomic<const ops::FusedProgram*> chosen_{nullptr};
};

std::unique_ptr<ops::FusedProgram> prepare(const ops::FusedGroup& group) {
  if (jit::available()) return std::make_unique<TieredProgram>(group);
  return make(group, false);
}

bool has_row(ops::RowFunction function, DType compute) {
  if (function == ops::RowFunction::kMean && !is_floating_point(compute)) return false;
  return find_row(row_kernel(function), compute) != nullptr;
}

}  // namespace

ops::FusionEngine fusion_engine() {
  return {.prepare = &prepare,
          .max_steps = 256,
          .max_inputs = 16,
          .max_stores = 24,
          .min_row = kMinRow,
          .max_row = kMaxRow,
          .has_row = &has_row};
}

}  // namespace mindtorch::cpu
