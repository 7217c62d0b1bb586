#include "mindtorch/backends/cpu/recurrent/rows.h"

#include <algorithm>

#include "mindtorch/backends/cpu/pointwise.h"

namespace mindtorch::cpu::recurrent {
namespace {

Tensor contiguous(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  const Tensor result = Tensor::make(tensor.sizes(), tensor.dtype());
  copy(tensor, result);
  return result;
}

}  // namespace

template <typename T>
Rows<T>::Rows(const Tensor& tensor) {
  if (!tensor.defined()) return;
  tensor_ = contiguous(tensor);
  data_ = static_cast<char*>(tensor_.data_ptr());
  columns_ = tensor.size(-1);
  row_bytes_ = columns_ * tensor.element_size();
  is_wide_ = tensor.dtype() == DTypeOf<T>::value;
  widen_ = find_cast(tensor.dtype(), DTypeOf<T>::value);
  narrow_ = find_cast(DTypeOf<T>::value, tensor.dtype());
}

template <typename T>
const T* Rows<T>::read(int64_t row, int64_t rows, T* block) const {
  if (is_wide_) return reinterpret_cast<const T*>(at(row));
  load(row, rows, block);
  return block;
}

template <typename T>
void Rows<T>::store(int64_t row, int64_t rows, const T* values) const {
  if (is_wide_ && values == reinterpret_cast<const T*>(at(row))) return;
  narrow_(values, at(row), rows * columns_);
}

template <typename T>
void Rows<T>::load_or_zeros(int64_t row, int64_t rows, int64_t columns, T* block) const {
  if (tensor_.defined()) return load(row, rows, block);
  std::fill_n(block, rows * columns, T{0});
}

template <typename T>
void Rows<T>::add(int64_t row, int64_t rows, T* block, T* sums) const {
  if (!tensor_.defined()) return;
  const T* const values = read(row, rows, block);
  for (int64_t i = 0; i < rows * columns_; ++i) sums[i] += values[i];
}

template class Rows<float>;
template class Rows<double>;

template <typename T>
std::vector<T> sum_of(const Tensor& a, const Tensor& b, int64_t n) {
  std::vector<T> sum(static_cast<size_t>(n), T{0});
  std::vector<T> block(sum);
  Rows<T>(a).add(0, 1, block.data(), sum.data());
  Rows<T>(b).add(0, 1, block.data(), sum.data());
  return sum;
}

template std::vector<float> sum_of(const Tensor& a, const Tensor& b, int64_t n);
template std::vector<double> sum_of(const Tensor& a, const Tensor& b, int64_t n);

}  // namespace mindtorch::cpu::recurrent
