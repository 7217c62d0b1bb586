#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "mindtorch/ops/value.h"

namespace mindtorch::dispatch {

// An argument of a recorded op, owned by its trace: plain bytes without padding, so that equal
// arguments are equal bytes. Lists and texts are in the trace's payload; a tensor is an id of the
// trace (Trace::tensor_ids), since traces record tensors themselves.
struct Argument {
  uint64_t bits;    // a number, dtype, device, ...
  uint32_t first;   // of a list: its offset in the payload; of tensors: the first id
  uint32_t length;  // of a list or text, in elements; of tensors: how many ids
  ops::ValueKind kind;
  uint8_t scalar_kind;
  uint16_t is_params;  // a list of numbers that has no payload: the params of a pointwise op
  uint32_t unused_too;

  bool is_tensor() const {
    return kind == ops::ValueKind::kTensor || kind == ops::ValueKind::kTensorList;
  }
};
static_assert(sizeof(Argument) == 24);

// The payload of a trace: elements of lists, each list aligned to 8 bytes.
using Payload = std::vector<std::byte>;

// An argument and the bytes of its list, which are still the caller's.
struct EncodedArgument {
  Argument argument;
  std::span<const std::byte> list;
};

namespace detail {
inline uint64_t to_bits(double value) { return std::bit_cast<uint64_t>(value); }
inline uint64_t to_bits(const Scalar& scalar) {
  return scalar.is_integral() ? static_cast<uint64_t>(scalar.to_int())
                              : to_bits(scalar.to_double());
}
inline uint64_t to_bits(Device device) {
  return static_cast<uint64_t>(device.type) << 8 | static_cast<uint8_t>(device.index);
}
}  // namespace detail

// Of an argument without tensors. `first` is left to add_to(). Inline, as equals(): matching an op
// with an earlier trace takes some ten nanoseconds in all.
inline EncodedArgument encode(const ops::Value& value) {
  EncodedArgument encoded{};
  Argument& argument = encoded.argument;
  argument.kind = value.kind();
  const auto keep_list = [&](const auto& list) {
    argument.length = static_cast<uint32_t>(list.size());
    encoded.list = std::as_bytes(std::span(list.data(), list.size()));
  };
  switch (value.kind()) {
    case ops::ValueKind::kNone:
    case ops::ValueKind::kTensor:
    case ops::ValueKind::kTensorList:
      break;
    case ops::ValueKind::kScalar:
      argument.scalar_kind = static_cast<uint8_t>(value.scalar().kind());
      argument.bits = detail::to_bits(value.scalar());
      if (MT_UNLIKELY(value.scalar().is_complex())) keep_list(value.scalar().imag_part());
      break;
    case ops::ValueKind::kInt:
      argument.bits = static_cast<uint64_t>(value.to_int());
      break;
    case ops::ValueKind::kFloat:
      argument.bits = detail::to_bits(value.to_float());
      break;
    case ops::ValueKind::kBool:
      argument.bits = value.to_bool();
      break;
    case ops::ValueKind::kIntList:
      keep_list(value.int_list());
      break;
    case ops::ValueKind::kFloatList:
      keep_list(value.float_list());
      break;
    case ops::ValueKind::kString:
      keep_list(value.string());
      break;
    case ops::ValueKind::kDType:
      argument.bits = static_cast<uint64_t>(value.dtype());
      break;
    case ops::ValueKind::kDevice:
      argument.bits = detail::to_bits(value.device());
      break;
    case ops::ValueKind::kMemoryFormat:
      argument.bits = static_cast<uint64_t>(value.memory_format());
      break;
    case ops::ValueKind::kGenerator:
      argument.bits = reinterpret_cast<uintptr_t>(value.generator());
      break;
  }
  return encoded;
}

// Copies the list to the end of the payload.
Argument add_to(Payload& payload, const EncodedArgument& encoded);
// The value is that argument.
inline bool equals(const Argument& argument,
                   const Payload& payload,
                   const EncodedArgument& encoded) {
  const Argument& other = encoded.argument;
  return argument.kind == other.kind && argument.scalar_kind == other.scalar_kind &&
         argument.bits == other.bits && argument.length == other.length &&
         (encoded.list.empty() || std::memcmp(payload.data() + argument.first, encoded.list.data(),
                                              encoded.list.size()) == 0);
}

// The argument as ops take it; lists point into the payload. Not for tensors.
ops::Value decode(const Argument& argument, const Payload& payload);

}  // namespace mindtorch::dispatch
