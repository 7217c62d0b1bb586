#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mindtorch/ops/registry.h"

namespace mindtorch::dispatch {

// Note [Recordings are keys]
// What a window records is plain data: ops, the tensors they link, and shapes, all by number. Two
// windows with the same bytes do the same work on other memory, so that a plan made for one serves
// the other, and to know it again takes one memcmp. Whatever differs from run to run stays outside:
// addresses, the values of Python numbers, call sites. No record has padding.

inline constexpr uint32_t kNumberStorage = UINT32_MAX;
inline constexpr uint32_t kNoTensor = UINT32_MAX;  // a link to None in a list of tensors

// What an op is known to write as soon as its arguments are: Window::follow.
enum class Writes : uint8_t {
  kOther,
  kNew,   // fresh outputs, as the arguments say and nothing else
  kSelf,  // its first argument
};

// A recorded op. Its operands and then its outputs are `links[first_link ...]`.
struct OpRecord {
  const ops::Op* op;
  uint32_t first_link;
  uint32_t operand_count;
  uint32_t first_value;  // of a kernel: its arguments
  uint16_t output_count;
  uint16_t value_count;
  // A pointwise op, resolved.
  ops::Pointwise function;
  DType compute;
  DType result;
  Writes writes : 4;
  uint8_t is_pointwise : 4;
  Device device;
  int8_t unrounded;  // as in PointwiseCall

  // A pointwise op that looks at values: a divisor of zero is an error.
  bool divides_integers() const {
    if (is_pointwise == 0 || !is_integral(compute)) return false;
    return function == ops::Pointwise::kFloorDivide || function == ops::Pointwise::kTruncDivide ||
           function == ops::Pointwise::kRemainder || function == ops::Pointwise::kFmod;
  }
};
static_assert(sizeof(OpRecord) == 32);

// A tensor as it was when an op used it: later changes of its shape do not count.
struct TensorRecord {
  uint32_t storage;    // by number, or kNumberStorage: a Python number, the offset says which one
  uint32_t first_dim;  // in `dims`: sizes, then strides
  int64_t offset;
  uint32_t rank;
  DType dtype;
  uint8_t is_contiguous;
  uint8_t is_wrapped_number;
  uint8_t unused;
};
static_assert(sizeof(TensorRecord) == 24);

struct StorageRecord {
  uint64_t size_bytes;
  Device device;
  uint16_t is_promised;  // has no bytes so far
  uint32_t unused;
};
static_assert(sizeof(StorageRecord) == 16);

// An argument of a kernel: what a Value holds, with lists and texts kept in `dims` and tensors as
// links of the op.
struct ValueRecord {
  uint64_t bits;
  uint32_t first;
  uint32_t count;
  ops::ValueKind kind;
  uint8_t scalar_kind;
  uint16_t unused;
  uint32_t unused_too;
};
static_assert(sizeof(ValueRecord) == 24);

struct Recording {
  DType default_dtype{};  // when its first op was recorded: decides what some ops make
  std::vector<OpRecord> ops;
  std::vector<uint32_t> links;
  std::vector<TensorRecord> tensors;
  std::vector<StorageRecord> storages;
  std::vector<ValueRecord> values;
  std::vector<int64_t> dims;
  // The values of Python numbers: when it was last seen, for Window::follow; no part of the key.
  std::vector<uint64_t> numbers;
  // The numbers that are part of a pointwise op's function (alpha=), likewise: by op, as it wants
  // them, and by value, as they were given. Other ops have 0 there, and theirs in `values`.
  std::vector<ops::PointwiseParams> params;
  std::vector<uint64_t> scalars;

  // How long each list is.
  struct Lengths {
    size_t ops, links, tensors, storages, values, dims;
    bool operator==(const Lengths&) const = default;
  };
  Lengths lengths() const {
    return {ops.size(), links.size(), tensors.size(), storages.size(), values.size(), dims.size()};
  }

  void clear();
  // What `other` has behind the end of this, up to `end`.
  void append(const Recording& other, const Lengths& end);
  // What was recorded since is what `other` has there.
  bool agrees_since(const Lengths& before, const Recording& other) const;
  bool operator==(const Recording& other) const;
  uint64_t hash() const;

  std::span<const uint32_t> operands(const OpRecord& op) const {
    return {links.data() + op.first_link, op.operand_count};
  }
  std::span<const uint32_t> outputs(const OpRecord& op) const {
    return {links.data() + op.first_link + op.operand_count, op.output_count};
  }
  uint64_t bits_of_value(size_t number) const { return values[number].bits | scalars[number]; }
  IntList sizes(const TensorRecord& tensor) const {
    return std::span(dims.data() + tensor.first_dim, tensor.rank);
  }
  IntList strides(const TensorRecord& tensor) const {
    return std::span(dims.data() + tensor.first_dim + tensor.rank, tensor.rank);
  }
  // "float32[2, 3]"
  std::string describe(uint32_t tensor) const;
};

}  // namespace mindtorch::dispatch
