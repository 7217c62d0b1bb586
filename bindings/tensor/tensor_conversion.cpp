// Methods that give a tensor another dtype, device, class, storage or size.
#include "bindings/args/arguments.h"
#include "bindings/args/call_arguments.h"
#include "bindings/args/default_device.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/memory/pinning.h"
#include "bindings/overrides/torch_function.h"
#include "bindings/tensor/device_names.h"
#include "bindings/tensor/py_storage.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/autograd/accumulate_grad.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/tensor/pinned.h"

namespace mindtorch::python {
namespace {

// What to(...) asks for.
struct Target {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool non_blocking = false;
  bool copy = false;
  std::optional<MemoryFormat> format;
  bool is_like_other = false;

  void take_after(const Tensor& other) {
    dtype = other.dtype();
    device = other.device();
    is_like_other = true;
  }
};

PyObject* convert(PyObject* self, const Target& asked) {
  const Tensor& tensor = unwrap(self);
  Target target = asked;
  if (asked.device) target.device = resolve(*asked.device);
  if (target.device && tensor.device().is_meta() && !target.device->is_meta()) {
    MT_THROW(NotImplementedError,
             "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() "
             "instead of torch.nn.Module.to() when moving module from meta to a different device.");
  }
  Tensor result;
  {
    const GilRelease release(tensor.numel() >= kReleaseGilElements);
    result = mindtorch::_to_copy(tensor, target.dtype, target.device, target.non_blocking,
                                 target.copy, target.format);
  }
  // A caller that names the host is about to read: no part of the result stays pending.
  if (asked.device && asked.device->is_cpu() && !asked.is_like_other) result.storage()->data();
  if (result.is_same(tensor)) return Py_NewRef(self);
  return wrap(std::move(result));
}

bool is_device_like(PyObject* object) {
  return is_device(object) || PyUnicode_Check(object) ||
         (PyLong_Check(object) && !PyBool_Check(object));
}

bool to_flag(PyObject* object, const char* function, const char* name) {
  MT_CHECK(PyBool_Check(object), TypeError, function, "(): argument '", name,
           "' must be bool, not ", Py_TYPE(object)->tp_name);
  return object == Py_True;
}

std::optional<MemoryFormat> to_format(PyObject* object, const char* function) {
  if (object == Py_None) return std::nullopt;
  MT_CHECK(is_memory_format(object), TypeError, function,
           "(): argument 'memory_format' must be torch.memory_format, not ",
           Py_TYPE(object)->tp_name);
  return to_memory_format(object);
}

[[noreturn]] void refuse_to(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  std::string text = "to() received an invalid combination of arguments - got (";
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t i = 0; i < nargs + keywords; ++i) {
    if (i > 0) text += ", ";
    if (i >= nargs) {
      text += keyword_text(PyTuple_GET_ITEM(kwnames, i - nargs)) + "=";
    }
    text += Py_TYPE(args[i])->tp_name;
  }
  throw TypeError(text +
                  "), but expected one of:\n"
                  " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = "
                  "False, bool copy = False, *, torch.memory_format memory_format = None)\n"
                  " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
                  "torch.memory_format memory_format = None)\n"
                  " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
                  "torch.memory_format memory_format = None)\n");
}

// The keyword arguments of to(); false when one is unknown or has the wrong type.
bool read_to_keyword(PyObject* name, PyObject* value, Target& target) {
  const auto named = [&](const char* text) {
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
  };
  if (named("dtype")) {
    DType dtype;
    if (value == Py_None) return true;
    if (!to_dtype_like(value, dtype)) return false;
    target.dtype = dtype;
  } else if (named("device")) {
    if (value == Py_None) return true;
    if (!is_device_like(value)) return false;
    target.device = without_host_index(to_device(value));
  } else if (named("other") || named("tensor")) {
    if (!is_tensor(value)) return false;
    target.take_after(unwrap(value));
  } else if (named("memory_format")) {
    target.format = to_format(value, "to");
  } else if (named("non_blocking") || named("copy")) {
    if (!PyBool_Check(value)) return false;
    (named("copy") ? target.copy : target.non_blocking) = value == Py_True;
  } else {
    return false;
  }
  return true;
}

PyObject* to(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    Target target;
    Py_ssize_t at = 0;
    DType dtype;
    if (nargs > 0 && is_tensor(args[0])) {
      target.take_after(unwrap(args[0]));
      at = 1;
    } else if (nargs > 0 && to_dtype_like(args[0], dtype)) {
      target.dtype = dtype;
      at = 1;
    } else if (nargs > 0 && (args[0] == Py_None || is_device_like(args[0]))) {
      if (args[0] != Py_None) target.device = without_host_index(to_device(args[0]));
      at = 1;
      if (nargs > 1 && to_dtype_like(args[1], dtype)) {
        target.dtype = dtype;
        at = 2;
      } else if (nargs > 1 && args[1] == Py_None) {
        at = 2;
      }
    }
    bool* const flags[] = {&target.non_blocking, &target.copy};
    for (size_t flag = 0; at < nargs; ++at, ++flag) {
      if (flag >= 2 || !PyBool_Check(args[at])) refuse_to(args, nargs, kwnames);
      *flags[flag] = args[at] == Py_True;
    }
    const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < keywords; ++k) {
      if (!read_to_keyword(PyTuple_GET_ITEM(kwnames, k), args[nargs + k], target)) {
        refuse_to(args, nargs, kwnames);
      }
    }
    return convert(self, target);
  });
}

// float(), long() and so on.
template <DType kDType>
PyObject* cast(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    Target target;
    target.dtype = kDType;
    if (nargs != 0 || kwnames != nullptr) {
      static const CallArguments names(info(kDType).legacy_name.data(), {"memory_format"}, 1);
      PyObject* format = Py_None;
      names.read(args, nargs, kwnames, &format);
      target.format = to_format(format, "to");
    }
    return convert(self, target);
  });
}

PyObject* type_as(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("type_as", {"other"}, 1, 1);
    PyObject* other = nullptr;
    names.read(args, nargs, kwnames, &other);
    MT_CHECK(is_tensor(other), TypeError,
             "type_as(): argument 'other' (position 1) must be Tensor, not ",
             Py_TYPE(other)->tp_name);
    Target target;
    target.take_after(unwrap(other));
    return convert(self, target);
  });
}

PyObject* cpu(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    Target target;
    target.device = Device(DeviceType::kCpu);
    if (nargs != 0 || kwnames != nullptr) {
      static const CallArguments names("cpu", {"memory_format"}, 0);
      PyObject* format = Py_None;
      names.read(args, nargs, kwnames, &format);
      target.format = to_format(format, "cpu");
    }
    return convert(self, target);
  });
}

// npu() and cuda(): to the accelerator of that kind.
template <DeviceType kType>
PyObject* to_accelerator(PyObject* self,
                         PyObject* const* args,
                         Py_ssize_t nargs,
                         PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names(name(kType).data(),
                                     {"device", "non_blocking", "memory_format"}, 2);
    PyObject* values[3];
    names.read(args, nargs, kwnames, values);
    Target target;
    const DeviceType type = meant_type(kType);
    target.device = Device(type);
    if (PyLong_Check(values[0])) {
      target.device = Device(type, to_device(values[0]).index);
    } else if (values[0] != Py_None) {
      target.device = to_device(values[0]);
      MT_CHECK(target.device->type == type, RuntimeError, "Invalid device, must be ", name(type),
               " device");
    }
    if (values[1] != Py_None) target.non_blocking = to_flag(values[1], "to", "non_blocking");
    target.format = to_format(values[2], "to");
    return convert(self, target);
  });
}

PyObject* pin_memory(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("pin_memory", {"device"}, 1);
    PyObject* device = Py_None;
    names.read(args, nargs, kwnames, &device);
    Tensor result = pinned(unwrap(self), accelerator_argument(device));
    return result.is_same(unwrap(self)) ? Py_NewRef(self) : wrap(std::move(result));
  });
}
PyObject* is_pinned(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("is_pinned", {"device"}, 1);
    PyObject* device = Py_None;
    names.read(args, nargs, kwnames, &device);
    return PyBool_FromLong(mindtorch::is_pinned(unwrap(self), accelerator_argument(device)));
  });
}

// Classes

PyTypeObject* to_tensor_class(PyObject* object, const char* function) {
  MT_CHECK(PyType_Check(object) != 0, TypeError, function, "(): argument 'cls' must be type, not ",
           Py_TYPE(object)->tp_name);
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  MT_CHECK(PyType_IsSubtype(type, g_tensor_type) != 0, TypeError,
           "cls must be a type derived from Tensor; got ", type->tp_name);
  return type;
}

Tensor shallow_copy(const Tensor& tensor) {
  return tensor.alias(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&] {
    PyTypeObject* type = to_tensor_class(cls, "as_subclass");
    const Tensor& tensor = unwrap(self);
    const bool is_recorded = autograd::is_grad_enabled() && autograd::requires_grad(tensor);
    return wrap_as(type, is_recorded ? mindtorch::alias(tensor) : shallow_copy(tensor));
  });
}

PyObject* make_subclass(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("_make_subclass", {"cls", "data", "require_grad"}, 3, 2);
    PyObject* values[3];
    names.read(args, nargs, kwnames, values);
    PyTypeObject* type = to_tensor_class(values[0], "_make_subclass");
    MT_CHECK(is_tensor(values[1]), TypeError,
             "_make_subclass(): argument 'data' (position 2) must be Tensor, not ",
             Py_TYPE(values[1])->tp_name);
    PyRef result(wrap_as(type, shallow_copy(unwrap(values[1]))));
    if (is_true(values[2]) && PyObject_SetAttrString(result.get(), "requires_grad", Py_True) < 0) {
      throw PythonError();
    }
    return result.release();
  });
}

// Storage and size

PyObject* untyped_storage(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_storage(unwrap(self).storage()); });
}

PyObject* is_set_to(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("is_set_to", {"tensor"}, 1, 1);
    PyObject* object = nullptr;
    names.read(args, nargs, kwnames, &object);
    MT_CHECK(is_tensor(object), TypeError,
             "is_set_to(): argument 'tensor' (position 1) must be Tensor, not ",
             Py_TYPE(object)->tp_name);
    const Tensor& a = unwrap(self);
    const Tensor& b = unwrap(object);
    return PyBool_FromLong(a.shares_storage(b) && a.storage_offset() == b.storage_offset() &&
                           a.sizes() == b.sizes() && a.strides() == b.strides());
  });
}

void resize_to(const Tensor& tensor, const Shape& sizes, std::optional<MemoryFormat> format) {
  MT_CHECK(!autograd::requires_grad(tensor), RuntimeError,
           "cannot resize variables that require grad");
  TensorImpl& impl = *tensor.impl();
  numel(sizes);
  const bool keeps = !format || *format == MemoryFormat::kPreserve;
  if (keeps && impl.sizes == sizes) return;
  Shape strides = keeps ? contiguous_strides(sizes) : strides_for(sizes, *format);
  int64_t bytes = 0;
  MT_CHECK(!__builtin_add_overflow(extent(sizes, strides), impl.offset, &bytes) &&
               !__builtin_mul_overflow(bytes, size_bytes(impl.dtype), &bytes),
           RuntimeError, "Storage size calculation overflowed with sizes=", to_string(sizes));
  if (static_cast<size_t>(bytes) > impl.storage->size_bytes()) {
    impl.storage->resize(static_cast<size_t>(bytes));
  }
  impl.set_sizes_and_strides(sizes, std::move(strides));
}

PyObject* resize(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    std::optional<MemoryFormat> format;
    PyObject* named[2] = {Py_None, Py_None};
    if (kwnames != nullptr) {
      static const CallArguments names("resize_", {"memory_format", "size"}, 0);
      names.read(args + nargs, 0, kwnames, named);
      format = to_format(named[0], "resize_");
    }
    MT_CHECK(nargs == 0 || named[1] == Py_None, TypeError,
             "resize_() got multiple values for argument 'size'");
    if (nargs == 0) {
      MT_CHECK(named[1] != Py_None, TypeError,
               "resize_() missing 1 required positional arguments: \"size\"");
      args = &named[1];
      nargs = 1;
    }
    Shape sizes;
    if (nargs != 1 || !to_int_list(args[0], sizes)) {
      sizes.resize(static_cast<size_t>(nargs));
      for (Py_ssize_t i = 0; i < nargs; ++i) {
        MT_CHECK(to_int(args[i], sizes[static_cast<size_t>(i)]), TypeError,
                 "resize_(): argument 'size' must be tuple of ints, not ",
                 Py_TYPE(args[i])->tp_name);
      }
    }
    resize_to(unwrap(self), sizes, format);
    return Py_NewRef(self);
  });
}

PyObject* resize_as(PyObject* self, PyObject* other) {
  return guarded([&] {
    MT_CHECK(is_tensor(other), TypeError,
             "resize_as_(): argument 'the_template' (position 1) must be Tensor, not ",
             Py_TYPE(other)->tp_name);
    resize_to(unwrap(self), unwrap(other).sizes(), std::nullopt);
    return Py_NewRef(self);
  });
}

// _set_storage(storage, offset, size, stride): what set_() comes down to. The storage of a tensor
// on cpu or meta grows where the view reaches past its end, as in torch.
PyObject* set_storage(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    int64_t offset = 0;
    Shape sizes;
    Shape strides;
    MT_CHECK(nargs == 4 && is_storage(args[0]) && to_int(args[1], offset) &&
                 to_int_list(args[2], sizes) && to_int_list(args[3], strides),
             TypeError, "_set_storage() takes a storage, an offset, sizes and strides");
    const Storage& storage = unwrap_storage(args[0]);
    TensorImpl& impl = *unwrap(self).impl();
    MT_CHECK(storage->device() == impl.device, RuntimeError,
             "Attempted to set the storage of a tensor on device \"", impl.device.str(),
             "\" to a storage on different device \"", storage->device().str(),
             "\".  This is no longer allowed; the devices must match.");
    MT_CHECK(offset >= 0, RuntimeError, "Tensor: invalid storage offset ", offset);
    const int64_t reach = extent(sizes, strides);
    int64_t bytes = 0;
    MT_CHECK(reach == 0 || (!__builtin_add_overflow(reach, offset, &bytes) &&
                            !__builtin_mul_overflow(bytes, size_bytes(impl.dtype), &bytes)),
             RuntimeError, "Storage size calculation overflowed with sizes=", to_string(sizes),
             " and strides=", to_string(strides));
    if (static_cast<size_t>(bytes) > storage->size_bytes()) {
      storage->resize(static_cast<size_t>(bytes));
    }
    // Checks sizes and strides, too.
    const Tensor view = Tensor::over(storage, impl.dtype, sizes, strides, offset);
    autograd::AccumulateGrad::forget(unwrap(self));
    impl.storage = storage;
    impl.set_sizes_and_strides(std::move(sizes), std::move(strides), offset);
    return Py_NewRef(self);
  });
}

}  // namespace

// _C._rebuild_tensor(storage, dtype, offset, size, stride)
PyObject* rebuild_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    int64_t offset = 0;
    Shape sizes;
    Shape strides;
    MT_CHECK(nargs == 5 && is_storage(args[0]) && is_dtype(args[1]) && to_int(args[2], offset) &&
                 to_int_list(args[3], sizes) && to_int_list(args[4], strides),
             TypeError, "_rebuild_tensor() takes a storage, a dtype, an offset, sizes and strides");
    return wrap(Tensor::over(unwrap_storage(args[0]), to_dtype(args[1]), sizes, strides, offset));
  });
}

PyMethodDef g_conversion_methods[] = {
    method<"to", &to, Tensors::kArguments>(
        "to(dtype), to(device), to(other)\n\nThe tensor in another dtype or on "
        "another device; itself when nothing changes.\n\nExample:\n\n"
        ">>> torch.ones(2).to(torch.int64)\ntensor([1, 1])\n"),
    method<"float", &cast<DType::kFloat32>>("The tensor as float32."),
    method<"double", &cast<DType::kFloat64>>("The tensor as float64."),
    method<"half", &cast<DType::kFloat16>>("The tensor as float16."),
    method<"bfloat16", &cast<DType::kBFloat16>>("The tensor as bfloat16."),
    method<"chalf", &cast<DType::kComplex32>>("The tensor as complex32."),
    method<"cfloat", &cast<DType::kComplex64>>("The tensor as complex64."),
    method<"cdouble", &cast<DType::kComplex128>>("The tensor as complex128."),
    method<"char", &cast<DType::kInt8>>("The tensor as int8."),
    method<"short", &cast<DType::kInt16>>("The tensor as int16."),
    method<"int", &cast<DType::kInt32>>("The tensor as int32."),
    method<"long", &cast<DType::kInt64>>("The tensor as int64."),
    method<"byte", &cast<DType::kUInt8>>("The tensor as uint8."),
    method<"bool", &cast<DType::kBool>>("The tensor as bool."),
    method<"type_as", &type_as, Tensors::kArguments>(
        "type_as(other)\n\nThe tensor in the dtype of other."),
    method<"cpu", &cpu>("The tensor on the CPU."),
    method<"npu", &to_accelerator<DeviceType::kNpu>>("The tensor on an Ascend NPU."),
    method<"cuda", &to_accelerator<DeviceType::kCuda>>("The tensor on an NVIDIA GPU."),
    method<"pin_memory", &pin_memory>("The tensor in page-locked memory."),
    method<"is_pinned", &is_pinned>("Whether it lies in page-locked memory."),
    {"as_subclass", &as_subclass, METH_O,
     "as_subclass(cls)\n\nThe same memory as an instance of a subclass of Tensor."},
    fast_method<&make_subclass>(
        "_make_subclass", "_make_subclass(cls, data, require_grad=False)", METH_STATIC),
    no_args_method<"untyped_storage", &untyped_storage>("The bytes behind the tensor."),
    method<"is_set_to", &is_set_to, Tensors::kArguments>(
        "is_set_to(tensor)\n\nWhether both are the same view of the same storage."),
    method<"resize_", &resize>("resize_(*sizes, memory_format=None)\n\nChanges the size in "
                               "place; new elements are not set."),
    one_arg_method<"resize_as_", &resize_as>("resize_as_(other)\n\nresize_ to the size of other."),
    {"_set_storage", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&set_storage)),
     METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mindtorch::python
