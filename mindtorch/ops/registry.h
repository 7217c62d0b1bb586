#pragma once

#include <algorithm>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mindtorch/ops/fusion.h"
#include "mindtorch/ops/op.h"

namespace mindtorch::ops {

enum OpVariants : uint8_t {
  kInplaceVariant = 1,
  kOutVariant = 2,
  kFunctionalVariant = 4,
  kInplaceAndOut = kInplaceVariant | kOutVariant,
};

class Registry;

// States what a kernel takes and keeps: registry.kernel<f>(device, op).takes(kFloatTypes).
class MT_API KernelStatement {
 public:
  KernelStatement(Registry& registry, const Op& op, Kernel& kernel, DeviceType device)
      : registry_(registry), op_(op), kernel_(kernel), device_(device) {}

  // The dtypes it computes with, where they are not the common ones, and those that only its other
  // tensors and its results have. The common ones may be anywhere but in the first place.
  KernelStatement& takes(DTypeSet dtypes, DTypeSet beside = 0);
  // The dtypes that it does not take on chips of families whose names begin so.
  KernelStatement& without(std::string_view chip, DTypeSet dtypes);
  // Torch's name for it, where the CPU refuses a dtype: "histogram_cpu".
  KernelStatement& named(const char* torch_name) {
    kernel_.torch_name = torch_name;
    return *this;
  }
  // What it makes in place of the op's auxiliary results: a TensorSpec or SpecList of the schema's
  // arguments.
  template <auto Rule>
  KernelStatement& keeps(Location location = Location::here());
  // The same in its boxed form.
  KernelStatement& keeps(AuxiliaryFn describe);
  // A graph that was captured of it draws anew each time it is replayed.
  KernelStatement& draws_in_graphs() {
    kernel_.draws_in_graphs = true;
    return *this;
  }

 protected:
  void check_signature(Signature signature, Location location) const;
  void run_by(ImplFn impl) { kernel_.impl = impl; }

 private:
  Registry& registry_;
  const Op& op_;
  Kernel& kernel_;
  DeviceType device_;
};

// Of a typed kernel.
template <auto Function>
class FunctionStatement : public KernelStatement {
 public:
  explicit FunctionStatement(const KernelStatement& statement) : KernelStatement(statement) {}

  // It takes the calls for which Predicate, of the schema's arguments, is true. The others go to
  // the op's fallback.
  template <auto Predicate>
  FunctionStatement when(Location location = Location::here());
};

// Fills in one definition: ops.define<rule>("schema").variants(...).doc(...).
class MT_API Definition {
 public:
  Definition(Registry& registry, Op& op);
  Definition(const Definition& other);
  ~Definition();

  // Derives the other forms of the op.
  Definition& variants(int variants);
  [[gnu::cold]] Definition& doc(std::string_view sentence, std::string_view example = "");
  // Other Python names for it; in-place forms get an underscore.
  Definition& also(std::initializer_list<std::string_view> names);
  Definition& function_only() { return place(kFunction); }
  Definition& method_only() { return place(kMethod); }
  Definition& nn_function() { return place(kNnFunction); }
  // Callable from C++ and from our own Python code, but not a torch name.
  Definition& internal() { return place(0); }
  Definition& place(int python_place);
  Definition& random();
  // The functional form of a mutation gives a contiguous tensor, whatever layout self has.
  Definition& contiguous_copy();
  Definition& allows_overlap();
  // The kernel decides the output shapes.
  Definition& dynamic();
  // No gradient flows through it: creation, random numbers, indices, detach.
  Definition& not_differentiable();
  // --- what it writes into: out=, or self of the in-place form ---
  Definition& out_dtype(TargetDType accepts, std::string_view refusal = "");
  Definition& inplace_dtype(TargetDType accepts, std::string_view refusal = "");
  Definition& accumulates_in(AccumulateIn dtype);
  // Joins a list of tensors as torch.cat does.
  Definition& joins();
  Definition& fills_any_shape();
  Definition& broadcasts_with_out();
  Definition& draws_by(std::string_view inplace_op, SmallVector<Value, 4> (*arguments)(Args));
  // Its last results are a device's own notes, which its kernel describes.
  Definition& auxiliary(int results);
  // The arguments are given by name.
  Definition& copies_from(std::string_view source, std::string_view non_blocking);
  // --- traits that layers read ---
  // What autocast makes of it, or of its functional form: torch casts nothing for ops in place.
  Definition& autocast(AutocastPolicy policy);
  Definition& autocast_on_cpu(AutocastPolicy policy);
  Definition& autocast_on_accelerators(AutocastPolicy policy);
  // "ClampBackward0"; the last two where they differ, for Python numbers.
  Definition& node_name(std::string_view of_tensor,
                        std::string_view of_number = {},
                        std::string_view of_first_number = {});
  // dim, dims or size of the samples: under vmap they move by one.
  Definition& names_dims();
  // An expression that runs the op on a device, where the example of doc() does not; of the names
  // that the doctor knows.
  Definition& device_example(std::string_view expression);
  // --- traits that the planner reads ---
  Definition& checks_values();
  Definition& checks_divisor();
  Definition& fusion(FusionKind kind);
  // FusionKind::kFill with this number, or with the argument of this name.
  Definition& fills_with(Scalar constant);
  Definition& fills_with(std::string_view argument);
  // FusionKind::kRows. The arguments are given by name; a variance has a correction.
  Definition& reduces_rows(RowFunction function,
                           std::string_view dim,
                           std::string_view correction = {});

 private:
  int8_t argument(std::string_view name) const;  // throws where there is none
  AutocastTrait& autocast_trait();

  Registry& registry_;
  Op& op_;
  std::vector<Op*> derived_;
};

// All ops. Filled by plain functions called from library.cpp, read-only afterwards. What fills it
// runs once for each op: it is marked cold, so that it and its callers are compiled for size.
class MT_API Registry {
 public:
  Registry() { std::ranges::fill(dtypes_, kAnyType); }
  // The rule's return type says what kind of op it is: TensorSpec or SpecList, ViewSpec,
  // PointwiseCall, or void for ops that change their first argument.
  template <auto Rule>
  [[gnu::cold]] Definition define(std::string_view schema, Location location = Location::here());
  // A composite, or dynamic() ops.
  [[gnu::cold]] Definition define(std::string_view schema, Location location = Location::here());

  // void(Launch&, schema arguments..., Tensor& outputs...)
  template <auto Function>
  [[gnu::cold]] FunctionStatement<Function> kernel(DeviceType device,
                                                   std::string_view op,
                                                   Location location = Location::here());
  // Result(Launch&, schema arguments...)
  template <auto Function>
  [[gnu::cold]] KernelStatement dynamic_kernel(DeviceType device,
                                               std::string_view op,
                                               Location location = Location::here());
  // A kernel in its boxed form: one of the two functions, for many ops.
  KernelStatement raw_kernel(DeviceType device,
                             std::string_view op,
                             ImplFn impl,
                             DynamicFn dynamic = nullptr,
                             Location location = Location::here());
  // The dtypes that tensors of a device may have at all: no kernel that is registered afterwards
  // takes others.
  void device_dtypes(DeviceType device, DTypeSet dtypes) {
    dtypes_[static_cast<int>(device)] = dtypes;
  }
  // The dtypes that neither tensors nor kernels of a device have on chips of such families.
  void device_dtypes_without(DeviceType device, std::string_view chip, DTypeSet dtypes);
  // Says which chip the devices of a type are, as soon as that is known and before there are
  // tensors on them: kernels give up what they do not take on it. Its family is what the rules for
  // chips name, its name what errors show.
  void use_chip(DeviceType device, std::string_view name, std::string_view family);
  DTypeSet device_dtypes(DeviceType device) const { return dtypes_[static_cast<int>(device)]; }
  // The chip that such a tensor would need another one than, or nothing.
  std::string_view chip_without(DeviceType device, DType dtype) const {
    const Chip& chip = chips_[static_cast<int>(device)];
    return contains(chip.lacks, dtype) ? chip.name : "";
  }
  template <auto Function>
  [[gnu::cold]] void composite(std::string_view op, Location location = Location::here());
  // For calls that kernels do not take (FunctionStatement::when): as a kernel, but made of ops.
  template <auto Function>
  [[gnu::cold]] void fallback(std::string_view op, Location location = Location::here());
  // `signature`: the schema's parameters as the rule takes them.
  void backward(std::string_view op,
                const autograd::BackwardRule& rule,
                Signature signature,
                Location location);
  // `check`: throws where the engine has no such function for the dtype, as the engine itself does;
  // null: it has them all.
  void pointwise_engine(DeviceType device,
                        PointwiseFn engine,
                        PointwiseCheck check = nullptr,
                        Location location = Location::here()) {
    pointwise_[static_cast<int>(device)] = engine;
    pointwise_checks_[static_cast<int>(device)] = check;
    pointwise_locations_[static_cast<int>(device)] = location;
  }
  PointwiseFn pointwise_engine(DeviceType device) const {
    return pointwise_[static_cast<int>(device)];
  }
  PointwiseCheck pointwise_check(DeviceType device) const {
    return pointwise_checks_[static_cast<int>(device)];
  }
  // A device without a pointwise engine has this as such: run_as_group().
  void fusion_engine(DeviceType device,
                     const FusionEngine* engine,
                     Location location = Location::here());
  // Null: the device runs ops one by one.
  const FusionEngine* fusion_engine(DeviceType device) const {
    return fusion_[static_cast<int>(device)];
  }
  Location pointwise_location(DeviceType device) const {
    return pointwise_locations_[static_cast<int>(device)];
  }

  // Null when there is no such op. `full_name` is "add.Tensor", "add_.Tensor", "add.Tensor_out".
  const Op* find(std::string_view full_name) const;
  // Throws when there is none.
  const Op& at(std::string_view full_name) const;
  const std::deque<Op>& ops() const { return ops_; }

 private:
  friend class Definition;
  Op& add(Op op);
  // Adds an op of one kind; its rule is set by the caller.
  Op& declare(std::string_view schema, OpKind kind, Signature rule, Location location);
  Op& mutable_at(std::string_view full_name);
  void set_composite(std::string_view op,
                     CompositeFn function,
                     Signature signature,
                     Location location);
  KernelStatement add_kernel(DeviceType device,
                             std::string_view op,
                             Signature inputs,
                             size_t outputs,
                             Location location,
                             ImplFn impl,
                             DynamicFn dynamic);
  void set_fallback(
      std::string_view op, ImplFn function, Signature inputs, size_t outputs, Location location);
  friend class KernelStatement;
  static void check_signature(const Schema& schema, Signature signature, Location location);
  static void check_kernel(const Op& op, Signature inputs, size_t outputs, Location location);

  std::deque<Op> ops_;
  std::unordered_map<std::string_view, Op*> by_name_;
  std::deque<std::string> names_;
  PointwiseFn pointwise_[kDeviceTypeCount] = {};
  PointwiseCheck pointwise_checks_[kDeviceTypeCount] = {};
  Location pointwise_locations_[kDeviceTypeCount];
  const FusionEngine* fusion_[kDeviceTypeCount] = {};
  DTypeSet dtypes_[kDeviceTypeCount];

  struct ChipRule {
    DeviceType device;
    std::string family;
    Kernel* kernel;  // null: all
    DTypeSet dtypes;
  };
  std::vector<ChipRule> chip_rules_;
  struct Chip {
    const char* name = "";
    DTypeSet lacks = 0;
  };
  Chip chips_[kDeviceTypeCount];
};

template <auto Rule>
Definition Registry::define(std::string_view schema, Location location) {
  using Result = decltype(call_boxed<Rule>(Args{}));
  const auto add_as = [&](OpKind kind) -> Op& {
    return declare(schema, kind, signature(Rule), location);
  };
  if constexpr (std::is_same_v<Result, TensorSpec>) {
    Op& op = add_as(OpKind::kKernel);
    op.infer = [](Args args, SpecList& specs) { specs.push_back(call_boxed<Rule>(args)); };
    return Definition(*this, op);
  } else if constexpr (std::is_same_v<Result, SpecList>) {
    Op& op = add_as(OpKind::kKernel);
    op.infer = [](Args args, SpecList& specs) { specs = call_boxed<Rule>(args); };
    return Definition(*this, op);
  } else if constexpr (std::is_same_v<Result, ViewSpec>) {
    Op& op = add_as(OpKind::kView);
    op.view = [](Args args) { return call_boxed<Rule>(args); };
    return Definition(*this, op);
  } else if constexpr (std::is_same_v<Result, PointwiseCall>) {
    Op& op = add_as(OpKind::kPointwise);
    op.resolve = [](Args args) { return call_boxed<Rule>(args); };
    return Definition(*this, op);
  } else {
    static_assert(std::is_void_v<Result>, "a rule returns a spec, a PointwiseCall or nothing");
    Op& op = add_as(OpKind::kMutation);
    op.check = [](Args args) { call_boxed<Rule>(args); };
    return Definition(*this, op);
  }
}

template <auto Rule>
KernelStatement& KernelStatement::keeps(Location location) {
  check_signature(signature(Rule), location);
  return keeps([](Args args, SpecList& specs) {
    if constexpr (std::is_same_v<decltype(call_boxed<Rule>(args)), TensorSpec>) {
      specs.push_back(call_boxed<Rule>(args));
    } else {
      for (TensorSpec& spec : call_boxed<Rule>(args)) specs.push_back(std::move(spec));
    }
  });
}

template <auto Function>
template <auto Predicate>
FunctionStatement<Function> FunctionStatement<Function>::when(Location location) {
  check_signature(signature(Predicate), location);
  run_by([](Launch& launch, Args args, std::span<Tensor> outputs) {
    const ImplFn impl = call_boxed<Predicate>(args) ? &boxed_kernel<Function> : launch.op->fallback;
    impl(launch, args, outputs);
  });
  return *this;
}

template <auto Function>
FunctionStatement<Function> Registry::kernel(DeviceType device,
                                             std::string_view op,
                                             Location location) {
  return FunctionStatement<Function>(add_kernel(device, op, detail::inputs(Function),
                                                detail::output_count(Function), location,
                                                &boxed_kernel<Function>, nullptr));
}

template <auto Function>
void Registry::fallback(std::string_view op, Location location) {
  set_fallback(op, &boxed_kernel<Function>, detail::inputs(Function),
               detail::output_count(Function), location);
}

template <auto Function>
KernelStatement Registry::dynamic_kernel(DeviceType device,
                                         std::string_view op,
                                         Location location) {
  return add_kernel(device, op, detail::inputs(Function), 0, location, nullptr,
                    &boxed_dynamic<Function>);
}

template <auto Function>
void Registry::composite(std::string_view op, Location location) {
  const CompositeFn boxed = [](Args args, Outputs& outputs) {
    detail::store(outputs, call_boxed<Function>(args));
  };
  set_composite(op, boxed, signature(Function), location);
}

// The registry of the library, filled on first use. Defined in library.cpp, the only file that
// knows every definition and backend; declared here so that every folder can look ops up.
MT_API const Registry& registry();

}  // namespace mindtorch::ops
