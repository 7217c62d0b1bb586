#include <nanobind/nanobind.h>

#include "errors.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/ops/registry.h"
#include "mindtorch/runtime/host_allocator.h"
#include "op_function.h"
#include "py_tensor.h"
#include "py_types.h"

namespace nb = nanobind;

namespace mindtorch::python {

// One per file; each adds its names to the module.
void bind_from_data(nb::module_& module);
void bind_generator(nb::module_& module);

namespace {

void check(int result) {
  if (result < 0) throw nb::python_error();
}

void bind_registry(nb::module_& module) {
  module.def("_all_op_names", [] {
    nb::list names;
    for (const ops::Op& op : ops::registry().ops()) names.append(op.schema.full_name());
    return names;
  });
  module.def("_op_locations", [](const std::string& name) {
    nb::list rows;
    const auto add = [&](const ops::Op& op, const char* what, nb::object device,
                         Location location) {
      nb::dict row;
      row["op"] = op.schema.full_name();
      row["schema"] = op.schema.str();
      row["what"] = what;
      row["device"] = device;
      row["file"] = location.file;
      row["line"] = location.line;
      rows.append(row);
    };
    for (const ops::Op& op : ops::registry().ops()) {
      if (op.schema.name != name && op.schema.full_name() != name) continue;
      add(op, "definition", nb::none(), op.location);
      if (op.composite != nullptr) add(op, "composite", nb::none(), op.composite_location);
      const ops::Op& base = op.base != nullptr ? *op.base : op;
      for (int i = 0; i < kDeviceTypeCount; ++i) {
        const ops::Kernel& kernel = base.kernels[i];
        if (!kernel) continue;
        const std::string_view device = mindtorch::name(static_cast<DeviceType>(i));
        add(op, "kernel", nb::str(device.data(), device.size()), kernel.location);
      }
    }
    return rows;
  });
}

void bind_runtime(nb::module_& module) {
  module.def("_cpu_empty_cache", [] { runtime::host_allocator().empty_cache(); });
  module.def("_cpu_memory_stats", [] {
    const auto stats = runtime::host_allocator().stats();
    nb::dict result;
    result["allocated_bytes"] = stats.allocated_bytes;
    result["cached_bytes"] = stats.cached_bytes;
    result["cache_limit_bytes"] = stats.cache_limit_bytes;
    return result;
  });
  module.def("get_num_threads", &cpu::num_threads);
  module.def("set_num_threads", [](int count) {
    MT_CHECK(count > 0, RuntimeError, "set_num_threads expects a positive integer");
    cpu::set_num_threads(count);
  });
  module.def("_get_default_dtype", [] { return nb::borrow(dtype_object(default_dtype())); });
  module.def("_set_default_dtype", [](nb::handle dtype) {
    MT_CHECK(is_dtype(dtype.ptr()), TypeError,
             "invalid dtype object: only floating-point types are supported as the default type");
    set_default_dtype(to_dtype(dtype.ptr()));
  });
}

}  // namespace
}  // namespace mindtorch::python

NB_MODULE(_C, module) {
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
  check(add_errors(module.ptr()));
  check(add_types(module.ptr()));
  check(add_tensor_type(module.ptr()));
  nb::dict functions;
  nb::dict nn_functions;
  try {
    check(add_op_functions(functions.ptr(), nn_functions.ptr()));
  } catch (const mindtorch::Error& error) {
    throw nb::import_error(error.what());
  }
  module.attr("_functions") = functions;
  module.attr("_nn_functions") = nn_functions;
  bind_registry(module);
  bind_runtime(module);
  bind_from_data(module);
  bind_generator(module);
}
