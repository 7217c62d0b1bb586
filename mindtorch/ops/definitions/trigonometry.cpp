// Trigonometric and hyperbolic functions.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

template <Pointwise kFunction>
PointwiseCall to_angle(const Tensor& self) {
  return to_float<kFunction>(self).laid_out(Layout::kLikeFirst);
}

}  // namespace

void define_trigonometry(Registry& ops) {
  ops.define<to_float<Pointwise::kSin>>("sin(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The sine of each element.", ">>> torch.sin(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kCos>>("cos(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The cosine of each element.", ">>> torch.cos(torch.tensor([0.]))\ntensor([1.])");
  ops.define<to_float<Pointwise::kTan>>("tan(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("The tangent of each element.", ">>> torch.tan(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kAsin>>("asin(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .also({"arcsin"})
      .doc("The arcsine of each element.", ">>> torch.asin(torch.tensor([1.]))\ntensor([1.5708])");
  ops.define<to_float<Pointwise::kAcos>>("acos(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .also({"arccos"})
      .doc("The arccosine of each element.", ">>> torch.acos(torch.tensor([1.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kAtan>>("atan(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"arctan"})
      .doc("The arctangent of each element.",
           ">>> torch.atan(torch.tensor([1.]))\ntensor([0.7854])");
  ops.define<to_float<Pointwise::kSinh>>("sinh(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("The hyperbolic sine of each element.",
           ">>> torch.sinh(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kCosh>>("cosh(Tensor self) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .variants(kInplaceAndOut)
      .doc("The hyperbolic cosine of each element.",
           ">>> torch.cosh(torch.tensor([0.]))\ntensor([1.])");
  ops.define<to_float<Pointwise::kTanh>>("tanh(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The hyperbolic tangent of each element.",
           ">>> torch.tanh(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kAsinh>>("asinh(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"arcsinh"})
      .doc("The inverse hyperbolic sine.", ">>> torch.asinh(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kAcosh>>("acosh(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"arccosh"})
      .doc("The inverse hyperbolic cosine.", ">>> torch.acosh(torch.tensor([1.]))\ntensor([0.])");
  ops.define<to_float<Pointwise::kAtanh>>("atanh(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"arctanh"})
      .doc("The inverse hyperbolic tangent.", ">>> torch.atanh(torch.tensor([0.]))\ntensor([0.])");
  ops.define<to_angle<Pointwise::kDeg2rad>>("deg2rad(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Degrees to radians.", ">>> torch.deg2rad(torch.tensor([180.]))\ntensor([3.1416])");
  ops.define<to_angle<Pointwise::kRad2deg>>("rad2deg(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Radians to degrees.", ">>> torch.rad2deg(torch.tensor([0.]))\ntensor([0.])");
}

}  // namespace mindtorch::ops
