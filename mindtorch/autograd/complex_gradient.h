#pragma once

#include "mindtorch/functional/functions.h"

namespace mindtorch::autograd {

// The gradient of a real loss with respect to a complex z = x + iy is dL/dx + i dL/dy. Through a
// holomorphic f it is grad * conj(f'(z)), which is conj(conj(grad) * f'(z)): so a rule that
// computes grad * f'(z), as for real numbers, is given conjugates, and so is what it gives. True
// where the gradient is complex.
inline bool conjugate_if_complex(Tensor& grad) {
  if (MT_LIKELY(!grad.defined() || !is_complex(grad.dtype()))) return false;
  grad = conj(grad);
  return true;
}

}  // namespace mindtorch::autograd
