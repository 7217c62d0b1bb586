#pragma once

#include "mindtorch/tensor/tensor.h"

// Sparse tensors are made of ordinary ones by a layer above this library, which is free to be
// absent.
namespace mindtorch {

// A COO tensor: values[e] at the coordinates indices[:, e]. Throws where no maker is installed.
MT_API Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, IntList sizes);

using CooMaker = Tensor (*)(const Tensor& indices, const Tensor& values, IntList sizes);
MT_API void install_coo_maker(CooMaker maker);

}  // namespace mindtorch
