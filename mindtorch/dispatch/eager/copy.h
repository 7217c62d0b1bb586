#pragma once

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::dispatch {

// The two ops that preparing a call needs: copy_ and clone.

void copy_into(const Tensor& target, const Tensor& source);
Tensor clone(const Tensor& tensor, bool contiguous);

}  // namespace mindtorch::dispatch
