#include "bindings/tensor/py_generator.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include "bindings/interpreter/errors.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/dispatch/record/pipeline.h"

namespace nb = nanobind;

namespace mindtorch::python {

Generator* to_generator(PyObject* object) {
  Generator* generator = nullptr;
  return nb::try_cast<Generator*>(nb::handle(object), generator, false) ? generator : nullptr;
}

namespace {

// Python ints of either sign, as torch takes them for seeds.
uint64_t to_seed(nb::handle seed) {
  PyObject* number = PyNumber_Index(seed.ptr());
  if (number == nullptr) {
    PyErr_Clear();
    MT_THROW(TypeError, "manual_seed expected a long, but got ", Py_TYPE(seed.ptr())->tp_name);
  }
  const nb::int_ value = nb::steal<nb::int_>(number);
  const bool fits = value >= nb::int_(INT64_MIN) && value <= nb::int_(UINT64_MAX);
  MT_CHECK(fits, ValueError, "Overflow when unpacking long long");
  return PyLong_AsUnsignedLongLongMask(value.ptr());
}

Device device_or_cpu(nb::handle device) {
  return device.is_none() ? Device() : resolve(to_device(device.ptr()));
}

// Recorded random ops draw from the state as it was when they were recorded: they run first.
void flush_pending() { dispatch::Pipeline::flush_all("generator"); }

nb::object get_state(const Generator& self) {
  flush_pending();
  const std::vector<uint8_t> state = self.get_state();
  const Tensor result = Tensor::make({static_cast<int64_t>(state.size())}, DType::kUInt8);
  std::copy(state.begin(), state.end(), result.data<uint8_t>());
  return nb::steal(wrap(result));
}

void set_state(Generator& self, nb::handle state) {
  flush_pending();
  MT_CHECK(is_tensor(state.ptr()), TypeError, "expected a torch.ByteTensor, but got ",
           Py_TYPE(state.ptr())->tp_name);
  const Tensor& bytes = unwrap(state.ptr());
  MT_CHECK(bytes.dtype() == DType::kUInt8 && bytes.device().is_cpu() && bytes.is_contiguous(),
           TypeError, "RNG state must be a torch.ByteTensor");
  self.set_state({bytes.data<uint8_t>(), static_cast<size_t>(bytes.numel())});
}

}  // namespace

void bind_generator(nb::module_& module) {
  nb::class_<Generator>(module, "Generator",
                        "Generator(device='cpu')\n\nA source of random numbers with a state of its "
                        "own.\n\nExample:\n\n>>> g = torch.Generator().manual_seed(1)\n"
                        ">>> torch.rand(1, generator=g)\ntensor([0.7576])\n",
                        nb::is_weak_referenceable(), nb::dynamic_attr())
      .def(nb::new_([](nb::handle device) { return make_generator(device_or_cpu(device)); }),
           nb::arg("device") = nb::none())
      .def_prop_ro("device",
                   [](const Generator& self) { return nb::steal(wrap_device(self.device())); })
      .def(
          "manual_seed",
          [](Generator& self, nb::handle seed) -> Generator& {
            flush_pending();
            self.manual_seed(to_seed(seed));
            return self;
          },
          nb::rv_policy::none, nb::arg("seed"),
          "Starts over from a seed and returns the generator.")
      .def(
          "seed",
          [](Generator& self) {
            flush_pending();
            return self.seed();
          },
          "Starts over from a seed the system picks, and returns it.")
      .def("initial_seed", &Generator::initial_seed, "The seed it last started over from.")
      .def(
          "clone_state",
          [](const Generator& self) {
            flush_pending();
            return self.clone();
          },
          "A generator of its own that goes on with the same numbers.")
      .def("get_state", &get_state, "The state as a ByteTensor.")
      .def(
          "set_state",
          [](Generator& self, nb::handle state) -> Generator& {
            set_state(self, state);
            return self;
          },
          nb::rv_policy::none, nb::arg("new_state"), "Goes on from a state that get_state gave.")
      .def("__reduce__",
           [](const Generator& generator) {
             const nb::object device = nb::steal(wrap_device(generator.device()));
             const nb::object rebuild =
                 nb::module_::import_("mindtorch_v2.random").attr("_rebuild_generator");
             return nb::make_tuple(rebuild, nb::make_tuple(device, get_state(generator)));
           })
      .def("__repr__", [](const Generator& self) {
        const nb::str device(self.device().str().c_str());
        return nb::str("<torch.Generator on {}>").format(device);
      });
  module.def(
      "_default_generator",
      [](nb::handle device) { return default_generator(device_or_cpu(device)); },
      nb::arg("device") = nb::none());
  module.def("_seed_default_generators", [](nb::handle seed) {
    flush_pending();
    seed_default_generators(to_seed(seed));
  });
}

}  // namespace mindtorch::python
