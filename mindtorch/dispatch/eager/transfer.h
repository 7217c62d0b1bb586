#pragma once

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::dispatch {

// Copies `src`, broadcast and converted, into `self` on another device. Conversion happens on the
// source's side, layouts are dealt with on their own side; what crosses is one run of bytes.
void transfer(const Tensor& self, const Tensor& src, bool non_blocking);

}  // namespace mindtorch::dispatch
