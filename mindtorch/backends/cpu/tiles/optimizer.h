#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// A step of an optimizer on n elements. All arrays are of one float dtype; 16-bit floats are
// computed in float32. Gradients are multiplied by `sign`, which is -1 to maximize.

struct AdamStep {
  double beta1, beta2, eps;
  double l2;              // weight decay that is added to the gradient,
  double decay;           // or what the parameter is multiplied by
  double step_size;       // lr / (1 - beta1**step)
  double inverse_second;  // 1 / sqrt(1 - beta2**step)
  double sign;
};
struct AdamArrays {
  void* param;
  const void* grad;
  void* mean;
  void* square;
  void* largest;  // null: without amsgrad
};
void adam_tile(DType dtype, const AdamArrays& arrays, int64_t n, const AdamStep& step);

struct SgdStep {
  double lr, l2, momentum, dampening, sign;
  bool nesterov;
  bool is_first;  // the buffer takes the gradient
};
struct SgdArrays {
  void* param;
  const void* grad;
  void* buffer;  // null: without momentum
};
void sgd_tile(DType dtype, const SgdArrays& arrays, int64_t n, const SgdStep& step);

struct AdagradStep {
  double rate, l2, eps, sign;
};
struct AdagradArrays {
  void* param;
  const void* grad;
  void* sum;
};
void adagrad_tile(DType dtype, const AdagradArrays& arrays, int64_t n, const AdagradStep& step);

// What a scaled loss has multiplied gradients by is taken out of them.
void unscale_tile(DType dtype, void* grad, int64_t n, double scale);
// The same by its inverse. False: an element is infinite or NaN.
bool unscale_and_check_tile(DType dtype, void* grad, int64_t n, double inverse);

}  // namespace mindtorch::cpu
