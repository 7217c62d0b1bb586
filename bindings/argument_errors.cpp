// What a signature says of itself and of arguments that do not fit, in torch's words.
#include <utility>

#include "arguments.h"
#include "call_arguments.h"
#include "py_tensor.h"

namespace mindtorch::python {

using ops::ArgType;

namespace {

const char* type_text(ArgType type, bool plural_hint) {
  switch (type) {
    case ArgType::kTensor:
      return "Tensor";
    case ArgType::kOperand:
      return "Tensor";
    case ArgType::kTensorList:
    case ArgType::kOptionalTensorList:
      return "tuple of Tensors";
    case ArgType::kScalar:
      return "Number";
    case ArgType::kInt:
      return "int";
    case ArgType::kFloat:
      return "float";
    case ArgType::kBool:
      return "bool";
    case ArgType::kIntList:
      return plural_hint ? "tuple of ints" : "int";
    case ArgType::kFloatList:
      return "tuple of floats";
    case ArgType::kDType:
      return "torch.dtype";
    case ArgType::kDevice:
      return "torch.device";
    case ArgType::kMemoryFormat:
      return "torch.memory_format";
    case ArgType::kString:
      return "str";
    case ArgType::kGenerator:
      return "torch.Generator";
  }
  return "?";
}

// Of a list of tensors, the first entry that is none.
std::string wrong_entry(ArgType type, const Mismatch& mismatch) {
  PyObject* list = mismatch.got;
  if (type != ArgType::kTensorList || (!PyList_Check(list) && !PyTuple_Check(list))) return {};
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    PyObject* entry = PySequence_Fast_GET_ITEM(list, i);
    if (is_tensor(entry)) continue;
    return detail::concat("expected Tensor as element ", i, " in argument ", mismatch.param,
                          ", but got ", Py_TYPE(entry)->tp_name);
  }
  return {};
}

}  // namespace

std::string Signature::explain(const Mismatch& mismatch, bool is_method, Py_ssize_t nargs) const {
  using Kind = Mismatch::Kind;
  const std::string call = op_->schema.name + "()";
  // Torch shows functions' first argument as `input` and does not count methods' self.
  const auto name_of = [&](size_t i) {
    const std::string name = keyword_text(params_[i].name);
    return name == "self" ? std::string("input") : name;
  };
  const size_t shift = is_method ? 1 : 0;
  switch (mismatch.kind) {
    case Kind::kTooMany:
      return call + " takes " + std::to_string(positional_ - shift) + " positional argument" +
             (positional_ - shift == 1 ? "" : "s") + " but " +
             std::to_string(static_cast<size_t>(nargs) - shift) +
             (static_cast<size_t>(nargs) - shift == 1 ? " was given" : " were given");
    case Kind::kMissing:
      return call + " missing 1 required " +
             (params_[mismatch.param].keyword_only ? "keyword-only" : "positional") +
             " arguments: \"" + name_of(mismatch.param) + "\"";
    case Kind::kWrongType: {
      const ParamInfo& param = params_[mismatch.param];
      if (const std::string text = wrong_entry(param.type, mismatch); !text.empty()) return text;
      std::string text = call + ": argument '" + name_of(mismatch.param) + "'";
      if (!param.keyword_only && mismatch.param < static_cast<size_t>(nargs)) {
        text += " (position " + std::to_string(mismatch.param + 1 - shift) + ")";
      }
      return text + " must be " + type_text(param.type, true) + ", not " +
             Py_TYPE(mismatch.got)->tp_name;
    }
    case Kind::kUnknownKeyword:
      return call + " got an unexpected keyword argument '" + keyword_text(mismatch.got) + "'";
    case Kind::kTwice:
      return call + " got multiple values for argument '" + name_of(mismatch.param) + "'";
    case Kind::kNone:
      break;
  }
  return call + " received invalid arguments";
}

std::string Signature::describe(bool is_method) const {
  std::string text = "(";
  bool keyword_only = false;
  for (size_t i = is_method ? 1 : 0; i < params_.size(); ++i) {
    const ops::Param& param = op_->schema.params[i];
    if (text.size() > 1) text += ", ";
    if (param.keyword_only && !std::exchange(keyword_only, true)) text += "*, ";
    text += std::string(type_text(param.type, true)) + " " +
            (param.name == "self" ? "input" : param.name);
    if (param.has_default) text += " = " + param.default_text;
  }
  return text + ")";
}

}  // namespace mindtorch::python
