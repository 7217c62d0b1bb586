#include "mindtorch/backends/cpu/linalg/reflectors.h"

#include <algorithm>

#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/linalg/pieces.h"

namespace mindtorch::cpu::linalg {
namespace {

constexpr int64_t kB = kPanelColumns;
constexpr Factor kMinusOne = {-1.0, -1};

}  // namespace

template <typename T>
int64_t Reflectors<T>::blocks() const {
  return ceil_div(k_, kB);
}

template <typename T>
Reflectors<T>::Reflectors(int64_t m, int64_t k, ConstMatrix vectors, const T* tau)
    : m_(m), k_(k), vectors_(m * k), triangles_(ceil_div(k, kB) * kB * kB) {
  constexpr int64_t kGrain = 1 << 16;
  parallel_for(0, blocks(), ceil_div(kGrain, m * kB * kB + 1), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) read_block(block, vectors, tau);
  });
}

// Column j of T is tau[j] (-T V' v[j], 1), with those before it.
template <typename T>
void Reflectors<T>::read_block(int64_t block, ConstMatrix vectors, const T* tau) {
  const int64_t first = block * kB;
  const int64_t count = std::min(kB, k_ - first);
  T* const v = vectors_.get() + first * m_;
  copy_matrix<T>(m_ - first, count, offset<T>(vectors, first, first), {v + first, 1, m_});
  for (int64_t j = 0; j < count; ++j) {
    std::fill_n(v + j * m_, first + j, T{0});
    v[j * m_ + first + j] = T{1};
  }
  T products[kB * kB];
  const T* const inside = v + first;
  gemm(DTypeOf<T>::value, count, count, m_ - first, {inside, m_, 1}, {inside, 1, m_},
       {products, 1, kB});
  T* const t = triangles_.get() + block * kB * kB;
  std::fill_n(t, kB * kB, T{0});
  for (int64_t j = 0; j < count; ++j) {
    T* const column = t + j * kB;
    for (int64_t k = 0; k < j; ++k) {
      const T factor = -tau[first + j] * products[j * kB + k];
      for (int64_t i = 0; i <= k; ++i) column[i] += t[k * kB + i] * factor;
    }
    column[j] = tau[first + j];
  }
}

// c -= V T V' c, or V T' V' c, in the rows that the block touches. `work` has room for 2 * kB *
// columns numbers.
template <typename T>
void Reflectors<T>::apply_block(
    int64_t block, bool transposed, Matrix c, int64_t columns, T* work) const {
  const DType dtype = DTypeOf<T>::value;
  const int64_t first = block * kB;
  const int64_t count = std::min(kB, k_ - first);
  const int64_t rows = m_ - first;
  const T* const v = vectors_.get() + first * m_ + first;
  const T* const t = triangles_.get() + block * kB * kB;
  const Matrix below = offset<T>(c, first, 0);
  T* const turned = work + kB * columns;
  gemm(dtype, count, columns, rows, {v, m_, 1}, as_const(below), {work, 1, kB});
  gemm(dtype, count, columns, count, transposed ? ConstMatrix{t, kB, 1} : ConstMatrix{t, 1, kB},
       {work, 1, kB}, {turned, 1, kB});
  gemm(dtype, rows, columns, count, {v, 1, m_}, {turned, 1, kB}, below, kMinusOne, kOneFactor);
}

template <typename T>
void Reflectors<T>::apply(bool transposed, Matrix c, int64_t columns) const {
  const Pieces pieces = {columns, 2.0 * static_cast<double>(m_ * k_)};
  pieces.run([&](int64_t first, int64_t count) {
    const Scratch<T> work(2 * kB * count);
    for (int64_t i = 0; i < blocks(); ++i) {
      const int64_t block = transposed ? i : blocks() - 1 - i;
      apply_block(block, transposed, offset<T>(c, 0, first), count, work.get());
    }
  });
}

template <typename T>
void Reflectors<T>::make(Matrix q, int64_t columns) const {
  const Pieces pieces = {columns, static_cast<double>(m_ * k_), true};
  pieces.run([&](int64_t first, int64_t count) {
    const Scratch<T> work(2 * kB * count);
    const Matrix own = offset<T>(q, 0, first);
    for (int64_t j = 0; j < count; ++j) {
      T* const column = static_cast<T*>(own.data) + j * own.col_stride;
      for (int64_t i = 0; i < m_; ++i) column[i * own.row_stride] = T(i == first + j);
    }
    // Blocks behind these columns find nothing but zeros.
    const int64_t last = std::min(blocks(), ceil_div(first + count, kB));
    for (int64_t block = last; block-- > 0;) apply_block(block, false, own, count, work.get());
  });
}

template <typename T>
void Reflectors<T>::factor(int64_t m, int64_t n, T* a, int64_t ld, T* tau) {
  const int64_t both = std::min(m, n);
  for (int64_t at = 0; at < both; at += kB) {
    const int64_t width = std::min(kB, both - at);
    T* const panel = a + at * ld + at;
    panel_factors<T>().qr(m - at, width, panel, ld, tau + at);
    const int64_t behind = n - at - width;
    if (behind == 0) break;
    const Reflectors own(m - at, width, {panel, 1, ld}, tau + at);
    own.apply(true, {panel + width * ld, 1, ld}, behind);
  }
}

template class Reflectors<float>;
template class Reflectors<double>;

}  // namespace mindtorch::cpu::linalg
