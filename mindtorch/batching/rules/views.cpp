// Pointwise ops, views and copies.
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

using ops::Outputs;
using ops::ValueKind;

// The dims of size 1 behind the batch dim that a sample of fewer dims than `rank` gets.
Tensor pad_rank(const Call& call, const Tensor& tensor, int64_t rank) {
  Tensor value = call.value(tensor);
  if (!call.is_batched(tensor)) return value;
  while (value.dim() < rank + 1) value = unsqueeze(value, 1);
  return value;
}

template <typename Visit>
void for_each_tensor(const Call& call, const Visit& visit) {
  for (const ops::Value& value : call.args) {
    if (value.kind() == ValueKind::kTensor) {
      visit(value.tensor());
    } else if (value.kind() == ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) visit(tensor);
    }
  }
}

// Batch dims make vectors of numbers, which promote as vectors do; here is the dtype that the
// samples promote to.
DType promoted(const Call& call) {
  ResultType type;
  for_each_tensor(call, [&](const Tensor& tensor) { type.add(tensor); });
  return type.dtype();
}

}  // namespace

void align_operands(Call& call) {
  const ops::Op& base = call.op.base != nullptr ? *call.op.base : call.op;
  const bool writes = call.op.writes_first();
  if (writes) check_written(call);
  int64_t rank = 0;
  for_each_tensor(call, [&](const Tensor& tensor) { rank = std::max(rank, tensor.dim()); });
  const auto align = [&](bool cast) {
    NewArguments args(call.args);
    for (size_t i = 0; i < call.args.size(); ++i) {
      const ops::Value& value = call.args[i];
      const auto change = [&](const Tensor& tensor) {
        Tensor aligned = pad_rank(call, tensor, rank);
        const bool casts = cast && !tensor.is_wrapped_number() && tensor.dtype() != DType::kBool &&
                           !(writes && i == 0);
        return casts ? _to_copy(aligned, promoted(call)) : aligned;
      };
      if (value.kind() == ValueKind::kTensor) {
        args.set(i, change(value.tensor()));
      } else if (value.kind() == ValueKind::kTensorList) {
        std::vector<Tensor> list;
        for (const Tensor& tensor : value.tensor_list()) list.push_back(change(tensor));
        args.set(i, std::move(list));
      }
    }
    return args;
  };
  Outputs made;
  {
    const NewArguments args = align(false);
    bool is_same_type = true;
    if (base.resolve != nullptr) {
      const ops::PointwiseCall wanted = base.resolve(call.args);
      const ops::PointwiseCall got = base.resolve(args.get());
      is_same_type = wanted.compute == got.compute && wanted.result == got.result;
    }
    if (is_same_type) {
      dispatch::call(call.op, args.get(), made);
    } else {
      dispatch::call(call.op, align(true).get(), made);
    }
  }
  if (writes) return call.give_same(call.tensor(0));
  call.give(made.tensors[0]);
}

namespace {

void permute(Call& call) {
  Shape dims = {0};
  for (const int64_t dim : call.args[1].int_list()) {
    dims.push_back(wrap_dim(dim, call.tensor(0).dim()) + 1);
  }
  call.give(mindtorch::permute(call.value(0), dims));
}

void unsqueeze(Call& call) {
  const int64_t dim = wrap_dim(call.args[1].to_int(), call.tensor(0).dim() + 1);
  call.give(mindtorch::unsqueeze(call.value(0), dim + 1));
}

void squeeze(Call& call) {
  Shape dims;
  for (int64_t d = 0; d < call.tensor(0).dim(); ++d) {
    if (call.tensor(0).size(d) == 1) dims.push_back(d + 1);
  }
  call.give(mindtorch::squeeze(call.value(0), IntList(dims)));
}

void t(Call& call) {
  const Tensor self = call.value(0);
  MT_CHECK(self.dim() <= 3, RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is ",
           self.dim() - 1, "D");
  call.give(self.dim() < 3 ? mindtorch::alias(self) : transpose(self, 1, 2));
}

void expand(Call& call) {
  const IntList wanted = call.args[1].int_list();
  Tensor self = call.value(0);
  while (self.dim() < static_cast<int64_t>(wanted.size()) + 1) self = mindtorch::unsqueeze(self, 1);
  Shape sizes = {call.size()};
  for (const int64_t size : wanted) sizes.push_back(size);
  const auto added = static_cast<int64_t>(wanted.size()) - call.tensor(0).dim();
  for (int64_t d = 0; d < added; ++d) {
    MT_CHECK(wanted[static_cast<size_t>(d)] >= 0, RuntimeError, "The expanded size of the tensor (",
             wanted[static_cast<size_t>(d)],
             ") isn't allowed in a leading, non-existing dimension ", d);
  }
  call.give(mindtorch::expand(self, sizes, call.args[2].to_bool()));
}

// Sizes and strides are those of the memory of one sample.
void as_strided(Call& call) {
  const Batched& self = batched(call.tensor(0));
  Shape sizes = {call.size()};
  Shape strides = {self.value.stride(self.dim)};
  for (const int64_t size : call.args[1].int_list()) sizes.push_back(size);
  for (const int64_t stride : call.args[2].int_list()) strides.push_back(stride);
  call.give(mindtorch::as_strided(
      self.value, sizes, strides,
      call.args[3].is_none() ? self.value.storage_offset() : call.args[3].to_int()));
}

// --- ops made of others, as one call for autograd ---

// roll without dims is one of the flat tensor.
void shift_listed_dims(Call& call) {
  const size_t dims = call.op.schema.params.size() - 1;
  if (!call.args[dims].int_list().empty()) return shift_dims(call);
  dispatch::run_eager(call.op, call.args, call.outputs);
}

void repeat(Call& call) {
  Tensor self = call.value(0);
  Shape repeats = {1};
  for (const int64_t count : call.args[1].int_list()) repeats.push_back(count);
  const bool fits = static_cast<int64_t>(repeats.size()) >= self.dim();
  while (fits && self.dim() < static_cast<int64_t>(repeats.size())) {
    self = mindtorch::unsqueeze(self, 1);
  }
  call.give(mindtorch::repeat(self, fits ? repeats : Shape(repeats.begin() + 1, repeats.end())));
}

void diag_embed(Call& call) {
  const int64_t rank = call.tensor(0).dim() + 1;
  call.give(mindtorch::diag_embed(call.value(0), call.args[1].to_int(),
                                  wrap_dim(call.args[2].to_int(), rank) + 1,
                                  wrap_dim(call.args[3].to_int(), rank) + 1));
}

// Counts from the last dim: the batch dim is out of reach.
void constant_pad_nd(Call& call) {
  call.give(
      mindtorch::constant_pad_nd(call.value(0), call.args[1].int_list(), call.args[2].scalar()));
}

// Of the last dims, as torch's checks have it.
template <Tensor (*kPad)(const Tensor&, IntList, int64_t)>
void pad_edges(Call& call) {
  call.give(kPad(call.value(0), call.args[1].int_list(), call.args[2].to_int()));
}

// --- views in place: the tensor shows another value ---

template <Rule kView>
void in_place(Call& call) {
  ops::Outputs made;
  Call view(call.op, call.args, made, call.level);
  kView(view);
  const Batched& shown = batched(made.tensors[0]);
  replace_value(call.tensor(0), shown.value, shown.dim);
  call.give_same(call.tensor(0));
}
template <const char* kName>
void view_of(Call& call) {
  static const ops::Op& op = ops::registry().at(kName);
  Call view(op, call.args, call.outputs, call.level);
  shift_dims(view);
}
constexpr char kTranspose[] = "transpose.int";
constexpr char kSqueezeDim[] = "squeeze.dim";
constexpr char kSqueezeDims[] = "squeeze.dims";

// --- copies ---

// Each sample with a number of its own.
void fill(Call& call) {
  check_written(call);
  MT_CHECK(call.tensor(1).dim() == 0, RuntimeError,
           "fill_ only supports 0-dimension value tensor but got tensor with ",
           call.tensor(1).dim(), " dimensions.");
  copy_(call.value(0), pad_rank(call, call.tensor(1), call.tensor(0).dim()));
  call.give_same(call.tensor(0));
}

// Formats that name dims are those of a sample; a copy is in order all the same.
void clone(Call& call) {
  const bool keeps =
      call.args[1].is_none() || call.args[1].memory_format() == MemoryFormat::kPreserve;
  const Batched& self = batched(call.tensor(0));
  if (keeps) {
    call.outputs.tensors.push_back(
        make_batched(mindtorch::clone(self.value), self.dim, call.level));
  } else {
    call.give(mindtorch::clone(call.value(0), MemoryFormat::kContiguous));
  }
}

void to_copy(Call& call) {
  NewArguments args(call.args);
  const Batched& self = batched(call.tensor(0));
  const bool keeps =
      call.args[5].is_none() || call.args[5].memory_format() == MemoryFormat::kPreserve;
  args.set(0, keeps ? self.value : call.value(0));
  if (!keeps) args.set_memory_format(5, MemoryFormat::kContiguous);
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  call.outputs.tensors.push_back(
      made.tensors[0].is_same(self.value)
          ? call.tensor(0)
          : make_batched(made.tensors[0], keeps ? self.dim : 0, call.level));
}

}  // namespace

void define_views(Rules& rules) {
  rules.define("copy_", &align_operands);
  rules.define("fill_.Tensor", &fill);
  rules.define("permute", &permute);
  rules.define("unsqueeze", &unsqueeze);
  rules.define("squeeze", &squeeze);
  rules.define("t", &t);
  rules.define("expand", &expand);
  rules.define("as_strided", &as_strided);
  rules.define("unsqueeze_", &in_place<&unsqueeze>);
  rules.define("squeeze_", &in_place<&squeeze>);
  rules.define("squeeze_.dim", &in_place<&view_of<kSqueezeDim>>);
  rules.define("squeeze_.dims", &in_place<&view_of<kSqueezeDims>>);
  rules.define({"transpose_", "swapdims_", "swapaxes_"}, &in_place<&view_of<kTranspose>>);
  rules.define("t_", &in_place<&t>);
  rules.define("as_strided_", &in_place<&as_strided>);
  rules.define({"roll", "rot90"}, &shift_listed_dims);
  rules.define("repeat", &repeat);
  rules.define("diag_embed", &diag_embed);
  rules.define("constant_pad_nd", &constant_pad_nd);
  rules.define("_pad_edges", &pad_edges<&mindtorch::_pad_edges>);
  rules.define("_pad_edges_backward", &pad_edges<&mindtorch::_pad_edges_backward>);
  rules.define("clone", &clone);
  rules.define("_to_copy", &to_copy);
}

}  // namespace mindtorch::batching
