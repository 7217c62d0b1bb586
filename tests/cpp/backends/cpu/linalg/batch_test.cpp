#include "mindtorch/backends/cpu/kernels/linalg_batch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "tests/cpp/backends/cpu/test_matrix.h"

namespace mindtorch::cpu {
namespace {

// Into how many ranges a batch is divided.
int64_t ranges_of(int64_t count, int64_t n) {
  std::atomic<int64_t> ranges = 0;
  std::atomic<int64_t> matrices = 0;
  for_matrices(count, cube(static_cast<double>(n)), [&](int64_t begin, int64_t end) {
    ++ranges;
    matrices += end - begin;
  });
  EXPECT_EQ(matrices, count);
  return ranges;
}

TEST(Batches, SmallMatricesAreDividedAmongThreads) {
  const Threads scope(16);
  EXPECT_EQ(ranges_of(64, 16), 16);
  EXPECT_EQ(ranges_of(16, 64), 16);
  EXPECT_EQ(ranges_of(1000, 4), 16);
  EXPECT_EQ(ranges_of(8, 4), 1);  // not worth a second thread
  EXPECT_EQ(ranges_of(0, 16), 0);
}

}  // namespace
}  // namespace mindtorch::cpu
