#include "bindings/interpreter/errors.h"

#include <new>
#include <stdexcept>
#include <string>

#include "bindings/interpreter/python_ref.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/ops/linalg_error.h"

namespace mindtorch::python {
namespace {

PyObject* g_out_of_memory = nullptr;
PyObject* g_linalg_error = nullptr;
PyObject* g_accelerator_error = nullptr;

void python_warning(const std::string& text) {
  const GilHold gil;
  const auto issue = [&] { return PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1); };
  if (call_python(issue) < 0) throw PythonError();
}

// The exception that is set, with its traceback; a new reference.
PyObject* take_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

void raise_exception(PyObject* exception) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(Py_NewRef(exception));
#else
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception))), Py_NewRef(exception),
                PyException_GetTraceback(exception));
#endif
}

// AcceleratorError(text), with the vendor's code as its error_code.
void raise_accelerator_error(const driver::DriverError& error) {
  const PyRef text = PyRef::maybe(PyUnicode_FromString(error.what()));
  if (!text) return;
  const PyRef raised = PyRef::maybe(PyObject_CallOneArg(g_accelerator_error, text.get()));
  const PyRef code = PyRef::maybe(PyLong_FromLongLong(error.code()));
  if (!raised || !code) return;
  if (PyObject_SetAttrString(raised.get(), "error_code", code.get()) < 0) return;
  PyErr_SetObject(g_accelerator_error, raised.get());
}

}  // namespace

CarriedError CarriedError::take() {
  std::shared_ptr<PyObject> exception(take_exception(), &release_python_reference);
  std::string text = Py_TYPE(exception.get())->tp_name;
  const PyRef message = PyRef::maybe(PyObject_Str(exception.get()));
  const char* const utf8 = message ? PyUnicode_AsUTF8(message.get()) : nullptr;
  if (utf8 != nullptr) text.append(": ").append(utf8);
  PyErr_Clear();
  return CarriedError(text, std::move(exception));
}

void CarriedError::restore() const noexcept { raise_exception(exception_.get()); }

void CarriedError::drop_traceback() const noexcept {
  if (PyException_SetTraceback(exception_.get(), Py_None) < 0) PyErr_Clear();
}

void CarriedError::become_cause() const noexcept {
  PyObject* const error = take_exception();
  PyException_SetCause(error, Py_NewRef(exception_.get()));
  raise_exception(error);
  Py_DECREF(error);
}

bool CarriedError::is_a(PyObject* type) const noexcept {
  return PyErr_GivenExceptionMatches(exception_.get(), type) != 0;
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const CarriedError& error) {
    error.restore();
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
  } catch (const driver::DriverError& error) {
    raise_accelerator_error(error);
  } catch (const LinAlgError& error) {
    PyErr_SetString(g_linalg_error, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::length_error&) {  // a list longer than memory can be
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
  g_linalg_error = PyErr_NewExceptionWithDoc(
      "mindtorch_v2.linalg.LinAlgError",
      "The numbers in a matrix do not allow what was asked of torch.linalg: it is singular, not "
      "positive-definite, or an algorithm does not converge.",
      PyExc_RuntimeError, nullptr);
  g_accelerator_error = PyErr_NewExceptionWithDoc(
      "mindtorch_v2.AcceleratorError",
      "A call to a device's own library failed; error_code is what it returned.",
      PyExc_RuntimeError, nullptr);
  if (g_out_of_memory == nullptr || g_linalg_error == nullptr || g_accelerator_error == nullptr) {
    return -1;
  }
  set_warning_handler(&python_warning);
  if (PyModule_AddObjectRef(module, "OutOfMemoryError", g_out_of_memory) < 0) return -1;
  if (PyModule_AddObjectRef(module, "AcceleratorError", g_accelerator_error) < 0) return -1;
  return PyModule_AddObjectRef(module, "LinAlgError", g_linalg_error);
}

}  // namespace mindtorch::python
