// torch._foreach_*: one call of a kernel for the whole list where its tensors are alike, else an op
// for each.
#include "mindtorch/ops/foreach.h"

#include <cstring>
#include <utility>

#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::functional {
namespace {

using ops::ArgType;
using ops::ForeachArgs;
using ops::Op;
using ops::PointwiseCall;
using ops::Value;
using ops::ValueKind;

using Nothing = std::tuple<>;
constexpr size_t kMaxParams = 4;

void check_list(TensorList self) {
  MT_CHECK(!self.empty(), RuntimeError, "Tensor list must have at least one tensor.");
}

void check_lengths(TensorList self, TensorList other) {
  MT_CHECK(self.size() == other.size(), RuntimeError,
           "Tensor lists must have the same number of tensors, got ", self.size(), " and ",
           other.size());
}

Scalar number_of(const Tensor& tensor, size_t index = 0) {
  return read_element(tensor.data<char>() + static_cast<int64_t>(index) * tensor.element_size(),
                      tensor.dtype());
}

// Autograd may have to see each op by itself.
bool may_record_list(TensorList list) {
  if (!dispatch::thread_layers().grad_mode) return false;
  for (const Tensor& tensor : list) {
    if ((tensor.impl()->layers & dispatch::bit(dispatch::Layer::kAutograd)) != 0) return true;
  }
  return false;
}

// The arguments of an op on a list, as those of its base op on one tensor of it.
class EachCall {
 public:
  EachCall(const Op& base, std::span<const Value> args) : base_(base), args_(args) {
    for (size_t k = 0; k < base.schema.params.size(); ++k) {
      // Only alpha is ever left out.
      if (k >= args.size()) {
        values_[k] = Value(Scalar(1));
      } else if (args[k].kind() == ValueKind::kTensorList) {
        lists_[list_count_++] = k;
      } else if (args[k].kind() == ValueKind::kTensor && type(k) == ArgType::kScalar) {
        take_numbers(args[k].tensor());
        lists_[list_count_++] = k;
      } else if (args[k].kind() == ValueKind::kScalar && type(k) == ArgType::kOperand) {
        number_ = Tensor::wrapped_number(args[k].scalar());
        values_[k] = Value(number_);
      } else {
        values_[k] = args[k];
      }
    }
  }

  size_t size() const { return args_[0].tensor_list().size(); }
  // The arguments for one tensor.
  ops::Args at(size_t i) {
    for (size_t n = 0; n < list_count_; ++n) {
      const size_t k = lists_[n];
      if (args_[k].kind() == ValueKind::kTensor) {
        values_[k] = Value(number_of(numbers_, i));
      } else if (const Tensor& tensor = args_[k].tensor_list()[i]; type(k) == ArgType::kScalar) {
        values_[k] = Value(number_of(tensor));
      } else {
        values_[k] = Value(tensor);
      }
    }
    return {values_, base_.schema.params.size()};
  }
  bool may_record() const {
    for (const Value& value : args_) {
      if (value.kind() == ValueKind::kTensorList && may_record_list(value.tensor_list())) {
        return true;
      }
      if (value.kind() == ValueKind::kTensor && may_record_list(std::span(&value.tensor(), 1))) {
        return true;
      }
    }
    return false;
  }

 private:
  ArgType type(size_t param) const { return base_.schema.params[param].type; }

  // addcmul(..., scalars): a tensor with a number for each.
  void take_numbers(const Tensor& tensor) {
    MT_CHECK(tensor.device().is_host(), RuntimeError, "Expected scalars to be on CPU, got ",
             tensor.device().str(), " instead.");
    MT_CHECK(tensor.is_contiguous(), RuntimeError, "Expected scalars to be contiguous.");
    MT_CHECK(tensor.dim() == 1, RuntimeError,
             "Expected packed scalar Tensor to be of dimension 1. Got ", tensor.dim(), " instead.");
    MT_CHECK(tensor.numel() == static_cast<int64_t>(size()), RuntimeError,
             "Expected length of scalars to match input of length ", size(), " but got ",
             tensor.numel(), " instead.");
    numbers_ = tensor;
  }

  const Op& base_;
  const std::span<const Value> args_;
  Value values_[kMaxParams];
  size_t lists_[kMaxParams];
  size_t list_count_ = 0;
  Tensor number_;
  Tensor numbers_;
};

// The list as one call: its tensors are on one device, and the op does the same with each of them.
// An operand is a list of the caller's, or a tensor that all share.
class ListCall {
 public:
  ListCall(std::span<const Value> args, bool in_place) : args_(args), in_place_(in_place) {}

  // False: the call for this tensor does not go with the others, or needs checks of its own.
  bool add(const PointwiseCall& call, size_t index) {
    if (index == 0 && !start(call)) return false;
    if (call.function != first_->function || call.compute != first_->compute ||
        call.result != first_->result || call.unrounded != first_->unrounded ||
        std::memcmp(&call.params, &first_->params, sizeof(call.params)) != 0) {
      return false;
    }
    for (int k = 0; k < call.count; ++k) {
      const Tensor* const expected =
          sources_[k] < 0 ? first_->operands[k] : &list(sources_[k])[index];
      if (call.operands[k] != expected || !fits(*expected, index)) return false;
    }
    return true;
  }

  void run(ops::Outputs& outputs) const {
    static const Op& fresh = ops::registry().at("_pointwise_list");
    static const Op& in_place = ops::registry().at("_pointwise_list_");
    ops::check_dtype(*first_);
    SmallVector<Value, 11> args;
    if (in_place_) args.push_back(args_[0]);
    for (int k = 0; k < kMaxLists; ++k) {
      if (k >= first_->count) {
        args.push_back(Value(TensorList()));
      } else if (sources_[k] < 0) {
        args.push_back(Value(TensorList(std::span(first_->operands[k], 1))));
      } else {
        args.push_back(args_[static_cast<size_t>(sources_[k])]);
      }
    }
    args.push_back(Value(static_cast<int64_t>(first_->function)));
    args.push_back(Value(static_cast<int64_t>(first_->compute)));
    if (!in_place_) args.push_back(Value(static_cast<int64_t>(first_->result)));
    args.push_back(Value(static_cast<int64_t>(first_->unrounded)));
    for (int k = 0; k < 3; ++k) {
      args.push_back(Value(is_floating_point(first_->compute) ? Scalar(first_->params.f[k])
                                                              : Scalar(first_->params.i[k])));
    }
    dispatch::call(in_place_ ? in_place : fresh, {args.data(), args.size()}, outputs);
  }

 private:
  static constexpr int kMaxLists = 3;

  TensorList list(int argument) const { return args_[static_cast<size_t>(argument)].tensor_list(); }

  bool start(const PointwiseCall& call) {
    if (!is_common(call.compute) || !is_common(call.result)) return false;
    first_ = call;
    device_ = list(0)[0].device();
    if (device_.is_meta() || call.refused || call.count > kMaxLists ||
        call.layout != ops::Layout::kAgreed) {
      return false;
    }
    for (int k = 0; k < call.count; ++k) {
      sources_[k] = -1;
      for (size_t j = 0; j < args_.size(); ++j) {
        if (args_[j].kind() == ValueKind::kTensorList &&
            call.operands[k] == args_[j].tensor_list().data()) {
          sources_[k] = static_cast<int>(j);
        }
      }
      if (sources_[k] < 0 && call.operands[k]->dim() != 0) return false;
    }
    return true;
  }

  bool fits(const Tensor& operand, size_t index) const {
    const Tensor& self = list(0)[index];
    if (&operand == &self) {
      return self.device() == device_ && (!in_place_ || self.dtype() == first_->result);
    }
    const bool is_single = operand.dim() == 0;
    if (operand.device() != device_ && !(is_single && operand.device().is_host())) return false;
    if (!in_place_ || operand.is_same(self)) return true;
    return !self.shares_storage(operand) && (is_single || operand.sizes() == self.sizes());
  }

  const std::span<const Value> args_;
  const bool in_place_;
  std::optional<PointwiseCall> first_;
  Device device_;
  int sources_[kMaxLists];  // by operand: the argument whose list it is, or -1
};

void run(const Op& base, const Op* in_place, std::span<const Value> args, ops::Outputs& outputs) {
  const TensorList self = args[0].tensor_list();
  check_list(self);
  for (const Value& value : args) {
    if (value.kind() == ValueKind::kTensorList) check_lengths(self, value.tensor_list());
  }
  EachCall each(base, args);
  bool is_one = !each.may_record();
  ListCall call(args, in_place != nullptr);
  for (size_t i = 0; is_one && i < self.size(); ++i) {
    is_one = call.add(base.resolve(each.at(i)), i);
  }
  if (is_one) return call.run(outputs);
  for (size_t i = 0; i < self.size(); ++i) {
    ops::Outputs one;
    dispatch::call(in_place != nullptr ? *in_place : base, each.at(i), one);
    if (in_place == nullptr) outputs.tensors.push_back(std::move(one.tensors[0]));
  }
}

std::string in_place_name(std::string_view name) {
  const size_t dot = std::min(name.find('.'), name.size());
  return std::string(name.substr(0, dot)) + "_" + std::string(name.substr(dot));
}

template <size_t kIndex, typename... Params>
std::vector<Tensor> foreach (Params... params) {
  static const Op& base = ops::registry().at(ops::kForeachOps[kIndex].base);
  const Value args[] = {Value(params)...};
  ops::Outputs outputs;
  run(base, nullptr, args, outputs);
  return {std::make_move_iterator(outputs.tensors.begin()),
          std::make_move_iterator(outputs.tensors.end())};
}

template <size_t kIndex, typename... Params>
Nothing foreach_(Params... params) {
  static const Op& base = ops::registry().at(ops::kForeachOps[kIndex].base);
  static const Op& in_place = ops::registry().at(in_place_name(ops::kForeachOps[kIndex].base));
  const Value args[] = {Value(params)...};
  ops::Outputs outputs;
  run(base, &in_place, args, outputs);
  return {};
}

template <size_t kIndex, typename... Params>
void compose_pair(ops::Registry& registry) {
  constexpr const ops::ForeachOp& op = ops::kForeachOps[kIndex];
  const std::string name(op.name);
  const std::string overload = op.overload.empty() ? "" : "." + std::string(op.overload);
  registry.composite<foreach<kIndex, TensorList, Params...>>(name + overload);
  registry.composite<foreach_<kIndex, TensorList, Params...>>(name + "_" + overload);
}

template <size_t kIndex>
void compose_one(ops::Registry& registry) {
  constexpr ForeachArgs args = ops::kForeachOps[kIndex].args;
  using List = TensorList;
  using Number = const Scalar&;
  using Single = const Tensor&;
  if constexpr (args == ForeachArgs::kNone) {
    compose_pair<kIndex>(registry);
  } else if constexpr (args == ForeachArgs::kNumber) {
    compose_pair<kIndex, Number>(registry);
  } else if constexpr (args == ForeachArgs::kNumbers || args == ForeachArgs::kList) {
    compose_pair<kIndex, List>(registry);
  } else if constexpr (args == ForeachArgs::kTensor) {
    compose_pair<kIndex, Single>(registry);
  } else if constexpr (args == ForeachArgs::kListAndNumber) {
    compose_pair<kIndex, List, Number>(registry);
  } else if constexpr (args == ForeachArgs::kTensorAndNumber) {
    compose_pair<kIndex, Single, Number>(registry);
  } else if constexpr (args == ForeachArgs::kTwoLists || args == ForeachArgs::kListAndNumbers) {
    compose_pair<kIndex, List, List>(registry);
  } else if constexpr (args == ForeachArgs::kTwoListsAndNumber) {
    compose_pair<kIndex, List, List, Number>(registry);
  } else if constexpr (args == ForeachArgs::kTwoListsAndNumbers) {
    compose_pair<kIndex, List, List, List>(registry);
  } else {
    static_assert(args == ForeachArgs::kTwoListsAndTensor);
    compose_pair<kIndex, List, List, Single>(registry);
  }
}

// --- those that are not pointwise
// -----------------------------------------------------------------

bool are_on_one_device(TensorList list, Device device) {
  for (const Tensor& tensor : list) {
    if (tensor.device() != device || device.is_meta()) return false;
  }
  return true;
}

void call_list_op(const Op& op, std::initializer_list<Value> args, ops::Outputs& outputs) {
  dispatch::call(op, {args.begin(), args.size()}, outputs);
}

std::vector<Tensor> pow_of_number(const Scalar& self, TensorList exponent) {
  check_list(exponent);
  std::vector<Tensor> results;
  for (const Tensor& tensor : exponent) {
    results.push_back(pow(Tensor::wrapped_number(self), tensor));
  }
  return results;
}

std::vector<Tensor> clone_each(TensorList self, std::optional<MemoryFormat> memory_format) {
  check_list(self);
  std::vector<Tensor> results;
  for (const Tensor& tensor : self) results.push_back(clone(tensor, memory_format));
  return results;
}

std::vector<Tensor> max_of_each(TensorList self) {
  check_list(self);
  std::vector<Tensor> results;
  for (const Tensor& tensor : self) results.push_back(max(tensor));
  return results;
}

Nothing copy_each_(TensorList self, TensorList src, bool non_blocking) {
  static const Op& in_one = ops::registry().at("_copy_list_");
  check_list(self);
  check_lengths(self, src);
  bool is_one = !may_record_list(self) && !may_record_list(src) &&
                are_on_one_device(self, self[0].device()) &&
                are_on_one_device(src, self[0].device());
  for (size_t i = 0; is_one && i < self.size(); ++i) {
    is_one = self[i].sizes() == src[i].sizes() && !self[i].shares_storage(src[i]) &&
             self[i].dtype() == src[i].dtype();
  }
  ops::Outputs outputs;
  if (is_one) {
    call_list_op(in_one, {Value(self), Value(src)}, outputs);
    return {};
  }
  for (size_t i = 0; i < self.size(); ++i) copy_(self[i], src[i], non_blocking);
  return {};
}

Nothing zero_each_(TensorList self) {
  static const Op& in_one = ops::registry().at("_zero_list_");
  check_list(self);
  if (!may_record_list(self) && are_on_one_device(self, self[0].device())) {
    ops::Outputs outputs;
    call_list_op(in_one, {Value(self)}, outputs);
    return {};
  }
  for (const Tensor& tensor : self) zero_(tensor);
  return {};
}

std::vector<Tensor> norm_of_each(TensorList self, const Scalar& ord, std::optional<DType> dtype) {
  static const Op& in_one = ops::registry().at("_norm_list");
  check_list(self);
  const double order = ord.to_double();
  bool is_one = (order == 1 || order == 2) && !dtype && !may_record_list(self) &&
                are_on_one_device(self, self[0].device());
  for (size_t i = 0; is_one && i < self.size(); ++i) {
    is_one = is_floating_point(self[i].dtype()) && self[i].numel() > 0 &&
             self[i].dtype() == self[0].dtype();
  }
  std::vector<Tensor> results;
  if (!is_one) {
    for (const Tensor& tensor : self) {
      results.push_back(linalg_vector_norm(tensor, ord, std::nullopt, false, dtype));
    }
    return results;
  }
  ops::Outputs outputs;
  call_list_op(in_one, {Value(self), Value(ord)}, outputs);
  return {std::make_move_iterator(outputs.tensors.begin()),
          std::make_move_iterator(outputs.tensors.end())};
}

}  // namespace

void compose_foreach(ops::Registry& registry) {
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    (compose_one<kIndex>(registry), ...);
  }(std::make_index_sequence<ops::kForeachCount>{});
  registry.composite<pow_of_number>("_foreach_pow.ScalarAndTensor");
  registry.composite<clone_each>("_foreach_clone");
  registry.composite<copy_each_>("_foreach_copy_");
  registry.composite<zero_each_>("_foreach_zero_");
  registry.composite<max_of_each>("_foreach_max");
  registry.composite<norm_of_each>("_foreach_norm.Scalar");
}

}  // namespace mindtorch::functional
