// What is said of arguments that fit no signature, in torch's words. Which words depends on how
// many of torch's signatures the call could have meant; see explain_arguments().
#include "bindings/args/argument_errors.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "bindings/args/arguments.h"
#include "bindings/args/call_arguments.h"
#include "bindings/interpreter/errors.h"
#include "bindings/tensor/py_generator.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"

namespace mindtorch::python {

using ops::ArgType;
using ops::Param;

namespace {

const char* type_text(const Param& param) {
  if (is_layout_option(param)) return "torch.layout";
  switch (param.type) {
    case ArgType::kTensor:
    case ArgType::kOperand:
      return "Tensor";
    case ArgType::kTensorList:
    case ArgType::kOptionalTensorList:
      return param.list_size < 0 ? "tuple of Scalars" : "tuple of Tensors";
    case ArgType::kScalar:
      return "Number";
    case ArgType::kInt:
      return "int";
    case ArgType::kFloat:
      return "float";
    case ArgType::kBool:
      return "bool";
    case ArgType::kIntList:
      return "tuple of ints";
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

const char* type_of(PyObject* object) { return Py_TYPE(object)->tp_name; }

// Torch shows a first tensor as `input`.
std::string shown_name(const Param& param) {
  const bool is_tensor = param.type == ArgType::kTensor || param.type == ArgType::kOperand;
  return param.name == "self" && is_tensor ? "input" : param.name;
}

bool is_number(PyObject* object) {
  if (PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object)) return true;
  Scalar ignored;
  return to_scalar(object, ignored);
}

bool is_zero_dim(PyObject* object) { return is_tensor(object) && unwrap(object).dim() == 0; }

bool is_int(PyObject* object) {
  if (PyBool_Check(object)) return false;
  if (PyLong_Check(object)) return true;
  if (is_tensor(object)) return is_zero_dim(object) && is_integral(unwrap(object).dtype());
  return PyIndex_Check(object) && !PyFloat_Check(object);
}

bool is_sequence(PyObject* object) { return PyTuple_Check(object) || PyList_Check(object); }

// Whether torch takes `object` for `param`; `bad_entry` is the entry of a list that decides
// against.
bool fits(const Param& param, PyObject* object, int64_t& bad_entry) {
  if (is_layout_option(param)) return is_layout(object);
  switch (param.type) {
    case ArgType::kTensor:
      return is_tensor(object);
    case ArgType::kOperand:
      return is_tensor(object) || is_number(object);
    case ArgType::kTensorList:
    case ArgType::kOptionalTensorList:
      return is_sequence(object);
    case ArgType::kScalar:
      return is_zero_dim(object) || (!is_tensor(object) && is_number(object));
    case ArgType::kInt:
      return is_int(object);
    case ArgType::kFloat:
      return is_zero_dim(object) || (!is_tensor(object) && is_number(object));
    case ArgType::kBool:
      return PyBool_Check(object);
    case ArgType::kIntList:
      if (!is_sequence(object)) return param.list_size > 0 && is_int(object);
      if (PySequence_Fast_GET_SIZE(object) == 0 || is_int(PySequence_Fast_GET_ITEM(object, 0))) {
        return true;
      }
      bad_entry = 0;
      return false;
    case ArgType::kFloatList:
      return is_sequence(object) && (PySequence_Fast_GET_SIZE(object) == 0 ||
                                     is_number(PySequence_Fast_GET_ITEM(object, 0)));
    case ArgType::kDType: {
      DType ignored;
      return to_dtype_like(object, ignored);
    }
    case ArgType::kDevice:
      return is_device(object) || PyUnicode_Check(object) ||
             (PyLong_Check(object) && !PyBool_Check(object));
    case ArgType::kMemoryFormat:
      return is_memory_format(object);
    case ArgType::kString:
      return PyUnicode_Check(object);
    case ArgType::kGenerator:
      return to_generator(object) != nullptr;
  }
  return false;
}

// One signature that is asked why it does not fit.
class Attempt {
 public:
  Attempt(const std::string& name, const std::vector<Param>& params, const GivenArguments& given)
      : name_(name), params_(params), given_(given) {
    for (const Param& param : params) {
      positional_ += param.keyword_only ? 0 : 1;
      required_ += param.has_default ? 0 : 1;
    }
    takes_loose_ints_ = positional_ == 1 && params[0].type == ArgType::kIntList &&
                        (given.nargs == 0 || !is_sequence(given.args[0]));
    takes_loose_tensors_ = std::ranges::any_of(params, &is_loose);
  }

  // Nothing when torch would take the arguments.
  std::optional<std::string> complaint() {
    if (given_.nargs > positional_ && !takes_loose_ints_ && !takes_loose_tensors_) {
      return too_many();
    }
    Py_ssize_t at = 0;
    for (size_t i = 0; i < params_.size(); ++i) {
      const Param& param = params_[i];
      if (at < given_.nargs && param.keyword_only) return too_many();
      const bool by_name = at >= given_.nargs;
      if (is_loose(param) && !by_name) {
        for (; at < given_.nargs; ++at) {
          if (is_tensor(given_.args[at])) continue;
          return not_a_tensor(at - static_cast<Py_ssize_t>(i), 0, given_.args[at]);
        }
        continue;
      }
      PyObject* const object = by_name ? keyword(param) : given_.args[at];
      if (object == nullptr) {
        if (!param.has_default) return missing(i);
        continue;
      }
      used_keywords_ += by_name ? 1 : 0;
      const Py_ssize_t position = by_name ? -1 : at++;
      if (object == Py_None && param.optional) continue;
      int64_t bad_entry = -1;
      if (const auto text = wrong_tensor(param, object, i)) return text;
      if (fits(param, object, bad_entry)) continue;
      if (takes_loose_ints_ && position == 0 && is_int(object)) {
        at = given_.nargs;
        continue;
      }
      return wrong_type(param, object, position, bad_entry);
    }
    if (used_keywords_ < given_.keywords()) return unknown_keyword();
    const Param* const out = params_.empty() ? nullptr : &params_.back();
    PyObject* const outs = out != nullptr && out->name == "out" ? keyword(*out) : nullptr;
    if (outs != nullptr && out->list_size != 0 && is_sequence(outs) &&
        PySequence_Fast_GET_SIZE(outs) != out->list_size) {
      return detail::concat("expected tuple of ", out->list_size, " elements but got ",
                            PySequence_Fast_GET_SIZE(outs));
    }
    return wrong_int();
  }

 private:
  std::string too_many() const {
    const std::string count = std::to_string(given_.nargs);
    if (required_ != positional_) {
      return name_ + "() takes from " + std::to_string(required_) + " to " +
             std::to_string(positional_) + " positional arguments but " + count + " were given";
    }
    return name_ + "() takes " + std::to_string(positional_) + " positional argument" +
           (positional_ == 1 ? "" : "s") + " but " + count +
           (given_.nargs == 1 ? " was given" : " were given");
  }

  // Torch's plural is the wrong way round.
  std::string missing(size_t first) const {
    std::string names;
    int count = 0;
    for (size_t i = first; i < params_.size(); ++i) {
      if (params_[i].has_default) continue;
      names += (count++ == 0 ? "\"" : ", \"") + shown_name(params_[i]) + "\"";
    }
    return name_ + "() missing " + std::to_string(count) + " required positional argument" +
           (count == 1 ? "s: " : ": ") + names;
  }

  std::string wrong_type(const Param& param,
                         PyObject* object,
                         Py_ssize_t position,
                         int64_t bad_entry) const {
    std::string text = name_ + "(): argument '" + shown_name(param) + "'";
    if (position >= 0) text += " (position " + std::to_string(position + 1) + ")";
    text += std::string(" must be ") + type_text(param);
    if (position >= 0 && bad_entry >= 0) {
      return text + ", but found element of type " +
             type_of(PySequence_Fast_GET_ITEM(object, bad_entry)) + " at pos " +
             std::to_string(bad_entry);
    }
    return text + ", not " + type_of(object);
  }

  static std::optional<std::string> wrong_tensor(const Param& param, PyObject* list, size_t index) {
    if (param.type != ArgType::kTensorList || !is_sequence(list)) return std::nullopt;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
      PyObject* const entry = PySequence_Fast_GET_ITEM(list, i);
      if (!is_tensor(entry)) return not_a_tensor(i, index, entry);
    }
    return std::nullopt;
  }
  static std::string not_a_tensor(Py_ssize_t element, size_t argument, PyObject* object) {
    return detail::concat("expected Tensor as element ", element, " in argument ", argument,
                          ", but got ", type_of(object));
  }

  // block_diag(a, b): one list of tensors, given loose.
  static bool is_loose(const Param& param) {
    return param.type == ArgType::kTensorList && param.list_size > 0 && !param.keyword_only;
  }

  // Torch looks at the first entry of a list of ints only, and finds others when it reads them.
  std::optional<std::string> wrong_int() const {
    Py_ssize_t at = 0;
    for (const Param& param : params_) {
      const bool by_name = at >= given_.nargs;
      PyObject* const object = by_name ? keyword(param) : given_.args[at++];
      if (object == nullptr || param.type != ArgType::kIntList) continue;
      const bool is_list = is_sequence(object);
      const Py_ssize_t size = is_list   ? PySequence_Fast_GET_SIZE(object)
                              : by_name ? 0
                                        : given_.nargs - at + 1;
      for (Py_ssize_t i = 0; i < size; ++i) {
        PyObject* const entry =
            is_list ? PySequence_Fast_GET_ITEM(object, i) : given_.args[at - 1 + i];
        if (is_int(entry)) continue;
        return name_ + "(): argument '" + shown_name(param) +
               "' failed to unpack the object at pos " + std::to_string(i + 1) +
               " with error \"type must be " + type_text(param) + ",but got " + type_of(entry) +
               "\"";
      }
    }
    return std::nullopt;
  }

  std::string unknown_keyword() const {
    for (Py_ssize_t k = 0; k < given_.keywords(); ++k) {
      PyObject* const keyword = PyTuple_GET_ITEM(given_.kwnames, k);
      size_t i = 0;
      while (i < params_.size() && !is_named(params_[i], keyword)) ++i;
      if (i == params_.size()) {
        return name_ + "() got an unexpected keyword argument '" + keyword_text(keyword) + "'";
      }
      if (static_cast<Py_ssize_t>(i) < given_.nargs) {
        return name_ + "() got multiple values for argument '" + keyword_text(keyword) + "'";
      }
    }
    return "invalid keyword arguments";
  }

  static bool is_named(const Param& param, PyObject* keyword) {
    if (PyUnicode_CompareWithASCIIString(keyword, shown_name(param).c_str()) == 0) return true;
    return std::ranges::any_of(second_names(param.name), [&](const char* name) {
      return PyUnicode_CompareWithASCIIString(keyword, name) == 0;
    });
  }

  PyObject* keyword(const Param& param) const {
    for (Py_ssize_t k = 0; k < given_.keywords(); ++k) {
      if (is_named(param, PyTuple_GET_ITEM(given_.kwnames, k)))
        return given_.args[given_.nargs + k];
    }
    return nullptr;
  }

  const std::string& name_;
  const std::vector<Param>& params_;
  const GivenArguments& given_;
  Py_ssize_t positional_ = 0;
  Py_ssize_t required_ = 0;
  Py_ssize_t used_keywords_ = 0;
  bool takes_loose_ints_ = false;
  bool takes_loose_tensors_ = false;
};

using Keywords = std::unordered_map<std::string, PyObject*>;

// "(Tensor, int, dim=str)". Torch keeps keywords in this container, whose order users see.
Keywords keywords_of(const GivenArguments& given) {
  Keywords keywords;
  for (Py_ssize_t k = 0; k < given.keywords(); ++k) {
    keywords.emplace(keyword_text(PyTuple_GET_ITEM(given.kwnames, k)), given.args[given.nargs + k]);
  }
  return keywords;
}

std::string describe_entries(PyObject* list) {
  const bool is_tuple = PyTuple_Check(list);
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
  std::string text = std::string(type_of(list)) + " of " + (is_tuple ? "(" : "[");
  for (Py_ssize_t i = 0; i < size; ++i) {
    text += std::string(i == 0 ? "" : ", ") + type_of(PySequence_Fast_GET_ITEM(list, i));
  }
  return text + (!is_tuple ? "]" : size == 1 ? ",)" : ")");
}

// The words that torch reads out of a signature it shows: parameters, and the star as nullptr. An
// empty signature has one word, too.
std::vector<const Param*> words_of(const std::vector<Param>& params) {
  std::vector<const Param*> words;
  bool keyword_only = false;
  for (const Param& param : params) {
    if (param.keyword_only && !std::exchange(keyword_only, true)) words.push_back(nullptr);
    words.push_back(&param);
  }
  if (words.empty()) words.push_back(nullptr);
  return words;
}

// It takes the last word of each for its name, so that those with a default have another one.
std::string name_of(const Param* word) {
  if (word == nullptr) return "*";
  return word->has_default ? word->default_text : shown_name(*word);
}

// Torch compares the names of types. Those of parameters with a default never fit.
bool is_right_word(const Param* word, PyObject* object) {
  if (word == nullptr || word->has_default) return false;
  const std::string expected = type_text(*word);
  const std::string found = is_tensor(object) ? "Tensor" : type_of(object);
  return found == expected || (expected == "float" && found == "int");
}

// "(Tensor, int, dim=str)" for as many arguments as a signature has words: those that do not fit
// the word at their place stand between exclamation marks.
std::string describe_misfits(const std::vector<const Param*>& words,
                             const GivenArguments& given,
                             const Keywords& keywords) {
  std::string text = "(";
  for (size_t i = 0; i < words.size(); ++i) {
    const bool by_name = std::cmp_greater_equal(i, given.nargs);
    const std::string name = by_name ? name_of(words[i]) : "";
    PyObject* const object = by_name ? keywords.at(name) : given.args[i];
    std::string what = is_sequence(object) ? describe_entries(object) : type_of(object);
    if (by_name) what = name + "=" + what;
    text += (is_right_word(words[i], object) ? what : "!" + what + "!") + ", ";
  }
  if (given.nargs > 0) text.erase(text.size() - 2);
  return text + ")";
}

std::string describe_given(const GivenArguments& given, const Keywords& keywords) {
  std::string text = "(";
  for (Py_ssize_t i = 0; i < given.nargs; ++i) text += std::string(type_of(given.args[i])) + ", ";
  for (const auto& [name, object] : keywords) text += name + "=" + type_of(object) + ", ";
  if (given.nargs > 0) text.erase(text.size() - 2);
  return text + ")";
}

// Keywords that torch does not find at the end of a signature.
std::string unmatched_keywords(const std::vector<const Param*>& words, const Keywords& keywords) {
  const size_t start = words.size() - std::min(words.size(), keywords.size());
  std::string text;
  for (const auto& entry : keywords) {
    const auto last_words = words | std::views::drop(start) | std::views::transform(&name_of);
    if (std::ranges::find(last_words, entry.first) != last_words.end()) continue;
    text += (text.empty() ? "" : ", ") + entry.first;
  }
  return text;
}

// Why one of several signatures was not taken; "" where the number of arguments says it.
std::string describe_mismatch(const std::vector<Param>& params,
                              const GivenArguments& given,
                              const Keywords& keywords) {
  const std::vector<const Param*> words = words_of(params);
  if (std::ssize(words) != given.nargs + given.keywords()) return {};
  const std::string begin = "      didn't match because some of the ";
  if (const std::string names = unmatched_keywords(words, keywords); !names.empty()) {
    return begin + "keywords were incorrect: " + names + "\n";
  }
  return begin + "arguments have invalid types: " + describe_misfits(words, given, keywords) + "\n";
}

}  // namespace

std::string explain_arguments(const std::string& name,
                              const TorchSignatures& known,
                              const GivenArguments& given) {
  if (known.shown.size() == 1 && known.shown[0].params.empty()) {
    return "TensorBase." + name + "() takes no " +
           (given.keywords() > 0 ? "keyword arguments"
                                 : "arguments (" + std::to_string(given.nargs) + " given)");
  }
  const auto complaint = [&](const ops::Schema& schema) {
    return Attempt(name, schema.params, given).complaint();
  };
  std::vector<const ops::Schema*> plausible;
  const Py_ssize_t count = given.nargs + given.keywords();
  for (const ops::Schema& schema : known.shown) {
    const auto required = std::ranges::count(schema.params, false, &Param::has_default);
    if (required <= count && count <= std::ssize(schema.params)) plausible.push_back(&schema);
    // Lists of tensors are looked at right away.
    if (known.shown.size() == 1) continue;
    if (const auto text = complaint(schema); text && text->starts_with("expected Tensor")) {
      return *text;
    }
  }
  if (known.shown.size() == 1 && known.deprecated.empty()) plausible = {&known.shown[0]};
  if (plausible.size() == 1) {
    if (const auto text = complaint(*plausible[0])) return *text;
  }
  for (const ops::Schema& schema : known.shown) {
    // One that torch takes, and finds wanting when it reads its lists.
    const auto text = complaint(schema);
    if (text && (text->find("' failed to unpack the object at pos ") != std::string::npos ||
                 text->starts_with("expected tuple of "))) {
      return *text;
    }
  }
  const Keywords keywords = keywords_of(given);
  std::string text = name + "() received an invalid combination of arguments - got ";
  if (known.shown.size() == 1) {
    const std::vector<const Param*> words = words_of(known.shown[0].params);
    if (const std::string unmatched = unmatched_keywords(words, keywords); !unmatched.empty()) {
      return text + "unrecognized keyword arguments: " + unmatched;
    }
    const bool same_count = std::ssize(words) == given.nargs + given.keywords();
    return text +
           (same_count ? describe_misfits(words, given, keywords)
                       : describe_given(given, keywords)) +
           ", but expected " + describe(known.shown[0].params);
  }
  text += describe_given(given, keywords) + ", but expected one of:\n";
  for (const ops::Schema& schema : known.shown) {
    text +=
        " * " + describe(schema.params) + "\n" + describe_mismatch(schema.params, given, keywords);
  }
  return text;
}

std::string describe(const std::vector<Param>& params) {
  std::string text = "(";
  bool keyword_only = false;
  for (const Param& param : params) {
    if (text.size() > 1) text += ", ";
    if (param.keyword_only && !std::exchange(keyword_only, true)) text += "*, ";
    text += std::string(type_text(param)) + " " + shown_name(param);
    if (!param.has_default) continue;
    std::string value = param.default_text;
    std::ranges::replace(value, '\'', '"');  // torch shows strings so
    text += " = " + value;
  }
  return text + ")";
}

}  // namespace mindtorch::python
