#include "bindings/args/call_arguments.h"

#include <algorithm>

#include "bindings/interpreter/errors.h"

namespace mindtorch::python {

std::string keyword_text(PyObject* name) {
  const char* const text = PyUnicode_AsUTF8(name);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "?" : text;
}

CallArguments::CallArguments(const char* function,
                             std::initializer_list<const char*> names,
                             size_t positional,
                             size_t required)
    : function_(function), positional_(positional), required_(required) {
  for (const char* name : names) names_.push_back(PyUnicode_InternFromString(name));
}

size_t CallArguments::find(PyObject* name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return i;
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    if (PyUnicode_Compare(names_[i], name) == 0) return i;
  }
  MT_THROW(TypeError, function_, "() got an unexpected keyword argument '", keyword_text(name),
           "'");
}

void CallArguments::read(PyObject* const* args,
                         Py_ssize_t nargs,
                         PyObject* kwnames,
                         PyObject** values) const {
  const auto given = static_cast<size_t>(nargs);
  MT_CHECK(given <= positional_, TypeError, function_, "() takes ", positional_,
           " positional argument", positional_ == 1 ? "" : "s", " but ", given,
           given == 1 ? " was given" : " were given");
  std::copy_n(args, given, values);
  std::fill(values + given, values + names_.size(), nullptr);
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    const size_t i = find(PyTuple_GET_ITEM(kwnames, k));
    MT_CHECK(values[i] == nullptr, TypeError, function_, "() got multiple values for argument '",
             PyUnicode_AsUTF8(names_[i]), "'");
    values[i] = args[nargs + k];
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    if (values[i] != nullptr) continue;
    MT_CHECK(i >= required_, TypeError, function_, "() missing 1 required positional arguments: \"",
             PyUnicode_AsUTF8(names_[i]), "\"");
    values[i] = Py_None;
  }
}

}  // namespace mindtorch::python
