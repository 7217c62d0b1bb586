// Attributes and plain methods of class Tensor: what a tensor is, rather than what ops do with it.
#include "bindings/args/arguments.h"
#include "bindings/args/call_arguments.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/overrides/torch_function.h"
#include "bindings/tensor/device_names.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/autograd/accumulate_grad.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/batching/batched.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::python {
namespace {

PyObject* get_shape(PyObject* self, void*) { return wrap_size(unwrap(self).sizes()); }
PyObject* get_dtype(PyObject* self, void*) { return Py_NewRef(dtype_object(unwrap(self).dtype())); }
PyObject* get_device(PyObject* self, void*) { return wrap_device(unwrap(self).device()); }
PyObject* get_layout(PyObject*, void*) {
  static PyObject* strided = nullptr;
  return guarded([] { return Py_NewRef(imported(strided, "mindtorch_v2._C", "strided")); });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLongLong(unwrap(self).dim()); }
PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromLongLong(unwrap(self).element_size());
}
PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(unwrap(self).numel() * unwrap(self).element_size());
}
PyObject* get_version(PyObject* self, void*) {
  return guarded([&] {
    MT_CHECK(!unwrap(self).impl()->is_inference, RuntimeError,
             "Inference tensors do not track version counter.");
    return PyLong_FromLong(unwrap(self).version());
  });
}
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_pending(PyObject* self, void*) {
  return PyBool_FromLong(unwrap(self).storage()->pending() != nullptr);
}
PyObject* get_is_cpu(PyObject* self, void*) {
  return PyBool_FromLong(unwrap(self).device().is_cpu());
}
PyObject* get_is_meta(PyObject* self, void*) {
  return PyBool_FromLong(unwrap(self).device().is_meta());
}
PyObject* get_is_npu(PyObject* self, void*) {
  return PyBool_FromLong(unwrap(self).device().type == DeviceType::kNpu);
}
PyObject* get_is_cuda(PyObject* self, void*) {
  return PyBool_FromLong(unwrap(self).device().type == meant_type(DeviceType::kCuda));
}

// x.data: the same bytes, with a version count of its own.
PyObject* get_data(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    if (batching::is_batched(tensor)) return wrap(mindtorch::detach(tensor));
    Tensor result = tensor.alias(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    result.impl()->has_own_version = true;
    result.impl()->own_version = 0;
    return wrap(std::move(result));
  });
}
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    MT_CHECK(value != nullptr, RuntimeError,
             "Deleting tensor data is not allowed. Delete tensor instead!");
    MT_CHECK(is_tensor(value), TypeError, "Variable data has to be a tensor, but got ",
             Py_TYPE(value)->tp_name);
    TensorImpl& target = *unwrap(self).impl();
    const TensorImpl& source = *unwrap(value).impl();
    constexpr uint8_t kSparse = dispatch::bit(dispatch::Layer::kSparse);
    MT_CHECK(((target.layers | source.layers) & kSparse) == 0, RuntimeError,
             "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
             "incompatible tensor type.");
    MT_CHECK(is_differentiable(source.dtype) || !autograd::requires_grad(unwrap(self)),
             RuntimeError,
             "data set to a tensor that requires gradients must be floating point or complex "
             "dtype");
    if (source.dtype != target.dtype || source.device != target.device) {
      autograd::AccumulateGrad::forget(unwrap(self));
    }
    // The count of versions goes on, whatever memory the tensor has.
    target.own_version = unwrap(self).version();
    target.has_own_version = true;
    target.view_base = nullptr;
    target.storage = source.storage;
    target.dtype = source.dtype;
    target.device = source.device;
    target.set_sizes_and_strides(source.sizes, source.strides, source.offset);
    return 0;
  });
}

PyObject* reversed(const Tensor& tensor) {
  if (tensor.dim() == 2) return wrap(mindtorch::t(tensor));
  Shape dims;
  for (int64_t i = tensor.dim(); i-- > 0;) dims.push_back(i);
  return wrap(mindtorch::permute(tensor, dims));
}
PyObject* get_T(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    if (tensor.dim() != 2 && tensor.dim() != 0) {
      warn(
          "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
          "deprecated and it will throw an error in a future release. Consider `x.mT` to transpose "
          "batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
          "dimensions of a tensor.");
    }
    return reversed(tensor);
  });
}
PyObject* get_H(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    MT_CHECK(tensor.dim() == 2 || tensor.dim() == 0, RuntimeError,
             "tensor.H is only supported on matrices (2-D tensors). Got ", tensor.dim(),
             "-D tensor.",
             tensor.dim() > 2 ? " For batches of matrices, consider using tensor.mH" : "");
    const PyRef swapped(tensor.dim() == 0 ? Py_NewRef(self) : reversed(tensor));
    return wrap(mindtorch::conj(unwrap(swapped.get())));
  });
}
PyObject* transposed(PyObject* self, const char* attribute, bool conjugates) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    if (tensor.dim() == 0) return Py_NewRef(self);
    MT_CHECK(tensor.dim() >= 2, RuntimeError, attribute,
             " is only supported on matrices or batches of matrices. Got ", tensor.dim(),
             "-D tensor.");
    const Tensor swapped = mindtorch::transpose(tensor, -2, -1);
    return wrap(conjugates ? mindtorch::conj(swapped) : swapped);
  });
}
PyObject* get_mT(PyObject* self, void*) { return transposed(self, "tensor.mT", false); }
PyObject* get_mH(PyObject* self, void*) { return transposed(self, "tensor.mH", true); }

// Methods

PyObject* dim(PyObject* self, PyObject*) { return PyLong_FromLongLong(unwrap(self).dim()); }
PyObject* numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(unwrap(self).numel()); }
PyObject* element_size(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(unwrap(self).element_size());
}
PyObject* storage_offset(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(unwrap(self).storage_offset());
}
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    return PyLong_FromVoidPtr(unwrap(self).mutable_data_ptr());  // the holder may write
  });
}
PyObject* get_device_index(PyObject* self, PyObject*) {
  return PyLong_FromLong(unwrap(self).device().index);
}

// size() and stride(): all of them, or the one of `dim`.
PyObject* one_or_all(const Shape& list,
                     const Tensor& tensor,
                     PyObject* const* args,
                     Py_ssize_t nargs,
                     PyObject* kwnames,
                     const char* name,
                     const CallArguments& names,
                     bool as_size) {
  return guarded([&]() -> PyObject* {
    PyObject* given = nargs == 1 && kwnames == nullptr ? args[0] : Py_None;
    if (nargs > 1 || kwnames != nullptr) {
      MT_CHECK(nargs <= 1, TypeError, name, "() takes from 0 to 1 positional arguments but ", nargs,
               " were given");
      names.read(args, nargs, kwnames, &given);
    }
    if (given == Py_None) return as_size ? wrap_size(list) : wrap_tuple(list);
    int64_t dim = 0;
    MT_CHECK(to_int(given, dim), TypeError, name, "(): argument 'dim' ",
             nargs == 1 ? "(position 1) " : "", "must be int, not ", Py_TYPE(given)->tp_name);
    return PyLong_FromLongLong(list[static_cast<size_t>(existing_dim(dim, tensor.dim()))]);
  });
}
PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const CallArguments names("size", {"dim"}, 1);
  return one_or_all(unwrap(self).sizes(), unwrap(self), args, nargs, kwnames, "size", names, true);
}
PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const CallArguments names("stride", {"dim"}, 1);
  return one_or_all(unwrap(self).strides(), unwrap(self), args, nargs, kwnames, "stride", names,
                    false);
}

PyObject* is_contiguous(PyObject* self,
                        PyObject* const* args,
                        Py_ssize_t nargs,
                        PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = unwrap(self);
    const Py_ssize_t given = nargs + (kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames));
    if (given == 0) return PyBool_FromLong(tensor.is_contiguous());
    MT_CHECK(given == 1 && is_memory_format(args[0]), TypeError,
             "is_contiguous(): argument 'memory_format' must be torch.memory_format, not ",
             Py_TYPE(args[0])->tp_name);
    switch (to_memory_format(args[0])) {
      case MemoryFormat::kContiguous:
        return PyBool_FromLong(tensor.is_contiguous());
      case MemoryFormat::kChannelsLast:
        return PyBool_FromLong(tensor.dim() == 4 &&
                               is_channels_last(tensor.sizes(), tensor.strides()));
      case MemoryFormat::kChannelsLast3d:
        return PyBool_FromLong(tensor.dim() == 5 &&
                               is_channels_last(tensor.sizes(), tensor.strides()));
      case MemoryFormat::kPreserve:
        break;
    }
    MT_THROW(RuntimeError, "preserve memory format is unsupported by is_contiguous");
  });
}

PyObject* is_floating_point(PyObject* self, PyObject*) {
  return PyBool_FromLong(mindtorch::is_floating_point(unwrap(self).dtype()));
}
PyObject* is_complex(PyObject* self, PyObject*) {
  return PyBool_FromLong(mindtorch::is_complex(unwrap(self).dtype()));
}
PyObject* is_signed(PyObject* self, PyObject*) {
  return PyBool_FromLong(mindtorch::is_signed(unwrap(self).dtype()));
}

}  // namespace

PyGetSetDef g_tensor_attributes[] = {
    {"shape", &get_shape, nullptr, "The sizes of all dimensions.", nullptr},
    {"dtype", &get_dtype, nullptr, "The element type.", nullptr},
    {"device", &get_device, nullptr, "Where the tensor lives.", nullptr},
    {"layout", &get_layout, nullptr, "How it is stored.", nullptr},
    {"ndim", &get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", &get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", &get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"_version", &get_version, nullptr, "How often the storage was written in place.", nullptr},
    {"data", &get_data, &set_data, "The same memory, with a version count of its own.", nullptr},
    {"T", &get_T, nullptr, "All dimensions reversed.", nullptr},
    {"H", &get_H, nullptr, "A matrix transposed, complex numbers conjugated.", nullptr},
    {"mT", &get_mT, nullptr, "The last two dimensions swapped.", nullptr},
    {"mH", &get_mH, nullptr, "The last two dimensions swapped, complex numbers conjugated.",
     nullptr},
    {"is_cpu", &get_is_cpu, nullptr, nullptr, nullptr},
    {"is_cuda", &get_is_cuda, nullptr, nullptr, nullptr},
    {"is_npu", &get_is_npu, nullptr, nullptr, nullptr},
    {"is_meta", &get_is_meta, nullptr, nullptr, nullptr},
    {"is_sparse", &get_false, nullptr, "Whether the layout is torch.sparse_coo.", nullptr},
    {"is_sparse_csr", &get_false, nullptr, "Whether the layout is torch.sparse_csr.", nullptr},
    {"is_nested", &get_false, nullptr, nullptr, nullptr},
    {"_pending", &get_pending, nullptr, "Whether the values wait to be computed.", nullptr},
    {"is_quantized", &get_false, nullptr, nullptr, nullptr},
    // Devices and layouts of torch that have no backend here: libraries ask.
    {"is_ipu", &get_false, nullptr, nullptr, nullptr},
    {"is_maia", &get_false, nullptr, nullptr, nullptr},
    {"is_mkldnn", &get_false, nullptr, nullptr, nullptr},
    {"is_mps", &get_false, nullptr, nullptr, nullptr},
    {"is_mtia", &get_false, nullptr, nullptr, nullptr},
    {"is_vulkan", &get_false, nullptr, nullptr, nullptr},
    {"is_xla", &get_false, nullptr, nullptr, nullptr},
    {"is_xpu", &get_false, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef g_tensor_methods[] = {
    no_args_method<"dim", &dim>("The number of dimensions."),
    no_args_method<"ndimension", &dim>("The number of dimensions."),
    no_args_method<"numel", &numel>("The number of elements."),
    no_args_method<"nelement", &numel>("The number of elements."),
    no_args_method<"element_size", &element_size>("Bytes of one element."),
    no_args_method<"storage_offset", &storage_offset>(
        "Where in the storage it starts, in elements."),
    no_args_method<"data_ptr", &data_ptr>("The address of the first element."),
    no_args_method<"get_device", &get_device_index>("The device's index, -1 on the CPU."),
    no_args_method<"is_floating_point", &is_floating_point>("Whether the dtype is a float."),
    no_args_method<"is_complex", &is_complex>("Whether the dtype is complex."),
    no_args_method<"is_signed", &is_signed>("Whether the dtype has negative values."),
    method<"size", &size>("The sizes, or the size of one dimension."),
    method<"stride", &stride>("The strides in elements, or the stride of one dimension."),
    method<"is_contiguous", &is_contiguous>("Whether the elements lie in memory in order."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mindtorch::python
