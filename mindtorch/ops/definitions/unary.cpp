// Functions of one operand: sign, powers, exponentials and special functions.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

PointwiseCall neg(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::kBool, RuntimeError,
           "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
           "invert a mask, use the `~` or `logical_not()` operator instead.");
  return same_dtype<Pointwise::kNeg>(self);
}

PointwiseCall abs_value(const Tensor& self) {
  return PointwiseCall(Pointwise::kAbs, self.dtype(), real_dtype(self.dtype())).on(self);
}

PointwiseCall real_sign(const Tensor& self) {
  MT_CHECK(!is_complex(self.dtype()), NotImplementedError,
           "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
           "torch.sgn instead.");
  return same_dtype<Pointwise::kSign>(self);
}

template <Pointwise kFunction>
PointwiseCall sign(const Tensor& self) {
  return same_dtype<kFunction>(self);
}

// torch squares bool to int64, because it takes it as a power.
PointwiseCall square(const Tensor& self) {
  const DType dtype = self.dtype() == DType::kBool ? DType::kInt64 : self.dtype();
  return PointwiseCall(Pointwise::kSquare, dtype, dtype, self);
}

PointwiseCall logit(const Tensor& self, std::optional<double> eps) {
  PointwiseCall call = to_float<Pointwise::kLogit>(self);
  if (!eps) return call.param(0, -1.0);
  // The bounds are numbers of the dtype.
  const auto rounded = [&](double value) {
    return visit_dtype(call.result, [&]<typename T>() -> double {
      if constexpr (std::is_integral_v<T>) {
        return value;  // never: the result is a float
      } else {
        return Scalar(value).to<T>();
      }
    });
  };
  const double low = rounded(*eps);
  return call.param(0, low).param(1, rounded(1 - low));
}

}  // namespace

void define_unary(Registry& ops) {
  ops.define<abs_value>("abs(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .also({"absolute"})
      .doc("The absolute value of each element.",
           ">>> torch.abs(torch.tensor([-1, 2]))\ntensor([1, 2])");
  ops.define<neg>("neg(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .also({"negative"})
      .doc("The negative of each element.",
           ">>> torch.neg(torch.tensor([1, -2]))\ntensor([-1,  2])");
  ops.define<real_sign>("sign(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("-1, 0 or 1 by the sign of each element.",
           ">>> torch.sign(torch.tensor([-3, 0, 5]))\ntensor([-1,  0,  1])");
  ops.define<sign<Pointwise::kSign>>("sgn(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("The sign of each element; of complex numbers the one of length 1 in their direction.",
           ">>> torch.sgn(torch.tensor([-3., 0.]))\ntensor([-1.,  0.])");
  ops.define<square>("square(Tensor self) -> Tensor")
      .node_name("PowBackward0")
      .variants(kInplaceAndOut)
      .doc("The square of each element.", ">>> torch.square(torch.tensor([2, 3]))\ntensor([4, 9])");
  ops.define<to_float<Pointwise::kReciprocal>>("reciprocal(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("1 divided by each element.",
           ">>> torch.reciprocal(torch.tensor([2., 4.]))\ntensor([0.5000, 0.2500])");
  ops.define<to_float<Pointwise::kSqrt>>("sqrt(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The square root of each element.",
           ">>> torch.sqrt(torch.tensor([4., 9.]))\ntensor([2., 3.])");
  ops.define<to_float<Pointwise::kRsqrt>>("rsqrt(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("1 divided by the square root of each element.",
           ">>> torch.rsqrt(torch.tensor([4.]))\ntensor([0.5000])");
  ops.define<to_float<Pointwise::kExp>>("exp(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("e to the power of each element.",
           ">>> torch.exp(torch.tensor([0., 1.]))\ntensor([1.0000, 2.7183])");
  ops.define<to_float<Pointwise::kExp2>>("exp2(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_exp2"})
      .doc("2 to the power of each element.", ">>> torch.exp2(torch.tensor([3.]))\ntensor([8.])");
  ops.define<to_float<Pointwise::kExpm1>>("expm1(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .also({"special_expm1"})
      .doc("exp(x) - 1, exact near 0.", ">>> torch.expm1(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kLog>>("log(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("The natural logarithm of each element.",
           ">>> torch.log(torch.tensor([1.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kLog2>>("log2(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("The logarithm to base 2.", ">>> torch.log2(torch.tensor([8.]))\ntensor([3.])");
  ops.define<to_float<Pointwise::kLog10>>("log10(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("The logarithm to base 10.", ">>> torch.log10(torch.tensor([100.]))\ntensor([2.])");
  ops.define<to_float<Pointwise::kLog1p>>("log1p(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .also({"special_log1p"})
      .doc("log(1 + x), exact near 0.", ">>> torch.log1p(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kErf>>("erf(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_erf"})
      .doc("The error function.", ">>> torch.erf(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kErfc>>("erfc(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_erfc"})
      .doc("1 minus the error function.", ">>> torch.erfc(torch.tensor([0.]))\ntensor([1.])");
  ops.define<to_float<Pointwise::kErfinv>>("erfinv(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .also({"special_erfinv"})
      .doc("The inverse of the error function.",
           ">>> torch.erfinv(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kLgamma>>("lgamma(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_gammaln"})
      .doc("The logarithm of the absolute value of the gamma function.",
           ">>> torch.lgamma(torch.tensor([1.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kDigamma>>("digamma(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_digamma"})
      .doc("The derivative of `lgamma`.",
           ">>> torch.digamma(torch.tensor([1.]))\ntensor([-0.5772])");
  ops.define<to_float<Pointwise::kSinc>>("sinc(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_sinc"})
      .doc("sin(pi x) / (pi x), and 1 at 0.", ">>> torch.sinc(torch.tensor([0.]))\ntensor([1.])");
  ops.define<logit>("logit(Tensor self, float? eps=None) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_logit"})
      .doc("log(x / (1 - x)), with x clamped to [eps, 1 - eps] when `eps` is given.",
           ">>> torch.logit(torch.tensor([0.5]))\ntensor([0.])");
}

}  // namespace mindtorch::ops
