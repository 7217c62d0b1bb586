#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "mindtorch/ops/registry.h"

namespace mindtorch::ops {
namespace {

bool takes_tensors(const Op& op) {
  return std::ranges::any_of(op.schema.params, [](const Param& param) {
    return param.type == ArgType::kTensor || param.type == ArgType::kOperand ||
           param.type == ArgType::kTensorList || param.type == ArgType::kOptionalTensorList;
  });
}

// What gradients are made of: pointwise ops have the derivatives of their functions, composites
// those of their parts, views are known by where their elements lie.
bool has_derivative(const Op& op) {
  return op.backward != nullptr || op.kind == OpKind::kPointwise || op.kind == OpKind::kComposite ||
         op.kind == OpKind::kView;
}

TEST(Derivatives, AreThereForEveryOp) {
  // Results are integers or bool, or torch has no derivative either: its backward raises as ours.
  const std::set<std::string> none = {
      "_coo_add",
      "_coo_merge",
      "_ctc_loss_backward",
      "_linalg_geqrf",
      "_linalg_ldl_factor",
      "_unique2",
      "_unique_consecutive",
      "all.dims",
      "any.dims",
      "argmax",
      "argmin",
      "argsort",
      "argsort.stable",
      "bincount",
      "binomial",
      "embedding_renorm_",
      "histc",
      "item",
      "multinomial",
      "nonzero",
      "repeat_interleave.Tensor",
      "scatter_.reduce",
      "scatter_.value_reduce",
      "searchsorted",
      "unique_dim",
  };
  std::set<std::string> missing;
  for (const Op& op : registry().ops()) {
    if (op.form != OpForm::kPrimary || !op.differentiable || !takes_tensors(op)) continue;
    if (!has_derivative(op)) missing.insert(op.schema.full_name());
  }
  EXPECT_EQ(missing, none);
}

TEST(Derivatives, OfPointwiseFunctionsAreThereForEveryOperand) {
  // Functions of whole numbers or of truth, and those whose derivative torch lacks, too.
  const std::set<std::string> none = {"airy_ai",
                                      "bessel_j0",
                                      "bessel_j1",
                                      "bessel_y0",
                                      "bessel_y1",
                                      "chebyshev_polynomial_t",
                                      "chebyshev_polynomial_u",
                                      "chebyshev_polynomial_v",
                                      "chebyshev_polynomial_w",
                                      "dirichlet_grad",
                                      "heaviside",
                                      "hermite_polynomial_h",
                                      "hermite_polynomial_he",
                                      "igamma",
                                      "igammac",
                                      "laguerre_polynomial_l",
                                      "legendre_polynomial_p",
                                      "modified_bessel_k0",
                                      "modified_bessel_k1",
                                      "scaled_modified_bessel_k0",
                                      "scaled_modified_bessel_k1",
                                      "shifted_chebyshev_polynomial_t",
                                      "shifted_chebyshev_polynomial_u",
                                      "shifted_chebyshev_polynomial_v",
                                      "shifted_chebyshev_polynomial_w",
                                      "standard_gamma_grad",
                                      "zeta"};
  std::set<std::string> missing;
  for (int i = 0; i < kPointwiseCount; ++i) {
    const FunctionInfo& info = function_info(static_cast<Pointwise>(i));
    if (info.values == ops::Values::kBool || (info.dtypes & kFloatTypes) == 0) continue;
    for (int operand = 0; operand < info.arity; ++operand) {
      if (takes_bool(static_cast<Pointwise>(i), operand)) continue;
      if (info.derivatives[operand].kind == Derivative::Kind::kNone) missing.insert(info.name);
    }
  }
  EXPECT_EQ(missing, none);
}

}  // namespace
}  // namespace mindtorch::ops
