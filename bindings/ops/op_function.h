#pragma once

#include <Python.h>

#include "mindtorch/ops/registry.h"

namespace mindtorch::python {

// Makes one Python callable for every op name and puts them in place: functions into the dict
// `functions` (torch.add) and `nn_functions`, methods into class Tensor, the rest into `internal`.
int add_op_functions(PyObject* functions, PyObject* nn_functions, PyObject* internal);
// The same for the ops of another library: all become functions in `dict`.
int add_library_functions(PyObject* dict, const ops::Registry& ops);

// The named tuple type of an op's results, None when it has none.
PyObject* return_type_of(PyObject*, PyObject* name);

// Runs an op and wraps what it returns; lets other threads run while it works on large tensors.
PyObject* call_op(const ops::Op& op, ops::Args args, bool release_gil);

}  // namespace mindtorch::python
