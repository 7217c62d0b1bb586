#pragma once

#include <Python.h>

#include "mindtorch/tensor/storage.h"

namespace mindtorch::python {

// torch.UntypedStorage: the bytes behind a tensor and its views.
bool is_storage(PyObject* object);
const Storage& unwrap_storage(PyObject* object);
// A new reference to the storage's Python object; as long as that lives, always the same one.
PyObject* wrap_storage(const Storage& storage);

int add_storage_type(PyObject* module);

}  // namespace mindtorch::python
