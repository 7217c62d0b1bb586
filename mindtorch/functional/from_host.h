#pragma once

#include <algorithm>
#include <vector>

#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {

// Numbers that were made here, as a tensor of a device.
template <typename T>
Tensor from_host(const std::vector<T>& numbers, IntList sizes, Device device) {
  const Tensor made = Tensor::make(sizes, DTypeOf<T>::value);
  std::copy(numbers.begin(), numbers.end(), made.data<T>());
  return device.is_host() ? made : _to_copy(made, std::nullopt, device);
}

}  // namespace mindtorch::functional
