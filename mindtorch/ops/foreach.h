#pragma once

#include <cstdint>
#include <string_view>

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

// torch._foreach_*: a pointwise op on each tensor of a list. The op `_foreach_<name>.<overload>`
// and its in-place form take `params` behind `self`; they are those of `base`, in its order.
struct ForeachOp {
  std::string_view name;
  std::string_view base;
  std::string_view overload{};
  std::string_view params{};
  ForeachArgs args = ForeachArgs::kNone;
};

// clang-format off
inline constexpr ForeachOp kForeachOps[] = {
    {"abs", "abs"}, {"acos", "acos"}, {"asin", "asin"}, {"atan", "atan"}, {"ceil", "ceil"},
    {"cos", "cos"}, {"cosh", "cosh"}, {"erf", "erf"}, {"erfc", "erfc"}, {"exp", "exp"},
    {"expm1", "expm1"}, {"floor", "floor"}, {"frac", "frac"}, {"lgamma", "lgamma"}, {"log", "log"},
    {"log10", "log10"}, {"log1p", "log1p"}, {"log2", "log2"}, {"neg", "neg"},
    {"reciprocal", "reciprocal"}, {"round", "round"}, {"rsqrt", "rsqrt"}, {"sigmoid", "sigmoid"},
    {"sign", "sign"}, {"sin", "sin"}, {"sinh", "sinh"}, {"sqrt", "sqrt"}, {"tan", "tan"},
    {"tanh", "tanh"}, {"trunc", "trunc"},

    {"add", "add.Tensor", "Scalar", "Scalar scalar", ForeachArgs::kNumber},
    {"add", "add.Tensor", "List", "Tensor[] other, *, Scalar alpha=1", ForeachArgs::kListAndNumber},
    {"add", "add.Tensor", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers},
    {"add", "add.Tensor", "Tensor", "Tensor other, *, Scalar alpha=1", ForeachArgs::kTensorAndNumber},
    {"sub", "sub.Tensor", "Scalar", "Scalar scalar", ForeachArgs::kNumber},
    {"sub", "sub.Tensor", "List", "Tensor[] other, *, Scalar alpha=1", ForeachArgs::kListAndNumber},
    {"sub", "sub.Tensor", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers},
    {"mul", "mul.Tensor", "Scalar", "Scalar scalar", ForeachArgs::kNumber},
    {"mul", "mul.Tensor", "List", "Tensor[] other", ForeachArgs::kList},
    {"mul", "mul.Tensor", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers},
    {"mul", "mul.Tensor", "Tensor", "Tensor other", ForeachArgs::kTensor},
    {"div", "div.Tensor", "Scalar", "Scalar scalar", ForeachArgs::kNumber},
    {"div", "div.Tensor", "List", "Tensor[] other", ForeachArgs::kList},
    {"div", "div.Tensor", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers},
    {"div", "div.Tensor", "Tensor", "Tensor other", ForeachArgs::kTensor},
    {"pow", "pow.Tensor_Tensor", "List", "Tensor[] exponent", ForeachArgs::kList},
    {"pow", "pow.Tensor_Tensor", "Scalar", "Scalar exponent", ForeachArgs::kNumber},
    {"pow", "pow.Tensor_Tensor", "ScalarList", "Scalar[] exponent", ForeachArgs::kNumbers},
    {"maximum", "clamp_min", "Scalar", "Scalar scalar", ForeachArgs::kNumber},
    {"maximum", "clamp_min.Tensor", "List", "Tensor[] other", ForeachArgs::kList},
    {"maximum", "clamp_min", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers},
    {"minimum", "clamp_max", "Scalar", "Scalar scalar", ForeachArgs::kNumber},
    {"minimum", "clamp_max.Tensor", "List", "Tensor[] other", ForeachArgs::kList},
    {"minimum", "clamp_max", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers},
    {"clamp_min", "clamp_min", "Scalar", "Scalar scalar", ForeachArgs::kNumber},
    {"clamp_min", "clamp_min.Tensor", "List", "Tensor[] other", ForeachArgs::kList},
    {"clamp_min", "clamp_min", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers},
    {"clamp_max", "clamp_max", "Scalar", "Scalar scalar", ForeachArgs::kNumber},
    {"clamp_max", "clamp_max.Tensor", "List", "Tensor[] other", ForeachArgs::kList},
    {"clamp_max", "clamp_max", "ScalarList", "Scalar[] scalars", ForeachArgs::kNumbers},
    {"lerp", "lerp.Tensor", "List", "Tensor[] tensors1, Tensor[] weights", ForeachArgs::kTwoLists},
    {"lerp", "lerp.Scalar", "Scalar", "Tensor[] tensors1, Scalar weight", ForeachArgs::kListAndNumber},
    {"lerp", "lerp.Scalar", "ScalarList", "Tensor[] tensors1, Scalar[] weight", ForeachArgs::kListAndNumbers},
    {"addcmul", "addcmul", "Scalar", "Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", ForeachArgs::kTwoListsAndNumber},
    {"addcmul", "addcmul", "ScalarList", "Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars", ForeachArgs::kTwoListsAndNumbers},
    {"addcmul", "addcmul", "Tensor", "Tensor[] tensor1, Tensor[] tensor2, Tensor scalars", ForeachArgs::kTwoListsAndTensor},
    {"addcdiv", "addcdiv", "Scalar", "Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", ForeachArgs::kTwoListsAndNumber},
    {"addcdiv", "addcdiv", "ScalarList", "Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars", ForeachArgs::kTwoListsAndNumbers},
    {"addcdiv", "addcdiv", "Tensor", "Tensor[] tensor1, Tensor[] tensor2, Tensor scalars", ForeachArgs::kTwoListsAndTensor},
};
// clang-format on
inline constexpr size_t kForeachCount = sizeof(kForeachOps) / sizeof(kForeachOps[0]);

}  // namespace mindtorch::ops
