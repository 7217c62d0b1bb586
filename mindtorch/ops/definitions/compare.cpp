// Comparison, logic and bits.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

// Operands may have different dtypes; each is asked for truth in the promoted one.
template <Pointwise kFunction>
PointwiseCall logical(const Tensor& self, const Tensor& other) {
  return PointwiseCall(kFunction, promote_types(self.dtype(), other.dtype()), DType::kBool)
      .on(self)
      .on(other);
}

template <Pointwise kFunction>
PointwiseCall bitwise(const Tensor& self, const Tensor& other) {
  PointwiseCall call = promoted(kFunction, self, other);
  return call.only_if(!is_differentiable(call.compute));
}

PointwiseCall bitwise_not(const Tensor& self) {
  return same_dtype<Pointwise::kBitwiseNot>(self).only_if(!is_differentiable(self.dtype()));
}

template <Pointwise kFunction>
PointwiseCall shift(const Tensor& self, const Tensor& other) {
  PointwiseCall call = bitwise<kFunction>(self, other);
  return call.only_if(call.compute != DType::kBool);
}

// No integer is infinite: torch answers with a filled tensor in the likeness of self.
template <Pointwise kFunction>
PointwiseCall infinite(const Tensor& self) {
  const bool is_integer = is_integral(self.dtype(), true);
  return to_bool<kFunction>(self).laid_out(is_integer ? Layout::kLikeFirst : Layout::kAgreed);
}

}  // namespace

void define_compare(Registry& ops) {
  ops.define<binary_bool<Pointwise::kEq>>("eq.Tensor(Tensor self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Where `self` equals `other`.",
           ">>> torch.eq(torch.tensor([1, 2, 3]), 2)\ntensor([False,  True, False])");
  ops.define<binary_bool<Pointwise::kNe>>("ne.Tensor(Tensor self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"not_equal"})
      .doc("Where `self` differs from `other`.",
           ">>> torch.ne(torch.tensor([1, 2, 3]), 2)\ntensor([ True, False,  True])");
  ops.define<binary_bool<Pointwise::kLt>>("lt.Tensor(Tensor self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"less"})
      .doc("Where `self` is less than `other`.",
           ">>> torch.lt(torch.tensor([1, 2, 3]), 2)\ntensor([ True, False, False])");
  ops.define<binary_bool<Pointwise::kLe>>("le.Tensor(Tensor self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"less_equal"})
      .doc("Where `self` is at most `other`.",
           ">>> torch.le(torch.tensor([1, 2, 3]), 2)\ntensor([ True,  True, False])");
  ops.define<binary_bool<Pointwise::kGt>>("gt.Tensor(Tensor self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"greater"})
      .doc("Where `self` is greater than `other`.",
           ">>> torch.gt(torch.tensor([1, 2, 3]), 2)\ntensor([False, False,  True])");
  ops.define<binary_bool<Pointwise::kGe>>("ge.Tensor(Tensor self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"greater_equal"})
      .doc("Where `self` is at least `other`.",
           ">>> torch.ge(torch.tensor([1, 2, 3]), 2)\ntensor([False,  True,  True])");
  ops.define<logical<Pointwise::kLogicalAnd>>("logical_and(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The logical and of the elements' truth values.",
           ">>> torch.logical_and(torch.tensor([0, 1]), torch.tensor([1, 1]))\ntensor([False,  "
           "True])");
  ops.define<logical<Pointwise::kLogicalOr>>("logical_or(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc(
          "The logical or of the elements' truth values.",
          ">>> torch.logical_or(torch.tensor([0, 1]), torch.tensor([1, 1]))\ntensor([True, True])");
  ops.define<logical<Pointwise::kLogicalXor>>("logical_xor(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The logical xor of the elements' truth values.",
           ">>> torch.logical_xor(torch.tensor([0, 1]), torch.tensor([1, 1]))\ntensor([ True, "
           "False])");
  ops.define<to_bool<Pointwise::kLogicalNot>>("logical_not(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("True where an element is 0.",
           ">>> torch.logical_not(torch.tensor([0, 1]))\ntensor([ True, False])");
  ops.define<to_bool<Pointwise::kIsNan>>("isnan(Tensor self) -> Tensor")
      .doc("Where an element is NaN.",
           ">>> torch.isnan(torch.tensor([float('nan'), 1.]))\ntensor([ True, False])");
  ops.define<infinite<Pointwise::kIsInf>>("isinf(Tensor self) -> Tensor")
      .doc("Where an element is infinite.",
           ">>> torch.isinf(torch.tensor([float('inf'), 1.]))\ntensor([ True, False])");
  ops.define<infinite<Pointwise::kIsFinite>>("isfinite(Tensor self) -> Tensor")
      .doc("Where an element is a finite number.",
           ">>> torch.isfinite(torch.tensor([float('inf'), 1.]))\ntensor([False,  True])");
  ops.define<to_bool<Pointwise::kIsPosInf>>("isposinf(Tensor self) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "isposinf does not support non-boolean outputs.")
      .doc("Where an element is plus infinity.",
           ">>> torch.isposinf(torch.tensor([float('inf'), 1.]))\ntensor([ True, False])");
  ops.define<to_bool<Pointwise::kIsNegInf>>("isneginf(Tensor self) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "isneginf does not support non-boolean outputs.")
      .doc("Where an element is minus infinity.",
           ">>> torch.isneginf(torch.tensor([float('inf'), 1.]))\ntensor([False, False])");
  ops.define<to_bool<Pointwise::kSignbit>>("signbit(Tensor self) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "signbit does not support non-boolean outputs.")
      .doc("Where the sign bit is set; true for -0.0, too.",
           ">>> torch.signbit(torch.tensor([-1., 1.]))\ntensor([ True, False])");
  ops.define<bitwise<Pointwise::kBitwiseAnd>>(
         "bitwise_and.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The bitwise and of integers, the logical and of bools.",
           ">>> torch.bitwise_and(torch.tensor([6]), torch.tensor([3]))\ntensor([2])");
  ops.define<bitwise<Pointwise::kBitwiseOr>>(
         "bitwise_or.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The bitwise or of integers, the logical or of bools.",
           ">>> torch.bitwise_or(torch.tensor([6]), torch.tensor([3]))\ntensor([7])");
  ops.define<bitwise<Pointwise::kBitwiseXor>>(
         "bitwise_xor.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The bitwise xor of integers, the logical xor of bools.",
           ">>> torch.bitwise_xor(torch.tensor([6]), torch.tensor([3]))\ntensor([5])");
  ops.define<bitwise_not>("bitwise_not(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, kFoundDtype)
      .doc("All bits of integers flipped, bools negated.",
           ">>> torch.bitwise_not(torch.tensor([0, 1]))\ntensor([-1, -2])");
  ops.define<shift<Pointwise::kShiftLeft>>(
         "bitwise_left_shift.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Shifts bits to the left.",
           ">>> torch.bitwise_left_shift(torch.tensor([1]), torch.tensor([3]))\ntensor([8])");
  ops.define<shift<Pointwise::kShiftRight>>(
         "bitwise_right_shift.Tensor(Operand self, Operand other) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("Shifts bits to the right, keeping the sign.",
           ">>> torch.bitwise_right_shift(torch.tensor([8]), torch.tensor([3]))\ntensor([1])");
}

}  // namespace mindtorch::ops
