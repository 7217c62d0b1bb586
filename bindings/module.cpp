#include <nanobind/nanobind.h>

#include "bindings/interpreter/errors.h"
#include "bindings/ops/op_function.h"
#include "bindings/tensor/py_storage.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"

namespace nb = nanobind;

namespace mindtorch::python {

void install_interpreter_hooks();
// One per file; each adds its names to the module.
void bind_accelerators(nb::module_& module);
void bind_autocast(nb::module_& module);
void bind_autograd(nb::module_& module);
void bind_checksum(nb::module_& module);
void bind_default_device(nb::module_& module);
void bind_file_mapping(nb::module_& module);
void bind_generator(nb::module_& module);
void bind_graphs(nb::module_& module);
void bind_host_memory(nb::module_& module);
void bind_libraries(nb::module_& module);
void bind_memory(nb::module_& module);
void bind_npu_library(nb::module_& module);
void bind_overrides(nb::module_& module);
void bind_pinning(nb::module_& module);
void bind_pipeline(nb::module_& module);
void bind_profiler(nb::module_& module);
void bind_replay(nb::module_& module);
void bind_registry_queries(nb::module_& module);
void bind_settings(nb::module_& module);
void bind_sparse(nb::module_& module);
void bind_streams(nb::module_& module);
void bind_vmap(nb::module_& module);
int add_interop_functions(PyObject* module);
PyObject* rebuild_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs);

namespace {

void check(int result) {
  if (result < 0) throw nb::python_error();
}

}  // namespace
}  // namespace mindtorch::python

static PyMethodDef g_module_functions[] = {
    {"_rebuild_tensor",
     reinterpret_cast<PyCFunction>(
         reinterpret_cast<void (*)()>(&mindtorch::python::rebuild_tensor)),
     METH_FASTCALL, "A tensor over a storage."},
    {"_return_type", &mindtorch::python::return_type_of, METH_O,
     "The named tuple of an op's results."},
    {nullptr, nullptr, 0, nullptr},
};

// What PyInit__C below makes of this is _C.
NB_MODULE(_C_bindings, module) {
  using namespace mindtorch::python;
  // Our exceptions, thrown by functions bound below.
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const mindtorch::Error&) {
      set_python_error();
    } catch (const PythonError&) {
    }
  });
  install_interpreter_hooks();
  check(add_errors(module.ptr()));
  check(add_types(module.ptr()));
  check(add_tensor_type(module.ptr()));
  check(add_storage_type(module.ptr()));
  check(add_interop_functions(module.ptr()));
  check(PyModule_AddFunctions(module.ptr(), g_module_functions));
  nb::dict functions;
  nb::dict nn_functions;
  nb::dict internal_functions;
  try {
    check(add_op_functions(functions.ptr(), nn_functions.ptr(), internal_functions.ptr()));
  } catch (const mindtorch::Error& error) {
    throw nb::import_error(error.what());
  }
  module.attr("_functions") = functions;
  module.attr("_nn_functions") = nn_functions;
  module.attr("_internal_functions") = internal_functions;
  bind_registry_queries(module);
  bind_libraries(module);
  bind_settings(module);
  bind_default_device(module);
  bind_generator(module);
  bind_host_memory(module);
  bind_memory(module);
  bind_accelerators(module);
  bind_autocast(module);
  bind_autograd(module);
  bind_streams(module);
  bind_graphs(module);
  bind_npu_library(module);
  bind_overrides(module);
  bind_checksum(module);
  bind_file_mapping(module);
  bind_pinning(module);
  bind_pipeline(module);
  bind_profiler(module);
  bind_replay(module);
  bind_sparse(module);
  bind_vmap(module);
}

static int (*g_fill_module)(PyObject*) = nullptr;

// Types, caches and threads here belong to the process: an interpreter that goes away would take
// what others still use.
static int fill_in_main_interpreter(PyObject* module) {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return g_fill_module(module);
  PyErr_SetString(PyExc_ImportError,
                  "mindtorch_v2 does not support loading in subinterpreters: import it in the main "
                  "one");
  return -1;
}

extern "C" NB_EXPORT PyObject* PyInit__C() {
  PyObject* const definition = PyInit__C_bindings();
  if (definition == nullptr || g_fill_module != nullptr) return definition;
  PyModuleDef_Slot* slot = reinterpret_cast<PyModuleDef*>(definition)->m_slots;
  for (; slot->slot != 0; ++slot) {
    if (slot->slot != Py_mod_exec) continue;
    g_fill_module = reinterpret_cast<int (*)(PyObject*)>(slot->value);
    slot->value = reinterpret_cast<void*>(&fill_in_main_interpreter);
  }
  return definition;
}
