#pragma once

#include <bit>
#include <initializer_list>
#include <utility>
#include <vector>

#include "mindtorch/dispatch/plan/plan.h"

namespace mindtorch::dispatch {

inline constexpr DType kF32 = DType::kFloat32;

// Writes traces of float tensors, all contiguous and each with a storage of its own.
class TraceWriter {
 public:
  Trace trace;
  std::vector<uint8_t> visible;

  uint32_t tensor(Shape sizes, bool is_unallocated, bool is_visible) {
    TensorRecord record{};
    record.storage = static_cast<uint32_t>(trace.storages.size());
    record.first_dim = static_cast<uint32_t>(trace.dims.size());
    record.rank = static_cast<uint32_t>(sizes.size());
    record.dtype = kF32;
    record.is_contiguous = 1;
    const Shape strides = contiguous_strides(sizes);
    trace.dims.insert(trace.dims.end(), sizes.begin(), sizes.end());
    trace.dims.insert(trace.dims.end(), strides.begin(), strides.end());
    trace.storages.push_back(
        {static_cast<uint64_t>(numel(sizes) * 4), DeviceType::kCpu, is_unallocated, 0});
    trace.tensors.push_back(record);
    visible.push_back(is_visible);
    return static_cast<uint32_t>(trace.tensors.size() - 1);
  }
  uint32_t input(Shape sizes) { return tensor(std::move(sizes), false, true); }
  // Of the same storage.
  uint32_t view(uint32_t of, Shape sizes, Shape strides, int64_t offset = 0) {
    TensorRecord record = trace.tensors[of];
    record.first_dim = static_cast<uint32_t>(trace.dims.size());
    record.rank = static_cast<uint32_t>(sizes.size());
    record.offset = offset;
    record.is_contiguous = is_contiguous(sizes, strides);
    trace.dims.insert(trace.dims.end(), sizes.begin(), sizes.end());
    trace.dims.insert(trace.dims.end(), strides.begin(), strides.end());
    trace.tensors.push_back(record);
    return static_cast<uint32_t>(trace.tensors.size() - 1);
  }
  // A Python number.
  uint32_t number(double value) {
    TensorRecord record{};
    record.storage = kNumberStorage;
    record.first_dim = static_cast<uint32_t>(trace.dims.size());
    record.offset = static_cast<int64_t>(trace.numbers.size());
    record.dtype = DType::kFloat64;
    record.is_contiguous = record.is_wrapped_number = 1;
    trace.numbers.push_back(std::bit_cast<uint64_t>(value));
    trace.tensors.push_back(record);
    return static_cast<uint32_t>(trace.tensors.size() - 1);
  }

  // A new tensor that a pointwise op makes of others.
  uint32_t pointwise(const char* op,
                     ops::Pointwise function,
                     std::initializer_list<uint32_t> operands,
                     bool is_visible = false) {
    const Shape sizes(trace.sizes(trace.tensors[*operands.begin()]));
    const uint32_t out = tensor(sizes, true, is_visible);
    OpRecord record = begin(op, operands, {out});
    record.is_pointwise = 1;
    record.function = function;
    record.compute = record.result = kF32;
    record.unrounded = -1;
    add(record);
    return out;
  }
  uint32_t mul(uint32_t a, uint32_t b, bool is_visible = false) {
    return pointwise("mul.Tensor", ops::Pointwise::kMul, {a, b}, is_visible);
  }
  uint32_t add(uint32_t a, uint32_t b, bool is_visible = false) {
    return pointwise("add.Tensor", ops::Pointwise::kAdd, {a, b}, is_visible);
  }
  uint32_t mm(uint32_t a, uint32_t b, Shape sizes, bool is_visible = false) {
    const uint32_t out = tensor(std::move(sizes), true, is_visible);
    add(begin("mm", {a, b}, {out}));
    return out;
  }
  // sum.dim_IntList
  uint32_t sum(uint32_t x,
               std::initializer_list<int64_t> dims,
               Shape sizes,
               bool keepdim = false,
               bool is_visible = true) {
    const uint32_t out = tensor(std::move(sizes), true, is_visible);
    OpRecord record = begin("sum.dim_IntList", {x}, {out});
    Argument self{};
    self.kind = ops::ValueKind::kTensor;
    self.first = record.first_id;
    self.length = 1;
    trace.arguments.push_back(self);
    const ops::Value others[] = {IntList(dims), keepdim, {}};
    for (const ops::Value& value : others) {
      trace.arguments.push_back(add_to(trace.payload, encode(value)));
    }
    record.argument_count = static_cast<uint16_t>(record.op->schema.params.size());
    add(record);
    return out;
  }
  // a *= b
  void mul_in_place(uint32_t a, uint32_t b) {
    OpRecord record = begin("mul.Tensor", {a, b}, {a});
    record.is_pointwise = 1;
    record.function = ops::Pointwise::kMul;
    record.compute = record.result = kF32;
    record.unrounded = -1;
    add(record);
  }
  Plan plan() const { return make_plan(trace, visible); }

 private:
  OpRecord begin(const char* op,
                 std::initializer_list<uint32_t> operands,
                 std::initializer_list<uint32_t> outputs) {
    OpRecord record{};
    record.op = &ops::registry().at(op);
    record.first_id = static_cast<uint32_t>(trace.tensor_ids.size());
    record.operand_count = static_cast<uint32_t>(operands.size());
    record.output_count = static_cast<uint16_t>(outputs.size());
    record.first_argument = static_cast<uint32_t>(trace.arguments.size());
    record.device = DeviceType::kCpu;
    trace.tensor_ids.insert(trace.tensor_ids.end(), operands);
    trace.tensor_ids.insert(trace.tensor_ids.end(), outputs);
    return record;
  }
  void add(const OpRecord& record) {
    trace.ops.push_back(record);
    trace.params.emplace_back();
  }
};

}  // namespace mindtorch::dispatch
