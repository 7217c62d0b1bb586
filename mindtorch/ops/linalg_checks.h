#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "mindtorch/ops/spec.h"

// What ops of linear algebra refuse, in torch's words, and how their results lie in memory.
namespace mindtorch::ops {

// What LAPACK computes in.
constexpr bool is_lapack_dtype(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kComplex64 ||
         dtype == DType::kComplex128;
}

inline void check_is_matrix(std::string_view name,
                            const Tensor& tensor,
                            std::string_view argument = "A") {
  MT_CHECK(tensor.dim() >= 2, RuntimeError, name, ": The input tensor ", argument,
           " must have at least 2 dimensions.");
}

inline void check_square(std::string_view name,
                         const Tensor& tensor,
                         std::string_view argument = "A") {
  check_is_matrix(name, tensor, argument);
  MT_CHECK(tensor.size(-1) == tensor.size(-2), RuntimeError, name, ": ", argument,
           " must be batches of square matrices, but they are ", tensor.size(-2), " by ",
           tensor.size(-1), " matrices");
}

inline void check_floating(std::string_view name, const Tensor& tensor) {
  MT_CHECK(is_differentiable(tensor.dtype()), RuntimeError, name,
           ": Expected a floating point or complex tensor as input. Got ",
           legacy_name(tensor.dtype()));
}

inline void check_precise(std::string_view name, const Tensor& tensor) {
  check_floating(name, tensor);
  MT_CHECK(!is_half(tensor.dtype()), RuntimeError, name,
           ": Low precision dtypes not supported. Got ", legacy_name(tensor.dtype()));
}

// `kernel` is torch's name of what does the work; on the meta device nothing does.
inline void check_lapack_dtype(std::string_view kernel, const Tensor& tensor) {
  MT_CHECK(is_lapack_dtype(tensor.dtype()) || tensor.device().is_meta(), NotImplementedError, "\"",
           kernel, "\" not implemented for '", legacy_name(tensor.dtype()), "'");
}

// The dims before the last `count`.
inline Shape batch_shape(const Tensor& tensor, size_t count = 2) {
  const Shape& sizes = tensor.sizes();
  return Shape(sizes.begin(), sizes.end() - static_cast<std::ptrdiff_t>(count));
}

inline Shape with_dims(Shape batch, std::initializer_list<int64_t> dims) {
  for (const int64_t dim : dims) batch.push_back(dim);
  return batch;
}

// Matrices whose columns are contiguous, one after the other.
inline Shape column_major_strides(const Shape& sizes) {
  Shape strides = contiguous_strides(sizes);
  const size_t n = sizes.size();
  strides[n - 2] = 1;
  strides[n - 1] = std::max<int64_t>(sizes[n - 2], 1);
  return strides;
}

inline TensorSpec column_major_spec(Shape sizes, DType dtype, Device device) {
  Shape strides = column_major_strides(sizes);
  return {std::move(sizes), dtype, device, std::move(strides)};
}

}  // namespace mindtorch::ops
