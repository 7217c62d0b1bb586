#pragma once

#include "mindtorch/functional/functions.h"

// C++ operators on tensors and numbers, with the meaning they have in Python.
namespace mindtorch {

#define MT_BINARY_OPERATOR(symbol, function)                                                 \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return function(a, b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return function(a, b); } \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) {                          \
    return function(Tensor::wrapped_number(a), b);                                           \
  }
MT_BINARY_OPERATOR(+, add)
MT_BINARY_OPERATOR(-, sub)
MT_BINARY_OPERATOR(*, mul)
MT_BINARY_OPERATOR(/, div)
MT_BINARY_OPERATOR(%, remainder)
MT_BINARY_OPERATOR(&, bitwise_and)
MT_BINARY_OPERATOR(|, bitwise_or)
MT_BINARY_OPERATOR(^, bitwise_xor)
MT_BINARY_OPERATOR(==, eq)
MT_BINARY_OPERATOR(!=, ne)
MT_BINARY_OPERATOR(<, lt)
MT_BINARY_OPERATOR(<=, le)
MT_BINARY_OPERATOR(>, gt)
MT_BINARY_OPERATOR(>=, ge)
#undef MT_BINARY_OPERATOR

#define MT_INPLACE_OPERATOR(symbol, function)                              \
  inline const Tensor& operator symbol(const Tensor& a, const Tensor& b) { \
    function(a, b);                                                        \
    return a;                                                              \
  }                                                                        \
  inline const Tensor& operator symbol(const Tensor& a, const Scalar& b) { \
    function(a, b);                                                        \
    return a;                                                              \
  }
MT_INPLACE_OPERATOR(+=, add_)
MT_INPLACE_OPERATOR(-=, sub_)
MT_INPLACE_OPERATOR(*=, mul_)
MT_INPLACE_OPERATOR(/=, div_)
#undef MT_INPLACE_OPERATOR

inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator~(const Tensor& a) { return bitwise_not(a); }

}  // namespace mindtorch
