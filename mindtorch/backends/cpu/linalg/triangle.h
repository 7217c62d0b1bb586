#pragma once

#include <algorithm>
#include <cstdint>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu::linalg {

// Note [Triangles]
// Right-hand sides are solved some at a time, as many as two vectors hold: a panel, whose rows are
// contiguous. A few rows of it are kept in registers while the rows that are solved are multiplied
// by the triangle and subtracted, and then solve each other. Each right-hand side is computed in
// the same order whatever is beside it, so that panels may be divided among threads in any way.

// Triangles of T, float or double, seen through the strides of `a`. What the other half holds does
// not matter; neither does the diagonal if it stands for ones.
template <typename T>
class TriangularSolver {
 public:
  TriangularSolver(int64_t n, ConstMatrix a, bool is_lower, bool has_ones);

  int64_t size() const { return n_; }

  // The right-hand sides in the `columns` columns of b become solutions, on the calling thread.
  void solve(Matrix b, int64_t columns) const;
  // The same for rows [first, size()) of a panel, whose rows lie `width` apart, one or two vectors.
  // Rows before `first` are zeros and stay so; `first` is 0 for an upper triangle.
  void solve_panel(T* panel, int64_t width, int64_t first = 0) const;

 private:
  void solve_rows(int64_t first, int64_t count, Matrix b, int64_t columns) const;
  void solve_block(int64_t first, int64_t count, T* x, int64_t stride, int64_t width) const;

  int64_t n_;
  ConstMatrix a_;
  bool is_lower_;
  Scratch<T> inverses_;  // of the diagonal, unless it is ones
};

// All columns, by all threads.
template <typename T>
void solve_columns(const TriangularSolver<T>& triangle, Matrix b, int64_t columns);

// Right-hand sides of a panel, and of its half.
template <typename T>
int64_t panel_columns();
template <typename T>
int64_t padded_width(int64_t columns);
// As many of `columns` as one thread takes at a time.
template <typename T>
int64_t divided_columns(int64_t columns);

// Columns of n numbers to a panel and back; columns that are not there are zeros.
template <typename T>
void pack_columns(const T* b, int64_t ld, int64_t n, int64_t columns, T* panel, int64_t width);
template <typename T>
void unpack_columns(const T* panel, int64_t width, int64_t n, T* const* columns, int64_t count);

// Panels of so many rows stay near while more than one thing is done to them.
inline constexpr int64_t kMostPanelRows = 512;
inline constexpr int64_t kMostPanelColumns = 32;

// body(first, count, panel, width) for all panels of `columns` right-hand sides of n rows, each of
// which takes `work` multiplications; divided among threads. Where these are more than panels, they
// get halves.
template <typename T, typename Body>
void for_panels(int64_t n, int64_t columns, double work, const Body& body) {
  constexpr double kGrain = 1 << 17;  // multiplications that are worth a thread
  const int64_t most = divided_columns<T>(columns);
  const auto grain = static_cast<int64_t>(kGrain / (work * static_cast<double>(most) + 1)) + 1;
  parallel_for(0, ceil_div(columns, most), grain, [&](int64_t begin, int64_t end) {
    const Scratch<T> panel(n * most);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t count = std::min(most, columns - i * most);
      body(i * most, count, panel.get(), padded_width<T>(count));
    }
  });
}

}  // namespace mindtorch::cpu::linalg
