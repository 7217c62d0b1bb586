#pragma once

#include <deque>
#include <string_view>

#include "mindtorch/batching/batched.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::batching {

// One op, called with arguments of which at least one is batched at `level` and none above it.
class Call {
 public:
  Call(const ops::Op& op, ops::Args args, ops::Outputs& outputs, int64_t level)
      : op(op), args(args), outputs(outputs), level(level) {}

  int64_t size() const { return levels()[static_cast<size_t>(level) - 1].size; }
  const Tensor& tensor(size_t i) const { return args[i].tensor(); }
  // Whether it differs between samples; false for None.
  bool is_batched(const Tensor& tensor) const {
    return tensor.defined() && level_of(tensor) == level;
  }
  bool is_batched(size_t i) const { return is_batched(tensor(i)); }
  // With the batch dim in front if it has one, otherwise as it is. None stays None.
  Tensor value(const Tensor& tensor) const {
    return is_batched(tensor) ? with_batch_dim(tensor, level) : tensor;
  }
  Tensor value(size_t i) const { return value(tensor(i)); }
  // With the batch dim in front, in any case. None stays None.
  Tensor expanded(const Tensor& tensor) const {
    return tensor.defined() ? with_batch_dim(tensor, level) : tensor;
  }
  Tensor expanded(size_t i) const { return expanded(tensor(i)); }

  // A result, with its batch dim in front.
  void give(const Tensor& value) { outputs.tensors.push_back(make_batched(value, 0, level)); }
  // A result without batch dim.
  void give_same(const Tensor& value) { outputs.tensors.push_back(value); }
  // Batched as a result is: for rules that call ops on batched tensors.
  Tensor shown(const Tensor& value) const { return make_batched(value, 0, level); }

  const ops::Op& op;
  const ops::Args args;
  ops::Outputs& outputs;
  const int64_t level;
};

// Arguments of which some were replaced. What they point to lies here.
class NewArguments {
 public:
  explicit NewArguments(ops::Args args) : values_(args.begin(), args.end()) {}
  NewArguments(NewArguments&&) = default;
  NewArguments(const NewArguments&) = delete;
  NewArguments& operator=(const NewArguments&) = delete;

  void set(size_t i, Tensor tensor) {
    values_[i] = ops::Value(tensors_.emplace_back(std::move(tensor)));
  }
  void set(size_t i, std::vector<Tensor> list) {
    values_[i] = ops::Value(TensorList(lists_.emplace_back(std::move(list))));
  }
  void set(size_t i, Shape list) {
    values_[i] = ops::Value(IntList(shapes_.emplace_back(std::move(list))));
  }
  void set(size_t i, int64_t number) { values_[i] = ops::Value(number); }
  void set_bool(size_t i, bool value) { values_[i] = ops::Value(value); }
  void set_memory_format(size_t i, MemoryFormat format) { values_[i] = ops::Value(format); }
  ops::Args get() const { return {values_.data(), values_.size()}; }

 private:
  SmallVector<ops::Value, 8> values_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<Tensor>> lists_;
  std::deque<Shape> shapes_;
};

// How an op runs for all samples at once.
using Rule = void (*)(Call& call);

// The rules of all ops that need one: pointwise ops, ops made of others and those whose definition
// says names_dims() do not.
class Rules {
 public:
  explicit Rules(const ops::Registry& registry) : registry_(registry) {}
  void define(std::string_view op, Rule rule);
  void define(std::initializer_list<std::string_view> ops, Rule rule) {
    for (const std::string_view op : ops) define(op, rule);
  }

 private:
  const ops::Registry& registry_;
};
const Rule* find_rule(const ops::Op& op);

// Families of rules; each is a file in rules/.
void define_views(Rules& rules);
void define_dims(Rules& rules);
void define_creation(Rules& rules);
void define_random(Rules& rules);
void define_matmul(Rules& rules);
void define_indexing(Rules& rules);
void define_convolution(Rules& rules);
void define_norms(Rules& rules);
void define_losses(Rules& rules);
void define_linalg(Rules& rules);
void define_sparse(Rules& rules);

// --- Rules that several families use ---

// Arguments that name dims are those of the samples: they move by one, and all tensors have the
// batch dim in front.
void shift_dims(Call& call);
// Operands are broadcast: samples of fewer dims get dims of size 1 behind the batch dim.
void align_operands(Call& call);
// The op is made of others, which write to copies of its first tensor, or list of tensors: that is
// batched beforehand, or all are.
void batch_first(Call& call);
void batch_all(Call& call);
// One sample after the other.
void run_samples(Call& call);

// Refuses to write what differs between samples to a tensor that does not.
void check_written(const Call& call);
[[noreturn]] void refuse_dynamic(const Call& call);

}  // namespace mindtorch::batching
