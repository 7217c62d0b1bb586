// Rounding, and what to do with NaN and infinity.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

// Integers are whole already: torch gives them back unchanged.
template <Pointwise kFunction>
PointwiseCall rounding(const Tensor& self) {
  return same_dtype<kFunction>(self).only_if(self.dtype() != DType::kBool);
}

PointwiseCall frac(const Tensor& self) { return same_dtype<Pointwise::kFrac>(self); }

// Unlike round(x), torch's round(x, decimals=0) takes no integers.
PointwiseCall round_decimals(const Tensor& self, int64_t decimals) {
  MT_CHECK(!is_integral(self.dtype()), NotImplementedError,
           decimals == 0 ? "\"round_vml_cpu" : "\"round_cpu", "\" not implemented for '",
           legacy_name(self.dtype()), "'");
  if (decimals == 0) return rounding<Pointwise::kRound>(self);
  return same_dtype<Pointwise::kRoundDecimals>(self).param(0, decimals);
}

PointwiseCall nan_to_num(const Tensor& self,
                         std::optional<double> nan,
                         std::optional<double> posinf,
                         std::optional<double> neginf) {
  const DType dtype = self.dtype();
  double largest = 0;
  switch (dtype) {
    case DType::kFloat16:
      largest = 65504.0;
      break;
    case DType::kBFloat16:
      largest = 3.3895313892515355e38;
      break;
    case DType::kFloat32:
      largest = 3.4028234663852886e38;
      break;
    default:
      largest = 1.7976931348623157e308;
      break;
  }
  return PointwiseCall(Pointwise::kNanToNum, dtype, dtype)
      .laid_out(Layout::kLikeFirst)
      .on(self)
      .param(0, nan.value_or(0.0))
      .param(1, posinf.value_or(largest))
      .param(2, neginf.value_or(-largest));
}

}  // namespace

void define_rounding(Registry& ops) {
  ops.define<rounding<Pointwise::kCeil>>("ceil(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("The smallest integer not below each element.",
           ">>> torch.ceil(torch.tensor([1.2, -1.2]))\ntensor([ 2., -1.])");
  ops.define<rounding<Pointwise::kFloor>>("floor(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("The largest integer not above each element.",
           ">>> torch.floor(torch.tensor([1.2, -1.2]))\ntensor([ 1., -2.])");
  ops.define<rounding<Pointwise::kTrunc>>("trunc(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .also({"fix"})
      .doc("The integer part of each element.",
           ">>> torch.trunc(torch.tensor([1.7, -1.7]))\ntensor([ 1., -1.])");
  ops.define<frac>("frac(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("The part after the point, with the element's sign.",
           ">>> torch.frac(torch.tensor([1.5, -1.5]))\ntensor([ 0.5000, -0.5000])");
  ops.define<round_decimals>("special_round(Tensor self, *, int decimals=0) -> Tensor")
      .variants(kOutVariant)
      .doc("The nearest number of `decimals` decimals; halves go to even.",
           ">>> torch.special.round(torch.tensor([0.5, 1.5]))\ntensor([0., 2.])");
  ops.define<rounding<Pointwise::kRound>>("round(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("The nearest integer, or the nearest number of `decimals` decimals; halves go to even.",
           ">>> torch.round(torch.tensor([0.5, 1.5]))\ntensor([0., 2.])");
  ops.define<round_decimals>("round.decimals(Tensor self, *, int decimals) -> Tensor")
      .device_example("x.round(decimals=1)")
      .node_name("RoundBackward1")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype);
  ops.define<nan_to_num>(
         "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> "
         "Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, "nan_to_num: dtype of out: $O should be same as input: $R")
      .doc("Replaces NaN and the infinities by numbers.",
           ">>> torch.nan_to_num(torch.tensor([float('nan'), 1.]))\ntensor([0., 1.])");
}

}  // namespace mindtorch::ops
