#include "mindtorch/ops/schema.h"

#include <algorithm>
#include <utility>

#include "mindtorch/base/error.h"
#include "mindtorch/ops/schema_text.h"

namespace mindtorch::ops {
namespace {

struct TypeName {
  std::string_view text;
  ArgType type;
};

constexpr TypeName kTypeNames[] = {
    {"Scalar[]", ArgType::kTensorList},  // numbers, each as a tensor that promotes like it
    {"Tensor[]", ArgType::kTensorList},
    {"Tensor?[]", ArgType::kOptionalTensorList},
    {"Tensor", ArgType::kTensor},
    {"Operand", ArgType::kOperand},
    {"Scalar", ArgType::kScalar},
    {"ScalarType", ArgType::kDType},
    {"int[]", ArgType::kIntList},
    {"int", ArgType::kInt},
    {"float[]", ArgType::kFloatList},
    {"float", ArgType::kFloat},
    {"bool", ArgType::kBool},
    {"Device", ArgType::kDevice},
    {"MemoryFormat", ArgType::kMemoryFormat},
    {"str", ArgType::kString},
    {"Generator", ArgType::kGenerator},
};

constexpr std::string_view kReturnNames[] = {"Tensor", "Tensor[]", "Scalar", "int",
                                             "bool",   "float",    "()"};

[[noreturn]] void refuse_type(std::string_view schema, const SchemaText::Item& item) {
  MT_THROW(RuntimeError, "schema '", schema, "': expected a type at position ", item.end);
}

Param read_param(std::string_view schema, SchemaText::Item item) {
  Param param;
  param.mutated = item.alias.find('!') != std::string::npos;
  param.keyword_only = item.keyword_only;
  param.list_size = item.list_size;
  std::string type = item.type + item.tail;
  const auto* found = std::ranges::find(kTypeNames, type, &TypeName::text);
  if (found == std::end(kTypeNames) && type.ends_with('?')) {
    param.optional = true;
    type.pop_back();
    found = std::ranges::find(kTypeNames, type, &TypeName::text);
  }
  if (found == std::end(kTypeNames)) refuse_type(schema, item);
  if (type == "Scalar[]") param.list_size = -1;
  param.type = found->type;
  param.name = std::move(item.name);
  param.has_default = item.has_default;
  param.default_text = std::move(item.default_text);
  return param;
}

Return read_return(std::string_view schema, SchemaText::Item item) {
  const auto* const found = std::ranges::find(kReturnNames, item.type + item.tail);
  if (found == std::end(kReturnNames)) refuse_type(schema, item);
  return {std::move(item.name), static_cast<ReturnType>(found - std::begin(kReturnNames))};
}

std::string type_text(const Param& param) {
  std::string text;
  for (const TypeName& entry : kTypeNames) {
    if (entry.type == param.type) text = entry.text;
  }
  if (param.list_size < 0) text = "Scalar[]";
  if (param.list_size > 0) text.insert(text.size() - 1, std::to_string(param.list_size));
  if (param.mutated) text.insert(std::min(text.find('['), text.size()), "(a!)");
  if (param.optional) text += '?';
  return text;
}

}  // namespace

Schema Schema::parse(std::string_view text) {
  SchemaText parts = SchemaText::parse(text);
  Schema schema;
  schema.name = std::move(parts.name);
  schema.overload = std::move(parts.overload);
  for (SchemaText::Item& item : parts.params) {
    schema.params.push_back(read_param(text, std::move(item)));
  }
  for (SchemaText::Item& item : parts.returns) {
    schema.returns.push_back(read_return(text, std::move(item)));
  }
  return schema;
}

std::string Schema::str() const {
  std::string text = full_name() + "(";
  bool keyword_only = false;
  for (size_t i = 0; i < params.size(); ++i) {
    const Param& param = params[i];
    if (i != 0) text += ", ";
    if (param.keyword_only && !std::exchange(keyword_only, true)) text += "*, ";
    text += type_text(param) + " " + param.name;
    if (param.has_default) text += "=" + param.default_text;
  }
  text += ") -> ";
  if (returns.size() != 1) text += "(";
  for (size_t i = 0; i < returns.size(); ++i) {
    if (i != 0) text += ", ";
    text += kReturnNames[static_cast<int>(returns[i].type)];
    if (!returns[i].name.empty()) text += " " + returns[i].name;
  }
  if (returns.size() != 1) text += ")";
  return text;
}

}  // namespace mindtorch::ops
