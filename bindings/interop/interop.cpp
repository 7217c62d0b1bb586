// Functions of the module and methods of Tensor that share memory with others, or read its values
// out.
#include "bindings/interop/interop.h"

#include "bindings/args/arguments.h"
#include "bindings/args/call_arguments.h"
#include "bindings/args/default_device.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/memory/pinning.h"
#include "bindings/overrides/torch_function.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::python {

// In dlpack.cpp.
PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_dlpack_device(PyObject* self, PyObject*);
// In tensor_from_data.cpp.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype);

namespace {

std::optional<DType> optional_dtype(const char* function, PyObject* object) {
  if (object == Py_None) return std::nullopt;
  DType dtype;
  MT_CHECK(to_dtype_like(object, dtype), TypeError, function,
           "(): argument 'dtype' must be torch.dtype, not ", Py_TYPE(object)->tp_name);
  return dtype;
}

std::optional<Device> optional_device(PyObject* object) {
  if (object == Py_None) return default_device();
  const Device device = without_host_index(to_device(object));
  check_device_available(device);
  return device;
}

// requires_grad= of a function that makes a tensor.
Tensor with_requires_grad(Tensor tensor, PyObject* requires_grad) {
  if (is_true(requires_grad)) autograd::set_requires_grad(tensor, true);
  return tensor;
}

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&] { return wrap(tensor_from_numpy(array)); });
}

PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("from_dlpack", {"ext_tensor", "device", "copy"}, 1, 1);
    PyObject* values[3];
    names.read(args, nargs, kwnames, values);
    return wrap(tensor_from_dlpack(values[0], values[1], values[2]));
  });
}

PyObject* to_dlpack(PyObject*, PyObject* tensor) {
  return guarded([&] {
    MT_CHECK(is_tensor(tensor), TypeError, "to_dlpack(): argument 'tensor' must be Tensor, not ",
             Py_TYPE(tensor)->tp_name);
    const PyRef nothing(PyTuple_New(0));
    return tensor_dlpack(tensor, nothing.get(), nullptr);
  });
}

PyObject* frombuffer(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("frombuffer",
                                     {"buffer", "dtype", "count", "offset", "requires_grad"}, 1, 2);
    PyObject* values[5];
    names.read(args, nargs, kwnames, values);
    int64_t count = -1;
    int64_t offset = 0;
    MT_CHECK(values[2] == Py_None || to_int(values[2], count), TypeError,
             "frombuffer(): argument 'count' must be int, not ", Py_TYPE(values[2])->tp_name);
    MT_CHECK(values[3] == Py_None || to_int(values[3], offset), TypeError,
             "frombuffer(): argument 'offset' must be int, not ", Py_TYPE(values[3])->tp_name);
    const std::optional<DType> dtype = optional_dtype("frombuffer", values[1]);
    MT_CHECK(dtype.has_value(), TypeError,
             "frombuffer(): argument 'dtype' must be torch.dtype, not NoneType");
    return wrap(
        with_requires_grad(tensor_from_buffer(values[0], *dtype, count, offset), values[4]));
  });
}

PyObject* tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names(
        "tensor", {"data", "dtype", "device", "requires_grad", "pin_memory"}, 1, 1);
    PyObject* values[5];
    names.read(args, nargs, kwnames, values);
    const std::optional<DType> dtype = optional_dtype("tensor", values[1]);
    std::optional<Device> device = optional_device(values[2]);
    if (is_tensor(values[0])) {
      if (PyErr_WarnEx(PyExc_UserWarning,
                       "To copy construct from a tensor, it is recommended to use "
                       "sourceTensor.detach().clone() or "
                       "sourceTensor.detach().clone().requires_grad_(True), rather than "
                       "torch.tensor(sourceTensor).",
                       1) < 0) {
        throw PythonError();
      }
      if (values[2] == Py_None) device.reset();
    }
    const autograd::GradModeGuard leaf(false);  // a copy of a tensor has no history
    Tensor result = tensor_from_data(values[0], dtype);
    if (device) result = mindtorch::_to_copy(result, std::nullopt, device);
    if (values[4] == Py_True) result = pinned(result);
    return wrap(with_requires_grad(std::move(result), values[3]));
  });
}

// as_tensor and asarray: memory is shared wherever that is possible and `copy` allows it.
Tensor shared(PyObject* data,
              std::optional<DType> dtype,
              std::optional<Device> device,
              PyObject* copy,
              bool take_buffers) {
  Tensor source;
  if (is_tensor(data)) {
    source = unwrap(data);
  } else if (PyCapsule_CheckExact(data) != 0) {
    source = tensor_from_dlpack(data);
  } else if (!PyList_Check(data) && !PyTuple_Check(data) && !PyFloat_Check(data) &&
             !PyLong_Check(data)) {
    source = tensor_from_array(data);
    if (!source.defined() && take_buffers && PyObject_CheckBuffer(data) != 0) {
      source = tensor_from_buffer(data, dtype.value_or(default_dtype()), -1, 0);
    }
  }
  if (!source.defined()) {
    MT_CHECK(copy != Py_False, ValueError, "can't alias arbitrary sequence into a tensor.");
    source = tensor_from_data(data, dtype);
    copy = Py_None;
  }
  const bool wants_copy = is_true(copy);
  if (copy == Py_False) {
    MT_CHECK(!device || *device == source.device(), ValueError, "can't alias tensor with device '",
             source.device().str(), "' at the device '", device->str(), "'.");
    MT_CHECK(!dtype || *dtype == source.dtype(), ValueError, "can't alias tensor with dtype '",
             legacy_name(source.dtype()), "' into dtype '", legacy_name(*dtype), "'.");
  }
  return mindtorch::_to_copy(source, dtype, device, false, wants_copy);
}

PyObject* as_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("as_tensor", {"data", "dtype", "device"}, 1, 1);
    PyObject* values[3];
    names.read(args, nargs, kwnames, values);
    std::optional<Device> device = optional_device(values[2]);
    if (is_tensor(values[0]) && values[2] == Py_None) device.reset();
    return wrap(shared(values[0], optional_dtype("as_tensor", values[1]), device, Py_None, false));
  });
}

PyObject* asarray(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("asarray", {"obj", "dtype", "device", "copy", "requires_grad"},
                                     1, 1);
    PyObject* values[5];
    names.read(args, nargs, kwnames, values);
    std::optional<Device> device = optional_device(values[2]);
    if (is_tensor(values[0]) && values[2] == Py_None) device.reset();
    Tensor result =
        shared(values[0], optional_dtype("asarray", values[1]), device, values[3], true);
    if (is_true(values[4])) return wrap(with_requires_grad(std::move(result), values[4]));
    // As torch: without requires_grad=True the result has no history.
    const bool cuts = autograd::requires_grad(result);
    return wrap(cuts ? autograd::detached(result) : std::move(result));
  });
}

// Methods

PyObject* numpy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("numpy", {"force"}, 0);
    PyObject* force = Py_None;
    if (nargs != 0 || kwnames != nullptr) names.read(args, nargs, kwnames, &force);
    if (!is_true(force)) return tensor_to_numpy(self);
    const Tensor shown =
        autograd::requires_grad(unwrap(self)) ? autograd::detached(unwrap(self)) : unwrap(self);
    const PyRef local(
        wrap(mindtorch::_to_copy(shown, std::nullopt, Device(DeviceType::kCpu), false, false)));
    return tensor_to_numpy(local.get());
  });
}

// NumPy asks with a dtype and, since 2.0, whether it wants a copy.
PyObject* array(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("__array__", {"dtype", "copy"}, 2);
    PyObject* values[2];
    names.read(args, nargs, kwnames, values);
    const bool wants_copy = is_true(values[1]);
    PyRef result(tensor_to_numpy(self));
    if (values[0] != Py_None) {
      const PyRef method(PyObject_GetAttrString(result.get(), "astype"));
      const PyRef positional(PyTuple_Pack(1, values[0]));
      const PyRef keywords(Py_BuildValue("{s:O}", "copy", wants_copy ? Py_True : Py_False));
      PyRef converted(call_python(
          [&] { return PyObject_Call(method.get(), positional.get(), keywords.get()); }));
      result = std::move(converted);
    } else if (wants_copy) {
      PyRef copied(call_python([&] { return PyObject_CallMethod(result.get(), "copy", nullptr); }));
      result = std::move(copied);
    }
    return result.release();
  });
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] { return tensor_to_list(unwrap(self)); });
}

PyMethodDef g_functions[] = {
    {"from_numpy", &from_numpy, METH_O,
     "from_numpy(ndarray)\n\nA tensor over the memory of an ndarray; writes are seen by both.\n\n"
     "Example:\n\n>>> import numpy\n>>> torch.from_numpy(numpy.arange(3))\ntensor([0, 1, 2])\n"},
    function<"from_dlpack", &from_dlpack>(
        "from_dlpack(ext_tensor, *, device=None, copy=None)\n\nA tensor over the memory of another "
        "library's array, or of a DLPack capsule.\n\nExample:\n\n"
        ">>> torch.from_dlpack(torch.arange(3))\ntensor([0, 1, 2])\n"),
    {"to_dlpack", &to_dlpack, METH_O,
     "to_dlpack(tensor)\n\nA DLPack capsule over the tensor's memory, to be used once.\n\n"
     "Example:\n\n>>> torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))\n"
     "tensor([1., 1.])\n"},
    function<"frombuffer", &frombuffer>(
        "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)\n\nA 1-d tensor "
        "over "
        "the bytes of a Python buffer; writes are seen by both.\n\nExample:\n\n"
        ">>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)\n"
        "tensor([1, 2], dtype=torch.int16)\n"),
    function<"tensor", &tensor>(
        "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n\nA new "
        "tensor with a copy of `data`: a number, nested sequences, an array or a tensor.\n\n"
        "Example:\n\n>>> torch.tensor([[1, 2], [3, 4]])\ntensor([[1, 2],\n        [3, 4]])\n"),
    function<"as_tensor", &as_tensor>(
        "as_tensor(data, dtype=None, device=None)\n\n`data` as a tensor, over the same memory "
        "where it is a tensor or an array.\n\nExample:\n\n>>> torch.as_tensor([1.5, 2])\n"
        "tensor([1.5000, 2.0000])\n"),
    function<"asarray", &asarray>(
        "asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False)\n\n`obj` as a "
        "tensor, over the same memory where that is possible; copy=True makes a copy, copy=False "
        "refuses to.\n\nExample:\n\n>>> torch.asarray([1, 2])\ntensor([1, 2])\n"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef g_interop_methods[] = {
    method<"numpy", &numpy>("numpy(*, force=False)\n\nAn ndarray over the same memory."),
    method<"__array__", &array>(nullptr),
    no_args_method<"tolist", &tolist>("The values as nested lists, or as a number."),
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&tensor_dlpack)),
     METH_VARARGS | METH_KEYWORDS, "A DLPack capsule over the tensor's memory."},
    no_args_method<"__dlpack_device__", &tensor_dlpack_device>("DLPack's name of the device."),
    {nullptr, nullptr, 0, nullptr},
};

int add_interop_functions(PyObject* module) { return PyModule_AddFunctions(module, g_functions); }

}  // namespace mindtorch::python
