#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mindtorch/dispatch/trace/argument.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::dispatch {

// Note [Traces are keys]
// A trace is plain data: ops, the tensors they use, their shapes and arguments, all by index. Two
// traces with the same bytes do the same work on other memory, so that a plan made for one serves
// the other, and comparing them is memcmp. What differs from run to run is not part of the key:
// addresses, the values of Python numbers, call sites. No record has padding.

inline constexpr uint32_t kNumberStorage = UINT32_MAX;
inline constexpr uint32_t kNoTensor = UINT32_MAX;  // None in a list of tensors

// An op over lists of tensors: an optimizer gives it other numbers at each step, which change
// neither what it writes nor how it is launched.
inline bool takes_numbers_at_run_time(const ops::Op& op) {
  return !op.schema.params.empty() && op.schema.params[0].type == ops::ArgType::kTensorList;
}
inline bool is_run_time_number(ops::ValueKind kind) {
  return kind == ops::ValueKind::kScalar || kind == ops::ValueKind::kFloat;
}

// What an op writes, as far as its arguments alone determine it. Only such ops can be matched
// against an earlier trace without being prepared again.
enum class Writes : uint8_t {
  kOther,
  kNew,   // fresh outputs, determined by the arguments
  kSelf,  // its first argument
};

// A recorded op. Its operands and then its outputs are tensor_ids[first_id ...].
struct OpRecord {
  const ops::Op* op;
  uint32_t first_id;
  uint32_t operand_count;
  uint32_t first_argument;
  uint16_t output_count;
  uint16_t argument_count;
  // A pointwise op, resolved.
  ops::Pointwise function;
  DType compute;
  DType result;
  Writes writes : 4;
  uint8_t is_pointwise : 4;
  Device device;
  int8_t unrounded;  // as in PointwiseCall

  // A pointwise op that may fail when it runs: an integer divisor of 0.
  bool checks_divisor() const {
    return is_pointwise != 0 && op->checks_divisor && is_integral(compute);
  }
};
static_assert(sizeof(OpRecord) == 32);

// A tensor as it was when an op used it: later changes of its shape do not count.
struct TensorRecord {
  uint32_t storage;    // an index, or kNumberStorage: the Python number numbers[offset]
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
  uint16_t is_unallocated;  // the trace makes it: it has no bytes so far
  uint32_t unused;
};
static_assert(sizeof(StorageRecord) == 16);

struct Trace {
  DType default_dtype{};  // when its first op was recorded: some ops' results depend on it
  std::vector<OpRecord> ops;
  std::vector<uint32_t> tensor_ids;
  std::vector<TensorRecord> tensors;
  std::vector<StorageRecord> storages;
  std::vector<Argument> arguments;
  Payload payload;
  std::vector<int64_t> dims;
  // --- not part of the key ---
  std::vector<uint64_t> numbers;  // the values of Python numbers, as last seen
  // Numbers that are part of a pointwise op's function (alpha=): resolved, by op, and as they were
  // given, by argument. Of ops over lists: their numbers, by argument. All other arguments have 0
  // there and their bits in `arguments`.
  std::vector<ops::PointwiseParams> params;
  std::vector<uint64_t> param_bits;

  // How far each list of the key goes.
  struct Lengths {
    size_t ops, tensors, tensor_ids, storages, arguments, payload, dims;
    bool operator==(const Lengths&) const = default;
  };
  Lengths lengths() const {
    return {ops.size(),       tensors.size(), tensor_ids.size(), storages.size(),
            arguments.size(), payload.size(), dims.size()};
  }

  void clear();
  // Appends what `other` has behind the end of this, up to `end`.
  void append(const Trace& other, const Lengths& end);
  // What was recorded since `before` is what `other` has there.
  bool agrees_since(const Lengths& before, const Trace& other) const;
  bool operator==(const Trace& other) const;
  uint64_t hash() const;
  // Of the ops and how many tensors they use, not of shapes.
  uint64_t hash_of_ops() const;

  std::span<const uint32_t> operands(const OpRecord& op) const {
    return {tensor_ids.data() + op.first_id, op.operand_count};
  }
  std::span<const uint32_t> outputs(const OpRecord& op) const {
    return {tensor_ids.data() + op.first_id + op.operand_count, op.output_count};
  }
  std::span<const Argument> arguments_of(const OpRecord& op) const {
    return {arguments.data() + op.first_argument, op.argument_count};
  }
  size_t index_of(const OpRecord& op) const { return static_cast<size_t>(&op - ops.data()); }
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
