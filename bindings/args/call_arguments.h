#pragma once

#include <Python.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace mindtorch::python {

// The parameters of a Python function that no op schema describes. Made once, as a static.
class CallArguments {
 public:
  // The first `positional` names may be given by position; the first `required` must be given.
  CallArguments(const char* function,
                std::initializer_list<const char*> names,
                size_t positional,
                size_t required = 0);

  // Sorts the arguments of a METH_FASTCALL | METH_KEYWORDS call into `values`, one borrowed object
  // per name, None where none was given. Throws Python's TypeError.
  void read(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, PyObject** values) const;

 private:
  size_t find(PyObject* name) const;

  const char* function_;
  std::vector<PyObject*> names_;  // interned
  size_t positional_;
  size_t required_;
};

// The name of a keyword argument for a message; a string may hold what is no text.
std::string keyword_text(PyObject* name);

using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

template <FastFunction kFunction>
PyMethodDef fast_method(const char* name, const char* doc, int flags = 0) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kFunction)),
          METH_FASTCALL | METH_KEYWORDS | flags, doc};
}

}  // namespace mindtorch::python
