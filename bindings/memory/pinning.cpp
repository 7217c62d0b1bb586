// Pinned host memory, and streams that use a tensor's memory.
#include "bindings/memory/pinning.h"

#include <nanobind/nanobind.h>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/accelerators.h"
#include "mindtorch/tensor/pinned.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

Tensor copy_pinned(const Tensor& tensor, std::optional<DeviceType> accelerator_type) {
  MT_CHECK(tensor.device().is_cpu(), RuntimeError, "cannot pin a tensor on ", tensor.device().str(),
           ": only dense CPU tensors can be pinned");
  if (is_pinned(tensor, accelerator_type)) return tensor;
  const Tensor result = empty_pinned(tensor.sizes(), strides_like(tensor.sizes(), tensor.strides()),
                                     tensor.dtype(), accelerator_type);
  const GilRelease unlocked(true);
  return mindtorch::copy_(result, tensor);
}

void record_stream(nb::handle tensor, const runtime::Stream& stream) {
  tensor_argument(tensor.ptr(), "record_stream", "self").storage()->record_stream(stream);
}

}  // namespace

std::optional<DeviceType> accelerator_argument(PyObject* device) {
  if (device == Py_None) return std::nullopt;
  return to_device(device).type;
}

Tensor pinned(const Tensor& tensor, std::optional<DeviceType> accelerator_type) {
  if (accelerator_type) {
    check_device_available(*accelerator_type);
  } else {
    MT_CHECK(find_accelerator_type(), RuntimeError,
             "Cannot access accelerator device when none is available: pin_memory needs one");
  }
  return copy_pinned(tensor, accelerator_type);
}

void bind_pinning(nb::module_& module) {
  module.def(
      "_pin_memory",
      [](nb::handle tensor, nb::handle device) {
        const Tensor& source = tensor_argument(tensor.ptr(), "pin_memory", "tensor");
        const Tensor result = copy_pinned(source, accelerator_argument(device.ptr()));
        return result.is_same(source) ? nb::borrow(tensor) : nb::steal(wrap(result));
      },
      nb::arg("tensor").none(), nb::arg("device").none() = nb::none());
  module.def(
      "_is_pinned",
      [](nb::handle tensor, nb::handle device) {
        return is_pinned(tensor_argument(tensor.ptr(), "is_pinned", "tensor"),
                         accelerator_argument(device.ptr()));
      },
      nb::arg("tensor").none(), nb::arg("device").none() = nb::none());
  module.def("_record_stream", &record_stream);
}

}  // namespace mindtorch::python
