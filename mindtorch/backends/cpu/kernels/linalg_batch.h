#pragma once

#include <algorithm>
#include <complex>
#include <type_traits>

#include "mindtorch/backends/cpu/lapack.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/ops/linalg_checks.h"

// Batches of matrices as LAPACK takes them: columns contiguous, one matrix after the other.
namespace mindtorch::cpu {

template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <typename T>
using Real = typename RealOf<T>::type;
template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

template <typename T>
T conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

// Calls body.template operator()<T>() with the scalar type of `dtype`.
template <typename Body>
void visit_lapack(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kFloat32:
      return body.template operator()<float>();
    case DType::kFloat64:
      return body.template operator()<double>();
    case DType::kComplex64:
      return body.template operator()<std::complex<float>>();
    case DType::kComplex128:
      return body.template operator()<std::complex<double>>();
    default:
      MT_THROW(NotImplementedError, "linear algebra is not implemented for '", legacy_name(dtype),
               "'");
  }
}

inline int64_t count_matrices(const Tensor& tensor) {
  return numel(IntList(tensor.sizes()).first(tensor.sizes().size() - 2));
}
inline int rows_of(const Tensor& tensor) { return static_cast<int>(tensor.size(-2)); }
inline int columns_of(const Tensor& tensor) { return static_cast<int>(tensor.size(-1)); }
// LAPACK refuses 0 even for matrices without elements.
inline int leading(int rows) { return std::max(rows, 1); }

inline bool has_strides(const Tensor& tensor, const Shape& strides) {
  for (size_t i = 0; i < strides.size(); ++i) {
    if (tensor.sizes()[i] > 1 && tensor.strides()[i] != strides[i]) return false;
  }
  return true;
}

// The tensor itself if it lies so, else a copy that does.
inline Tensor column_major(const Tensor& tensor) {
  const Shape strides = ops::column_major_strides(tensor.sizes());
  if (has_strides(tensor, strides)) return tensor;
  Tensor copied = Tensor::make_strided(tensor.sizes(), strides, tensor.dtype());
  copy(tensor, copied);
  return copied;
}
// The same for rows; vectors and numbers, too.
inline Tensor row_major(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor copied = Tensor::make(tensor.sizes(), tensor.dtype());
  copy(tensor, copied);
  return copied;
}

// A matrix of a batch of `rows` x `columns` each.
template <typename T>
T* matrix_at(const Tensor& tensor, int64_t index) {
  return tensor.data<T>() + index * tensor.size(-2) * tensor.size(-1);
}
template <typename T>
T* vector_at(const Tensor& tensor, int64_t index) {
  return tensor.data<T>() + index * tensor.size(-1);
}

// Runs body(begin, end) over the matrices of a batch, each of which takes `operations`
// multiplications.
template <typename Body>
void for_matrices(int64_t count, double operations, const Body& body) {
  // What pays for a thread, some 3 microseconds: small matrices take longer for each
  // multiplication than large ones, of which one is enough, and the smallest have the time of a
  // call.
  constexpr double kGrain = 1 << 14;
  constexpr double kCall = 1 << 9;
  const auto grain = static_cast<int64_t>(kGrain / (operations + kCall));
  parallel_for(0, count, std::max<int64_t>(grain, 1), body);
}
// The same of bodies that divide one matrix among threads: a few large ones come one by one.
template <typename Body>
void for_large_matrices(int64_t count, double operations, const Body& body) {
  constexpr double kLarge = 1 << 22;
  if (operations > kLarge && 2 * count <= num_threads()) return body(int64_t{0}, count);
  for_matrices(count, operations, body);
}
inline double cube(double n) { return n * n * n; }

// The length of the work array that LAPACK has answered in it.
template <typename T>
int work_length(T answer) {
  return std::max(1, static_cast<int>(std::real(answer)));
}

}  // namespace mindtorch::cpu
