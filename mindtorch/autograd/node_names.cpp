#include "mindtorch/autograd/node_names.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace mindtorch::autograd {
namespace {

// Names that are not made of the op's own: torch's for tensors, and for a Python number in the
// place of the second operand or of the first.
struct NodeName {
  std::string_view op;
  std::string_view of_tensor;
  std::string_view of_number;
  std::string_view of_first_number{};
};
constexpr NodeName kNames[] = {
    {"clamp", "ClampBackward0", "ClampBackward1"},
    {"clamp_max", "ClampMaxBackward1", "ClampMaxBackward0"},
    {"clamp_min", "ClampMinBackward1", "ClampMinBackward0"},
    {"copysign.Tensor", "CopysignBackward0", "CopysignBackward1"},
    {"div.Tensor_mode", "DivBackward2", "DivBackward2"},
    {"float_power.Tensor_Tensor", "PowBackward1", "PowBackward0"},
    {"fmod.Tensor", "FmodBackward1", "FmodBackward0"},
    {"lerp.Scalar", "LerpBackward0", "LerpBackward0"},
    {"lerp.Tensor", "LerpBackward1", "LerpBackward1"},
    {"_masked_fill", "MaskedFillBackward1", "MaskedFillBackward0"},
    {"max.other", "MaximumBackward0", "MaximumBackward0"},
    {"min.other", "MinimumBackward0", "MinimumBackward0"},
    {"pow.Tensor_Tensor", "PowBackward1", "PowBackward0", "PowBackward2"},
    {"relu6", "HardtanhBackward0", "HardtanhBackward0"},
    {"remainder.Tensor", "RemainderBackward1", "RemainderBackward0"},
    {"round.decimals", "RoundBackward1", "RoundBackward1"},
    {"rsub.Tensor", "RsubBackward0", "RsubBackward1"},
    {"selu", "EluBackward0", "EluBackward0"},
    {"square", "PowBackward0", "PowBackward0"},
    {"xlogy.Tensor", "XlogyBackward0", "XlogyBackward2", "XlogyBackward1"},
};

}  // namespace

std::string camel_name(const ops::Op& op) {
  const ops::Op& base = op.base != nullptr ? *op.base : op;
  std::string_view name = base.schema.name;
  while (name.ends_with('_')) name.remove_suffix(1);
  std::string made;
  bool capital = true;
  for (const char c : name) {
    if (c == '_') {
      capital = true;
      continue;
    }
    made += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    capital = std::isdigit(static_cast<unsigned char>(c)) != 0;
  }
  return made;
}

std::string node_name(const ops::Op& op, NumberOperand number) {
  const ops::Op& base = op.base != nullptr ? *op.base : op;
  const std::string full = base.schema.full_name();
  const auto* const found = std::ranges::find(kNames, full, &NodeName::op);
  if (found == std::end(kNames)) return camel_name(op) + "Backward0";
  if (number == NumberOperand::kFirst && !found->of_first_number.empty()) {
    return std::string(found->of_first_number);
  }
  return std::string(number == NumberOperand::kSecond ? found->of_number : found->of_tensor);
}

NumberOperand number_operand(ops::Args args) {
  const auto is_number = [&](size_t i) {
    if (i >= args.size()) return false;
    if (args[i].kind() == ops::ValueKind::kTensor) return args[i].tensor().is_wrapped_number();
    return args[i].kind() == ops::ValueKind::kScalar;
  };
  if (is_number(0)) return NumberOperand::kFirst;
  // masked_fill's value is its third argument; clamp may have one limit only.
  if (is_number(1) || (!args.empty() && is_number(args.size() - 1))) return NumberOperand::kSecond;
  return NumberOperand::kNone;
}

}  // namespace mindtorch::autograd
