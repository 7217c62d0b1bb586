#include "mindtorch/backends/cpu/recurrent/weight_product.h"

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/scratch.h"

namespace mindtorch::cpu::recurrent {
namespace {

// Whether products with a weight of n columns are computed in bfloat16.
template <typename T>
bool multiplies_bfloat16(const Tensor& weight, int64_t n) {
  return std::is_same_v<T, float> && weight.dtype() == DType::kBFloat16 &&
         bfloat16_tiles() != nullptr && n % kPanelCols == 0;
}

ConstMatrix matrix_of(const Tensor& weight, bool is_transposed) {
  const ConstMatrix plain = {weight.data_ptr(), weight.strides()[0], weight.strides()[1]};
  return is_transposed ? transposed(plain) : plain;
}

// The same values in T.
template <typename T>
Tensor widened(const Tensor& tensor) {
  if (tensor.dtype() == DTypeOf<T>::value) return tensor;
  const Tensor result = Tensor::make(tensor.sizes(), DTypeOf<T>::value);
  copy(tensor, result);
  return result;
}

}  // namespace

template <typename T>
WeightProduct<T>::WeightProduct(const Tensor& weight, bool is_transposed, Packing packing)
    : k_(weight.size(is_transposed ? 1 : 0)), n_(weight.size(is_transposed ? 0 : 1)) {
  if (packing != Packing::kNone && k_ > 0 && multiplies_bfloat16<T>(weight, n_)) {
    narrow_.emplace(k_, n_);
    narrow_->read(matrix_of(weight, is_transposed), k_, n_);
    return;
  }
  if (packing == Packing::kAll && k_ > 0) {
    packed_.emplace(weight.dtype(), matrix_of(weight, is_transposed), k_, n_);
    return;
  }
  values_ = widened<T>(weight);
  weight_ = matrix_of(values_, is_transposed);
}

template <typename T>
size_t WeightProduct<T>::scratch_bytes(int64_t rows) const {
  return KeptScratch::room<T>(rows * k_);
}

template <typename T>
void WeightProduct<T>::operator()(const T* a, int64_t rows, T* c, int64_t stride, bool add) const {
  if (packed_) return packed_->multiply(a, k_, rows, c, stride, add);
  if constexpr (std::is_same_v<T, float>) {
    if (narrow_) {
      const ScratchArray<uint16_t> rounded(rows * k_);
      HalfConversion(DType::kBFloat16).narrow(a, rounded.get(), rows * k_);
      return narrow_->multiply({rounded.get(), k_, 1}, rows, k_, 0, n_, c, stride, add);
    }
  }
  gemm(DTypeOf<T>::value, rows, n_, k_, {a, k_, 1}, weight_, {c, stride, 1}, kOneFactor,
       add ? kOneFactor : kZeroFactor);
}

template <typename T>
void WeightProduct<T>::of_narrow(
    const Rows<T>& a, int64_t first, int64_t rows, T* c, int64_t stride) const {
  const auto multiply = [&](int64_t begin, int64_t end) {
    T* const to = c + begin * stride;
    if constexpr (std::is_same_v<T, float>) {
      if (narrow_) {
        return narrow_->multiply({a.at(first + begin), k_, 1}, end - begin, k_, 0, n_, to, stride,
                                 false);
      }
    }
    const ScratchArray<T> block(a.is_wide() ? 0 : (end - begin) * k_);
    (*this)(a.read(first + begin, end - begin, block.get()), end - begin, to, stride);
  };
  // gemm() divides its work itself.
  if (!packed_ && !narrow_) return multiply(0, rows);
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / multiplications_of_a_row()), multiply);
}

template class WeightProduct<float>;
template class WeightProduct<double>;

}  // namespace mindtorch::cpu::recurrent
