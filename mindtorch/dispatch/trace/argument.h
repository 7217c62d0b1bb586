#pragma once

#include <cstddef>
#include <cstdint>
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
  uint16_t unused;
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

// Of an argument without tensors. `first` is left to add_to().
EncodedArgument encode(const ops::Value& value);
// Copies the list to the end of the payload.
Argument add_to(Payload& payload, const EncodedArgument& encoded);
// The value is that argument.
bool equals(const Argument& argument, const Payload& payload, const EncodedArgument& encoded);
// The argument as ops take it; lists point into the payload. Not for tensors.
ops::Value decode(const Argument& argument, const Payload& payload);

}  // namespace mindtorch::dispatch
