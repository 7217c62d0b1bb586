#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/tensor/float16.h"

// The inner loops of products, chosen for this machine's instruction set: Note [Products by tiles].
namespace mindtorch::cpu::product {

// In which type products of elements of type S are added up.
template <typename S>
struct SumOf {
  using type = float;
};
template <>
struct SumOf<double> {
  using type = double;
};

// c = alpha * a @ b + beta * addend, for one tile of c; without an addend, beta counts for nothing.
// The addend may be c. Of a, rows (a_term == 1) or columns (a_row == 1) are contiguous; b has as
// many columns as vectors hold, of which the first `columns` are stored.
template <typename T>
struct Tile {
  const T* a;
  int64_t a_row;
  int64_t a_term;
  const T* b;
  int64_t b_term;
  int64_t terms;
  T* c;
  int64_t c_row;
  int64_t columns;
  const T* addend;
  int64_t addend_row;
  T alpha;
  T beta;
};

inline constexpr int64_t kMostRows = 14;
inline constexpr int64_t kPanelVectors = 2;

template <typename T>
struct Tiles {
  using Multiply = void (*)(const Tile<T>& tile);
  int64_t lanes;
  int64_t rows;  // of a tile, at most
  // By vectors of b, less 1, and rows of a, less 1.
  Multiply by_rows[kPanelVectors][kMostRows];     // a_term == 1
  Multiply by_columns[kPanelVectors][kMostRows];  // a_row == 1

  int64_t panel_columns() const { return kPanelVectors * lanes; }
  // Columns with which the last `columns` of a matrix are padded.
  int64_t padded(int64_t columns) const { return columns <= lanes ? lanes : panel_columns(); }
};

template <typename T>  // float, double
const Tiles<T>& tiles();

// Copies of operands, from elements of type S to the type of their sums.
template <typename S>
struct Packing {
  using T = typename SumOf<S>::type;
  // panel[t * width + j] = b(t, j), and 0 for the columns beyond. `width` is one or two vectors.
  void (*pack_panel)(ConstMatrix b, int64_t terms, int64_t columns, int64_t width, T* panel);
  // packed[i * stride + t] = a(i, t) where columns of a are 1 apart.
  void (*pack_rows)(ConstMatrix a, int64_t rows, int64_t terms, T* packed, int64_t stride);
  // packed[t * stride + i] = a(i, t); a has `readable` rows, at least `rows`. The stride has room
  // for whole vectors.
  void (*pack_columns)(
      ConstMatrix a, int64_t rows, int64_t readable, int64_t terms, T* packed, int64_t stride);
};

template <typename S>  // float, double, Half, BFloat16
const Packing<S>& packing();

}  // namespace mindtorch::cpu::product
