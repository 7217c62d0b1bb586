#include "mindtorch/backends/cpu/product/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "tests/cpp/backends/cpu/test_matrix.h"

namespace mindtorch::cpu::product {
namespace {

constexpr int64_t kRows = 14;

// Multiplications of the thread that has most to do.
int64_t largest_share(const Size& size, const Traits& traits, const Plan& plan) {
  const int64_t rows = ceil_div(size.m, plan.row_pieces);
  const int64_t panels = ceil_div(ceil_div(size.n, traits.panel), plan.col_pieces);
  const int64_t columns = std::min(panels * traits.panel, size.n);
  const int64_t terms = std::min(plan.part_blocks * plan.depth, size.k);
  const int64_t units = size.batch * plan.tiles() * plan.parts;
  return rows * columns * terms * ceil_div(units, plan.threads);
}

TEST(Plans, SixteenThreadsShareThinAndSmallResults) {
  const Threads scope(16);
  const Size sizes[] = {
      {1, 64, 64, 4096},  {1, 4096, 64, 64},     {1, 2048, 2048, 16}, {1, 8, 1024, 1024},
      {1, 256, 256, 256}, {1, 1024, 1024, 1024}, {64, 64, 64, 64},    {16, 128, 128, 64},
      {8, 256, 256, 256}, {1, 16, 2048, 2048},   {1, 2048, 16, 2048}, {1, 32, 32, 32768},
  };
  for (const Size& size : sizes) {
    for (const int64_t element_size : {4, 8}) {
      for (const bool packs_b : {false, true}) {
        SCOPED_TRACE(testing::Message() << size.batch << " x " << size.m << " x " << size.k << " x "
                                        << size.n << ", " << element_size << " bytes");
        const Traits traits = {kRows, 128 / element_size, element_size, false, packs_b, false};
        const Plan plan = make_plan(size, traits);
        EXPECT_EQ(plan.threads, 16);
        const int64_t all = size.batch * size.m * size.n * size.k;
        EXPECT_LE(largest_share(size, traits, plan), all / 16 * 3 / 2);
      }
    }
  }
}

TEST(Plans, BlocksOfTermsDoNotDependOnTheNumberOfThreads) {
  for (const Size size : {Size{1, 64, 64, 4096}, Size{1, 8, 1024, 1024}, Size{4, 100, 90, 700}}) {
    const Traits traits = {kRows, 16, 8, false, false, false};
    const auto plan_of = [&](int threads) {
      const Threads scope(threads);
      return make_plan(size, traits);
    };
    const Plan one = plan_of(1);
    for (const int threads : {2, 5, 16}) {
      const Plan other = plan_of(threads);
      EXPECT_EQ(one.depth, other.depth);
      EXPECT_EQ(one.part_blocks, other.part_blocks);
      EXPECT_EQ(one.parts, other.parts);
    }
  }
}

}  // namespace
}  // namespace mindtorch::cpu::product
