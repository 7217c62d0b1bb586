#include "mindtorch/autocast/autocast_layer.h"

#include "mindtorch/autocast/autocast.h"
#include "mindtorch/dispatch/dispatcher.h"

namespace mindtorch::autocast {
namespace {

using dispatch::Layer;
using ops::Args;
using ops::AutocastPolicy;
using ops::Op;
using ops::Outputs;
using ops::Value;
using ops::ValueKind;

template <typename Visit>
void for_each_tensor(Args args, const Visit& visit) {
  for (const Value& value : args) {
    if (value.kind() == ValueKind::kTensor) {
      visit(value.tensor());
    } else if (value.kind() == ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined()) visit(tensor);
      }
    }
  }
}

// The accelerator's where one tensor is there.
DeviceType device_of(Args args) {
  DeviceType type = DeviceType::kCpu;
  for_each_tensor(args, [&](const Tensor& tensor) {
    if (type == DeviceType::kCpu) type = tensor.device().type;
  });
  return type;
}

DType widest(Args args, DeviceType type) {
  const DType lower = dtype(type);
  DType found = lower;
  for_each_tensor(args, [&](const Tensor& tensor) {
    if (!is_eligible(tensor, type)) return;
    if (tensor.dtype() == DType::kFloat32) found = DType::kFloat32;
    MT_CHECK(found == DType::kFloat32 || tensor.dtype() == lower, RuntimeError,
             "Unexpected floating ScalarType in at::autocast::prioritize");
  });
  return found;
}

// Arguments of which some were replaced. What they point to lies here.
class CastArguments {
 public:
  CastArguments(Args args, DeviceType type, DType dtype) : values_(args.begin(), args.end()) {
    size_t count = 0;
    for_each_tensor(args, [&](const Tensor&) { ++count; });
    lists_.reserve(args.size());
    tensors_.reserve(count);  // values point into it
    const auto cast_one = [&](const Tensor& tensor) {
      return is_eligible(tensor, type) ? cast(tensor, dtype) : tensor;
    };
    for (Value& value : values_) {
      if (value.kind() == ValueKind::kTensor) {
        tensors_.push_back(cast_one(value.tensor()));
        value = Value(tensors_.back());
      } else if (value.kind() == ValueKind::kTensorList) {
        std::vector<Tensor>& list = lists_.emplace_back();
        for (const Tensor& tensor : value.tensor_list()) list.push_back(cast_one(tensor));
        value = Value(TensorList(list));
      }
    }
  }
  Args get() const { return {values_.data(), values_.size()}; }

 private:
  SmallVector<Value, 8> values_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<Tensor>> lists_;
};

void run_below(const Op& op, Args args, Outputs& outputs) {
  dispatch::call_below(Layer::kAutocast, op, args, outputs);
}

// The argument dtype= is float32 where it is not given.
void run_with_float32_result(const Op& op, Args args, Outputs& outputs, DeviceType type) {
  if (!is_eligible(args[0].tensor(), type)) return run_below(op, args, outputs);
  SmallVector<Value, 8> values(args.begin(), args.end());
  for (size_t i = 0; i < values.size(); ++i) {
    if (op.schema.params[i].type == ops::ArgType::kDType && values[i].is_none()) {
      values[i] = Value(DType::kFloat32);
    }
  }
  run_below(op, {values.data(), values.size()}, outputs);
}

void run_autocast(const Op& op, Args args, Outputs& outputs) {
  const DeviceType type = device_of(args);
  const AutocastPolicy policy =
      type == DeviceType::kCpu ? op.autocast.cpu : op.autocast.accelerator;
  if (policy == AutocastPolicy::kNone || !is_enabled(type)) return run_below(op, args, outputs);
  // An op that is made of others has said all there is to say.
  const dispatch::SkipLayer skip(Layer::kAutocast);
  switch (policy) {
    case AutocastPolicy::kFloat32Result:
      return run_with_float32_result(op, args, outputs, type);
    case AutocastPolicy::kFloat32:
      return run_below(op, CastArguments(args, type, DType::kFloat32).get(), outputs);
    case AutocastPolicy::kRefused:
      // binary_cross_entropy alone.
      MT_THROW(
          RuntimeError,
          "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
          "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
          "In this case, combine the two layers using "
          "torch.nn.functional.binary_cross_entropy_with_logits\n"
          "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
          "safe to autocast.");
    case AutocastPolicy::kWidest:
      return run_below(op, CastArguments(args, type, widest(args, type)).get(), outputs);
    default:
      return run_below(op, CastArguments(args, type, dtype(type)).get(), outputs);
  }
}

}  // namespace

void install() { dispatch::install_layer(Layer::kAutocast, &run_autocast); }

}  // namespace mindtorch::autocast
