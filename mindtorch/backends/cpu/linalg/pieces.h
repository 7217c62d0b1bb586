#pragma once

#include <algorithm>
#include <cstdint>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu::linalg {

// How the columns of a matrix are divided among threads: into pieces of one size for any number of
// them, as products with other numbers of columns may round differently.
struct Pieces {
  int64_t columns;
  double work;             // multiplications for a column
  bool is_uneven = false;  // columns take ever more work, or ever less

  // body(first, count) for all pieces.
  template <typename Body>
  void run(const Body& body) const {
    constexpr double kGrain = 1 << 16;  // what pays for a thread
    constexpr int64_t kMany = 512;
    const int64_t length = columns < kMany ? 16 : 32;
    const int64_t count = ceil_div(std::max<int64_t>(columns, 0), length);
    const auto grain = static_cast<int64_t>(kGrain / (work * static_cast<double>(length) + 1)) + 1;
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
