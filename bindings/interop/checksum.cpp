// The checksum of zip files, for checkpoints.
#include <nanobind/nanobind.h>

#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/python_ref.h"
#include "mindtorch/base/crc32.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

uint32_t checksum(nb::handle data, uint32_t value) {
  Py_buffer view;
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  {
    const GilRelease unlocked(view.len >= 4096);
    value = crc32(view.buf, static_cast<size_t>(view.len), value);
  }
  PyBuffer_Release(&view);
  return value;
}

}  // namespace

void bind_checksum(nb::module_& module) {
  module.def("_has_fast_crc32", &has_fast_crc32);
  module.def("_crc32", &checksum, nb::arg("data"), nb::arg("value") = 0);
}

}  // namespace mindtorch::python
