#pragma once

#include <complex>
#include <cstdint>

#include "simulator/ascend/nnopbase/view.h"

namespace sim {

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

// Reads `n` elements of `view` in row-major order, from number `first` on, as the computing type C:
// float, double, int64_t, uint64_t, Complex64 or Complex128.
template <class C>
void load(const View& view, int64_t first, int64_t n, C* values);

// Writes them. A float that no integer holds becomes the nearest one, not-a-number becomes 0; an
// integer keeps its low bits.
template <class C>
void store(const View& view, int64_t first, int64_t n, const C* values);

// The computing type of each dtype: 16-bit floats compute in float, integers and bool in int64_t.
template <class F>
void with_compute(DType dtype, F&& f) {
  switch (dtype) {
    case ACL_DOUBLE:
      return f(double{});
    case ACL_FLOAT:
    case ACL_FLOAT16:
    case ACL_BF16:
      return f(float{});
    case ACL_COMPLEX64:
    case ACL_COMPLEX32:
      return f(Complex64{});
    case ACL_COMPLEX128:
      return f(Complex128{});
    case ACL_UINT64:
      return f(uint64_t{});
    default:
      return f(int64_t{});
  }
}

// Without the complex ones.
template <class F>
void with_real(DType dtype, F&& f) {
  switch (dtype) {
    case ACL_DOUBLE:
      return f(double{});
    case ACL_FLOAT:
    case ACL_FLOAT16:
    case ACL_BF16:
      return f(float{});
    case ACL_UINT64:
      return f(uint64_t{});
    default:
      return f(int64_t{});
  }
}

// Only the floating ones: integers compute in float.
template <class F>
void with_floating(DType dtype, F&& f) {
  if (dtype == ACL_DOUBLE) return f(double{});
  return f(float{});
}

// Converts and broadcasts: every dtype to every dtype.
void cast_elements(const View& to, const View& from);

}  // namespace sim
