#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

#include "mindtorch/ops/pointwise.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::dispatch {

// TensorImpl::trace_mark(): which trace recorded the tensor last, and its id there.
class TraceMark {
 public:
  static constexpr int kIdBits = 20;

  constexpr explicit TraceMark(uint64_t bits) : bits_(bits) {}
  constexpr TraceMark(uint64_t epoch, uint32_t id) : bits_(epoch << kIdBits | id) {}
  constexpr uint64_t bits() const { return bits_; }
  constexpr uint64_t epoch() const { return bits_ >> kIdBits; }
  constexpr uint32_t id() const {
    return static_cast<uint32_t>(bits_ & ((uint64_t{1} << kIdBits) - 1));
  }
  friend constexpr bool operator==(TraceMark, TraceMark) = default;

 private:
  uint64_t bits_;
};

// Of a trace before its last op, and of one op: together they have ids.
inline constexpr size_t kMaxTensors = ((size_t{1} << TraceMark::kIdBits) - 1) / 2;

// The storage gets bytes of its own later.
inline bool is_unallocated(const StorageImpl& storage) {
  return storage.raw_data() == nullptr && storage.size_bytes() != 0;
}

// A Python number, which no other code can change. Complex ones are tensors like others.
inline bool is_number(const Tensor& tensor) {
  return tensor.is_wrapped_number() && tensor.dim() == 0 && tensor.device().is_host() &&
         is_common(tensor.dtype()) && tensor.storage()->pending() == nullptr;
}

// The list is the real parts of the params, and the imaginary ones behind them.
inline bool are_params(std::span<const double> list, const ops::PointwiseParams& params) {
  double parts[6];
  std::copy_n(params.f, 3, parts);
  std::copy_n(params.imag, 3, parts + 3);
  return list.size() <= std::size(parts) &&
         std::memcmp(list.data(), parts, list.size() * sizeof(double)) == 0;
}

inline uint64_t number_bits(const Tensor& number) {
  uint64_t bits = 0;
  std::memcpy(&bits, number.storage()->raw_data(), static_cast<size_t>(number.element_size()));
  return bits;
}

}  // namespace mindtorch::dispatch
