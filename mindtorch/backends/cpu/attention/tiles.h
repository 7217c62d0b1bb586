#pragma once

#include <cstdint>

// The inner loops of attention, for float and double, chosen for this machine's instruction set.
namespace mindtorch::cpu::attention {

// c = a @ b, or c += a @ b.
template <typename T>
struct Product {
  int64_t rows;
  int64_t columns;  // a multiple of Tiles::lanes
  int64_t terms;
  // a(i, k) = a[i * a_row + k * a_term]
  const T* a;
  int64_t a_row;
  int64_t a_term;
  // By panels of Tiles::panel_columns columns, the last of which may be narrower:
  // b(k, j) = b[j / panel_columns * b_panel + k * b_term + j % panel_columns]
  const T* b;
  int64_t b_term;
  int64_t b_panel;
  // c(i, j) = c[i * c_row + j]
  T* c;
  int64_t c_row;
  bool add;
};

template <typename T>
struct Tiles {
  int64_t lanes;  // widths of rows are multiples of it
  int64_t panel_columns;

  void (*multiply)(const Product<T>& product);

  // The next `width` scores of each row become exponentials, relative to the largest score so far.
  // What earlier scores gave, the sum of their exponentials and the row of `result`, is brought to
  // the same scale. A row that has seen no finite score has the largest score -infinity.
  void (*soften)(
      T* scores, int64_t rows, int64_t width, T* largest, T* sums, T* result, int64_t result_width);

  // Scores become weights, exp(score - logsumexp), and gradients of weights those of scores:
  // weight * (gradient - dot), where `dots` holds the sum of weight * gradient of each whole row.
  void (*differentiate)(
      T* scores, T* gradients, int64_t rows, int64_t width, const T* logsumexp, const T* dots);
};

template <typename T>
Tiles<T> tiles();

}  // namespace mindtorch::cpu::attention
