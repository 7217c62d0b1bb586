// New tensors in the likeness of others, and random ones made of several ops.
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

using ops::Outputs;
using ops::ValueKind;

// zeros_like and its like. Formats that name dims are those of a sample; a new tensor is in order
// all the same.
void make_like(Call& call) {
  NewArguments args(call.args);
  args.set(0, call.value(0));
  for (size_t i = 1; i < call.args.size(); ++i) {
    if (call.args[i].kind() == ValueKind::kMemoryFormat) {
      args.set_memory_format(i, MemoryFormat::kContiguous);
    }
  }
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  call.give(made.tensors[0]);
}

void new_empty_strided(Call& call) {
  NewArguments args(call.args);
  args.set(0, call.value(0));
  const IntList size = call.args[1].int_list();
  const IntList stride = call.args[2].int_list();
  Shape sizes = {call.size()};
  Shape strides = {extent(size, stride)};
  for (const int64_t s : size) sizes.push_back(s);
  for (const int64_t s : stride) strides.push_back(s);
  args.set(1, std::move(sizes));
  args.set(2, std::move(strides));
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  call.give(made.tensors[0]);
}

// The ops are called on batched tensors: the draw is one of this level.
Tensor scaled(const Tensor& like, Generator* generator) {
  return normal_(empty_like(like), 0, 1, generator);
}
void normal_tensor_tensor(Call& call) {
  const Tensor& mean = call.tensor(0);
  const Tensor& std = call.tensor(1);
  const Tensor like = add(mean, std);
  call.give_same(add(mul(scaled(like, call.args[2].generator()), std), mean));
}
void normal_tensor_float(Call& call) {
  const Tensor& mean = call.tensor(0);
  const Scalar std(call.args[1].to_float());
  call.give_same(add(mul(scaled(mean, call.args[2].generator()), std), mean));
}
void normal_float_tensor(Call& call) {
  const Tensor& std = call.tensor(1);
  const Scalar mean(call.args[0].to_float());
  call.give_same(add(mul(scaled(std, call.args[2].generator()), std), mean));
}

}  // namespace

void define_creation(Rules& rules) {
  rules.define({"empty_like", "zeros_like", "ones_like", "full_like"}, &make_like);
  rules.define("new_empty_strided", &new_empty_strided);
}

void define_random(Rules& rules) {
  rules.define("normal.Tensor_Tensor", &normal_tensor_tensor);
  rules.define("normal.Tensor_float", &normal_tensor_float);
  rules.define("normal.float_Tensor", &normal_float_tensor);
}

}  // namespace mindtorch::batching
