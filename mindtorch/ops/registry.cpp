#include "mindtorch/ops/registry.h"

#include <algorithm>

#include "mindtorch/ops/single_call.h"

namespace mindtorch::ops {

Definition Registry::define(std::string_view schema, Location location) {
  Op op;
  op.schema = Schema::parse(schema);
  op.location = location;
  op.kind = OpKind::kComposite;
  return Definition(*this, add(std::move(op)));
}

Op& Registry::declare(std::string_view schema, OpKind kind, Signature rule, Location location) {
  Op op;
  op.schema = Schema::parse(schema);
  op.kind = kind;
  op.location = location;
  check_signature(op.schema, rule, location);
  return add(std::move(op));
}

Op& Registry::add(Op op) {
  const std::string& name = names_.emplace_back(op.schema.full_name());
  MT_CHECK(!by_name_.contains(name), RuntimeError, "op ", name, " is defined twice, at ",
           op.location.file, ":", op.location.line);
  if (op.kind == OpKind::kKernel || op.kind == OpKind::kMutation) {
    op.out.accepts = TargetDType::kSame;
  }
  Op& stored = ops_.emplace_back(std::move(op));
  const std::vector<Param>& params = stored.schema.params;
  MT_CHECK(params.size() <= 64, RuntimeError, stored.schema.str(), ": more than 64 arguments");
  for (size_t i = 0; i < params.size(); ++i) stored.written |= uint64_t{params[i].mutated} << i;
  by_name_[name] = &stored;
  return stored;
}

void Registry::fusion_engine(DeviceType device, const FusionEngine* engine, Location location) {
  const auto at = static_cast<int>(device);
  fusion_[at] = engine;
  if (engine != nullptr && pointwise_[at] == nullptr) {
    pointwise_engine(device, &run_as_group, &check_as_group, location);
  }
}

const Op* Registry::find(std::string_view full_name) const {
  const auto found = by_name_.find(full_name);
  return found == by_name_.end() ? nullptr : found->second;
}

const Op& Registry::at(std::string_view full_name) const {
  const Op* op = find(full_name);
  MT_CHECK(op != nullptr, RuntimeError, "there is no op ", full_name);
  return *op;
}

Op& Registry::mutable_at(std::string_view full_name) { return const_cast<Op&>(at(full_name)); }

void Registry::set_composite(std::string_view name,
                             CompositeFn function,
                             Signature signature,
                             Location location) {
  Op& op = mutable_at(name);
  check_signature(op.schema, signature, location);
  op.composite = function;
  op.composite_location = location;
}

KernelStatement Registry::add_kernel(DeviceType device,
                                     std::string_view name,
                                     Signature inputs,
                                     size_t outputs,
                                     Location location,
                                     ImplFn impl,
                                     DynamicFn dynamic) {
  check_kernel(at(name), inputs, outputs, location);
  return raw_kernel(device, name, impl, dynamic, location);
}

void Registry::check_kernel(const Op& op, Signature inputs, size_t outputs, Location location) {
  check_signature(op.schema, inputs, location);
  MT_CHECK(op.kind != OpKind::kKernel || op.schema.returns.size() == outputs, RuntimeError,
           "kernel at ", location.file, ":", location.line, " does not have the outputs of ",
           op.schema.str());
}

void Registry::set_fallback(
    std::string_view name, ImplFn function, Signature inputs, size_t outputs, Location location) {
  Op& op = mutable_at(name);
  check_kernel(op, inputs, outputs, location);
  op.fallback = function;
  op.composite_location = location;
}

KernelStatement Registry::raw_kernel(
    DeviceType device, std::string_view name, ImplFn impl, DynamicFn dynamic, Location location) {
  Op& op = mutable_at(name);
  Kernel& kernel = op.kernels[static_cast<int>(device)];
  MT_CHECK(!kernel, RuntimeError, "op ", name, " has two kernels for ", mindtorch::name(device));
  kernel.impl = impl;
  kernel.dynamic = dynamic;
  kernel.location = location;
  KernelStatement statement(*this, op, kernel, device);
  statement.takes(kAllTypes);
  return statement;
}

KernelStatement& KernelStatement::takes(DTypeSet dtypes, DTypeSet beside) {
  const DTypeSet of_device = registry_.device_dtypes(device_);
  kernel_.takes = dtypes & of_device;
  kernel_.takes_beside = (dtypes | beside | kAllTypes) & of_device;
  return *this;
}

KernelStatement& KernelStatement::without(std::string_view chip, DTypeSet dtypes) {
  registry_.chip_rules_.push_back({device_, std::string(chip), &kernel_, dtypes});
  return *this;
}

void Registry::device_dtypes_without(DeviceType device, std::string_view chip, DTypeSet dtypes) {
  chip_rules_.push_back({device, std::string(chip), nullptr, dtypes});
}

void Registry::use_chip(DeviceType device, std::string_view name, std::string_view family) {
  Chip& chip = chips_[static_cast<int>(device)];
  chip.name = names_.emplace_back(name).c_str();
  const auto take_back = [&](Kernel& kernel, DTypeSet dtypes) {
    kernel.chip = chip.name;
    kernel.not_on_chip |= dtypes & (kernel.takes | kernel.takes_beside);
    kernel.takes &= ~dtypes;
    kernel.takes_beside &= ~dtypes;
  };
  for (const ChipRule& rule : chip_rules_) {
    if (rule.device != device || !family.starts_with(rule.family)) continue;
    if (rule.kernel != nullptr) {
      take_back(*rule.kernel, rule.dtypes);
      continue;
    }
    chip.lacks |= rule.dtypes & device_dtypes(device);
    dtypes_[static_cast<int>(device)] &= ~rule.dtypes;
    for (Op& op : ops_) {
      Kernel& kernel = op.kernels[static_cast<int>(device)];
      if (kernel) take_back(kernel, rule.dtypes);
    }
  }
}

KernelStatement& KernelStatement::keeps(AuxiliaryFn describe) {
  MT_CHECK(op_.auxiliary != 0, RuntimeError, "op ", op_.schema.full_name(),
           " has no auxiliary results, but a kernel describes them");
  kernel_.auxiliary = describe;
  return *this;
}

void KernelStatement::check_signature(Signature signature, Location location) const {
  Registry::check_signature(op_.schema, signature, location);
}

void Registry::backward(std::string_view name,
                        const autograd::BackwardRule& rule,
                        Signature signature,
                        Location location) {
  Op& op = mutable_at(name);
  check_signature(op.schema, signature, location);
  MT_CHECK(op.backward == nullptr, RuntimeError, "op ", name, " has two derivatives");
  op.backward = &rule;
}

void Registry::check_signature(const Schema& schema, Signature signature, Location location) {
  const bool fits =
      std::equal(schema.params.begin(), schema.params.end(), signature.begin(), signature.end(),
                 [](const Param& param, const ParamRule& rule) { return rule.accepts(param); });
  MT_CHECK(fits, RuntimeError, "function at ", location.file, ":", location.line,
           " does not have the signature of ", schema.str());
}

Definition::Definition(Registry& registry, Op& op) : registry_(registry), op_(op) {}

Definition::Definition(const Definition& other) = default;

Definition::~Definition() = default;

Definition& Definition::doc(std::string_view sentence, std::string_view example) {
  op_.doc = sentence;
  op_.example = example;
  return *this;
}

Definition& Definition::also(std::initializer_list<std::string_view> names) {
  for (Op* form : derived_) {
    for (const std::string_view name : names) {
      std::string& alias = form->aliases.emplace_back(name);
      if (form->form == OpForm::kInplace) alias += '_';
    }
  }
  op_.aliases.assign(names.begin(), names.end());
  return *this;
}

Definition& Definition::place(int python_place) {
  op_.python_place = static_cast<uint8_t>(python_place);
  for (Op* form : derived_) {
    // In-place forms are methods wherever the op is known at all; out= goes with the function.
    form->python_place = static_cast<uint8_t>(
        form->form == OpForm::kInplace && python_place != 0 ? (kMethod | kFunction) : python_place);
  }
  return *this;
}

Definition& Definition::random() {
  op_.random = true;
  for (Op* form : derived_) form->random = true;
  return *this;
}

Definition& Definition::contiguous_copy() {
  op_.contiguous_copy = true;
  return *this;
}

Definition& Definition::not_differentiable() {
  op_.differentiable = false;
  return *this;
}

Definition& Definition::allows_overlap() {
  op_.allows_overlap = true;
  return *this;
}

Definition& Definition::dynamic() {
  op_.kind = OpKind::kDynamic;
  op_.out.accepts = TargetDType::kSame;
  return *this;
}

Definition& Definition::out_dtype(TargetDType accepts, std::string_view refusal) {
  op_.out = {accepts, std::string(refusal)};
  return *this;
}

Definition& Definition::inplace_dtype(TargetDType accepts, std::string_view refusal) {
  op_.inplace = {accepts, std::string(refusal)};
  return *this;
}

Definition& Definition::accumulates_in(AccumulateIn dtype) {
  op_.accumulates_in = dtype;
  return *this;
}

Definition& Definition::joins() {
  op_.joins = true;
  return out_dtype(TargetDType::kCast,
                   "torch.cat(): input types can't be cast to the desired output type $O");
}

Definition& Definition::fills_any_shape() {
  op_.fills_any_shape = true;
  return *this;
}

Definition& Definition::broadcasts_with_out() {
  op_.broadcasts_with_out = true;
  return *this;
}

Definition& Definition::draws_by(std::string_view inplace_op,
                                 SmallVector<Value, 4> (*arguments)(Args)) {
  op_.draw = {std::string(inplace_op), arguments};
  return *this;
}

Definition& Definition::auxiliary(int results) {
  op_.auxiliary = static_cast<uint8_t>(results);
  return *this;
}

Definition& Definition::copies_from(std::string_view source, std::string_view non_blocking) {
  op_.copy = {argument(source), argument(non_blocking)};
  return *this;
}

AutocastTrait& Definition::autocast_trait() {
  const auto functional = std::ranges::find(derived_, OpForm::kFunctional, &Op::form);
  return functional == derived_.end() ? op_.autocast : (*functional)->autocast;
}

Definition& Definition::autocast(AutocastPolicy policy) {
  return autocast_on_cpu(policy).autocast_on_accelerators(policy);
}

Definition& Definition::autocast_on_cpu(AutocastPolicy policy) {
  autocast_trait().cpu = policy;
  return *this;
}

Definition& Definition::autocast_on_accelerators(AutocastPolicy policy) {
  autocast_trait().accelerator = policy;
  return *this;
}

Definition& Definition::node_name(std::string_view of_tensor,
                                  std::string_view of_number,
                                  std::string_view of_first_number) {
  op_.node_names = {of_tensor, of_number, of_first_number};
  return *this;
}

Definition& Definition::names_dims() {
  op_.names_dims = true;
  return *this;
}

Definition& Definition::device_example(std::string_view expression) {
  op_.device_example = expression;
  return *this;
}

Definition& Definition::checks_values() {
  op_.checks_values = true;
  return *this;
}

Definition& Definition::checks_divisor() {
  op_.checks_divisor = true;
  return *this;
}

Definition& Definition::fusion(FusionKind kind) {
  op_.fusion = kind;
  return *this;
}

Definition& Definition::fills_with(Scalar constant) {
  op_.fill = {-1, constant};
  return fusion(FusionKind::kFill);
}

Definition& Definition::fills_with(std::string_view name) {
  op_.fill = {argument(name), Scalar()};
  return fusion(FusionKind::kFill);
}

Definition& Definition::reduces_rows(RowFunction function,
                                     std::string_view dim,
                                     std::string_view correction) {
  op_.rows = {function, argument(dim), correction.empty() ? int8_t{-1} : argument(correction)};
  return fusion(FusionKind::kRows);
}

int8_t Definition::argument(std::string_view name) const {
  const std::vector<Param>& params = op_.schema.params;
  const auto found = std::ranges::find(params, name, &Param::name);
  MT_CHECK(found != params.end(), RuntimeError, "op ", op_.schema.str(), " has no argument ", name);
  return static_cast<int8_t>(found - params.begin());
}

Definition& Definition::variants(int variants) {
  const auto derive = [&](OpForm form) {
    Op op;
    op.schema = op_.schema;
    op.kind = op_.kind;
    op.form = form;
    op.python_place = op_.python_place;
    op.random = op_.random;
    op.base = &op_;
    op.location = op_.location;
    return op;
  };
  const auto store = [&](Op op) { derived_.push_back(&registry_.add(std::move(op))); };
  if ((variants & kInplaceVariant) != 0) {
    Op op = derive(OpForm::kInplace);
    op.schema.name += "_";
    op.schema.params[0].mutated = true;
    store(std::move(op));
  }
  if ((variants & kFunctionalVariant) != 0) {
    Op op = derive(OpForm::kFunctional);
    MT_CHECK(op.schema.name.ends_with('_'), RuntimeError, op.schema.str(),
             ": only an op that ends in _ has a functional form");
    op.schema.name.pop_back();
    op.schema.params[0].mutated = false;
    store(std::move(op));
  }
  if ((variants & kOutVariant) != 0) {
    Op op = derive(OpForm::kOut);
    op.python_place = static_cast<uint8_t>(op.python_place & ~kMethod);
    op.schema.overload += op.schema.overload.empty() ? "out" : "_out";
    if (op.schema.name.ends_with('_')) op.schema.name.pop_back();
    for (Param& param : op.schema.params) param.mutated = false;
    for (const Return& result : op.schema.returns) {
      Param out;
      out.name = op.schema.returns.size() == 1 ? "out" : result.name;
      out.type = ArgType::kTensor;
      out.keyword_only = true;
      out.mutated = true;
      op.schema.params.push_back(std::move(out));
    }
    store(std::move(op));
  }
  return *this;
}

}  // namespace mindtorch::ops
