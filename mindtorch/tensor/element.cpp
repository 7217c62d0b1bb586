#include "mindtorch/tensor/element.h"

namespace mindtorch {

Scalar read_element(const void* data, DType dtype) {
  return visit_dtype(dtype, [data]<typename T>() {
    const T value = *static_cast<const T*>(data);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return Scalar(static_cast<float>(value));
    } else {
      return Scalar(value);
    }
  });
}

}  // namespace mindtorch
