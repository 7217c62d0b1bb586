#include "mindtorch/dispatch/eager/eager.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "mindtorch/dispatch/eager/copy.h"
#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/dispatch/eager/out_arguments.h"
#include "mindtorch/dispatch/eager/out_dtype.h"
#include "mindtorch/dispatch/eager/transfer.h"
#include "mindtorch/dispatch/eager/write_checks.h"
#include "mindtorch/dispatch/execute/executor.h"
#include "mindtorch/dispatch/execute/launch.h"
#include "mindtorch/ops/refusal.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::dispatch {

namespace detail {
constinit thread_local ThreadLayers t_layers;
}

using ops::Args;
using ops::Kernel;
using ops::Op;
using ops::OpForm;
using ops::OpKind;
using ops::Outputs;
using ops::PointwiseCall;
using ops::SpecList;
using ops::TensorSpec;

namespace {

template <typename Visit>
void each_given(Args args, const Visit& visit) {
  for (const ops::Value& value : args) {
    if (value.kind() == ops::ValueKind::kTensor) {
      visit(value.tensor());
    } else if (value.kind() == ops::ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined()) visit(tensor);
      }
    }
  }
}

// The device all tensor arguments share; 0-dim CPU tensors may join any. Throws on a mix. Adds
// their dtypes to `dtypes`.
Device common_device(const Op& op, Args args, DTypeSet& dtypes) {
  Device device;
  bool found = false;
  bool certain = false;  // set by a tensor that is not a 0-dim CPU one
  const auto add = [&](const Tensor& tensor) {
    dtypes |= bit(tensor.dtype());
    const Device own = tensor.device();
    const bool free = own.is_cpu() && tensor.dim() == 0;
    if (!found || (!certain && !free)) {
      device = own;
      found = true;
      certain = !free;
      return;
    }
    MT_CHECK(own == device || free || op.copy.source >= 0, RuntimeError,
             "Expected all tensors to be on the same device, but found at least two devices, ",
             device.str(), " and ", own.str(), "! (when checking arguments of ", op.schema.name,
             ")");
  };
  each_given(args, add);
  return device;
}

// The first tensor of a call, whose dtype an error names.
const Tensor* typed_tensor(Args args, std::span<const Tensor> outputs) {
  for (const ops::Value& value : args) {
    if (value.kind() == ops::ValueKind::kTensor) return &value.tensor();
  }
  return outputs.empty() ? nullptr : &outputs[0];
}

void check_kernel(const Op& op, Device device, Args args, std::span<const Tensor> outputs) {
  if (MT_UNLIKELY(op.kernel(device.type).impl == nullptr)) {
    ops::refuse_kernel(op, device, typed_tensor(args, outputs));
  }
}

// Of a call whose dtypes are not all right at first sight. Numbers in the host's memory have
// whatever dtype they have: they are not the device's.
[[gnu::cold]] void check_dtypes_of_device(const Op& op, Device device, Args args, DTypeSet made) {
  DTypeSet first = 0;
  DTypeSet given = 0;
  each_given(args, [&](const Tensor& tensor) {
    if (tensor.device().type != device.type) return;
    if (given == 0) first = bit(tensor.dtype());
    given |= bit(tensor.dtype());
  });
  if (given == 0) first = made;
  const Kernel& kernel = op.kernel(device.type);
  const DTypeSet refused = (first & ~kernel.takes) | ((given | made) & ~kernel.takes_beside);
  if (refused != 0) {
    ops::refuse_dtype(op, device, static_cast<DType>(std::countr_zero(refused)));
  }
}

// That the kernel of `op`, which is in its primary form, takes what is given and made. Most ops
// begin with the tensor that they compute with.
void check_dtypes(const Op& op, Device device, Args args, DTypeSet given, DTypeSet made = 0) {
  const Kernel& kernel = op.kernel(device.type);
  const bool begins_with_tensor = !args.empty() && args[0].kind() == ops::ValueKind::kTensor;
  const DTypeSet first = begins_with_tensor ? bit(args[0].tensor().dtype()) : given | made;
  if (MT_UNLIKELY(((first & ~kernel.takes) | ((given | made) & ~kernel.takes_beside)) != 0)) {
    check_dtypes_of_device(op, device, args, made);
  }
}

// What the immediate executor does is inlined.
Tensor make_output(Executor& executor, const TensorSpec& spec) {
  return MT_LIKELY(executor.is_immediate()) ? ImmediateExecutor::instance().make_output(spec)
                                            : executor.make_output(spec);
}
void run_prepared(Executor& executor, const PreparedCall& call) {
  if (MT_LIKELY(executor.is_immediate())) {
    ImmediateExecutor::instance().run(call);
  } else {
    executor.run(call);
  }
}

void run_call(Executor& executor, const PreparedCall& call) {
  if (call.device.is_meta()) return;
  check_kernel(call.op, call.device, call.args, call.outputs);
  run_prepared(executor, call);
}

// `out` has the call's dtype, or the device has a pointwise engine, which casts.
void run_pointwise_call(Executor& executor,
                        const Op& op,
                        const PointwiseCall& call,
                        Args args,
                        Tensor& out,
                        Writes writes) {
  const Device device = out.device();
  if (device.is_meta()) return;
  ops::check_dtype(call);
  const ops::Registry& registry = ops::registry();
  const ops::PointwiseFn engine = registry.pointwise_engine(device.type);
  PreparedCall prepared{op, args, device, {&out, 1}, &call, engine, writes};
  if (MT_UNLIKELY(engine == nullptr)) {
    check_kernel(op, device, args, prepared.outputs);
    prepared.pointwise = nullptr;
  }
  // Nothing is launched here that could refuse the dtype.
  if (out.numel() == 0 || !executor.is_immediate()) {
    if (const auto check = registry.fusion_engine(device.type).check) check(call);
    if (out.numel() == 0) return;
  }
  run_prepared(executor, prepared);
}

void run_view(const Op& op, Args args, Outputs& outputs) {
  const Tensor& self = args[0].tensor();
  ops::ViewSpec view = op.view(args);
  if (MT_UNLIKELY(view.dtype.has_value())) {
    ops::check_device_dtype(op, self.device(), *view.dtype);
  }
  if (op.differentiable) {
    outputs.tensors.push_back(make_view(self, std::move(view)));
  } else {
    Tensor result = self.alias(std::move(view.sizes), std::move(view.strides), view.offset);
    result.impl()->is_inference = self.impl()->is_inference;
    outputs.tensors.push_back(std::move(result));
  }
}

void run_pointwise(Executor& executor, const Op& op, Args args, Outputs& outputs) {
  const PointwiseCall call = op.resolve(args);
  const TensorSpec spec = ops::infer_pointwise(call);
  Tensor out = make_output(executor, spec);
  run_pointwise_call(executor, op, call, args, out, Writes::kNew);
  outputs.tensors.push_back(std::move(out));
}

// A device that keeps nothing, and meta, have empty tensors there.
[[gnu::cold]] void add_auxiliary(const Op& op, Args args, SpecList& specs) {
  const ops::AuxiliaryFn auxiliary = op.kernel(specs[0].device.type).auxiliary;
  if (auxiliary != nullptr) auxiliary(args, specs);
  while (specs.size() < op.schema.returns.size()) {
    specs.push_back({{0}, specs[0].dtype, specs[0].device, std::nullopt});
  }
}

void run_kernel(Executor& executor, const Op& op, Args args, DTypeSet dtypes, Outputs& outputs) {
  SpecList specs;
  op.infer(args, specs);
  if (MT_UNLIKELY(op.auxiliary != 0)) add_auxiliary(op, args, specs);
  DTypeSet made = 0;
  for (const TensorSpec& spec : specs) made |= bit(spec.dtype);
  check_dtypes(op, specs[0].device, args, dtypes, made);
  for (const TensorSpec& spec : specs) outputs.tensors.push_back(make_output(executor, spec));
  // The outputs' device, not the rule's: "npu" has become an index.
  run_call(executor, {.op = op,
                      .args = args,
                      .device = outputs.tensors[0].device(),
                      .outputs = {outputs.tensors.data(), outputs.tensors.size()},
                      .writes = Writes::kNew});
}

// Writes lists of tensors; gives nothing back.
void run_list_mutation(
    Executor& executor, const Op& op, Device device, Args args, DTypeSet dtypes) {
  op.check(args);
  check_dtypes(op, device, args, dtypes);
  each_mutated(op, args, [](const Tensor& tensor) { check_no_self_overlap(tensor); });
  run_call(executor,
           {.op = op, .args = args, .device = device, .outputs = {}, .writes = Writes::kSelf});
  each_mutated(op, args, [](const Tensor& tensor) { tensor.bump_version(); });
}

void run_mutation(Executor& executor, const Op& op, Args args, DTypeSet dtypes, Outputs& outputs) {
  const Tensor& self = args[0].tensor();
  op.check(args);
  if (!op.allows_overlap) check_no_self_overlap(self);
  const Tensor* const source =
      op.copy.source < 0 ? nullptr : &args[static_cast<size_t>(op.copy.source)].tensor();
  if (source != nullptr && source->device() != self.device() && !self.device().is_meta()) {
    transfer(self, *source, args[static_cast<size_t>(op.copy.non_blocking)].to_bool());
  } else {
    if (source != nullptr) check_no_partial_overlap(self, *source);
    check_dtypes(op, self.device(), args, dtypes);
    run_call(executor, {.op = op, .args = args, .device = self.device(), .outputs = {}});
  }
  self.bump_version();
  outputs.tensors.push_back(self);
}

void run_dynamic(const Op& op, Device device, Args args, Outputs& outputs) {
  MT_CHECK(!device.is_meta() || op.schema.returns[0].type == ops::ReturnType::kTensor, RuntimeError,
           "Tensor.", op.schema.name, "() cannot be called on meta tensors");
  const Kernel& kernel = op.kernel(device.type);
  if (MT_UNLIKELY(kernel.dynamic == nullptr)) {
    ops::refuse_kernel(op, device, typed_tensor(args, {}));
  }
  launch_dynamic(op, device, args, outputs);
}

void run_primary(Executor& executor, const Op& op, Args args, Outputs& outputs) {
  if (op.kind == OpKind::kComposite) {
    MT_CHECK(op.composite != nullptr, NotImplementedError, "op ", op.schema.full_name(),
             " has no implementation");
    op.composite(args, outputs);
    return;
  }
  if (op.kind == OpKind::kPointwise || op.kind == OpKind::kKernel) {
    if (!executor.is_immediate() && executor.replay(op, args, outputs)) return;
  }
  const bool writes_lists =
      op.kind == OpKind::kMutation && args[0].kind() == ops::ValueKind::kTensorList;
  if (writes_lists && !executor.is_immediate() && executor.replay_in_place(op, args)) {
    each_mutated(op, args, [](const Tensor& tensor) { tensor.bump_version(); });
    return;
  }
  DTypeSet dtypes = 0;
  const Device device = common_device(op, args, dtypes);
  switch (op.kind) {
    case OpKind::kPointwise:
      return run_pointwise(executor, op, args, outputs);
    case OpKind::kKernel:
      return run_kernel(executor, op, args, dtypes, outputs);
    case OpKind::kView:
      return run_view(op, args, outputs);
    case OpKind::kMutation:
      return writes_lists ? run_list_mutation(executor, op, device, args, dtypes)
                          : run_mutation(executor, op, args, dtypes, outputs);
    case OpKind::kDynamic:
      check_dtypes(op, device, args, dtypes);
      return run_dynamic(op, device, args, outputs);
    case OpKind::kComposite:
      break;
  }
}

// Pointwise results go straight into the target, cast on the way.
void run_pointwise_into(
    Executor& executor, const Op& base, Args args, const Tensor& target, bool is_out) {
  const PointwiseCall call = base.resolve(args);
  if (!base.allows_overlap) check_no_self_overlap(target);
  bool shares_storage = false;
  bool keeps_shape = !is_out;
  for (int i = 0; i < call.count; ++i) {
    const Tensor& operand = *call.operands[i];
    check_no_partial_overlap(target, operand);
    shares_storage |= target.shares_storage(operand);
    keeps_shape |= target.is_same(operand);
  }
  // Errors of shape are raised before those of device and dtype.
  const TensorSpec spec = ops::infer_pointwise(call);
  if (keeps_shape) check_inplace_shape(spec.sizes, target);
  check_same_device(spec.device, target);
  if (MT_UNLIKELY(call.result != target.dtype())) {
    if (is_out) {
      check_out_dtype(base, args, call.result, target);
    } else {
      check_inplace_dtype(base, args, call.result, target);
    }
  }
  OutputShapes shapes;
  const bool moves = shares_storage && target.sizes() != spec.sizes;
  // In its new shape the target may reach what is still to be read; and a kernel writes what the
  // shape rule says, nothing else.
  const bool has_engine = ops::registry().pointwise_engine(target.device().type) != nullptr;
  if (moves || MT_UNLIKELY(!has_engine && !target.device().is_meta())) {
    Outputs result;
    run_pointwise(executor, base, args, result);
    shapes.resize(target, spec);
    copy_into(target, result.tensors[0]);
    shapes.keep();
    return;
  }
  if (is_out) shapes.resize(target, spec);
  Tensor out = target;
  run_pointwise_call(executor, base, call, args, out, is_out ? Writes::kOther : Writes::kSelf);
  shapes.keep();
  target.bump_version();
}

void run_inplace(Executor& executor, const Op& op, Args args, Outputs& outputs) {
  const Op& base = *op.base;
  const Tensor& self = args[0].tensor();
  if (base.kind == OpKind::kPointwise) {
    if (executor.replay_in_place(base, args)) {
      self.bump_version();
    } else {
      DTypeSet dtypes = 0;
      common_device(op, args, dtypes);
      run_pointwise_into(executor, base, args, self, false);
    }
  } else {
    check_no_self_overlap(self);
    OutArguments fitted;
    Outputs result;
    run_primary(executor, base, accumulate_in_dtype_of(self, base, args, fitted), result);
    check_inplace_dtype(base, args, result.tensors[0].dtype(), self);
    check_inplace_shape(result.tensors[0].sizes(), self);
    copy_into(self, result.tensors[0]);
  }
  outputs.tensors.push_back(self);
}

// `tensor` without the elements that share their memory with others in `expanded`.
Tensor one_of_each(const Tensor& tensor, const Tensor& expanded) {
  Shape sizes = tensor.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (expanded.strides()[i] == 0) sizes[i] = std::min<int64_t>(sizes[i], 1);
  }
  return tensor.alias(std::move(sizes), tensor.strides(), tensor.storage_offset());
}

// Whether the numbers of a range fit a tensor whose shape is not theirs.
bool holds_range(const Tensor& out, const Shape& sizes) {
  return sizes.size() == 1 && out.numel() == sizes[0] && out.sizes() != sizes;
}

// index_add from index_add_, given any of its derived forms: works on a fresh copy of self.
void run_functional(Executor& executor, const Op& op, Args args, Outputs& outputs) {
  const Tensor copy = clone(args[0].tensor(), op.base->contiguous_copy);
  SmallVector<ops::Value, 8> on_copy(args.begin(), args.end());
  on_copy[0] = ops::Value(copy);
  run_primary(executor, *op.base, {on_copy.data(), on_copy.size()}, outputs);
}

void run_out(Executor& executor, const Op& op, Args all_args, Outputs& outputs) {
  const Op& base = *op.base;
  const size_t count = base.schema.params.size();
  const Args given = all_args.first(count);
  const Args targets = all_args.subspan(count);
  OutArguments fitted;
  const Args args = fit_to_out(targets[0].tensor(), base, given, fitted);
  OutputShapes shapes;
  DTypeSet dtypes = 0;
  if (base.kind == OpKind::kPointwise) {
    common_device(op, all_args, dtypes);
    run_pointwise_into(executor, base, args, targets[0].tensor(), true);
    outputs.tensors.push_back(targets[0].tensor());
    return;
  }
  // A plain op may write right into targets that already look like its own outputs.
  if (base.kind == OpKind::kKernel) {
    const Device device = common_device(op, all_args, dtypes);
    SpecList specs;
    base.infer(args, specs);
    check_dtypes(base, device, all_args, dtypes);
    bool direct = true;
    for (size_t i = 0; i < specs.size(); ++i) {
      const Tensor& target = targets[i].tensor();
      if (specs[i].dtype != target.dtype()) check_out_dtype(base, given, specs[i].dtype, target);
      check_same_device(specs[i].device, target);
      if (!base.allows_overlap) check_no_self_overlap(target);
      if (base.joins) check_no_list_overlap(target, specs[i].sizes, args);
      direct &= !shares_storage_with_any(target, args);
    }
    if (direct && base.fills_any_shape && holds_range(targets[0].tensor(), specs[0].sizes)) {
      const Tensor& target = targets[0].tensor();
      Outputs numbers;
      run_primary(executor, base, args, numbers);
      copy_into(target,
                numbers.tensors[0].alias(target.sizes(), contiguous_strides(target.sizes()), 0));
      outputs.tensors.push_back(target);
      return;
    }
    // A target that is an input must keep its shape until that has been read.
    for (size_t i = 0; direct && i < specs.size(); ++i) {
      shapes.resize(targets[i].tensor(), specs[i]);
      direct = has_layout(targets[i].tensor(), specs[i]);
    }
    if (base.draw.arguments != nullptr && !targets[0].tensor().is_contiguous()) {
      SmallVector<ops::Value, 4> drawn = {targets[0]};
      for (const ops::Value& value : base.draw.arguments(args)) drawn.push_back(value);
      run_eager(ops::registry().at(base.draw.inplace_op), {drawn.data(), drawn.size()}, outputs);
      shapes.keep();
      return;
    }
    if (direct) {
      for (const ops::Value& target : targets) outputs.tensors.push_back(target.tensor());
      run_call(executor, {.op = base,
                          .args = args,
                          .device = specs[0].device,
                          .outputs = {outputs.tensors.data(), outputs.tensors.size()}});
      shapes.keep();
      for (const ops::Value& target : targets) target.tensor().bump_version();
      return;
    }
  }
  Outputs result;
  if (base.kind == OpKind::kMutation) {
    run_functional(executor, op, args, result);
  } else {
    run_primary(executor, base, args, result);
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor& target = targets[i].tensor();
    const Tensor& value = result.tensors[i];
    if (value.dtype() != target.dtype()) check_out_dtype(base, given, value.dtype(), target);
    check_same_device(value.device(), target);
    if (base.joins) check_no_list_overlap(target, value.sizes(), args);
    if (target.sizes() == value.sizes() && !base.allows_overlap) check_no_self_overlap(target);
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor& value = result.tensors[i];
    TensorSpec spec{value.sizes(), value.dtype(), value.device(), std::nullopt};
    if (base.kind == OpKind::kDynamic) spec.strides = value.strides();
    shapes.resize(targets[i].tensor(), spec);
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor& target = targets[i].tensor();
    const Tensor& value = result.tensors[i];
    copy_into(base.allows_overlap ? one_of_each(target, target) : target,
              base.allows_overlap ? one_of_each(value, target) : value);
    outputs.tensors.push_back(targets[i].tensor());
  }
  shapes.keep();
}

}  // namespace

Tensor make_view(const Tensor& self, ops::ViewSpec view) {
  Tensor result = self.alias(std::move(view.sizes), std::move(view.strides), view.offset);
  TensorImpl& impl = *result.impl();
  if (view.dtype) impl.dtype = *view.dtype;
  const ThreadLayers& thread = thread_layers();
  const TensorImpl& of = *self.impl();
  if (of.is_inference) {
    impl.is_inference = true;
    impl.layers |= bit(Layer::kAutograd);
    return result;
  }
  impl.view_base = of.view_base ? of.view_base : IntrusivePtr<TensorImpl>::retain(self.impl());
  impl.view_version = impl.storage->version();
  impl.view_origin = thread.inference_mode ? ViewOrigin::kInference
                     : thread.grad_mode    ? of.view_origin
                                           : ViewOrigin::kNoGrad;
  impl.layers |= bit(Layer::kAutograd);
  return result;
}

void run_eager(const Op& op, Args args, Outputs& outputs) {
  Executor& executor = Executor::current();
  switch (op.form) {
    case OpForm::kPrimary:
      return run_primary(executor, op, args, outputs);
    case OpForm::kInplace:
      return run_inplace(executor, op, args, outputs);
    case OpForm::kOut:
      return run_out(executor, op, args, outputs);
    case OpForm::kFunctional:
      return run_functional(executor, op, args, outputs);
  }
}

}  // namespace mindtorch::dispatch
