#include "bindings/args/arguments.h"

#include <cstring>
#include <utility>

#include "bindings/args/default_device.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/overrides/torch_function.h"
#include "bindings/tensor/py_generator.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"

namespace mindtorch::python {

using ops::ArgType;
using ops::Value;

namespace {

struct SecondName {
  const char* name;
  const char* second;
};
constexpr SecondName kSecondNames[] = {
    {"self", "input"}, {"dim", "axis"}, {"keepdim", "keepdims"}, {"other", "x2"}};

}  // namespace

std::span<const char* const> second_names(std::string_view name) {
  for (const SecondName& entry : kSecondNames) {
    if (name == entry.name) return {&entry.second, 1};
  }
  return {};
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

// Torch knows a function's tensor `self` as `input`.
const char* keyword_of(const ops::Param& param) {
  return param.name == "self" && param.type == ArgType::kTensor ? "input" : param.name.c_str();
}

Signature::Signature(const ops::Op& op, bool is_method) : op_(&op) {
  MT_ASSERT(op.schema.params.size() <= ParsedArgs::kMaxParams);
  bool has_dtype = false;
  bool has_device = false;
  for (const ops::Param& param : op.schema.params) {
    ParamInfo info{
        param.type,        param.optional,  param.keyword_only,
        param.has_default, param.list_size, PyUnicode_InternFromString(keyword_of(param)),
        nullptr,           Value()};
    for (const char* second : second_names(param.name)) {
      info.alias = PyUnicode_InternFromString(second);
    }
    if (param.has_default) read_default(param, info);
    // block_diag(): loose tensors may be none at all.
    if (param.type == ArgType::kTensorList && param.list_size > 0) {
      info.has_default = true;
      info.default_value = Value(TensorList());
    }
    if (!param.keyword_only) ++positional_;
    has_dtype |= param.type == ArgType::kDType && param.keyword_only;
    has_device |= param.type == ArgType::kDevice && param.keyword_only;
    params_.push_back(std::move(info));
  }
  // A function's first tensor counts, a method's does not: x.flip(0, 1), but torch.flip(x, (0, 1)).
  takes_loose_ints_ = positional_ == (is_method ? 2 : 1);
  takes_options_ = has_dtype && has_device;
  for (const char* loose : {"block_diag", "cartesian_prod", "chain_matmul", "broadcast_tensors"}) {
    takes_no_list_ |= op.schema.name == loose;
  }
  const std::string& name = op.schema.name;
  // What is written to is a tensor.
  if (op.form == ops::OpForm::kInplace) params_[0].type = ArgType::kTensor;
  // Where torch takes numbers for tensors: add(1, 2).
  constexpr std::string_view kNumbers[] = {"add", "sub", "mul", "div", "floor_divide"};
  const bool is_tensor_free = std::ranges::find(kNumbers, name) != std::end(kNumbers);
  const size_t inputs = op.base != nullptr ? op.base->schema.params.size() : params_.size();
  for (size_t i = 0; i < inputs; ++i) {
    const ArgType type = params_[i].type;
    if (type == ArgType::kTensor) operands_ = -1;
    if (type == ArgType::kOperand && operands_ >= 0 && !is_tensor_free) ++operands_;
  }
  // out= goes with tensors alone here.
  const bool is_out = op.form == ops::OpForm::kOut;
  if (is_out && (name == "where" || name == "bucketize")) operands_ = 1;
  if (name == "sum" || name == "mean" || name == "prod") dim_before_keepdim_ = 1;
  needs_dim_ = is_out && (name == "sum" || name == "prod");
  if (name == "prod") params_[1].optional = false;
  // zeros and its like, not zeros_like: without a tensor to follow, the default device decides.
  is_factory_ = takes_options_;
  for (size_t i = 0; i < params_.size(); ++i) {
    const ArgType type = params_[i].type;
    const bool tensor = type == ArgType::kTensor || type == ArgType::kOperand;
    if (tensor && (op.written >> i & 1) == 0) is_factory_ = false;
    if (type == ArgType::kDevice) device_param_ = i;
  }
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
      if (text[0] != '[') list.assign(static_cast<size_t>(param.list_size), std::stoll(text));
      for (size_t at = 1; text[0] == '[' && at < text.size() && text[at] != ']';) {
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
      if (MT_UNLIKELY(!is_native_tensor(object))) return false;
      value = Value(unwrap(object));
      return true;
    case ArgType::kOperand: {
      if (MT_LIKELY(is_native_tensor(object))) {
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
      if (is_native_tensor(object)) {
        const Tensor& tensor = unwrap(object);
        if (tensor.dim() != 0 || tensor.device().is_meta()) return false;
        if (!parsed.reads_tensors()) return false;
        scalar = read_item(tensor);
      } else if (!to_scalar(object, scalar)) {
        return false;
      }
      value = Value(scalar);
      return true;
    }
    case ArgType::kInt: {
      if (is_tensor(object) && !parsed.reads_tensors()) return false;
      int64_t number = 0;
      if (!to_int(object, number)) return false;
      value = Value(number);
      return true;
    }
    case ArgType::kFloat: {
      Scalar scalar;
      if (PyLong_Check(object)) {
        scalar = Scalar(PyLong_AsDouble(object));
        if (PyErr_Occurred() != nullptr) throw PythonError();
      } else if (is_tensor(object) && unwrap(object).dim() == 0) {
        scalar = read_item(unwrap(object));
      } else if (!to_scalar(object, scalar)) {
        return false;
      }
      if (scalar.is_complex()) return false;
      value = Value(scalar.to_double());
      return true;
    }
    case ArgType::kBool:
      if (PyBool_Check(object)) {
        value = Value(object == Py_True);
        return true;
      }
      if (std::strncmp(Py_TYPE(object)->tp_name, "numpy.bool", 10) != 0) return false;
      value = Value(is_true(object));
      return true;
    case ArgType::kIntList: {
      Shape& list = parsed.next_int_list();
      if (object == Py_None && param.has_empty_default()) {  // avg_pool2d(stride=None)
        list.clear();
      } else if (!to_int_list(object, list)) {
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
      const PyRef entries = frozen(object);
      parsed.floats.clear();
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entries.get()); ++i) {
        Scalar scalar;
        if (!to_scalar(PyTuple_GET_ITEM(entries.get(), i), scalar) || scalar.is_complex()) {
          return false;
        }
        parsed.floats.push_back(scalar.to_double());
      }
      value = Value(std::span<const double>(parsed.floats));
      return true;
    }
    case ArgType::kTensorList:
    case ArgType::kOptionalTensorList: {
      if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
      MT_ASSERT(parsed.tensor_list_count < ParsedArgs::kMostTensorLists);
      std::vector<Tensor>& list = parsed.tensor_lists[parsed.tensor_list_count];
      list.clear();
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
      list.reserve(static_cast<size_t>(size));
      for (Py_ssize_t i = 0; i < size; ++i) {
        PyObject* entry = PySequence_Fast_GET_ITEM(object, i);
        if (MT_UNLIKELY(param.list_size < 0)) {
          Scalar number;
          if (is_tensor(entry) || !to_scalar(entry, number)) return false;
          list.push_back(Tensor::wrapped_number(number));
        } else if (is_native_tensor(entry)) {
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
    case ArgType::kDType: {
      DType dtype;
      if (!to_dtype_like(object, dtype)) return false;
      value = Value(dtype);
      return true;
    }
    case ArgType::kDevice:
      if (!is_device(object) && !PyUnicode_Check(object) &&
          !(PyLong_Check(object) && !PyBool_Check(object))) {
        return false;
      }
      value = Value(without_host_index(to_device(object)));
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
bool accept_option(PyObject* name, PyObject* value, ParsedArgs& parsed) {
  if (PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0) {
    parsed.requires_grad = value == Py_True;
    return true;
  }
  if (PyUnicode_CompareWithASCIIString(name, "layout") == 0) {
    return value == Py_None || is_strided_layout(value);
  }
  if (PyUnicode_CompareWithASCIIString(name, "pin_memory") == 0) {
    parsed.pin_memory = value == Py_True;
    return true;
  }
  return false;
}

}  // namespace

bool Signature::parse(PyObject* const* args,
                      Py_ssize_t nargs,
                      PyObject* kwnames,
                      ParsedArgs& parsed) const {
  const size_t size = params_.size();
  parsed.count = static_cast<int>(size);
  parsed.number_count = parsed.int_list_count = parsed.tensor_list_count = 0;

  size_t filled = 0;  // params given by position
  const auto given = static_cast<size_t>(nargs);
  for (size_t i = 0; i < given; ++i, ++filled) {
    if (MT_UNLIKELY(filled >= positional_)) return false;
    const ParamInfo& param = params_[filled];
    // view(2, 3): the rest of the positions is one list.
    if (takes_loose_ints_ && param.type == ArgType::kIntList && param.list_size == 0 &&
        !PyTuple_Check(args[i]) && !PyList_Check(args[i]) &&
        !(args[i] == Py_None && param.optional)) {
      Shape& list = parsed.next_int_list();
      list.resize(given - i);
      for (size_t j = i; j < given; ++j) {
        if (is_tensor(args[j]) && !parsed.reads_tensors()) return false;
        if (!to_int_entry(args[j], list[j - i], j - i)) return false;
      }
      ++parsed.int_list_count;
      parsed.values[filled++] = Value(IntList(list));
      break;
    }
    if (takes_no_list_ && !is_tensor(args[i])) return false;
    // einsum("ij,jk", a, b): the rest of the positions is one list of tensors.
    if (param.type == ArgType::kTensorList && param.list_size > 0 && is_tensor(args[i])) {
      std::vector<Tensor>& list = parsed.tensor_lists[parsed.tensor_list_count++];
      list.clear();
      for (size_t j = i; j < given; ++j) {
        if (!is_native_tensor(args[j])) return false;
        list.push_back(unwrap(args[j]));
      }
      parsed.values[filled++] = Value(TensorList(list));
      break;
    }
    if (MT_UNLIKELY(!convert(param, args[i], parsed, parsed.values[filled]))) return false;
  }
  if (kwnames == nullptr) {
    for (size_t i = filled; i < size; ++i) {
      if (MT_UNLIKELY(!params_[i].has_default)) return false;
      parsed.values[i] = params_[i].default_value;
    }
    if (is_factory_) place_by_default(parsed);
    return !lacks_tensor(parsed);
  }

  uint32_t seen = 0;
  const Py_ssize_t keywords = PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    PyObject* object = args[nargs + k];
    const int index = find_keyword(name);
    if (index < 0) {
      if (takes_options_ && accept_option(name, object, parsed)) continue;
      return false;
    }
    const auto i = static_cast<size_t>(index);
    if (i < filled || (seen >> i & 1) != 0) return false;
    seen |= 1u << i;
    if (!convert(params_[i], object, parsed, parsed.values[i])) return false;
  }
  if (MT_UNLIKELY(dim_before_keepdim_ >= 0)) {
    const auto dim = static_cast<size_t>(dim_before_keepdim_);
    if (filled <= dim && ((seen >> dim & 3) == 2 || (needs_dim_ && (seen >> dim & 1) == 0))) {
      return false;
    }
  }
  for (size_t i = filled; i < size; ++i) {
    if ((seen >> i & 1) != 0) continue;
    if (!params_[i].has_default) return false;
    parsed.values[i] = params_[i].default_value;
  }
  if (is_factory_) place_by_default(parsed);
  return !lacks_tensor(parsed);
}

void Signature::place_by_default(ParsedArgs& parsed) const {
  if (parsed.values[device_param_].is_none()) parsed.values[device_param_] = default_device();
}

}  // namespace mindtorch::python
