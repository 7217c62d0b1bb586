#pragma once

#include <initializer_list>

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::functional {

// Whether dropout of `operands.begin()`, in a call with the others, is drawn as a mask of the
// device's own (_dropout_mask). Batches of vmap have none: each of their samples may draw other
// numbers. Operands may be undefined, but for the first.
bool has_dropout_mask(std::initializer_list<const Tensor*> operands);

}  // namespace mindtorch::functional
