#pragma once

#include <algorithm>
#include <cstdint>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu::linalg {

// How the columns of a matrix are divided among threads. Sums are not divided, so that the pieces
// may depend on the number of threads.
struct Pieces {
  int64_t columns;
  double work;               // multiplications for a column
  bool is_uneven = false;    // columns take ever more work, or ever less
  int64_t most = INT64_MAX;  // columns in a piece

  // body(first, count) for all pieces.
  template <typename Body>
  void run(const Body& body) const {
    constexpr double kGrain = 1 << 16;  // what pays for a thread
    constexpr int64_t kUnit = 8;        // a product with fewer columns is hardly faster
    const double threads = in_parallel_region() ? 1 : num_threads();
    const auto wanted =
        static_cast<int64_t>(std::min(threads, static_cast<double>(columns) * work / kGrain));
    const int64_t parts = std::max<int64_t>(wanted, 1) * (is_uneven && wanted > 1 ? 2 : 1);
    const int64_t length = std::min(most, ceil_div(ceil_div(columns, parts), kUnit) * kUnit);
    const int64_t count = columns <= 0 ? 0 : ceil_div(columns, length);
    const int64_t grain = ceil_div(count, std::max<int64_t>(wanted, 1));
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        // A thread gets pieces from both ends.
        const int64_t piece = !is_uneven ? i : i % 2 == 0 ? i / 2 : count - 1 - i / 2;
        const int64_t first = piece * length;
        body(first, std::min(length, columns - first));
      }
    });
  }
};

}  // namespace mindtorch::cpu::linalg
