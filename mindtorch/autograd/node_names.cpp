#include "mindtorch/autograd/node_names.h"

#include <cctype>
#include <string_view>

namespace mindtorch::autograd {
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
  const ops::NodeNames& names = base.node_names;
  if (names.of_tensor.empty()) return camel_name(op) + "Backward0";
  std::string_view name = names.of_tensor;
  if (number == NumberOperand::kSecond && !names.of_number.empty()) name = names.of_number;
  if (number == NumberOperand::kFirst && !names.of_first_number.empty()) {
    name = names.of_first_number;
  }
  return std::string(name);
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
