#include "arguments.h"

#include <cstring>
#include <utility>

#include "errors.h"
#include "py_generator.h"
#include "py_tensor.h"
#include "py_types.h"

namespace mindtorch::python {

using ops::ArgType;
using ops::Value;

namespace {

[[noreturn]] void overflow() {
  PyErr_Clear();
  PyErr_SetString(PyExc_OverflowError, "Overflow when unpacking long long");
  throw PythonError();
}

// A 0-dim tensor read as a number.
Scalar item(const Tensor& tensor) {
  MT_CHECK(tensor.device().is_cpu(), RuntimeError, "Cannot read the value of a tensor on ",
           tensor.device().str());
  return visit_dtype(tensor.dtype(), [&]<typename T>() -> Scalar {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return Scalar(static_cast<float>(*tensor.data<T>()));
    } else {
      return Scalar(*tensor.data<T>());
    }
  });
}

bool is_number_type(PyObject* object) {
  const PyNumberMethods* number = Py_TYPE(object)->tp_as_number;
  return number != nullptr && (number->nb_index != nullptr || number->nb_float != nullptr) &&
         !is_tensor(object) && Py_TYPE(object)->tp_as_sequence == nullptr;
}

// NumPy's scalars: numbers that are neither float nor int.
bool is_foreign_number(PyObject* object) {
  if (!is_number_type(object)) {
    // np.generic has sequence slots; it is recognised by dtype and an empty shape.
    const char* name = Py_TYPE(object)->tp_name;
    return std::strncmp(name, "numpy.", 6) == 0 && std::strcmp(name, "numpy.ndarray") != 0 &&
           Py_TYPE(object)->tp_as_number != nullptr &&
           Py_TYPE(object)->tp_as_number->nb_float != nullptr;
  }
  return true;
}

constexpr struct {
  const char* name;
  const char* alias;
} kAliases[] = {{"self", "input"}, {"dim", "axis"}, {"keepdim", "keepdims"}, {"other", "x2"}};

}  // namespace

bool to_scalar(PyObject* object, Scalar& scalar) {
  if (PyFloat_Check(object)) {
    scalar = Scalar(PyFloat_AS_DOUBLE(object));
    return true;
  }
  if (PyBool_Check(object)) {
    scalar = Scalar(object == Py_True);
    return true;
  }
  if (PyLong_Check(object)) {
    int over = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &over);
    if (over != 0) overflow();
    scalar = Scalar(static_cast<int64_t>(value));
    return true;
  }
  if (is_tensor(object) || PyUnicode_Check(object) || !is_foreign_number(object)) return false;
  if (std::strncmp(Py_TYPE(object)->tp_name, "numpy.bool", 10) == 0) {
    scalar = Scalar(PyObject_IsTrue(object) == 1);
    return true;
  }
  if (PyIndex_Check(object)) {
    PyObject* number = PyNumber_Index(object);
    if (number == nullptr) throw PythonError();
    const bool ok = to_scalar(number, scalar);
    Py_DECREF(number);
    return ok;
  }
  PyObject* number = PyNumber_Float(object);
  if (number == nullptr) {
    PyErr_Clear();
    return false;
  }
  scalar = Scalar(PyFloat_AS_DOUBLE(number));
  Py_DECREF(number);
  return true;
}

bool to_int(PyObject* object, int64_t& value) {
  if (PyLong_CheckExact(object) || (PyLong_Check(object) && !PyBool_Check(object))) {
    int over = 0;
    value = PyLong_AsLongLongAndOverflow(object, &over);
    if (over != 0) overflow();
    return true;
  }
  if (PyBool_Check(object) || PyFloat_Check(object)) return false;
  if (is_tensor(object)) {
    const Tensor& tensor = unwrap(object);
    if (tensor.numel() != 1 || !is_integral(tensor.dtype()) || !tensor.device().is_cpu())
      return false;
    value = item(tensor).to_int();
    return true;
  }
  if (!PyIndex_Check(object)) return false;
  PyObject* number = PyNumber_Index(object);
  if (number == nullptr) {
    PyErr_Clear();
    return false;
  }
  int over = 0;
  value = PyLong_AsLongLongAndOverflow(number, &over);
  Py_DECREF(number);
  if (over != 0) overflow();
  return true;
}

bool to_int_list(PyObject* object, Shape& list) {
  const bool is_tuple = PyTuple_Check(object);
  if (!is_tuple && !PyList_Check(object)) return false;
  const Py_ssize_t size = is_tuple ? PyTuple_GET_SIZE(object) : PyList_GET_SIZE(object);
  list.resize(static_cast<size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* entry = is_tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i);
    if (!to_int(entry, list[static_cast<size_t>(i)])) return false;
  }
  return true;
}

bool ParsedArgs::is_large() const {
  constexpr int64_t kLarge = 16 * 1024;
  for (int i = 0; i < count; ++i) {
    const Value& value = values[i];
    switch (value.kind()) {
      case ops::ValueKind::kTensor:
        if (value.tensor().numel() >= kLarge) return true;
        break;
      case ops::ValueKind::kTensorList:
        if (value.tensor_list().size() > 8) return true;
        for (const Tensor& tensor : value.tensor_list()) {
          if (tensor.defined() && tensor.numel() >= kLarge) return true;
        }
        break;
      case ops::ValueKind::kIntList: {
        int64_t product = 1;
        for (const int64_t size : value.int_list()) {
          if (__builtin_mul_overflow(product, size, &product)) return true;
        }
        if (product >= kLarge) return true;
        break;
      }
      default:
        break;
    }
  }
  return false;
}

Signature::Signature(const ops::Op& op) : op_(&op) {
  MT_ASSERT(op.schema.params.size() <= ParsedArgs::kMaxParams);
  bool has_dtype = false;
  bool has_device = false;
  for (const ops::Param& param : op.schema.params) {
    ParamInfo info{
        param.type,        param.optional,  param.keyword_only,
        param.has_default, param.list_size, PyUnicode_InternFromString(param.name.c_str()),
        nullptr,           Value()};
    for (const auto& entry : kAliases) {
      if (param.name == entry.name) info.alias = PyUnicode_InternFromString(entry.alias);
    }
    if (param.has_default) read_default(param, info);
    if (!param.keyword_only) ++positional_;
    has_dtype |= param.type == ArgType::kDType && param.keyword_only;
    has_device |= param.type == ArgType::kDevice && param.keyword_only;
    params_.push_back(std::move(info));
  }
  takes_options_ = has_dtype && has_device;
}

void Signature::read_default(const ops::Param& param, ParamInfo& info) {
  const std::string& text = param.default_text;
  if (text == "None") return;
  switch (param.type) {
    case ArgType::kScalar:
      if (text == "True" || text == "False") {
        info.default_value = Value(Scalar(text == "True"));
      } else if (text.find_first_of(".eni") != std::string::npos) {
        info.default_value = Value(Scalar(std::stod(text)));
      } else {
        info.default_value = Value(Scalar(static_cast<int64_t>(std::stoll(text))));
      }
      return;
    case ArgType::kInt:
      info.default_value = Value(static_cast<int64_t>(std::stoll(text)));
      return;
    case ArgType::kFloat:
      info.default_value = Value(std::stod(text));
      return;
    case ArgType::kBool:
      info.default_value = Value(text == "True");
      return;
    case ArgType::kString:
      // The schema's own text lives as long as the library does.
      info.default_value = Value(std::string_view(text).substr(1, text.size() - 2));
      return;
    case ArgType::kMemoryFormat:
      MT_ASSERT(text == "contiguous_format");
      info.default_value = Value(MemoryFormat::kContiguous);
      return;
    case ArgType::kIntList: {
      auto& list = *default_lists_.emplace_back(std::make_unique<Shape>());
      for (size_t at = 1; at < text.size() && text[at] != ']';) {
        size_t used = 0;
        list.push_back(std::stoll(text.substr(at), &used));
        at += used;
        while (at < text.size() && (text[at] == ',' || text[at] == ' ')) ++at;
      }
      info.default_value = Value(IntList(list));
      return;
    }
    default:
      MT_THROW(RuntimeError, "cannot read the default of ", param.name, " in ", op_->schema.str());
  }
}

bool Signature::convert(const ParamInfo& param,
                        PyObject* object,
                        ParsedArgs& parsed,
                        Value& value) const {
  if (object == Py_None && param.optional) {
    value = Value();
    return true;
  }
  switch (param.type) {
    case ArgType::kTensor:
      if (MT_UNLIKELY(!is_tensor(object))) return false;
      value = Value(unwrap(object));
      return true;
    case ArgType::kOperand: {
      if (MT_LIKELY(is_tensor(object))) {
        value = Value(unwrap(object));
        return true;
      }
      Scalar scalar;
      if (!to_scalar(object, scalar)) return false;
      MT_ASSERT(parsed.number_count < ParsedArgs::kMaxTemporaries);
      Tensor& number = parsed.numbers[parsed.number_count++];
      number = Tensor::wrapped_number(scalar);
      value = Value(number);
      return true;
    }
    case ArgType::kScalar: {
      Scalar scalar;
      if (is_tensor(object)) {
        const Tensor& tensor = unwrap(object);
        if (tensor.dim() != 0 || tensor.device().is_meta()) return false;
        scalar = item(tensor);
      } else if (!to_scalar(object, scalar)) {
        return false;
      }
      value = Value(scalar);
      return true;
    }
    case ArgType::kInt: {
      int64_t number = 0;
      if (!to_int(object, number)) return false;
      value = Value(number);
      return true;
    }
    case ArgType::kFloat: {
      Scalar scalar;
      if (is_tensor(object) && unwrap(object).dim() == 0) {
        scalar = item(unwrap(object));
      } else if (PyBool_Check(object) || !to_scalar(object, scalar)) {
        return false;
      }
      value = Value(scalar.to_double());
      return true;
    }
    case ArgType::kBool:
      if (PyBool_Check(object)) {
        value = Value(object == Py_True);
        return true;
      }
      if (std::strncmp(Py_TYPE(object)->tp_name, "numpy.bool", 10) != 0) return false;
      value = Value(PyObject_IsTrue(object) == 1);
      return true;
    case ArgType::kIntList: {
      MT_ASSERT(parsed.int_list_count < 3);
      Shape& list = parsed.int_lists[parsed.int_list_count];
      if (!to_int_list(object, list)) {
        int64_t number = 0;
        if (param.list_size == 0 || !to_int(object, number)) return false;
        list.assign(static_cast<size_t>(param.list_size), number);
      }
      ++parsed.int_list_count;
      value = Value(IntList(list));
      return true;
    }
    case ArgType::kFloatList: {
      if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
      parsed.floats.clear();
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
        Scalar scalar;
        if (!to_scalar(PySequence_Fast_GET_ITEM(object, i), scalar)) return false;
        parsed.floats.push_back(scalar.to_double());
      }
      value = Value(std::span<const double>(parsed.floats));
      return true;
    }
    case ArgType::kTensorList:
    case ArgType::kOptionalTensorList: {
      if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
      MT_ASSERT(parsed.tensor_list_count < 2);
      std::vector<Tensor>& list = parsed.tensor_lists[parsed.tensor_list_count];
      list.clear();
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
      list.reserve(static_cast<size_t>(size));
      for (Py_ssize_t i = 0; i < size; ++i) {
        PyObject* entry = PySequence_Fast_GET_ITEM(object, i);
        if (is_tensor(entry)) {
          list.push_back(unwrap(entry));
        } else if (entry == Py_None && param.type == ArgType::kOptionalTensorList) {
          list.emplace_back();
        } else {
          return false;
        }
      }
      ++parsed.tensor_list_count;
      value = Value(TensorList(list));
      return true;
    }
    case ArgType::kDType:
      if (!is_dtype(object)) {
        // bool, int and float stand for their dtypes.
        if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
          value = Value(DType::kFloat64);
        } else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) {
          value = Value(DType::kInt64);
        } else if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) {
          value = Value(DType::kBool);
        } else {
          return false;
        }
        return true;
      }
      value = Value(to_dtype(object));
      return true;
    case ArgType::kDevice:
      if (!is_device(object) && !PyUnicode_Check(object) &&
          !(PyLong_Check(object) && !PyBool_Check(object))) {
        return false;
      }
      value = Value(to_device(object));
      return true;
    case ArgType::kMemoryFormat:
      if (!is_memory_format(object)) return false;
      value = Value(to_memory_format(object));
      return true;
    case ArgType::kString: {
      if (!PyUnicode_Check(object)) return false;
      Py_ssize_t size = 0;
      const char* data = PyUnicode_AsUTF8AndSize(object, &size);
      if (data == nullptr) throw PythonError();
      value = Value(std::string_view(data, static_cast<size_t>(size)));
      return true;
    }
    case ArgType::kGenerator: {
      Generator* generator = to_generator(object);
      if (generator == nullptr) return false;
      value = Value(generator);
      return true;
    }
  }
  return false;
}

int Signature::find_keyword(PyObject* name) const {
  // Keyword names in code are interned, so identity nearly always decides.
  for (size_t i = 0; i < params_.size(); ++i) {
    if (params_[i].name == name || params_[i].alias == name) return static_cast<int>(i);
  }
  for (size_t i = 0; i < params_.size(); ++i) {
    if (PyUnicode_Compare(params_[i].name, name) == 0) return static_cast<int>(i);
    if (params_[i].alias != nullptr && PyUnicode_Compare(params_[i].alias, name) == 0) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

namespace {

// Arguments of every factory that say nothing about the op itself. True when `name` is one of them.
bool accept_option(PyObject* name, PyObject* value) {
  if (PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0) {
    MT_CHECK(value == Py_False || value == Py_None, NotImplementedError,
             "requires_grad=True: this build of mindtorch has no autograd");
    return true;
  }
  if (PyUnicode_CompareWithASCIIString(name, "layout") == 0) {
    return value == Py_None || is_layout(value);
  }
  if (PyUnicode_CompareWithASCIIString(name, "pin_memory") == 0) {
    MT_CHECK(value == Py_False || value == Py_None, RuntimeError,
             "Cannot access accelerator device when none is available: pin_memory needs one");
    return true;
  }
  return false;
}

}  // namespace

bool Signature::parse(PyObject* const* args,
                      Py_ssize_t nargs,
                      PyObject* kwnames,
                      ParsedArgs& parsed,
                      Mismatch& mismatch) const {
  using Kind = Mismatch::Kind;
  const size_t size = params_.size();
  parsed.count = static_cast<int>(size);
  parsed.number_count = parsed.int_list_count = parsed.tensor_list_count = 0;

  size_t filled = 0;  // params given by position
  const auto given = static_cast<size_t>(nargs);
  for (size_t i = 0; i < given; ++i, ++filled) {
    if (MT_UNLIKELY(filled >= positional_)) {
      mismatch = {Kind::kTooMany, filled, args[i]};
      return false;
    }
    const ParamInfo& param = params_[filled];
    // view(2, 3): the rest of the positions is one list.
    if (param.type == ArgType::kIntList && param.list_size == 0 && !PyTuple_Check(args[i]) &&
        !PyList_Check(args[i]) && !(args[i] == Py_None && param.optional)) {
      Shape& list = parsed.int_lists[parsed.int_list_count];
      list.resize(given - i);
      for (size_t j = i; j < given; ++j) {
        if (!to_int(args[j], list[j - i])) {
          mismatch = {Kind::kWrongType, filled, args[j]};
          return false;
        }
      }
      ++parsed.int_list_count;
      parsed.values[filled++] = Value(IntList(list));
      break;
    }
    // einsum("ij,jk", a, b): the rest of the positions is one list of tensors.
    if (param.type == ArgType::kTensorList && param.list_size != 0 && is_tensor(args[i])) {
      std::vector<Tensor>& list = parsed.tensor_lists[parsed.tensor_list_count++];
      list.clear();
      for (size_t j = i; j < given; ++j) {
        if (!is_tensor(args[j])) {
          mismatch = {Kind::kWrongType, filled, args[j]};
          return false;
        }
        list.push_back(unwrap(args[j]));
      }
      parsed.values[filled++] = Value(TensorList(list));
      break;
    }
    if (MT_UNLIKELY(!convert(param, args[i], parsed, parsed.values[filled]))) {
      mismatch = {Kind::kWrongType, filled, args[i]};
      return false;
    }
  }
  if (kwnames == nullptr) {
    for (size_t i = filled; i < size; ++i) {
      if (MT_UNLIKELY(!params_[i].has_default)) {
        mismatch = {Kind::kMissing, i, nullptr};
        return false;
      }
      parsed.values[i] = params_[i].default_value;
    }
    return true;
  }

  uint32_t seen = 0;
  const Py_ssize_t keywords = PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    PyObject* object = args[nargs + k];
    const int index = find_keyword(name);
    if (index < 0) {
      if (takes_options_ && accept_option(name, object)) continue;
      mismatch = {Kind::kUnknownKeyword, 0, name};
      return false;
    }
    const auto i = static_cast<size_t>(index);
    if (i < filled || (seen >> i & 1) != 0) {
      mismatch = {Kind::kTwice, i, name};
      return false;
    }
    seen |= 1u << i;
    if (!convert(params_[i], object, parsed, parsed.values[i])) {
      // A single number is a list of one when given by name: sum(dim=0), zeros(size=3).
      int64_t number = 0;
      if (params_[i].type != ArgType::kIntList || !to_int(object, number)) {
        mismatch = {Kind::kWrongType, i, object};
        return false;
      }
      Shape& list = parsed.int_lists[parsed.int_list_count++];
      list.assign(1, number);
      parsed.values[i] = Value(IntList(list));
    }
  }
  for (size_t i = filled; i < size; ++i) {
    if ((seen >> i & 1) != 0) continue;
    if (!params_[i].has_default) {
      mismatch = {Kind::kMissing, i, nullptr};
      return false;
    }
    parsed.values[i] = params_[i].default_value;
  }
  return true;
}

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

std::string text_of(PyObject* unicode) {
  const char* data = PyUnicode_AsUTF8(unicode);
  return data == nullptr ? "?" : data;
}

}  // namespace

std::string Signature::explain(const Mismatch& mismatch, bool is_method, Py_ssize_t nargs) const {
  using Kind = Mismatch::Kind;
  const std::string call = op_->schema.name + "()";
  // Torch shows functions' first argument as `input` and does not count methods' self.
  const auto name_of = [&](size_t i) {
    const std::string name = text_of(params_[i].name);
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
      std::string text = call + ": argument '" + name_of(mismatch.param) + "'";
      if (!param.keyword_only && mismatch.param < static_cast<size_t>(nargs)) {
        text += " (position " + std::to_string(mismatch.param + 1 - shift) + ")";
      }
      return text + " must be " + type_text(param.type, true) + ", not " +
             Py_TYPE(mismatch.got)->tp_name;
    }
    case Kind::kUnknownKeyword:
      return call + " got an unexpected keyword argument '" + text_of(mismatch.got) + "'";
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
