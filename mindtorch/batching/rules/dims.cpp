// Ops whose arguments name dims: reductions, scans, sorts, gathers and scatters.
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

using ops::ArgType;
using ops::Outputs;
using ops::Param;
using ops::ValueKind;

bool is_dim(const Param& param) {
  if (param.type != ArgType::kInt) return false;
  return param.name == "dim" || param.name == "dim0" || param.name == "dim1" ||
         param.name == "dim2" || param.name == "dimension";
}
bool is_dim_list(const Param& param) {
  return param.type == ArgType::kIntList && (param.name == "dim" || param.name == "dims");
}
bool is_size(const Param& param) { return param.type == ArgType::kIntList && param.name == "size"; }

Shape all_dims(int64_t rank) {
  Shape dims;
  for (int64_t d = 1; d <= rank; ++d) dims.push_back(d);
  return dims;
}

}  // namespace

void shift_dims(Call& call) {
  const std::vector<Param>& params = call.op.schema.params;
  const bool writes = call.op.writes_first();
  if (writes) check_written(call);
  const int64_t rank = call.tensor(0).dim();
  bool names_dims = false;
  bool flattens = false;  // dim=None where only one dim can be named
  for (size_t i = 0; i < call.args.size(); ++i) {
    names_dims |= is_dim(params[i]) || is_dim_list(params[i]);
    flattens |= is_dim(params[i]) && call.args[i].is_none();
  }
  // A number takes 0 and -1 for a dim: it becomes a vector of one.
  const bool is_number = rank == 0 && names_dims;
  const int64_t shown_rank = is_number || flattens ? 1 : rank;
  bool keeps_dims = false;
  NewArguments args(call.args);
  for (size_t i = 0; i < call.args.size(); ++i) {
    const ops::Value& value = call.args[i];
    if (value.kind() == ValueKind::kTensor) {
      Tensor tensor = call.expanded(i);
      if (flattens) {
        tensor = reshape(tensor, {call.size(), -1});
      } else if (is_number && tensor.dim() == 1) {
        tensor = unsqueeze(tensor, 1);
      }
      args.set(i, std::move(tensor));
    } else if (is_dim(params[i])) {
      args.set(i, flattens ? 1 : wrap_dim(value.to_int(), rank) + 1);
    } else if (is_dim_list(params[i])) {
      const bool is_all = value.is_none() || (value.int_list().empty() && params[i].optional);
      Shape dims = is_all ? all_dims(shown_rank) : Shape();
      for (const int64_t dim : is_all ? IntList() : value.int_list()) {
        dims.push_back(wrap_dim(dim, rank) + 1);
      }
      args.set(i, std::move(dims));
    } else if (is_size(params[i])) {
      Shape sizes = {call.size()};
      for (const int64_t size : value.int_list()) sizes.push_back(size);
      args.set(i, std::move(sizes));
    } else if (params[i].name == "keepdim") {
      keeps_dims = value.to_bool();
    }
  }
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  if (writes) return call.give_same(call.tensor(0));
  for (const Tensor& result : made.tensors) {
    if (is_number && result.dim() > 1 && result.size(1) == 1) {
      call.give(squeeze(result, 1));
    } else if (flattens && keeps_dims) {
      Shape sizes(static_cast<size_t>(rank) + 1, 1);
      sizes[0] = call.size();
      call.give(view(result, sizes));
    } else {
      call.give(result);
    }
  }
}

namespace {

Tensor flat(const Call& call) { return reshape(call.value(0), {call.size(), -1}); }

void max_of_all(Call& call) { call.give(amax(flat(call), IntList({1}))); }
void min_of_all(Call& call) { call.give(amin(flat(call), IntList({1}))); }
void median_of_all(Call& call) { call.give(std::get<0>(median(flat(call), 1))); }
void nanmedian_of_all(Call& call) { call.give(std::get<0>(nanmedian(flat(call), 1))); }

void cat(Call& call) {
  std::vector<Tensor> tensors;
  int64_t rank = 0;
  for (const Tensor& tensor : call.args[0].tensor_list()) {
    // torch skips empty vectors, whatever the others look like.
    if (tensor.dim() == 1 && tensor.size(0) == 0 && call.args[0].tensor_list().size() > 1) continue;
    rank = std::max(rank, tensor.dim());
    tensors.push_back(call.expanded(tensor));
  }
  if (tensors.empty()) tensors.push_back(call.expanded(call.args[0].tensor_list()[0]));
  call.give(
      mindtorch::cat(tensors, wrap_dim(call.args[1].to_int(), std::max<int64_t>(rank, 1)) + 1));
}

void searchsorted(Call& call) {
  const Tensor& sequence = call.tensor(0);
  const bool plain = !call.args[5].tensor().defined() && !call.tensor(1).is_wrapped_number();
  if (!plain) return run_samples(call);
  NewArguments args(call.args);
  Outputs made;
  if (!call.is_batched(0) && sequence.dim() == 1) {
    args.set(1, call.value(1));
    dispatch::call(call.op, args.get(), made);
    return call.give(made.tensors[0]);
  }
  const Tensor values = call.expanded(1);
  args.set(0, call.expanded(0));
  args.set(1, sequence.dim() == 1 ? reshape(values, {call.size(), -1}) : values);
  dispatch::call(call.op, args.get(), made);
  call.give(sequence.dim() == 1 ? view(made.tensors[0], values.sizes()) : made.tensors[0]);
}

}  // namespace

void define_dims(Rules& rules) {
  rules.define("max", &max_of_all);
  rules.define("min", &min_of_all);
  rules.define("median", &median_of_all);
  rules.define("nanmedian", &nanmedian_of_all);
  rules.define("cat", &cat);
  rules.define("searchsorted", &searchsorted);
}

}  // namespace mindtorch::batching
