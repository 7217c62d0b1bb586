// Arithmetic of two operands.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_alpha(DType dtype, const Scalar& alpha) {
  MT_CHECK(!alpha.is_bool() || dtype == DType::kBool, RuntimeError,
           "Boolean alpha only supported for Boolean results.");
  MT_CHECK(is_floating_point(dtype) || alpha.is_integral(), RuntimeError,
           "For integral input tensors, argument alpha must not be a floating point number.");
}

PointwiseCall add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const DType dtype = result_type(self, other);
  if (alpha == Scalar(1)) return PointwiseCall(Pointwise::kAdd, dtype, dtype).on(self).on(other);
  check_alpha(dtype, alpha);
  return PointwiseCall(Pointwise::kAddScaled, dtype, dtype).on(self).on(other).param(0, alpha);
}

PointwiseCall sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  MT_CHECK(self.dtype() != DType::kBool || other.dtype() != DType::kBool, RuntimeError,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
  MT_CHECK(self.dtype() != DType::kBool && other.dtype() != DType::kBool, RuntimeError,
           "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
           "to invert a mask, use the `~` or `logical_not()` operator instead.");
  const DType dtype = result_type(self, other);
  if (alpha == Scalar(1)) return PointwiseCall(Pointwise::kSub, dtype, dtype).on(self).on(other);
  check_alpha(dtype, alpha);
  const Scalar negated =
      alpha.is_floating_point() ? Scalar(-alpha.to_double()) : Scalar(-alpha.to_int());
  return PointwiseCall(Pointwise::kAddScaled, dtype, dtype).on(self).on(other).param(0, negated);
}

PointwiseCall rsub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub(other, self, alpha);
}

PointwiseCall div_mode(const Tensor& self, const Tensor& other,
                       std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return promoted_to_float(Pointwise::kDiv, self, other);
  if (*rounding_mode == "floor") return promoted(Pointwise::kFloorDivide, self, other);
  MT_CHECK(*rounding_mode == "trunc", RuntimeError,
           "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '",
           *rounding_mode, "'");
  return promoted(Pointwise::kTruncDivide, self, other);
}

}  // namespace

void define_binary(Registry& ops) {
  ops.define<add>("add.Tensor(Operand self, Operand other, *, Scalar alpha=1) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Adds `other`, scaled by `alpha`, to `self`.",
           ">>> torch.add(torch.tensor([1, 2]), 3)\ntensor([4, 5])");
  ops.define<sub>("sub.Tensor(Operand self, Operand other, *, Scalar alpha=1) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Subtracts `other`, scaled by `alpha`, from `self`.",
           ">>> torch.sub(torch.tensor([4, 5]), 3)\ntensor([1, 2])");
  ops.define<rsub>("rsub.Tensor(Operand self, Operand other, *, Scalar alpha=1) -> Tensor")
      .doc("Subtracts `self`, scaled by `alpha`, from `other`.",
           ">>> torch.rsub(torch.tensor([1, 2]), 3)\ntensor([2, 1])");
  ops.define<binary_same<Pointwise::kMul>>("mul.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Multiplies `self` by `other`.",
           ">>> torch.mul(torch.tensor([1, 2]), 3)\ntensor([3, 6])");
  ops.define<binary_float<Pointwise::kDiv>>("div.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Divides `self` by `other`; integers give floats.",
           ">>> torch.div(torch.tensor([1, 3]), 2)\ntensor([0.5000, 1.5000])");
  ops.define<div_mode>(
         "div.Tensor_mode(Operand self, Operand other, *, str? rounding_mode) -> Tensor")
      .variants(kInplaceAndOut);
}

}  // namespace mindtorch::ops
