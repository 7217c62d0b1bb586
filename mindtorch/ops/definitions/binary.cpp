// Arithmetic of two operands.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ops {
namespace {

// self + alpha * other, with alpha in the dtype of the result.
PointwiseCall add_scaled(DType dtype,
                         const Tensor& self,
                         const Tensor& other,
                         const Scalar& alpha) {
  return PointwiseCall(Pointwise::kAddScaled, dtype, dtype)
      .on(self)
      .on(other)
      .param(0, round_to_half(fitting(alpha, dtype), dtype));
}

void check_alpha(DType dtype, const Scalar& alpha, const Tensor& self, const Tensor& other) {
  const bool is_wrong_bool = alpha.is_bool() && dtype != DType::kBool;
  const bool is_wrong_complex = alpha.is_complex() && !is_complex(dtype);
  if (MT_LIKELY(!is_wrong_bool && !is_wrong_complex &&
                (is_differentiable(dtype) || alpha.is_integral()))) {
    return;
  }
  broadcast_shapes(self.sizes(), other.sizes());  // mistakes of shape come first
  MT_CHECK(!is_wrong_complex, RuntimeError,
           "For non-complex input tensors, argument alpha must not be a complex number.");
  MT_THROW(RuntimeError, is_wrong_bool ? "Boolean alpha only supported for Boolean results."
                                       : "For integral input tensors, argument alpha must not be a "
                                         "floating point number.");
}

PointwiseCall add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const DType dtype = result_type(self, other);
  if (alpha == Scalar(1)) return PointwiseCall(Pointwise::kAdd, dtype, dtype, self, other);
  check_alpha(dtype, alpha, self, other);
  return add_scaled(dtype, self, other, alpha);
}

PointwiseCall sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  MT_CHECK(self.dtype() != DType::kBool || other.dtype() != DType::kBool, RuntimeError,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
  MT_CHECK(self.dtype() != DType::kBool && other.dtype() != DType::kBool, RuntimeError,
           "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
           "to invert a mask, use the `~` or `logical_not()` operator instead.");
  const DType dtype = result_type(self, other);
  if (alpha == Scalar(1)) return PointwiseCall(Pointwise::kSub, dtype, dtype, self, other);
  check_alpha(dtype, alpha, self, other);
  const Scalar negated = alpha.is_complex() ? Scalar(-alpha.to_complex())
                         : alpha.is_floating_point()
                             ? Scalar(-alpha.to_double())
                             : Scalar(static_cast<int64_t>(-static_cast<uint64_t>(alpha.to_int())));
  return add_scaled(dtype, self, other, negated);
}

PointwiseCall rsub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub(other, self, alpha);
}

PointwiseCall div_mode(const Tensor& self,
                       const Tensor& other,
                       std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return quotient(self, other);
  if (*rounding_mode == "floor") return product<Pointwise::kFloorDivide>(self, other);
  MT_CHECK(*rounding_mode == "trunc", RuntimeError,
           "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '",
           *rounding_mode, "'");
  return product<Pointwise::kTruncDivide>(self, other);
}

// One exponent for all: the powers that people write most are products and roots, as in torch.
PointwiseCall pow_number(const Tensor& self, Scalar exponent, DType dtype) {
  // torch takes pow itself for roots of float16, which differs in the signs of zeros and
  // infinities.
  const bool has_roots = is_differentiable(dtype) && dtype != DType::kFloat16;
  const double power =
      exponent.imag() == 0 ? exponent.to_double() : std::numeric_limits<double>::quiet_NaN();
  const auto as = [&](Pointwise function) { return PointwiseCall(function, dtype, dtype, self); };
  if (power == 2.0) return as(Pointwise::kSquare);
  if (power == 3.0) return as(Pointwise::kCube);
  if (power == 0.5 && has_roots) return as(Pointwise::kSqrt);
  if (power == -0.5 && has_roots) return as(Pointwise::kRsqrt);
  if (power == -1.0) return as(Pointwise::kReciprocal);
  if (power == -2.0) return as(Pointwise::kInverseSquare);
  return as(Pointwise::kPowScalar).param(0, round_to_half(exponent, dtype));
}

// pow of integers with a negative exponent has no integer answer.
PointwiseCall pow(const Tensor& self, const Tensor& exponent) {
  const DType dtype = result_type(self, exponent);
  if (dtype == DType::kBool && exponent.is_wrapped_number() && exponent.device().is_host()) {
    // A bool to the power of 1 is itself, to the power of 0 it is true.
    const bool is_one = *exponent.data<bool>();
    return PointwiseCall(is_one ? Pointwise::kLogicalAnd : Pointwise::kEq, dtype, dtype, self,
                         self);
  }
  if (exponent.is_wrapped_number() && exponent.device().is_host()) {
    const Scalar number = number_of(exponent);
    MT_CHECK(!is_integral(dtype, true) || number.to_int() >= 0, RuntimeError,
             "Integers to negative integer powers are not allowed.");
    if (!is_differentiable(dtype) || number_dtype(dtype) != dtype) check_in_range(number, dtype);
    return pow_number(self, number, dtype);
  }
  PointwiseCall call = PointwiseCall(Pointwise::kPow, dtype, dtype)
                           .on(self)
                           .on(exponent)
                           .only_if(dtype != DType::kBool);
  return self.is_wrapped_number() ? call.laid_out(Layout::kContiguous) : call;
}

PointwiseCall float_power(const Tensor& self, const Tensor& exponent) {
  const DType dtype = is_complex(self.dtype()) || is_complex(exponent.dtype()) ? DType::kComplex128
                                                                               : DType::kFloat64;
  if (exponent.is_wrapped_number() && exponent.device().is_host()) {
    return pow_number(self, number_of(exponent), dtype);
  }
  return PointwiseCall(Pointwise::kPow, dtype, dtype, self, exponent);
}

template <Pointwise kFunction>
PointwiseCall no_bool(const Tensor& self, const Tensor& other) {
  PointwiseCall call = promoted(kFunction, self, other);
  call.only_if(call.compute != DType::kBool);
  return call;
}

PointwiseCall floor_divide(const Tensor& self, const Tensor& other) {
  PointwiseCall call = no_bool<Pointwise::kFloorDivide>(self, other);
  keep_single_factor(call);
  return call;
}

PointwiseCall heaviside(const Tensor& self, const Tensor& values) {
  MT_CHECK(self.dtype() == values.dtype(), RuntimeError,
           "heaviside is not yet implemented for tensors with different dtypes.");
  return promoted(Pointwise::kHeaviside, self, values);
}

}  // namespace

void define_binary(Registry& ops) {
  ops.define<add>("add.Tensor(Operand self, Operand other, *, Scalar alpha=1) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Adds `other`, scaled by `alpha`, to `self`.",
           ">>> torch.add(torch.tensor([1, 2]), 3)\ntensor([4, 5])");
  ops.define<sub>("sub.Tensor(Operand self, Operand other, *, Scalar alpha=1) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"subtract"})
      .doc("Subtracts `other`, scaled by `alpha`, from `self`.",
           ">>> torch.sub(torch.tensor([4, 5]), 3)\ntensor([1, 2])");
  ops.define<rsub>("rsub.Tensor(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor")
      .node_name("RsubBackward0", "RsubBackward1")
      .doc("Subtracts `self`, scaled by `alpha`, from `other`.",
           ">>> torch.rsub(torch.tensor([1, 2]), 3)\ntensor([2, 1])");
  ops.define<product<Pointwise::kMul>>("mul.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"multiply"})
      .doc("Multiplies `self` by `other`.",
           ">>> torch.mul(torch.tensor([1, 2]), 3)\ntensor([3, 6])");
  ops.define<quotient>("div.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"divide", "true_divide"})
      .doc("Divides `self` by `other`; integers give floats.",
           ">>> torch.div(torch.tensor([1, 3]), 2)\ntensor([0.5000, 1.5000])");
  ops.define<div_mode>(
         "div.Tensor_mode(Operand self, Operand other, *, str? rounding_mode) -> Tensor")
      .device_example("torch.div(x, torch.tensor(2.0), rounding_mode='floor')")
      .node_name("DivBackward2")
      .checks_divisor()
      .variants(kInplaceAndOut)
      .also({"divide"});
  ops.define<floor_divide>("floor_divide(Operand self, Operand other) -> Tensor")
      .checks_divisor()
      .variants(kInplaceAndOut)
      .doc("Divides and rounds towards minus infinity.",
           ">>> torch.floor_divide(torch.tensor([7, -7]), 2)\ntensor([ 3, -4])");
  ops.define<no_bool<Pointwise::kRemainder>>(
         "remainder.Tensor(Operand self, Operand other) -> Tensor")
      .node_name("RemainderBackward1", "RemainderBackward0")
      .checks_divisor()
      .variants(kInplaceAndOut)
      .doc("The remainder of a division, with the sign of `other`, as in Python.",
           ">>> torch.remainder(torch.tensor([7, -7]), 3)\ntensor([1, 2])");
  ops.define<no_bool<Pointwise::kFmod>>("fmod.Tensor(Tensor self, Operand other) -> Tensor")
      .node_name("FmodBackward1", "FmodBackward0")
      .checks_divisor()
      .variants(kInplaceAndOut)
      .doc("The remainder of a division, with the sign of `self`, as in C.",
           ">>> torch.fmod(torch.tensor([7, -7]), 3)\ntensor([ 1, -1])");
  ops.define<pow>("pow.Tensor_Tensor(Operand self, Operand exponent) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .node_name("PowBackward1", "PowBackward0", "PowBackward2")
      .variants(kInplaceAndOut)
      .doc("`self` to the power of `exponent`.",
           ">>> torch.pow(torch.tensor([2, 3]), 2)\ntensor([4, 9])");
  ops.define<float_power>("float_power.Tensor_Tensor(Operand self, Operand exponent) -> Tensor")
      .node_name("PowBackward1", "PowBackward0")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame,
                 "the output given to float_power has dtype $O but the operation's result requires "
                 "dtype $R")
      .inplace_dtype(TargetDType::kSame,
                     "the base given to float_power_ has dtype $O but the operation's result "
                     "requires dtype $R")
      .doc("`self` to the power of `exponent`, computed in float64.",
           ">>> torch.float_power(torch.tensor([2]), 2)\ntensor([4.], dtype=torch.float64)");
  ops.define<binary_same<Pointwise::kMaximum>>("maximum(Tensor self, Tensor other) -> Tensor")
      .variants(kOutVariant)
      .doc("The larger of each pair; NaN wins.",
           ">>> torch.maximum(torch.tensor([1, 5]), torch.tensor([3, 2]))\ntensor([3, 5])");
  ops.define<binary_same<Pointwise::kMinimum>>("minimum(Tensor self, Tensor other) -> Tensor")
      .variants(kOutVariant)
      .doc("The smaller of each pair; NaN wins.",
           ">>> torch.minimum(torch.tensor([1, 5]), torch.tensor([3, 2]))\ntensor([1, 2])");
  ops.define<binary_same<Pointwise::kMaximum>>("max.other(Tensor self, Tensor other) -> Tensor")
      .node_name("MaximumBackward0")
      .variants(kOutVariant)
      .doc("The larger of each pair.",
           ">>> torch.max(torch.tensor([1, 5]), torch.tensor([3, 2]))\ntensor([3, 5])");
  ops.define<binary_same<Pointwise::kMinimum>>("min.other(Tensor self, Tensor other) -> Tensor")
      .node_name("MinimumBackward0")
      .variants(kOutVariant)
      .doc("The smaller of each pair.",
           ">>> torch.min(torch.tensor([1, 5]), torch.tensor([3, 2]))\ntensor([1, 2])");
  ops.define<binary_same<Pointwise::kFmax>>("fmax(Tensor self, Tensor other) -> Tensor")
      .variants(kOutVariant)
      .doc("The larger of each pair; a number wins over NaN.",
           ">>> torch.fmax(torch.tensor([float('nan')]), torch.tensor([3.]))\ntensor([3.])");
  ops.define<binary_same<Pointwise::kFmin>>("fmin(Tensor self, Tensor other) -> Tensor")
      .variants(kOutVariant)
      .doc("The smaller of each pair; a number wins over NaN.",
           ">>> torch.fmin(torch.tensor([float('nan')]), torch.tensor([3.]))\ntensor([3.])");
  ops.define<binary_float<Pointwise::kAtan2>>("atan2(Tensor self, Tensor other) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .variants(kInplaceAndOut)
      .also({"arctan2"})
      .doc("The angle of the point (other, self).",
           ">>> torch.atan2(torch.tensor([1.]), torch.tensor([1.]))\ntensor([0.7854])");
  ops.define<binary_same<Pointwise::kHypot>>("hypot(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The length of the hypotenuse.",
           ">>> torch.hypot(torch.tensor([3.]), torch.tensor([4.]))\ntensor([5.])");
  ops.define<binary_float<Pointwise::kCopysign>>(
         "copysign.Tensor(Tensor self, Operand other) -> Tensor")
      .node_name("CopysignBackward0", "CopysignBackward1")
      .variants(kInplaceAndOut)
      .doc("The magnitude of `self` with the sign of `other`.",
           ">>> torch.copysign(torch.tensor([1.]), torch.tensor([-2.]))\ntensor([-1.])");
  ops.define<binary_same<Pointwise::kNextafter>>("nextafter(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The next representable number towards `other`.",
           ">>> torch.nextafter(torch.tensor([1.]), torch.tensor([2.])) > 1\ntensor([True])");
  ops.define<binary_same<Pointwise::kLogaddexp>>("logaddexp(Tensor self, Tensor other) -> Tensor")
      .variants(kOutVariant)
      .doc("log(exp(self) + exp(other)), without overflow.",
           ">>> torch.logaddexp(torch.tensor([0.]), torch.tensor([0.]))\ntensor([0.6931])");
  ops.define<binary_same<Pointwise::kLogaddexp2>>("logaddexp2(Tensor self, Tensor other) -> Tensor")
      .variants(kOutVariant)
      .doc("log2(2**self + 2**other), without overflow.",
           ">>> torch.logaddexp2(torch.tensor([0.]), torch.tensor([0.]))\ntensor([1.])");
  ops.define<binary_float<Pointwise::kXlogy>>("xlogy.Tensor(Operand self, Operand other) -> Tensor")
      .node_name("XlogyBackward0", "XlogyBackward2", "XlogyBackward1")
      .variants(kInplaceAndOut)
      .also({"special_xlogy"})
      .doc("self * log(other), and 0 where `self` is 0.",
           ">>> torch.xlogy(torch.tensor([0.]), torch.tensor([0.]))\ntensor([0.])");
  ops.define<heaviside>("heaviside(Tensor self, Tensor values) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame,
                 "heaviside is not yet implemented for tensors with different dtypes.")
      .doc("0 below 0, 1 above, `values` at 0.",
           ">>> torch.heaviside(torch.tensor([-1., 0., 2.]), torch.tensor([0.5]))\ntensor([0.0000, "
           "0.5000, 1.0000])");
  ops.define<binary_same<Pointwise::kGcd>>("gcd(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The greatest common divisor.",
           ">>> torch.gcd(torch.tensor([6]), torch.tensor([4]))\ntensor([2])");
  ops.define<binary_same<Pointwise::kLcm>>("lcm(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The least common multiple.",
           ">>> torch.lcm(torch.tensor([6]), torch.tensor([4]))\ntensor([12])");
}

}  // namespace mindtorch::ops
