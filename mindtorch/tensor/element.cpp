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

Scalar round_to_half(const Scalar& value, DType dtype) {
  const auto number = static_cast<float>(value.to_double());
  if (dtype == DType::kFloat16) return Scalar(static_cast<float>(Half(number)));
  if (dtype == DType::kBFloat16) return Scalar(static_cast<float>(BFloat16(number)));
  return value;
}

}  // namespace mindtorch
