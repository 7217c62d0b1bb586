// Three operands: where, clamp, lerp, addcmul, addcdiv.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

PointwiseCall where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  MT_CHECK(condition.dtype() == DType::kBool || condition.dtype() == DType::kUInt8, RuntimeError,
           "where expected condition to be a boolean tensor, but got a tensor with dtype ",
           legacy_name(condition.dtype()));
  const DType dtype = result_type(self, other);
  // 16-bit floats take what rounding makes of a number.
  for (const Tensor* value : {&self, &other}) {
    if (!value->is_wrapped_number() || number_dtype(dtype) != dtype) continue;
    check_in_range(number_of(*value), dtype);
  }
  return PointwiseCall(Pointwise::kWhere, dtype, dtype, condition, self, other);
}

DType clamp_dtype(const Tensor& self, std::initializer_list<const std::optional<Scalar>*> bounds) {
  bool fractional = false;
  for (const auto* bound : bounds) {
    fractional |= bound->has_value() && (*bound)->is_floating_point();
  }
  return fractional ? float_dtype(self.dtype())
                    : (self.dtype() == DType::kBool ? DType::kInt64 : self.dtype());
}

PointwiseCall clamp(const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max) {
  MT_CHECK(min || max, RuntimeError,
           "torch.clamp: At least one of 'min' or 'max' must not be None");
  const DType dtype = clamp_dtype(self, {&min, &max});
  for (const auto* bound : {&min, &max}) {
    if (*bound) check_in_range(**bound, dtype);
  }
  if (!max) return PointwiseCall(Pointwise::kClampMinScalar, dtype, dtype).on(self).param(0, *min);
  if (!min) return PointwiseCall(Pointwise::kClampMaxScalar, dtype, dtype).on(self).param(0, *max);
  return PointwiseCall(Pointwise::kClampScalar, dtype, dtype)
      .on(self)
      .param(0, *min)
      .param(1, *max);
}

PointwiseCall clamp_tensor(const Tensor& self, const Tensor& min, const Tensor& max) {
  MT_CHECK(min.defined() || max.defined(), RuntimeError,
           "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (!max.defined()) return promoted(Pointwise::kMaximum, self, min);
  if (!min.defined()) return promoted(Pointwise::kMinimum, self, max);
  ResultType type;
  for (const Tensor* operand : {&self, &min, &max}) type.add(*operand);
  return PointwiseCall(Pointwise::kClamp, type.dtype(), type.dtype(), self, min, max);
}

PointwiseCall clamp_min_tensor(const Tensor& self, const Tensor& min) {
  return promoted(Pointwise::kMaximum, self, min);
}
PointwiseCall clamp_max_tensor(const Tensor& self, const Tensor& max) {
  return promoted(Pointwise::kMinimum, self, max);
}
PointwiseCall clamp_min(const Tensor& self, const Scalar& min) {
  return clamp(self, min, std::nullopt);
}
PointwiseCall clamp_max(const Tensor& self, const Scalar& max) {
  return clamp(self, std::nullopt, max);
}

void check_lerp(const Tensor& self, const Tensor& end) {
  MT_CHECK(self.dtype() == end.dtype(), RuntimeError, "expected dtype ",
           limits(self.dtype()).type_name, " for `end` but got dtype ",
           limits(end.dtype()).type_name);
}

PointwiseCall lerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  check_lerp(self, end);
  MT_CHECK(self.dtype() == weight.dtype() || weight.dim() == 0, RuntimeError, "expected dtype ",
           limits(self.dtype()).type_name, " for `weight` but got dtype ",
           limits(weight.dtype()).type_name);
  return PointwiseCall(Pointwise::kLerp, self.dtype(), self.dtype())
      .on(self)
      .on(end)
      .on(weight)
      .only_if(is_differentiable(self.dtype()));
}

PointwiseCall lerp_scalar(const Tensor& self, const Tensor& end, const Scalar& weight) {
  check_lerp(self, end);
  return PointwiseCall(Pointwise::kLerpScalar, self.dtype(), self.dtype())
      .on(self)
      .on(end)
      .param(0, fitting(weight, number_dtype(self.dtype())))
      .only_if(is_differentiable(self.dtype()));
}

template <Pointwise kFunction>
PointwiseCall addc(const Tensor& self,
                   const Tensor& tensor1,
                   const Tensor& tensor2,
                   const Scalar& value) {
  ResultType type;
  for (const Tensor* operand : {&self, &tensor1, &tensor2}) type.add(*operand);
  const DType dtype = type.dtype();
  const bool divides_integers = kFunction == Pointwise::kAddcdiv &&
                                is_integral(tensor1.dtype(), true) &&
                                is_integral(tensor2.dtype(), true);
  MT_CHECK(!divides_integers, RuntimeError,
           "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
           "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can "
           "be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
           "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
           "addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
           "tensor2), for all dtypes.");
  return PointwiseCall(kFunction, dtype, dtype)
      .on(self)
      .on(tensor1)
      .on(tensor2)
      .param(0, fitting(value, number_dtype(dtype)))
      .only_if(dtype != DType::kBool);
}

constexpr const char* kCannotCastToType =
    "result type $R can't be cast to the desired output type $o";

}  // namespace

void define_ternary(Registry& ops) {
  ops.define<where>("where.self(Tensor condition, Operand self, Operand other) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "Expected out type to be $R but got $O")
      .function_only()
      .doc("Elements of `self` where `condition` is true, of `other` elsewhere.",
           ">>> torch.where(torch.tensor([True, False]), 1, 0)\ntensor([1, 0])");
  ops.define<clamp>("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor")
      .node_name("ClampBackward0", "ClampBackward1")
      .variants(kInplaceAndOut)
      .inplace_dtype(TargetDType::kCast, kCannotCastToType)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .also({"clip"})
      .doc("Limits elements to the range `min` to `max`.",
           ">>> torch.clamp(torch.tensor([-1, 5]), 0, 3)\ntensor([0, 3])");
  ops.define<clamp_tensor>(
         "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"clip"})
      .doc("Limits elements to the range `min` to `max`.",
           ">>> torch.clamp(torch.tensor([-1, 5]), torch.tensor(0))\ntensor([0, 5])");
  ops.define<clamp_min>("clamp_min(Tensor self, Scalar min) -> Tensor")
      .node_name("ClampMinBackward1", "ClampMinBackward0")
      .variants(kInplaceAndOut)
      .inplace_dtype(TargetDType::kCast, kCannotCastToType)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("Elements not below `min`.",
           ">>> torch.clamp_min(torch.tensor([-1, 5]), 0)\ntensor([0, 5])");
  ops.define<clamp_max>("clamp_max(Tensor self, Scalar max) -> Tensor")
      .node_name("ClampMaxBackward1", "ClampMaxBackward0")
      .variants(kInplaceAndOut)
      .inplace_dtype(TargetDType::kCast, kCannotCastToType)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("Elements not above `max`.",
           ">>> torch.clamp_max(torch.tensor([-1, 5]), 3)\ntensor([-1,  3])");
  ops.define<clamp_min_tensor>("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor")
      .device_example("x.clamp_min(torch.tensor([4.0, 2.0, 1.0]))")
      .variants(kInplaceAndOut);
  ops.define<clamp_max_tensor>("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor")
      .device_example("x.clamp_max(torch.tensor([4.0, 2.0, 1.0]))")
      .variants(kInplaceAndOut);
  ops.define<lerp_scalar>("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor")
      .node_name("LerpBackward0")
      .variants(kInplaceAndOut)
      .doc("self + weight * (end - self).",
           ">>> torch.lerp(torch.tensor([0.]), torch.tensor([10.]), 0.5)\ntensor([5.])");
  ops.define<lerp>("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor")
      .node_name("LerpBackward1")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("self + weight * (end - self).",
           ">>> torch.lerp(torch.tensor([0.]), torch.tensor([10.]), "
           "torch.tensor([0.1]))\ntensor([1.])");
  ops.define<addc<Pointwise::kAddcmul>>(
         "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .variants(kInplaceAndOut)
      .doc("self + value * tensor1 * tensor2.",
           ">>> torch.addcmul(torch.tensor([1]), torch.tensor([2]), "
           "torch.tensor([3]))\ntensor([7])");
  ops.define<addc<Pointwise::kAddcdiv>>(
         "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .variants(kInplaceAndOut)
      .doc("self + value * tensor1 / tensor2.",
           ">>> torch.addcdiv(torch.tensor([1.]), torch.tensor([6.]), "
           "torch.tensor([3.]))\ntensor([3.])");
}

}  // namespace mindtorch::ops
