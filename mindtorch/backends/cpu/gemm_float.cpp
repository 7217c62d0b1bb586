#include <algorithm>
#include <string_view>

#include "mindtorch/backends/cpu/blas_operand.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product_grid.h"

namespace mindtorch::cpu {
namespace {

// A thread should have about 5 microseconds to do. Blocks of c no smaller than these keep
// OpenBLAS's kernels busy.
constexpr GridLimits kGridLimits = {int64_t{1} << 18, 48, 512};
constexpr int64_t kGridUnit = 16;
constexpr int64_t kNarrow = 96;
constexpr int64_t kCachedElements = int64_t{1} << 16;
constexpr int64_t kUncachedElements = int64_t{1} << 23;

// Note [Tiny products]
// On AVX-512 machines OpenBLAS has kernels for tiny products that pack nothing. They are a tenth
// faster than the others as long as the rows of b they read stay in the caches. So a product with a
// small b is given to it by as many rows as count as tiny, and a larger one by panels of b as well,
// which are copied to lie close together. The copying also turns columns of b into rows, which
// those kernels want.
constexpr int64_t kTinyProduct = 1000000;
constexpr int64_t kTinyThinC = 1200;
constexpr int64_t kPanelCols = 64;
constexpr int64_t kPanelTerms = 768;
constexpr int64_t kMostPanelWork = int64_t{1} << 31;  // beyond, packing pays for itself

bool has_tiny_kernels() {
  static const bool has = [] {
    const std::string_view core = scipy_openblas_get_corename();
    return core == "SkylakeX" || core == "Cooperlake" || core == "SapphireRapids";
  }();
  return has;
}

// The length of pieces of at most `most` that divide `size` evenly, in multiples of `unit`.
int64_t even_piece(int64_t size, int64_t most, int64_t unit) {
  const int64_t pieces = ceil_div(size, std::max(most / unit * unit, unit));
  return ceil_div(ceil_div(size, pieces), unit) * unit;
}

// A few rows against columns of b: its columns are read once, so they need not be made into rows.
// OpenBLAS's kernel for that takes products with a small c only.
bool is_thin(bool b_trans, int64_t m, int64_t k) {
  return has_tiny_kernels() && b_trans && m < 16 && k >= 32 && 16 * m * k <= kTinyProduct;
}

// Whether calls by rows are tiny, with enough rows each.
bool has_tiny_rows(int64_t b_size) { return has_tiny_kernels() && 16 * b_size <= kTinyProduct; }

template <typename T>
struct Product {
  int64_t m;
  int64_t n;
  int64_t k;
  Operand<T> a;
  Operand<T> b;
  T* c;
  int64_t ldc;
  T alpha;
};

// The rows, columns and terms of a product that one call computes.
struct Block {
  int64_t row, rows;
  int64_t col, cols;
  int64_t term, terms;
};

template <typename T>
void multiply_as_it_lies(const Product<T>& p, const Block& block, T* c, int64_t ldc, T beta) {
  const int64_t b_size = block.cols * block.terms;
  int64_t most_rows = kLargestSize;
  int64_t most_cols = kLargestSize;
  if (is_thin(p.b.trans, block.rows, block.terms)) {
    most_cols =
        even_piece(block.cols, std::min(kTinyThinC, kTinyProduct / block.terms) / block.rows, 16);
  } else if (has_tiny_rows(b_size)) {
    most_rows = even_piece(block.rows, kTinyProduct / b_size, 4);
  }
  // OpenBLAS 0.3.34's dgemm for AVX2 overruns a buffer on its stack from 300 terms on.
  const int64_t most_terms = sizeof(T) == 8 && !has_tiny_kernels() ? 256 : kLargestSize;
  for (int64_t i = 0; i < block.rows; i += most_rows) {
    for (int64_t j = 0; j < block.cols; j += most_cols) {
      for (int64_t l = 0; l < block.terms; l += most_terms) {
        blas_gemm(p.a.order(), p.b.order(), static_cast<int>(std::min(block.rows - i, most_rows)),
                  static_cast<int>(std::min(block.cols - j, most_cols)),
                  static_cast<int>(std::min(block.terms - l, most_terms)), p.alpha,
                  p.a.at(block.row + i, block.term + l), static_cast<int>(p.a.ld),
                  p.b.at(block.term + l, block.col + j), static_cast<int>(p.b.ld),
                  l == 0 ? beta : T{1}, c + i * ldc + j, static_cast<int>(ldc));
      }
    }
  }
}

template <typename T>
void multiply_by_panels(const Product<T>& p, const Block& block, T* c, int64_t ldc, T beta) {
  const int64_t most_cols = even_piece(block.cols, kPanelCols, 16);
  const int64_t most_terms = even_piece(block.terms, kPanelTerms, 4);
  const int64_t most_rows = even_piece(block.rows, kTinyProduct / (most_cols * most_terms), 4);
  const Scratch<T> panel(most_cols * most_terms);
  for (int64_t j = 0; j < block.cols; j += most_cols) {
    const int64_t cols = std::min(most_cols, block.cols - j);
    for (int64_t l = 0; l < block.terms; l += most_terms) {
      const int64_t terms = std::min(most_terms, block.terms - l);
      const ConstMatrix b = {p.b.at(block.term + l, block.col + j), p.b.trans ? 1 : p.b.ld,
                             p.b.trans ? p.b.ld : 1};
      copy_matrix<T>(terms, cols, b, {panel.get(), cols, 1});
      for (int64_t i = 0; i < block.rows; i += most_rows) {
        blas_gemm(p.a.order(), kNoTrans, static_cast<int>(std::min(most_rows, block.rows - i)),
                  static_cast<int>(cols), static_cast<int>(terms), p.alpha,
                  p.a.at(block.row + i, block.term + l), static_cast<int>(p.a.ld), panel.get(),
                  static_cast<int>(cols), l == 0 ? beta : T{1}, c + i * ldc + j,
                  static_cast<int>(ldc));
      }
    }
  }
}

template <typename T>
void multiply(const Product<T>& p, const Block& block, T* c, int64_t ldc, T beta) {
  // Columns of a long a lie too far apart to be read a few rows at a time.
  const bool reads_rows = !p.a.trans || block.rows <= 512;
  const bool by_panels = has_tiny_kernels() && reads_rows && block.rows >= 16 && block.cols >= 16 &&
                         block.rows <= kLargestSize &&
                         (p.b.trans || !has_tiny_rows(block.cols * block.terms));
  const int64_t work = block.rows * block.cols * block.terms;
  if (by_panels && work > kTinyProduct && work <= kMostPanelWork) {
    multiply_by_panels(p, block, c, ldc, beta);
  } else {
    multiply_as_it_lies(p, block, c, ldc, beta);
  }
}

template <typename T>
void multiply_in_parallel(const Product<T>& p, const ProductGrid& grid, T beta) {
  const int64_t blocks = grid.rows * grid.cols;
  // Sums over the later terms are kept apart and added at the end.
  Scratch<T> partial;
  if (grid.terms > 1) partial.allocate((grid.terms - 1) * p.m * p.n);
  parallel_for(0, blocks * grid.terms, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t term = i / blocks;
      const int64_t row = i % blocks / grid.cols;
      const int64_t col = i % grid.cols;
      Block block = {};
      block.row = piece_begin(p.m, grid.rows, row, kGridUnit);
      block.rows = piece_begin(p.m, grid.rows, row + 1, kGridUnit) - block.row;
      block.col = piece_begin(p.n, grid.cols, col, kGridUnit);
      block.cols = piece_begin(p.n, grid.cols, col + 1, kGridUnit) - block.col;
      block.term = piece_begin(p.k, grid.terms, term, kGridUnit);
      block.terms = piece_begin(p.k, grid.terms, term + 1, kGridUnit) - block.term;
      if (term == 0) {
        multiply(p, block, p.c + block.row * p.ldc + block.col, p.ldc, beta);
      } else {
        T* c = partial.get() + (term - 1) * p.m * p.n;
        multiply(p, block, c + block.row * p.n + block.col, p.n, T{0});
      }
    }
  });
  for (int64_t term = 1; term < grid.terms; ++term) {
    const T* sum = partial.get() + (term - 1) * p.m * p.n;
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) p.c[i * p.ldc + j] += sum[i * p.n + j];
    }
  }
}

// c = alpha * x @ y + beta * c for a column x and a row y: bound by writing c, which OpenBLAS would
// first clear and then read again.
template <typename T>
void outer_product(const Product<T>& p, T beta) {
  Scratch<T> row;
  const T* y = p.b.data;
  if (p.b.trans && p.n > 1 && p.b.ld != 1) {
    row.allocate(p.n);
    copy_matrix<T>(1, p.n, {y, 1, p.b.ld}, {row.get(), 1, 1});
    y = row.get();
  }
  parallel_for(0, p.m, ceil_div(kVectorGrain, p.n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T factor = p.alpha * *p.a.at(i, 0);
      T* c = p.c + i * p.ldc;
      if (beta == 0) {
        for (int64_t j = 0; j < p.n; ++j) c[j] = factor * y[j];
      } else {
        for (int64_t j = 0; j < p.n; ++j) c[j] = factor * y[j] + beta * c[j];
      }
    }
  });
}

// Whether m products with a vector are faster than one with a matrix. Up to 8 are, when b has to
// come from main memory anyway.
bool takes_few_rows(int64_t m, int64_t b_size) {
  return b_size <= kLargestSize && (m <= 3 || (m <= 8 && b_size >= kUncachedElements));
}

// A few rows of a: as many products of a vector with b, by blocks of b that stay in a cache.
template <typename T>
void multiply_few_rows(const Product<T>& p, T beta) {
  for (int64_t i = 0; i < p.m; ++i) {
    T* c = p.c + i * p.ldc;
    for (int64_t j = 0; j < p.n && beta != 1; ++j) c[j] = beta == 0 ? 0 : beta * c[j];
  }
  const int64_t step = p.a.trans ? p.a.ld : 1;
  const int64_t width = p.b.trans ? ceil_div(kCachedElements, p.k) : p.n;
  const int64_t depth = p.b.trans ? p.k : ceil_div(kCachedElements, p.n);
  parallel_for(0, p.n, ceil_div(kVectorGrain, p.k), [&](int64_t begin, int64_t end) {
    for (int64_t col = begin; col < end; col += width) {
      const auto cols = static_cast<int>(std::min(width, end - col));
      for (int64_t term = 0; term < p.k; term += depth) {
        const auto terms = static_cast<int>(std::min(depth, p.k - term));
        for (int64_t i = 0; i < p.m; ++i) {
          blas_gemv(p.b.trans ? kNoTrans : kTrans, p.b.trans ? cols : terms,
                    p.b.trans ? terms : cols, p.alpha, p.b.at(term, col), static_cast<int>(p.b.ld),
                    p.a.at(i, term), static_cast<int>(step), p.c + i * p.ldc + col, 1);
        }
      }
    }
  });
}

}  // namespace

template <typename T>
void gemm_float(
    int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c, T alpha, T beta) {
  const Matrix c_transposed = transposed(c);
  const bool has_rows = has_contiguous_rows(m, n, c.row_stride, c.col_stride);
  if (!has_rows && has_contiguous_rows(n, m, c.col_stride, c.row_stride)) {
    return gemm_float(n, m, k, transposed(b), transposed(a), c_transposed, alpha, beta);
  }
  Scratch<T> packed_a;
  Scratch<T> packed_b;
  Scratch<T> rows_of_b;
  Product<T> product = {m,
                        n,
                        k,
                        as_operand(m, k, a, packed_a),
                        as_operand(k, n, b, packed_b),
                        static_cast<T*>(c.data),
                        leading_dimension(m, n, c.row_stride),
                        alpha};

  const bool is_tiny = m * n * k <= kTinyProduct && has_tiny_kernels();
  // OpenBLAS is slow at a wide c from columns of b, and fast at the transposed product.
  const bool is_wide = product.b.trans && !product.a.trans && !is_tiny && !is_thin(true, m, k) &&
                       m <= kNarrow && n >= 2 * m && n * k >= kVectorGrain &&
                       !takes_few_rows(m, n * k);
  if (!has_rows || is_wide) {
    const Scratch<T> result(m * n);
    const ConstMatrix before = {c.data, c.col_stride, c.row_stride};
    const Matrix rows = {result.get(), m, 1};
    if (beta != 0) copy_matrix<T>(n, m, before, rows);
    gemm_float(n, m, k, transposed(b), transposed(a), rows, alpha, beta);
    copy_matrix<T>(n, m, {rows.data, m, 1}, c_transposed);
    return;
  }
  if (k == 1) return outer_product(product, beta);
  const bool thin = is_thin(product.b.trans, m, k);
  if (!thin && takes_few_rows(m, n * k)) return multiply_few_rows(product, beta);

  if (is_tiny && product.b.trans && m >= 16 && n >= 16) {  // Note [Tiny products]
    rows_of_b.allocate(k * n);
    copy_matrix<T>(k, n, {product.b.data, 1, product.b.ld}, {rows_of_b.get(), n, 1});
    product.b = {rows_of_b.get(), false, n};
  }
  const ProductGrid grid = choose_grid(m, n, k, kGridLimits);
  if (grid.blocks() == 1) {
    multiply(product, {0, m, 0, n, 0, k}, product.c, product.ldc, beta);
  } else {
    multiply_in_parallel(product, grid, beta);
  }
}

template void gemm_float(int64_t, int64_t, int64_t, ConstMatrix, ConstMatrix, Matrix, float, float);
template void gemm_float(
    int64_t, int64_t, int64_t, ConstMatrix, ConstMatrix, Matrix, double, double);

}  // namespace mindtorch::cpu
