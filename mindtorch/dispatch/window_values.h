#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "mindtorch/tensor/tensor.h"

// What windows keep of arguments.
namespace mindtorch::dispatch {

// TensorImpl::recorded: the epoch above, the number below.
inline constexpr int kNumberBits = 20;
inline constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;
// Of a window before its last op, and of one op.
inline constexpr size_t kMostTensors = kNumberMask / 2;

inline uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }
inline uint64_t scalar_bits(const Scalar& scalar) {
  return scalar.is_floating_point() ? bits_of(scalar.to_double())
                                    : static_cast<uint64_t>(scalar.to_int());
}

// Bytes of its own come later.
inline bool is_promised(const StorageImpl& storage) {
  return storage.raw_data() == nullptr && storage.size_bytes() != 0;
}

// A Python number, which nobody else can change.
inline bool is_number(const Tensor& tensor) {
  return tensor.is_wrapped_number() && tensor.dim() == 0 && tensor.device().is_cpu() &&
         tensor.storage()->pending() == nullptr;
}

inline uint64_t number_bits(const Tensor& number) {
  uint64_t bits = 0;
  std::memcpy(&bits, number.storage()->raw_data(), static_cast<size_t>(number.element_size()));
  return bits;
}

}  // namespace mindtorch::dispatch
