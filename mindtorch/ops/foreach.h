#pragma once

#include <cstdint>
#include <string_view>

#include "mindtorch/base/location.h"

namespace mindtorch::ops {

// The arguments of an op over lists, behind `Tensor[] self`.
enum class ForeachArgs : uint8_t {
  kNone,
  kNumber,
  kNumbers,  // Scalar[]: one for each tensor
  kList,
  kTensor,
  kListAndNumber,
  kListAndNumbers,
  kTensorAndNumber,
  kTwoLists,
  kTwoListsAndNumber,
  kTwoListsAndNumbers,
  kTwoListsAndTensor,  // of one number for each tensor
};

// torch._foreach_*: a pointwise op on each tensor of a list. The op `<name>.<overload>` and its
// in-place form take `params` behind `self`; they are those of `base`, in its order.
struct ForeachOp {
  constexpr ForeachOp(std::string_view name,
                      std::string_view base,
                      std::string_view overload = {},
                      std::string_view params = {},
                      ForeachArgs args = ForeachArgs::kNone,
                      Location location = Location::here())
      : name(name),
        base(base),
        overload(overload),
        params(params),
        args(args),
        location(location) {}

  std::string_view name;
  std::string_view base;
  std::string_view overload;
  std::string_view params;
  ForeachArgs args;
  Location location;
};

// clang-format off
inline constexpr ForeachOp kForeachOps[] = {
    ForeachOp("_foreach_abs", "abs"),
    ForeachOp("_foreach_acos", "acos"),
    ForeachOp("_foreach_asin", "asin"),
    ForeachOp("_foreach_atan", "atan"),
    ForeachOp("_foreach_ceil", "ceil"),
    ForeachOp("_foreach_cos", "cos"),
    ForeachOp("_foreach_cosh", "cosh"),
    ForeachOp("_foreach_erf", "erf"),
    ForeachOp("_foreach_erfc", "erfc"),
    ForeachOp("_foreach_exp", "exp"),
    ForeachOp("_foreach_expm1", "expm1"),
    ForeachOp("_foreach_floor", "floor"),
    ForeachOp("_foreach_frac", "frac"),
    ForeachOp("_foreach_lgamma", "lgamma"),
    ForeachOp("_foreach_log", "log"),
    ForeachOp("_foreach_log10", "log10"),
    ForeachOp("_foreach_log1p", "log1p"),
    ForeachOp("_foreach_log2", "log2"),
    ForeachOp("_foreach_neg", "neg"),
    ForeachOp("_foreach_reciprocal", "reciprocal"),
    ForeachOp("_foreach_round", "round"),
    ForeachOp("_foreach_rsqrt", "rsqrt"),
    ForeachOp("_foreach_sigmoid", "sigmoid"),
    ForeachOp("_foreach_sign", "sign"),
    ForeachOp("_foreach_sin", "sin"),
    ForeachOp("_foreach_sinh", "sinh"),
    ForeachOp("_foreach_sqrt", "sqrt"),
    ForeachOp("_foreach_tan", "tan"),
    ForeachOp("_foreach_tanh", "tanh"),
    ForeachOp("_foreach_trunc", "trunc"),

    ForeachOp("_foreach_add", "add.Tensor", "Scalar", "Scalar scalar", ForeachArgs::kNumber),
    ForeachOp("_foreach_add", "add.Tensor", "List", "Tensor[] other, *, Scalar alpha=1", ForeachArgs::kListAndNumber),
    ForeachOp("_foreach_add", "add.Tensor", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers),
    ForeachOp("_foreach_add", "add.Tensor", "Tensor", "Tensor other, *, Scalar alpha=1", ForeachArgs::kTensorAndNumber),
    ForeachOp("_foreach_sub", "sub.Tensor", "Scalar", "Scalar scalar", ForeachArgs::kNumber),
    ForeachOp("_foreach_sub", "sub.Tensor", "List", "Tensor[] other, *, Scalar alpha=1", ForeachArgs::kListAndNumber),
    ForeachOp("_foreach_sub", "sub.Tensor", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers),
    ForeachOp("_foreach_mul", "mul.Tensor", "Scalar", "Scalar scalar", ForeachArgs::kNumber),
    ForeachOp("_foreach_mul", "mul.Tensor", "List", "Tensor[] other", ForeachArgs::kList),
    ForeachOp("_foreach_mul", "mul.Tensor", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers),
    ForeachOp("_foreach_mul", "mul.Tensor", "Tensor", "Tensor other", ForeachArgs::kTensor),
    ForeachOp("_foreach_div", "div.Tensor", "Scalar", "Scalar scalar", ForeachArgs::kNumber),
    ForeachOp("_foreach_div", "div.Tensor", "List", "Tensor[] other", ForeachArgs::kList),
    ForeachOp("_foreach_div", "div.Tensor", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers),
    ForeachOp("_foreach_div", "div.Tensor", "Tensor", "Tensor other", ForeachArgs::kTensor),
    ForeachOp("_foreach_pow", "pow.Tensor_Tensor", "List", "Tensor[] exponent", ForeachArgs::kList),
    ForeachOp("_foreach_pow", "pow.Tensor_Tensor", "Scalar", "Scalar exponent", ForeachArgs::kNumber),
    ForeachOp("_foreach_pow", "pow.Tensor_Tensor", "ScalarList", "Scalar[] exponent", ForeachArgs::kNumbers),
    ForeachOp("_foreach_maximum", "clamp_min", "Scalar", "Scalar scalar", ForeachArgs::kNumber),
    ForeachOp("_foreach_maximum", "clamp_min.Tensor", "List", "Tensor[] other", ForeachArgs::kList),
    ForeachOp("_foreach_maximum", "clamp_min", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers),
    ForeachOp("_foreach_minimum", "clamp_max", "Scalar", "Scalar scalar", ForeachArgs::kNumber),
    ForeachOp("_foreach_minimum", "clamp_max.Tensor", "List", "Tensor[] other", ForeachArgs::kList),
    ForeachOp("_foreach_minimum", "clamp_max", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers),
    ForeachOp("_foreach_clamp_min", "clamp_min", "Scalar", "Scalar scalar", ForeachArgs::kNumber),
    ForeachOp("_foreach_clamp_min", "clamp_min.Tensor", "List", "Tensor[] other", ForeachArgs::kList),
    ForeachOp("_foreach_clamp_min", "clamp_min", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers),
    ForeachOp("_foreach_clamp_max", "clamp_max", "Scalar", "Scalar scalar", ForeachArgs::kNumber),
    ForeachOp("_foreach_clamp_max", "clamp_max.Tensor", "List", "Tensor[] other", ForeachArgs::kList),
    ForeachOp("_foreach_clamp_max", "clamp_max", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers),
    ForeachOp("_foreach_lerp", "lerp.Tensor", "List", "Tensor[] tensors1, Tensor[] weights", ForeachArgs::kTwoLists),
    ForeachOp("_foreach_lerp", "lerp.Scalar", "Scalar", "Tensor[] tensors1, Scalar weight", ForeachArgs::kListAndNumber),
    ForeachOp("_foreach_lerp", "lerp.Scalar", "ScalarList", "Tensor[] tensors1, Scalar[] weight", ForeachArgs::kListAndNumbers),
    ForeachOp("_foreach_addcmul", "addcmul", "Scalar", "Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", ForeachArgs::kTwoListsAndNumber),
    ForeachOp("_foreach_addcmul", "addcmul", "ScalarList", "Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars", ForeachArgs::kTwoListsAndNumbers),
    ForeachOp("_foreach_addcmul", "addcmul", "Tensor", "Tensor[] tensor1, Tensor[] tensor2, Tensor scalars", ForeachArgs::kTwoListsAndTensor),
    ForeachOp("_foreach_addcdiv", "addcdiv", "Scalar", "Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", ForeachArgs::kTwoListsAndNumber),
    ForeachOp("_foreach_addcdiv", "addcdiv", "ScalarList", "Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars", ForeachArgs::kTwoListsAndNumbers),
    ForeachOp("_foreach_addcdiv", "addcdiv", "Tensor", "Tensor[] tensor1, Tensor[] tensor2, Tensor scalars", ForeachArgs::kTwoListsAndTensor),
};
// clang-format on
inline constexpr size_t kForeachCount = sizeof(kForeachOps) / sizeof(kForeachOps[0]);

}  // namespace mindtorch::ops
