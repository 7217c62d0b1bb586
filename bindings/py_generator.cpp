#include "py_generator.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include "errors.h"
#include "py_tensor.h"
#include "py_types.h"

namespace nb = nanobind;

namespace mindtorch::python {

Generator* to_generator(PyObject* object) {
  Generator* generator = nullptr;
  return nb::try_cast<Generator*>(nb::handle(object), generator, false) ? generator : nullptr;
}

namespace {

// Python ints of either sign, as torch takes them for seeds.
uint64_t to_seed(nb::handle seed) {
  nb::int_ number = nb::borrow<nb::int_>(PyNumber_Check(seed.ptr()) ? seed : nb::none());
  const uint64_t bits = PyLong_AsUnsignedLongLongMask(number.ptr());
  const bool fits = number >= nb::int_(INT64_MIN) && number <= nb::int_(UINT64_MAX);
  MT_CHECK(fits, RuntimeError, "Overflow when unpacking long: the seed must fit 64 bits");
  return bits;
}

}  // namespace

void bind_generator(nb::module_& module) {
  nb::class_<Generator>(module, "Generator",
                        "A source of random numbers with a state of its own.\n\n"
                        "Example:\n\n>>> g = torch.Generator().manual_seed(1)\n"
                        ">>> torch.rand(1, generator=g)\ntensor([0.7576])")
      .def_static("_make",
                  [](nb::handle device) -> GeneratorPtr {
                    const Device where = to_device(device.ptr());
                    check_device_available(where);
                    MT_CHECK(where.is_cpu(), RuntimeError, "Device type ", where.str(),
                             " is not supported for torch.Generator() api.");
                    return std::make_shared<CpuGenerator>();
                  })
      .def_prop_ro("device",
                   [](const Generator& self) { return nb::steal(wrap_device(self.device())); })
      .def("manual_seed",
           [](nb::handle self, nb::handle seed) {
             nb::cast<Generator&>(self).manual_seed(to_seed(seed));
             return nb::borrow(self);
           })
      .def("seed", &Generator::seed)
      .def("initial_seed", &Generator::initial_seed)
      .def("clone_state", [](const Generator& self) { return self.clone(); })
      .def("get_state",
           [](const Generator& self) {
             const std::vector<uint8_t> state = self.get_state();
             const Tensor result =
                 Tensor::make({static_cast<int64_t>(state.size())}, DType::kUInt8);
             std::copy(state.begin(), state.end(), result.data<uint8_t>());
             return nb::steal(wrap(result));
           })
      .def("set_state", [](nb::handle self, nb::handle state) {
        MT_CHECK(is_tensor(state.ptr()), TypeError, "expected a torch.ByteTensor, but got ",
                 Py_TYPE(state.ptr())->tp_name);
        const Tensor& bytes = unwrap(state.ptr());
        MT_CHECK(bytes.dtype() == DType::kUInt8 && bytes.device().is_cpu() && bytes.is_contiguous(),
                 TypeError, "RNG state must be a torch.ByteTensor");
        nb::cast<Generator&>(self).set_state(
            {bytes.data<uint8_t>(), static_cast<size_t>(bytes.numel())});
        return nb::borrow(self);
      });
  module.def("_default_generator", [] { return default_cpu_generator(); });
}

}  // namespace mindtorch::python
