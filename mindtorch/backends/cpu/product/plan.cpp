#include "mindtorch/backends/cpu/product/plan.h"

#include <algorithm>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu::product {
namespace {

// Multiplications of float that are worth a thread: some 3 microseconds.
constexpr int64_t kThreadWork = int64_t{1} << 18;
// Below so many shares of a thread, waking threads takes longer than it saves.
constexpr int64_t kLeastShares = 4;
// Bytes of packed b that stay in the second cache, and of a row of a in the first.
constexpr int64_t kBlockBytes = int64_t{768} << 10;
constexpr int64_t kRowBytes = 1536;
// Terms of a block where b is read as it lies and is far: what is brought near beside them is still
// there when it is needed.
constexpr int64_t kFarTerms = 128;
// Elements of c so few that its blocks may not be enough for all threads, and terms of a part.
constexpr int64_t kSmallC = int64_t{1} << 13;
constexpr int64_t kPartTerms = 1024;
constexpr int64_t kDepthUnit = 8;
// Rows of a block whose sums are kept beside c.
constexpr int64_t kKeptRows = 256;
// From this much work for each thread on there are more units than threads, so that a core that is
// disturbed does not hold up the others.
constexpr int64_t kManyUnitsWork = int64_t{1} << 24;

// Multiplications that take as long as copying one element of a, packing one of b, reading one that
// another thread has packed, and adding the sum of a part, which lies in another core's cache.
constexpr int64_t kCopyCost = 6;
constexpr int64_t kTransposeCost = 12;
constexpr int64_t kSharedCost = 16;
constexpr int64_t kPartCost = 64;
constexpr int64_t kUnitCost = 4096;

// Finds the division with the least time of the busiest thread.
class Search {
 public:
  Search(const Size& size, const Traits& traits, const Plan& start)
      : size_(size),
        traits_(traits),
        best_(start),
        panels_(ceil_div(size.n, traits.panel)),
        pack_cost_(!traits.packs_b       ? kSharedCost
                   : traits.transposes_b ? kTransposeCost
                                         : kCopyCost) {}

  void consider(int64_t row_pieces, int64_t col_pieces) {
    consider(row_pieces, col_pieces, false);
    if (row_pieces > 1 && traits_.packs_b) consider(row_pieces, col_pieces, true);
  }

  void consider(int64_t row_pieces, int64_t col_pieces, bool shared) {
    Plan plan = best_;
    plan.row_pieces = row_pieces;
    plan.col_pieces = col_pieces;
    plan.shares_panels = shared;
    const int64_t rows = ceil_div(size_.m, row_pieces);
    const int64_t columns = std::min(ceil_div(panels_, col_pieces) * traits_.panel, size_.n);
    const int64_t terms = plan.parts > 1 ? plan.part_blocks * plan.depth : size_.k;
    const int64_t units = size_.batch * plan.tiles() * plan.parts;
    int64_t cost = terms * (rows * columns + kCopyCost * rows +
                            (shared ? kSharedCost : pack_cost_) * columns) +
                   kUnitCost;
    cost *= ceil_div(units, plan.threads);
    if (shared) cost += size_.batch * size_.k * size_.n * pack_cost_ / plan.threads;
    cost += kPartCost * (plan.parts - 1) * rows * columns * ceil_div(plan.tiles(), plan.threads);
    if (least_ != 0 && cost >= least_) return;
    least_ = cost;
    best_ = plan;
  }

  // Divisions into about `units`.
  void consider_units(int64_t units, int64_t least_rows, int64_t least_cols) {
    const int64_t tiles = ceil_div(units, size_.batch * best_.parts);
    const int64_t most_rows = std::max(ceil_div(size_.m, traits_.rows), least_rows);
    for (int64_t rows = least_rows; rows <= std::min(std::max(tiles, least_rows), most_rows);
         ++rows) {
      const int64_t cols = std::clamp(ceil_div(tiles, rows), least_cols, panels_);
      consider(rows, cols);
      if (cols > least_cols) consider(rows, cols - 1);
    }
  }

  const Plan& best() const { return best_; }

 private:
  const Size& size_;
  const Traits& traits_;
  Plan best_;
  int64_t panels_;
  int64_t pack_cost_;
  int64_t least_ = 0;
};

}  // namespace

Plan make_plan(const Size& size, const Traits& traits) {
  Plan plan;
  const bool has_parts = size.batch == 1 && size.m * size.n <= kSmallC && size.k >= 2 * kPartTerms;
  const int64_t row_bytes = has_parts ? kShortRowBytes : kRowBytes;
  int64_t most = row_bytes / traits.element_size;
  const bool is_far = size.k * size.n * traits.element_size >= kFarBytes;
  if (is_far && !traits.packs_b && size.m <= 2 * traits.rows) most = std::min(most, kFarTerms);
  plan.blocks = ceil_div(size.k, most);
  plan.depth = ceil_div(ceil_div(size.k, plan.blocks), kDepthUnit) * kDepthUnit;
  plan.blocks = ceil_div(size.k, plan.depth);
  plan.part_blocks = has_parts ? ceil_div(kPartTerms, plan.depth) : plan.blocks;
  plan.parts = ceil_div(plan.blocks, plan.part_blocks);

  const int64_t panels = ceil_div(size.n, traits.panel);
  const int64_t most_panels =
      std::max<int64_t>(kBlockBytes / (plan.depth * traits.panel * traits.element_size), 1);
  const int64_t least_cols = ceil_div(panels, most_panels);
  const int64_t least_rows = traits.keeps_sums ? ceil_div(size.m, kKeptRows) : 1;
  plan.row_pieces = least_rows;
  plan.col_pieces = least_cols;

  const int64_t work = size.batch * size.m * size.n * size.k * (traits.element_size / 4);
  if (work < kLeastShares * kThreadWork || in_parallel_region()) return plan;
  plan.threads = std::min<int64_t>(num_threads(), work / kThreadWork);
  if (plan.threads == 1) return plan;

  Search search(size, traits, plan);
  const int64_t share = work / plan.threads;
  const int64_t waves = share < kManyUnitsWork ? 1 : share < 8 * kManyUnitsWork ? 2 : 4;
  search.consider_units(waves * plan.threads, least_rows, least_cols);
  if (waves > 1 || plan.parts > 1) {
    search.consider_units((waves + 1) * plan.threads, least_rows, least_cols);
  }
  plan = search.best();
  plan.threads = std::min(plan.threads, size.batch * plan.tiles() * plan.parts);
  return plan;
}

}  // namespace mindtorch::cpu::product
