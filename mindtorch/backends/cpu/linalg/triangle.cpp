#include "mindtorch/backends/cpu/linalg/triangle.h"

#include <algorithm>

#include "mindtorch/backends/cpu/linalg/triangle_kernels.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product/tiles.h"

namespace mindtorch::cpu::linalg {
namespace {

// Rows of a panel that stay in the second cache, beside the triangle; larger triangles are halved.
constexpr int64_t kMostRows = 512;
constexpr int64_t kMostWidth = 32;
// Rows of a panel in the first cache, and on the stack.
constexpr int64_t kFewRows = 64;

}  // namespace

template <typename T>
int64_t panel_columns() {
  return 2 * triangle_kernels<T>().lanes;
}

template <typename T>
int64_t padded_width(int64_t columns) {
  const int64_t lanes = triangle_kernels<T>().lanes;
  return columns <= lanes ? lanes : 2 * lanes;
}

template <typename T>
int64_t divided_columns(int64_t columns) {
  const int64_t whole = panel_columns<T>();
  const int64_t threads = in_parallel_region() ? 1 : num_threads();
  return ceil_div(columns, whole) < threads ? padded_width<T>(1) : whole;
}

template <typename T>
void pack_columns(const T* b, int64_t ld, int64_t n, int64_t columns, T* panel, int64_t width) {
  product::packing<T>().pack_panel({b, 1, ld}, n, columns, width, panel);
}

template <typename T>
void unpack_columns(const T* panel, int64_t width, int64_t n, T* const* columns, int64_t count) {
  triangle_kernels<T>().unpack(panel, width, n, columns, count);
}

template <typename T>
TriangularSolver<T>::TriangularSolver(int64_t n, ConstMatrix a, bool is_lower, bool has_ones)
    : n_(n), a_(a), is_lower_(is_lower) {
  if (has_ones) return;
  inverses_.allocate(n);
  const auto* const data = static_cast<const T*>(a.data);
  const int64_t step = a.row_stride + a.col_stride;
  // In the order in which rows are solved.
  for (int64_t i = 0; i < n; ++i) {
    inverses_.get()[i] = T(1) / data[(is_lower ? i : n - 1 - i) * step];
  }
}

// Rows [first, first + count) of x, which begins with the first of them.
template <typename T>
void TriangularSolver<T>::solve_block(
    int64_t first, int64_t count, T* x, int64_t stride, int64_t width) const {
  const TriangleKernels<T>& kernels = triangle_kernels<T>();
  const auto* const a = static_cast<const T*>(a_.data) + first * (a_.row_stride + a_.col_stride);
  const int64_t vectors = width / kernels.lanes;
  const T* const inverses = inverses_.get();
  if (is_lower_) {
    kernels.solve(count, a, a_.row_stride, a_.col_stride,
                  inverses == nullptr ? nullptr : inverses + first, x, stride, vectors);
    return;
  }
  // From its last row on, an upper triangle is a lower one.
  const int64_t last = count - 1;
  kernels.solve(count, a + last * (a_.row_stride + a_.col_stride), -a_.row_stride, -a_.col_stride,
                inverses == nullptr ? nullptr : inverses + (n_ - first - count), x + last * stride,
                -stride, vectors);
}

template <typename T>
void TriangularSolver<T>::solve_panel(T* panel, int64_t width, int64_t first) const {
  solve_block(first, n_ - first, panel + first * width, width, width);
}

// Rows [first, first + count) of the triangle; b begins with the first of them.
template <typename T>
void TriangularSolver<T>::solve_rows(int64_t first,
                                     int64_t count,
                                     Matrix b,
                                     int64_t columns) const {
  if (count > kMostRows) {
    const int64_t head = ceil_div(count / 2, 64) * 64;
    const int64_t solved = is_lower_ ? 0 : head;  // what is solved first begins there
    const int64_t other = is_lower_ ? head : 0;
    const int64_t solved_rows = is_lower_ ? head : count - head;
    const int64_t other_rows = count - solved_rows;
    const Matrix done = offset<T>(b, solved, 0);
    const Matrix rest = offset<T>(b, other, 0);
    solve_rows(first + solved, solved_rows, done, columns);
    gemm(DTypeOf<T>::value, other_rows, columns, solved_rows,
         offset<T>(a_, first + other, first + solved), as_const(done), rest, {-1.0, -1},
         kOneFactor);
    solve_rows(first + other, other_rows, rest, columns);
    return;
  }
  const int64_t width = panel_columns<T>();
  alignas(64) T few[kFewRows * kMostWidth];
  Scratch<T> many;
  if (count > kFewRows) many.allocate(count * width);
  T* const panel = count > kFewRows ? many.get() : few;
  const bool has_rows = b.col_stride == 1;
  auto* const data = static_cast<T*>(b.data);
  for (int64_t j = 0; j < columns; j += width) {
    const int64_t some = std::min(width, columns - j);
    const int64_t padded = padded_width<T>(some);
    T* const own = data + j * b.col_stride;
    if (has_rows && some == padded) {  // they are a panel
      solve_block(first, count, own, b.row_stride, padded);
      continue;
    }
    product::packing<T>().pack_panel({own, b.row_stride, b.col_stride}, count, some, padded, panel);
    solve_block(first, count, panel, padded, padded);
    if (b.row_stride == 1) {
      T* to[kMostWidth];
      for (int64_t k = 0; k < some; ++k) to[k] = own + k * b.col_stride;
      unpack_columns<T>(panel, padded, count, to, some);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < some; ++k) {
        own[i * b.row_stride + k * b.col_stride] = panel[i * padded + k];
      }
    }
  }
}

template <typename T>
void TriangularSolver<T>::solve(Matrix b, int64_t columns) const {
  if (n_ > 0) solve_rows(0, n_, b, columns);
}

template <typename T>
void solve_columns(const TriangularSolver<T>& triangle, Matrix b, int64_t columns) {
  constexpr int64_t kGrain = int64_t{1} << 17;  // multiplications that are worth a thread
  // Large triangles are read once for several panels.
  const bool is_large = triangle.size() > kMostRows;
  const int64_t unit = is_large ? 2 * panel_columns<T>() : divided_columns<T>(columns);
  const int64_t work = triangle.size() * triangle.size() / 2 * unit + 1;
  parallel_for(0, ceil_div(columns, unit), ceil_div(kGrain, work), [&](int64_t begin, int64_t end) {
    const int64_t last = std::min(end * unit, columns);
    if (!is_large) {
      triangle.solve(offset<T>(b, 0, begin * unit), last - begin * unit);
      return;
    }
    for (int64_t j = begin * unit; j < last; j += unit) {
      triangle.solve(offset<T>(b, 0, j), std::min(unit, last - j));
    }
  });
}

#define MT_INSTANTIATE(T)                                                       \
  template class TriangularSolver<T>;                                           \
  template int64_t panel_columns<T>();                                          \
  template int64_t padded_width<T>(int64_t);                                    \
  template int64_t divided_columns<T>(int64_t);                                 \
  template void solve_columns(const TriangularSolver<T>&, Matrix, int64_t);     \
  template void pack_columns(const T*, int64_t, int64_t, int64_t, T*, int64_t); \
  template void unpack_columns(const T*, int64_t, int64_t, T* const*, int64_t);
MT_INSTANTIATE(float)
MT_INSTANTIATE(double)
#undef MT_INSTANTIATE

}  // namespace mindtorch::cpu::linalg
