#include "bindings/interpreter/frames.h"

#include "bindings/interpreter/python_ref.h"

namespace mindtorch::python {

PyObject* g_package_folder = nullptr;

std::string to_text(PyObject* string) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(string, &size);
  if (text != nullptr) return std::string(text, static_cast<size_t>(size));
  PyErr_Clear();
  return "?";
}

void find_package_folder() {
  const PyRef package = PyRef::maybe(PyImport_ImportModule("mindtorch_v2"));
  const PyRef file =
      PyRef::maybe(package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
  if (!file || PyUnicode_Check(file.get()) == 0) return;
  const Py_ssize_t size = PyUnicode_GET_LENGTH(file.get());
  const Py_ssize_t slash = PyUnicode_FindChar(file.get(), '/', 0, size, -1);
  if (slash > 0) g_package_folder = PyRef(PyUnicode_Substring(file.get(), 0, slash + 1)).release();
}

}  // namespace mindtorch::python
