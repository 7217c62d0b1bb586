#pragma once

#include <cstdint>
#include <vector>

#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::cpu::recurrent {

// The rows of a matrix as T. Those of 16-bit floats are converted a few at a time.
template <typename T>
class Rows {
 public:
  explicit Rows(const Tensor& tensor);

  int64_t columns() const { return columns_; }
  bool is_wide() const { return is_wide_; }
  char* at(int64_t row) const { return data_ + row * row_bytes_; }

  // Where they lie, or in `block`.
  const T* read(int64_t row, int64_t rows, T* block) const;
  void load(int64_t row, int64_t rows, T* block) const { widen_(at(row), block, rows * columns_); }
  // Where to write rows that store() is then told of: where they lie, or `block`.
  T* place(int64_t row, T* block) const { return is_wide_ ? reinterpret_cast<T*>(at(row)) : block; }
  void store(int64_t row, int64_t rows, const T* values) const;

  // An undefined tensor stands for zeros.
  void load_or_zeros(int64_t row, int64_t rows, int64_t columns, T* block) const;
  // sums += rows, which may use `block`.
  void add(int64_t row, int64_t rows, T* block, T* sums) const;

 private:
  Tensor tensor_;
  char* data_ = nullptr;
  int64_t columns_ = 0;
  int64_t row_bytes_ = 0;
  bool is_wide_ = false;
  CastFn widen_ = nullptr;
  CastFn narrow_ = nullptr;
};

// The sum of two vectors of n elements, of which either may be missing.
template <typename T>
std::vector<T> sum_of(const Tensor& a, const Tensor& b, int64_t n);

// Calls body.operator()<T>() for what a layer of this dtype is computed in: float32 for 16-bit
// floats.
template <typename Body>
void with_wide_type(DType dtype, const Body& body) {
  if (dtype == DType::kFloat64) {
    body.template operator()<double>();
  } else {
    body.template operator()<float>();
  }
}

extern template class Rows<float>;
extern template class Rows<double>;

}  // namespace mindtorch::cpu::recurrent
