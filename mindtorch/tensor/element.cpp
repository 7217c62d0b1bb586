#include "mindtorch/tensor/element.h"

namespace mindtorch {

Scalar read_element(const void* data, DType dtype) {
  return visit_any_dtype(dtype, [data]<typename T>() {
    const T value = *static_cast<const T*>(data);
    if constexpr (std::is_same_v<T, ComplexHalf>) {
      return Scalar(std::complex<float>(value.real, value.imag));
    } else if constexpr (is_complex(DTypeOf<T>::value) || std::is_arithmetic_v<T>) {
      return Scalar(value);
    } else {
      return Scalar(static_cast<float>(value));
    }
  });
}

void write_element(void* data, DType dtype, const Scalar& value) {
  visit_any_dtype(dtype, [&]<typename T>() { *static_cast<T*>(data) = value.to<T>(); });
}

Scalar round_to_half(const Scalar& value, DType dtype) {
  const auto number = static_cast<float>(value.to_double());
  if (dtype == DType::kFloat16) return Scalar(static_cast<float>(Half(number)));
  if (dtype == DType::kBFloat16) return Scalar(static_cast<float>(BFloat16(number)));
  return value;
}

}  // namespace mindtorch
