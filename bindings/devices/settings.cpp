// Threads, memory caches, and the rules of dtypes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/args/arguments.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/gil.h"
#include "bindings/tensor/device_names.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/backends/cpu/capability.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/base/options.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/ops/registry.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/host_allocator.h"
#include "mindtorch/runtime/math_mode.h"
#include "mindtorch/tensor/accelerators.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

DType dtype_argument(const char* function, int position, nb::handle object) {
  DType dtype;
  MT_CHECK(to_dtype_like(object.ptr(), dtype), TypeError, function, "(): argument 'type", position,
           "' (position ", position, ") must be torch.dtype, not ", Py_TYPE(object.ptr())->tp_name);
  return dtype;
}

nb::object wrap_dtype(DType dtype) { return nb::borrow(dtype_object(dtype)); }

Tensor operand(nb::handle object, int position) {
  if (is_tensor(object.ptr())) return unwrap(object.ptr());
  Scalar scalar;
  MT_CHECK(to_scalar(object.ptr(), scalar), TypeError, "result_type(): argument 'tensor", position,
           "' (position ", position, ") must be Tensor or Number, not ",
           Py_TYPE(object.ptr())->tp_name);
  return Tensor::wrapped_number(scalar);
}

nb::list describe_options() {
  nb::list result;
  for (const Option* option : runtime::all_options()) {
    nb::dict row;
    row["name"] = option->name;
    row["type"] = type_name(option->type);
    row["default"] = default_text(*option);
    row["meaning"] = option->meaning;
    const auto value = option->raw();
    row["value"] = value ? nb::steal(PyUnicode_DecodeFSDefault(value->c_str())) : nb::none();
    row["problem"] = option_problem(*option);
    result.append(row);
  }
  return result;
}

nb::list describe_devices() {
  nb::list result;
  for (int i = 0; i < kDeviceTypeCount; ++i) {
    const auto type = static_cast<DeviceType>(i);
    const driver::DeviceRow& known = device_row(type);
    const bool has_backend =
        !is_accelerator(type) || runtime::find_accelerator(known.name) != nullptr;
    if (type == DeviceType::kPrivateUse1 && !has_backend) continue;  // no library has brought one
    nb::dict row;
    row["name"] = known.name;
    row["title"] = known.title;
    row["noun"] = known.noun;
    row["dispatch_key"] = known.dispatch_key;
    row["torch_type"] = known.torch_type;
    row["is_accelerator"] = is_accelerator(type);
    row["has_backend"] = has_backend;
    row["reduces_float32"] = known.reduces_float32;
    row["is_deterministic"] = known.is_deterministic;
    row["alloc_conf"] = known.advised_alloc_conf().name;
    result.append(row);
  }
  return result;
}

nb::list held_dtypes(const std::string& kind) {
  const DTypeSet held = ops::registry().device_dtypes(parse_device(kind).type);
  nb::list result;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (contains(held, dtype)) result.append(wrap_dtype(dtype));
  }
  return result;
}

}  // namespace

void bind_settings(nb::module_& module) {
  module.def("_options", &describe_options, "The environment variables of this library.");
  module.def("_warn_about_options", [] { warn_about_options(runtime::all_options()); });
  module.def("_cpu_capability", &cpu::capability);
  module.def("_cpu_compiled_capabilities", &cpu::compiled_capabilities);
  module.def("_cpu_empty_cache", [] { runtime::host_allocator().empty_cache(); });
  module.def("_cpu_memory_stats", [] {
    const auto stats = runtime::host_allocator().stats();
    nb::dict result;
    result["allocated_bytes"] = stats.allocated_bytes;
    result["cached_bytes"] = stats.cached_bytes;
    result["cache_limit_bytes"] = stats.cache_limit_bytes;
    return result;
  });
  module.def("get_num_threads", &cpu::num_threads,
             "The number of threads that CPU ops use.\n\nExample:\n\n"
             ">>> torch.get_num_threads() > 0\nTrue\n");
  module.def(
      "set_num_threads",
      [](nb::handle count) {
        int64_t number = 0;
        MT_CHECK(PyLong_Check(count.ptr()) && to_int(count.ptr(), number), RuntimeError,
                 "set_num_threads expects an int, but got ", Py_TYPE(count.ptr())->tp_name);
        MT_CHECK(number > 0, RuntimeError, "set_num_threads expects a positive integer");
        cpu::set_num_threads(static_cast<int>(std::min<int64_t>(number, 1 << 16)));
      },
      nb::arg("count"), "Sets the number of threads that CPU ops use.");
  module.def("_check_device_available",
             [](nb::handle device) { check_device_available(to_device(device.ptr())); });
  module.def(
      "_send_cuda_to",
      [](const std::string& kind) { return send_cuda_to(Device::parse(kind).type); },
      nb::arg("kind"),
      "A device named cuda is one of another kind from here on. False: that is so already.");
  module.def("_set_reduces_float32", [](bool on) {
    const GilRelease unlocked(true);
    runtime::MathMode::instance().set_reduces_float32(on);
  });
  module.def("_set_deterministic", [](bool on) {
    const GilRelease unlocked(true);
    runtime::MathMode::instance().set_deterministic(on);
  });
  module.def("_device_rows", &describe_devices, "What is known of each kind of device.");
  module.def("_device_dtypes", &held_dtypes, nb::arg("kind"),
             "The dtypes that tensors on a kind of device can be of.");
  module.def(
      "_accelerator_kind",
      []() -> std::optional<std::string> {
        const auto type = find_accelerator_type();
        return type ? std::optional<std::string>(name(*type)) : std::nullopt;
      },
      "The first kind of accelerator of which there is a device here, or None.");
  module.def("_device_count", [](nb::handle kind) {
    const DeviceType type = to_device(kind.ptr()).type;
    if (type == DeviceType::kCpu || type == DeviceType::kMeta) return 1;
    const runtime::Accelerator* const accelerator = runtime::find_accelerator(name(type));
    return accelerator == nullptr ? 0 : accelerator->device_count();
  });
  module.def(
      "get_default_dtype", [] { return wrap_dtype(default_dtype()); },
      "The dtype of new float tensors.\n\nExample:\n\n>>> torch.get_default_dtype()\n"
      "torch.float32\n");
  module.def(
      "set_default_dtype",
      [](nb::handle d) {
        MT_CHECK(is_dtype(d.ptr()), TypeError,
                 "invalid dtype object: set_default_dtype(): expected a torch.dtype, not ",
                 Py_TYPE(d.ptr())->tp_name);
        const DType dtype = to_dtype(d.ptr());
        MT_CHECK(is_floating_point(dtype), TypeError,
                 "only floating-point types are supported as the default type");
        set_default_dtype(dtype);
      },
      nb::arg("d"),
      "Sets the dtype of new float tensors.\n\nExample:\n\n"
      ">>> torch.set_default_dtype(torch.float32)\n");
  module.def(
      "promote_types",
      [](nb::handle type1, nb::handle type2) {
        return wrap_dtype(promote_types(dtype_argument("promote_types", 1, type1),
                                        dtype_argument("promote_types", 2, type2)));
      },
      nb::arg("type1"), nb::arg("type2"),
      "The smallest dtype that both can be converted to.\n\nExample:\n\n"
      ">>> torch.promote_types(torch.int32, torch.float32)\ntorch.float32\n");
  module.def(
      "can_cast",
      [](nb::handle from_, nb::handle to) {
        return can_cast(dtype_argument("can_cast", 1, from_), dtype_argument("can_cast", 2, to));
      },
      nb::arg("from_"), nb::arg("to"),
      "Whether results of one dtype may be stored as the other.\n\nExample:\n\n"
      ">>> torch.can_cast(torch.float32, torch.int32)\nFalse\n");
  module.def(
      "result_type",
      [](nb::handle tensor1, nb::handle tensor2) {
        return wrap_dtype(result_type(operand(tensor1, 1), operand(tensor2, 2)));
      },
      nb::arg("tensor1"), nb::arg("tensor2"),
      "The dtype of an op on these tensors or numbers.\n\nExample:\n\n"
      ">>> torch.result_type(torch.ones(2, dtype=torch.int32), 1.5)\ntorch.float32\n");
}

}  // namespace mindtorch::python
