#include "mindtorch/backends/cpu/product_grid.h"

#include <algorithm>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {

ProductGrid choose_grid(int64_t m, int64_t n, int64_t k, const GridLimits& limits) {
  const int64_t work = m * n * k;
  if (work < 2 * limits.work || in_parallel_region()) return {};
  const int64_t threads = std::min<int64_t>(num_threads(), work / limits.work);
  ProductGrid best;
  double least = 0;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const int64_t cols = threads / rows;
    if (rows > 1 && m / rows < limits.block) break;
    const int64_t fitting = std::clamp<int64_t>(n / limits.block, 1, cols);
    // Time of the slowest block, and the reading of its two panels.
    const auto height = static_cast<double>(ceil_div(m, rows));
    const auto width = static_cast<double>(ceil_div(n, fitting));
    const double cost = height * width + 16 * (height + width);
    if (least == 0 || cost < least) {
      least = cost;
      best = {rows, fitting, 1};
    }
  }
  const int64_t idle = threads / (best.rows * best.cols);
  if (idle > 1 && k >= 2 * limits.terms) best.terms = std::min(idle, k / limits.terms);
  return best;
}

}  // namespace mindtorch::cpu
