#pragma once

#include <cstdint>

// The inner loops of convolution, for float and double, chosen for this machine's instruction set.
//
// Note [Rows by offset]
// They are products of matrices of which one is never written down: its row k begins at
// b + offsets[k], and rows may overlap. That is what a window moving over an image makes of it: the
// same image, shifted.
namespace mindtorch::cpu::convolution {

// Several pieces of rows, such as those of the images of a batch: piece p of row i of `a` is at
// a + p * a_piece + i * a_stride, that of row k of b at b + p * b_piece + offsets[k].
struct Pieces {
  int64_t count;
  int64_t length;
  int64_t a_piece;
  int64_t a_stride;
  int64_t b_piece;
};

template <typename T>
struct Tiles {
  // Rows of filters that multiply() computes together. They are packed by panels of this many rows,
  // the last panel by powers of 2: panel after panel, column by column.
  int64_t panel_rows;
  // Columns of a panel of multiply_panel(); a last panel may have half of them.
  int64_t panel_columns;

  // c[i * c_stride + j] = bias[i] + the sum over k of a(i, k) * b[offsets[k] + j], for `rows` rows
  // of the packed `a` and `n` columns. `bias` may be null. Nothing outside those n columns is read
  // or written. `by_columns`: the few columns of b in use stay in the cache rather than the panel
  // of a; better where b comes from main memory.
  void (*multiply)(const T* a,
                   int64_t rows,
                   const T* b,
                   const int64_t* offsets,
                   int64_t k,
                   int64_t n,
                   const T* bias,
                   T* c,
                   int64_t c_stride,
                   bool by_columns);

  // c(i, j) = the sum over t of x[rows[i] + terms[t]] * y(t, j), plus initial[j] or, where that is
  // null, plus what c holds. `y` and `c` are one panel of `columns` columns, row by row.
  void (*multiply_panel)(const T* x,
                         const int64_t* rows,
                         int64_t row_count,
                         const int64_t* terms,
                         int64_t term_count,
                         const T* y,
                         int64_t columns,
                         const T* initial,
                         T* c);

  // c[i * c_stride + k] += the sum over all pieces of a(i, j) * b(k, j).
  void (*add_dots)(const T* a,
                   int64_t rows,
                   const T* b,
                   const int64_t* offsets,
                   int64_t k,
                   const Pieces& pieces,
                   T* c,
                   int64_t c_stride);
};

template <typename T>
Tiles<T> tiles();

}  // namespace mindtorch::cpu::convolution
