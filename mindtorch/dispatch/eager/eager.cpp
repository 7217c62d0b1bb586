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

namespace {

// Set once, before the first op.
constinit MarkViewFn g_mark_view = [](const Tensor&, TensorImpl&, bool) noexcept {};

}  // namespace

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
[[gnu::always_inline]] inline void each_given(Args args, const Visit& visit) {
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
    const bool free = own.is_host() && tensor.dim() == 0;
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
[[gnu::always_inline]] inline void run_prepared(Executor& executor, const PreparedCall& call) {
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
    if (const auto check = registry.pointwise_check(device.type)) check(call);
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
  outputs.tensors.push_back(make_view(self, std::move(view), op.differentiable));
}

void run_pointwise(
    Executor& executor, const Op& op, Args args, const PointwiseCall& call, Outputs& outputs) {
  const TensorSpec spec = ops::infer_pointwise(call);
  Tensor out = make_output(executor, spec);
  run_pointwise_call(executor, op, call, args, out, Writes::kNew);
  outputs.tensors.push_back(std::move(out));
}

// A device that keeps nothing, and meta, have empty tensors there. Where an op has no other
// results, its first argument says where they are.
[[gnu::cold]] void add_auxiliary(const Op& op, Args args, SpecList& specs) {
  const bool has_result = !specs.empty();
  const Device device = has_result ? specs[0].device : args[0].tensor().device();
  const DType dtype = has_result ? specs[0].dtype : args[0].tensor().dtype();
  const ops::AuxiliaryFn auxiliary = op.kernel(device.type).auxiliary;
  if (auxiliary != nullptr) auxiliary(args, specs);
  while (specs.size() < op.schema.returns.size())
    specs.push_back({{0}, dtype, device, std::nullopt});
}

void run_kernel(Executor& executor, const Op& op, Args args, DTypeSet dtypes, Outputs& outputs) {
  SpecList specs;
  op.infer(args, specs);
  if (MT_UNLIKELY(op.auxiliary != 0)) add_auxiliary(op, args, specs);
  DTypeSet made = 0;
  for (const TensorSpec& spec : specs) made |= bit(spec.dtype);
  check_dtypes(op, specs[0].device, args, dtypes, made);
  for (const TensorSpec& spec : specs) outputs.tensors.push_back(make_output(executor, spec));
  // The outputs' device, not the rule's: one without an index has got one.
  run_call(executor, {.op = op,
                      .args = args,
                      .device = outputs.tensors[0].device(),
                      .outputs = {outputs.tensors.data(), outputs.tensors.size()},
                      .writes = Writes::kNew});
}

void note_written_lists(const Op& op, Args args) {
  ops::each_tensor(op.written, args, [](const Tensor& tensor) { tensor.bump_version(); });
}

void note_written(Args args, Outputs& outputs) {
  const Tensor& self = args[0].tensor();
  self.bump_version();
  outputs.tensors.push_back(self);
}

// Writes lists of tensors; gives nothing back.
void run_list_mutation(
    Executor& executor, const Op& op, Device device, Args args, DTypeSet dtypes) {
  op.check(args);
  check_dtypes(op, device, args, dtypes);
  ops::each_tensor(op.written, args, [](const Tensor& tensor) { check_no_self_overlap(tensor); });
  run_call(executor,
           {.op = op, .args = args, .device = device, .outputs = {}, .writes = Writes::kSelf});
  note_written_lists(op, args);
}

// The op's check may look at the value of an argument: what looks the same may still be refused.
bool reads_a_number(Args args) {
  const DType dtype = args[0].tensor().dtype();
  return std::ranges::any_of(args.subspan(1), [&](const ops::Value& value) {
    return value.kind() == ops::ValueKind::kTensor && value.tensor().device().is_host() &&
           value.tensor().dim() == 0 && value.tensor().dtype() != dtype;
  });
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
    run_call(executor, {.op = op,
                        .args = args,
                        .device = self.device(),
                        .outputs = {},
                        .writes = reads_a_number(args) ? Writes::kOther : Writes::kSelf});
  }
  note_written(args, outputs);
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

bool writes_lists(const Op& op, Args args) {
  return op.kind == OpKind::kMutation && args[0].kind() == ops::ValueKind::kTensorList;
}

// A call that is to be prepared.
void run_unreplayed(Executor& executor, const Op& op, Args args, Outputs& outputs) {
  if (op.kind == OpKind::kComposite) {
    MT_CHECK(op.composite != nullptr, NotImplementedError, "op ", op.schema.full_name(),
             " has no implementation");
    op.composite(args, outputs);
    return;
  }
  DTypeSet dtypes = 0;
  const Device device = common_device(op, args, dtypes);
  switch (op.kind) {
    case OpKind::kPointwise:
      return run_pointwise(executor, op, args, op.resolve(args), outputs);
    case OpKind::kKernel:
      return run_kernel(executor, op, args, dtypes, outputs);
    case OpKind::kView:
      return run_view(op, args, outputs);
    case OpKind::kMutation:
      return writes_lists(op, args) ? run_list_mutation(executor, op, device, args, dtypes)
                                    : run_mutation(executor, op, args, dtypes, outputs);
    case OpKind::kDynamic:
      check_dtypes(op, device, args, dtypes);
      return run_dynamic(op, device, args, outputs);
    case OpKind::kComposite:
      break;
  }
}

// False: the executor wants the call, prepared.
[[gnu::noinline]] bool run_replayed(Executor& executor, const Op& op, Args args, Outputs& outputs) {
  const bool makes_outputs = op.kind == OpKind::kPointwise || op.kind == OpKind::kKernel;
  if (!makes_outputs && op.kind != OpKind::kMutation) return false;
  const Replay replay = makes_outputs ? executor.replay(op, args, outputs)
                                      : executor.replay_in_place(op, args, op.written);
  if (replay == Replay::kRunNow) {
    const NoRecordGuard no_record;
    run_unreplayed(ImmediateExecutor::instance(), op, args, outputs);
  } else if (replay == Replay::kDone && !makes_outputs) {
    writes_lists(op, args) ? note_written_lists(op, args) : note_written(args, outputs);
  }
  return replay != Replay::kNo;
}

[[gnu::always_inline]] inline void run_primary(Executor& executor,
                                               const Op& op,
                                               Args args,
                                               Outputs& outputs) {
  if (MT_LIKELY(executor.is_immediate()) || !run_replayed(executor, op, args, outputs)) {
    run_unreplayed(executor, op, args, outputs);
  }
}

// Pointwise results go straight into the target, cast on the way.
void run_pointwise_into(Executor& executor,
                        const Op& base,
                        Args args,
                        const PointwiseCall& call,
                        const Tensor& target,
                        bool is_out) {
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
    run_pointwise(executor, base, args, call, result);
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

// `resolve`: gives the call, where nothing recorded is replayed.
template <typename Resolve>
void run_pointwise_inplace(Executor& executor, const Op& op, Args args, const Resolve& resolve) {
  const Tensor& self = args[0].tensor();
  if (!executor.is_immediate()) {
    const Replay replay = executor.replay_in_place(*op.base, args, op.written);
    if (replay == Replay::kDone) return self.bump_version();
    if (replay == Replay::kRunNow) {
      const NoRecordGuard no_record;
      return run_pointwise_inplace(ImmediateExecutor::instance(), op, args, resolve);
    }
  }
  DTypeSet dtypes = 0;
  common_device(op, args, dtypes);
  run_pointwise_into(executor, *op.base, args, resolve(), self, false);
}

void run_inplace(Executor& executor, const Op& op, Args args, Outputs& outputs) {
  const Op& base = *op.base;
  const Tensor& self = args[0].tensor();
  if (base.kind == OpKind::kPointwise) {
    run_pointwise_inplace(executor, op, args, [&] { return base.resolve(args); });
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

// A call with out=.
struct OutCall {
  Executor& executor;
  const Op& op;  // the form with out=
  Args all_args;
  Args given;  // without the targets
  Args targets;
  Args args;  // `given`, fitted to the targets
  OutputShapes& shapes;
  Outputs& outputs;

  const Op& base() const { return *op.base; }
  const Tensor& target(size_t i) const { return targets[i].tensor(); }
};

// Makes the results for run_out() to copy.
void make_result(const OutCall& call, Outputs& result) {
  run_primary(call.executor, call.base(), call.args, result);
}
void make_result_of_mutation(const OutCall& call, Outputs& result) {
  run_functional(call.executor, call.op, call.args, result);
}

bool write_pointwise(const OutCall& call) {
  DTypeSet dtypes = 0;
  common_device(call.op, call.all_args, dtypes);
  run_pointwise_into(call.executor, call.base(), call.args, call.base().resolve(call.args),
                     call.target(0), true);
  call.outputs.tensors.push_back(call.target(0));
  return true;
}

// Throws what the targets are refused for; otherwise, whether none of them is read.
bool check_targets(const OutCall& call, const SpecList& specs) {
  const Op& base = call.base();
  bool is_apart = true;
  for (size_t i = 0; i < specs.size(); ++i) {
    const Tensor& target = call.target(i);
    if (specs[i].dtype != target.dtype()) {
      check_out_dtype(base, call.given, specs[i].dtype, target);
    }
    check_same_device(specs[i].device, target);
    if (!base.allows_overlap) check_no_self_overlap(target);
    if (base.joins) check_no_list_overlap(target, specs[i].sizes, call.args);
    is_apart &= !shares_storage_with_any(target, call.args);
  }
  return is_apart;
}

// The numbers of a range, into as many elements of another shape.
void write_range(const OutCall& call) {
  const Tensor& target = call.target(0);
  Outputs numbers;
  make_result(call, numbers);
  copy_into(target,
            numbers.tensors[0].alias(target.sizes(), contiguous_strides(target.sizes()), 0));
  call.outputs.tensors.push_back(target);
}

// Random numbers, in the order of the target's memory.
void draw_into(const OutCall& call) {
  const ops::DrawTrait& draw = call.base().draw;
  SmallVector<ops::Value, 4> drawn = {call.targets[0]};
  for (const ops::Value& value : draw.arguments(call.args)) drawn.push_back(value);
  run_eager(ops::registry().at(draw.inplace_op), {drawn.data(), drawn.size()}, call.outputs);
}

void write_kernel_outputs(const OutCall& call, Device device) {
  auto& outputs = call.outputs.tensors;
  for (const ops::Value& target : call.targets) outputs.push_back(target.tensor());
  run_call(call.executor, {.op = call.base(),
                           .args = call.args,
                           .device = device,
                           .outputs = {outputs.data(), outputs.size()}});
}

// A kernel may write right into targets that look like its own outputs.
bool write_kernel(const OutCall& call) {
  const Op& base = call.base();
  DTypeSet dtypes = 0;
  const Device device = common_device(call.op, call.all_args, dtypes);
  SpecList specs;
  base.infer(call.args, specs);
  check_dtypes(base, device, call.all_args, dtypes);
  bool is_direct = check_targets(call, specs);
  if (is_direct && base.fills_any_shape && holds_range(call.target(0), specs[0].sizes)) {
    write_range(call);
    return true;
  }
  // A target that is an input must keep its shape until that has been read.
  for (size_t i = 0; is_direct && i < specs.size(); ++i) {
    call.shapes.resize(call.target(i), specs[i]);
    is_direct = has_layout(call.target(i), specs[i]);
  }
  if (base.draw.arguments != nullptr && !call.target(0).is_contiguous()) {
    draw_into(call);
    return true;
  }
  if (is_direct) {
    write_kernel_outputs(call, specs[0].device);
    for (const ops::Value& target : call.targets) target.tensor().bump_version();
  }
  return is_direct;
}

void check_result(const OutCall& call, const Tensor& value, const Tensor& target) {
  const Op& base = call.base();
  if (value.dtype() != target.dtype()) check_out_dtype(base, call.given, value.dtype(), target);
  check_same_device(value.device(), target);
  if (base.joins) check_no_list_overlap(target, value.sizes(), call.args);
  if (target.sizes() == value.sizes() && !base.allows_overlap) check_no_self_overlap(target);
}

void copy_results(const OutCall& call, const Outputs& result) {
  const Op& base = call.base();
  for (size_t i = 0; i < call.targets.size(); ++i) {
    check_result(call, result.tensors[i], call.target(i));
  }
  for (size_t i = 0; i < call.targets.size(); ++i) {
    const Tensor& value = result.tensors[i];
    TensorSpec spec{value.sizes(), value.dtype(), value.device(), std::nullopt};
    if (base.kind == OpKind::kDynamic) spec.strides = value.strides();
    call.shapes.resize(call.target(i), spec);
  }
  for (size_t i = 0; i < call.targets.size(); ++i) {
    const Tensor& target = call.target(i);
    const Tensor& value = result.tensors[i];
    copy_into(base.allows_overlap ? one_of_each(target, target) : target,
              base.allows_overlap ? one_of_each(value, target) : value);
    call.outputs.tensors.push_back(target);
  }
}

// How out= is filled, by kind of op: written right away where `write` can (null: it never can;
// false: not this time), otherwise made and copied.
struct OutRule {
  OpKind kind;
  bool (*write)(const OutCall&);
  void (*make)(const OutCall&, Outputs&);
};
constexpr OutRule kOutRules[] = {
    {OpKind::kKernel, &write_kernel, &make_result},
    {OpKind::kPointwise, &write_pointwise, &make_result},
    {OpKind::kView, nullptr, &make_result},
    {OpKind::kMutation, nullptr, &make_result_of_mutation},
    {OpKind::kDynamic, nullptr, &make_result},
    {OpKind::kComposite, nullptr, &make_result},
};
static_assert(std::ranges::is_sorted(kOutRules, {}, &OutRule::kind));

void run_out(Executor& executor, const Op& op, Args all_args, Outputs& outputs) {
  const size_t count = op.base->schema.params.size();
  const Args given = all_args.first(count);
  const Args targets = all_args.subspan(count);
  OutArguments fitted;
  const Args args = fit_to_out(targets[0].tensor(), *op.base, given, fitted);
  OutputShapes shapes;
  const OutCall call{executor, op, all_args, given, targets, args, shapes, outputs};
  const OutRule& rule = kOutRules[static_cast<size_t>(op.base->kind)];
  if (rule.write == nullptr || !rule.write(call)) {
    Outputs result;
    rule.make(call, result);
    copy_results(call, result);
  }
  shapes.keep();
}

}  // namespace

Tensor make_view(const Tensor& self, ops::ViewSpec view, bool is_differentiable) {
  Tensor result = self.alias(std::move(view.sizes), std::move(view.strides), view.offset);
  if (view.dtype) result.impl()->dtype = *view.dtype;
  g_mark_view(self, *result.impl(), is_differentiable);
  return result;
}

void install_view_marks(MarkViewFn mark) noexcept { g_mark_view = mark; }

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

void run_eager(const Op& op, Args args, const PointwiseCall& call, Outputs& outputs) {
  Executor& executor = Executor::current();
  if (op.form == OpForm::kInplace) {
    run_pointwise_inplace(executor, op, args, [&]() -> const PointwiseCall& { return call; });
    outputs.tensors.push_back(args[0].tensor());
    return;
  }
  if (!executor.is_immediate()) {
    const Replay replay = executor.replay(op, args, outputs);
    if (replay == Replay::kDone) return;
    if (replay == Replay::kRunNow) {
      const NoRecordGuard no_record;
      return run_eager(op, args, call, outputs);
    }
  }
  DTypeSet dtypes = 0;
  common_device(op, args, dtypes);
  run_pointwise(executor, op, args, call, outputs);
}

}  // namespace mindtorch::dispatch
