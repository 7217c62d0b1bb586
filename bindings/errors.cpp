#include "errors.h"

#include <new>
#include <string>

#include "mindtorch/base/warning.h"

namespace mindtorch::python {
namespace {

PyObject* g_out_of_memory = nullptr;

void python_warning(const std::string& text) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const int result = PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1);
  PyGILState_Release(state);
  if (result < 0) throw PythonError();
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const ValueError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const TypeError& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const IndexError& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const NotImplementedError& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what());
  } catch (const BufferError& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  } catch (const OutOfMemoryError& error) {
    PyErr_SetString(g_out_of_memory, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

int add_errors(PyObject* module) {
  g_out_of_memory = PyErr_NewExceptionWithDoc("mindtorch_v2.OutOfMemoryError",
                                              "A device has not enough memory left.",
                                              PyExc_RuntimeError, nullptr);
  if (g_out_of_memory == nullptr) return -1;
  set_warning_handler(&python_warning);
  return PyModule_AddObjectRef(module, "OutOfMemoryError", g_out_of_memory);
}

}  // namespace mindtorch::python
