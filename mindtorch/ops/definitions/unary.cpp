// Functions of one operand: sign, rounding, exponentials, trigonometry.
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

PointwiseCall relu(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::kBool, RuntimeError, "Boolean inputs not supported for relu");
  return same_dtype<Pointwise::kRelu>(self);
}

}  // namespace

void define_unary(Registry& ops) {
  ops.define<neg>("neg(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("The negative of each element.", ">>> torch.neg(torch.tensor([1, -2]))\ntensor([-1,  2])");
  ops.define<to_float<Pointwise::kExp>>("exp(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .doc("e to the power of each element.", ">>> torch.exp(torch.tensor([0.]))\ntensor([1.])");
  ops.define<relu>("relu(Tensor self) -> Tensor")
      .variants(kInplaceVariant)
      .doc("Replaces negative elements by 0.",
           ">>> torch.relu(torch.tensor([-1., 2.]))\ntensor([0., 2.])");
}

}  // namespace mindtorch::ops
