// Pinned host memory, and streams that use a tensor's memory.
#include "bindings/memory/pinning.h"

#include <nanobind/nanobind.h>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/pinned.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

Tensor copy_pinned(const Tensor& tensor) {
  MT_CHECK(tensor.device().is_cpu(), RuntimeError, "cannot pin a tensor on ", tensor.device().str(),
           ": only dense CPU tensors can be pinned");
  if (is_pinned(tensor)) return tensor;
  const Tensor result =
      empty_pinned(tensor.sizes(), strides_like(tensor.sizes(), tensor.strides()), tensor.dtype());
  const GilRelease unlocked(true);
  return mindtorch::copy_(result, tensor);
}

void record_stream(nb::handle tensor, const runtime::Stream& stream) {
  tensor_argument(tensor.ptr(), "record_stream", "self").storage()->record_stream(stream);
}

}  // namespace

Tensor pinned(const Tensor& tensor) {
  MT_CHECK(has_accelerator(), RuntimeError,
           "Cannot access accelerator device when none is available: pin_memory needs one");
  return copy_pinned(tensor);
}

void bind_pinning(nb::module_& module) {
  module.def(
      "_pin_memory",
      [](nb::handle tensor) {
        const Tensor& source = tensor_argument(tensor.ptr(), "pin_memory", "tensor");
        const Tensor result = copy_pinned(source);
        return result.is_same(source) ? nb::borrow(tensor) : nb::steal(wrap(result));
      },
      nb::arg("tensor").none());
  module.def(
      "_is_pinned",
      [](nb::handle tensor) {
        return is_pinned(tensor_argument(tensor.ptr(), "is_pinned", "tensor"));
      },
      nb::arg("tensor").none());
  module.def("_record_stream", &record_stream);
}

}  // namespace mindtorch::python
