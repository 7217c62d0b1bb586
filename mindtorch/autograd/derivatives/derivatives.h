#pragma once

#include "mindtorch/autograd/backward_rule.h"

namespace mindtorch::autograd {

void define_copy(Derivatives& derivatives);
void define_matmul(Derivatives& derivatives);
void define_reduce(Derivatives& derivatives);
void define_views(Derivatives& derivatives);

// All of them.
void define_derivatives(Derivatives& derivatives);

}  // namespace mindtorch::autograd
