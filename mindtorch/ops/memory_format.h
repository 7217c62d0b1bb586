#pragma once

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::ops {

// The format that torch reads from the strides of a tensor: channels-last for those 4-d and 5-d
// tensors whose strides have that order and no other reading, else contiguous.
MT_API MemoryFormat suggested_format(const Tensor& tensor);

}  // namespace mindtorch::ops
