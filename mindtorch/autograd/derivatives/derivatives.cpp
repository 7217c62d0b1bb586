#include "mindtorch/autograd/derivatives/derivatives.h"

namespace mindtorch::autograd {

void define_derivatives(Derivatives& derivatives) {
  define_copy(derivatives);
  define_matmul(derivatives);
  define_reduce(derivatives);
  define_views(derivatives);
}

}  // namespace mindtorch::autograd
