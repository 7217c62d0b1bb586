#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "bindings/args/torch_signatures.h"

namespace mindtorch::python {

// The arguments of one call as Python gave them; of a method without its self.
struct GivenArguments {
  PyObject* const* args;
  Py_ssize_t nargs;
  PyObject* kwnames;  // may be null

  Py_ssize_t keywords() const { return kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames); }
};

// torch's TypeError text for arguments that fit none of the signatures.
std::string explain_arguments(const std::string& name,
                              const TorchSignatures& signatures,
                              const GivenArguments& given);

// "(Tensor other, *, Number alpha = 1)".
std::string describe(const std::vector<ops::Param>& params);

}  // namespace mindtorch::python
