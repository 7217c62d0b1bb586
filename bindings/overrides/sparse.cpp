// Sparse tensors. Note [Sparse tensors]
// A sparse tensor is an instance of a class written in Python, which holds its components: ordinary
// tensors. Its TensorImpl has sizes, dtype and device, but no bytes: its storage throws when it is
// read. Calls from Python reach the class by __torch_function__; ops that C++ calls, as the engine
// of autograd does, come to the layer below, which hands them to the same handlers.
#include <nanobind/nanobind.h>

#include "bindings/args/arguments.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/sparse.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using dispatch::Layer;
using ops::Op;
using ops::Value;
using ops::ValueKind;

// What stands for the bytes of one sparse tensor.
class NoBytes final : public PendingWork {
 public:
  void materialize(StorageImpl&) override {
    MT_THROW(RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage");
  }
  // Of each component.
  void record_stream(StorageImpl&, runtime::Stream stream) override {
    const GilHold gil;
    try {
      static PyObject* components = nullptr;
      imported(components, "mindtorch_v2.sparse._tensor", "components");
      const PyRef parts(PyObject_CallOneArg(components, tensor));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts.get()); ++i) {
        unwrap(PyTuple_GET_ITEM(parts.get(), i)).storage()->record_stream(stream);
      }
    } catch (const PythonError&) {
      throw CarriedError::take();
    }
  }
  void forget(StorageImpl&) noexcept override { delete this; }

  PyObject* tensor = nullptr;  // borrowed: it lives as long as the storage is somebody's
};

PyRef to_python(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNone:
      return PyRef(Py_NewRef(Py_None));
    case ValueKind::kTensor:
      if (value.tensor().is_wrapped_number()) return PyRef(wrap_scalar(read_item(value.tensor())));
      return PyRef(wrap(value.tensor()));
    case ValueKind::kTensorList: {
      PyRef list(PyList_New(0));
      for (const Tensor& tensor : value.tensor_list()) {
        const PyRef entry(wrap(tensor));
        if (PyList_Append(list.get(), entry.get()) < 0) throw PythonError();
      }
      return list;
    }
    case ValueKind::kScalar:
      return PyRef(wrap_scalar(value.scalar()));
    case ValueKind::kInt:
      return PyRef(PyLong_FromLongLong(value.to_int()));
    case ValueKind::kFloat:
      return PyRef(PyFloat_FromDouble(value.to_float()));
    case ValueKind::kBool:
      return PyRef(PyBool_FromLong(value.to_bool()));
    case ValueKind::kIntList:
      return PyRef(wrap_tuple(value.int_list()));
    case ValueKind::kFloatList: {
      PyRef list(PyList_New(0));
      for (const double number : value.float_list()) {
        const PyRef entry(PyFloat_FromDouble(number));
        if (PyList_Append(list.get(), entry.get()) < 0) throw PythonError();
      }
      return list;
    }
    case ValueKind::kDType:
      return PyRef(Py_NewRef(dtype_object(value.dtype())));
    case ValueKind::kDevice:
      return PyRef(wrap_device(value.device()));
    case ValueKind::kString:
      return PyRef(PyUnicode_FromStringAndSize(value.string().data(),
                                               static_cast<Py_ssize_t>(value.string().size())));
    case ValueKind::kMemoryFormat:
    case ValueKind::kGenerator:
      break;  // no op on sparse tensors asks for them
  }
  return PyRef(Py_NewRef(Py_None));
}

void add_output(PyObject* result, ops::Outputs& outputs) {
  if (is_tensor(result)) {
    outputs.tensors.push_back(unwrap(result));
  } else if (PyTuple_Check(result) != 0 || PyList_Check(result) != 0) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
      add_output(PySequence_Fast_GET_ITEM(result, i), outputs);
    }
  } else if (result != Py_None) {
    MT_CHECK(to_scalar(result, outputs.scalar), RuntimeError, "an op on a sparse tensor gave a ",
             Py_TYPE(result)->tp_name);
  }
}

// False where the op has no form for sparse tensors but is made of ops that may have one.
bool call_handler(const Op& op, ops::Args args, ops::Outputs& outputs) {
  const GilHold gil;
  try {
    // run_op(op, is_composite, args, kwargs): its result; NotImplemented where it has no form for
    // sparse tensors and is made of other ops.
    static PyObject* run_op = nullptr;
    imported(run_op, "mindtorch_v2.sparse._tensor", "run_op");
    PyRef positional(PyList_New(0));
    PyRef keywords(PyDict_New());
    for (size_t i = 0; i < args.size(); ++i) {
      const PyRef value = to_python(args[i]);
      const bool by_name = i < op.schema.params.size() && op.schema.params[i].keyword_only;
      if (by_name && value.get() == Py_None) continue;
      const int failed =
          by_name
              ? PyDict_SetItemString(keywords.get(), op.schema.params[i].name.c_str(), value.get())
              : PyList_Append(positional.get(), value.get());
      if (failed < 0) throw PythonError();
    }
    const bool is_composite = op.kind == ops::OpKind::kComposite ||
                              (op.base != nullptr && op.base->kind == ops::OpKind::kComposite);
    const PyRef name(PyUnicode_FromString(op.schema.full_name().c_str()));
    const PyRef result(PyObject_CallFunctionObjArgs(run_op, name.get(),
                                                    is_composite ? Py_True : Py_False,
                                                    positional.get(), keywords.get(), nullptr));
    if (result.get() == Py_NotImplemented) return false;
    add_output(result.get(), outputs);
    return true;
  } catch (const PythonError&) {
    throw CarriedError::take();
  }
}

void run_sparse(const Op& op, ops::Args args, ops::Outputs& outputs) {
  if (!call_handler(op, args, outputs)) dispatch::call_below(Layer::kSparse, op, args, outputs);
}

// mindtorch::sparse_coo_tensor.
Tensor make_coo(const Tensor& indices, const Tensor& values, IntList sizes) {
  const GilHold gil;
  try {
    static PyObject* make = nullptr;
    imported(make, "mindtorch_v2.sparse._tensor", "make_coo");
    const PyRef places(wrap(indices));
    const PyRef entries(wrap(values));
    const PyRef size(wrap_tuple(sizes));
    const PyRef made(
        PyObject_CallFunctionObjArgs(make, places.get(), entries.get(), size.get(), nullptr));
    return unwrap(made.get());
  } catch (const PythonError&) {
    throw CarriedError::take();
  }
}

nb::object make_sparse(nb::type_object type, nb::handle size, nb::handle dtype, nb::handle device) {
  auto* const cls = reinterpret_cast<PyTypeObject*>(type.ptr());
  MT_CHECK(cls != g_tensor_type && PyType_IsSubtype(cls, g_tensor_type) != 0, TypeError,
           "expected a subclass of Tensor, not ", cls->tp_name);
  MT_CHECK(is_dtype(dtype.ptr()), TypeError, "expected a dtype");
  Shape sizes;
  MT_CHECK(to_int_list(size.ptr(), sizes), TypeError, "expected a size");
  Storage storage = StorageImpl::unallocated(0, to_device(device.ptr()));
  auto* const no_bytes = new NoBytes;
  storage->set_pending(no_bytes);
  Shape strides = contiguous_strides(sizes);
  Tensor made(IntrusivePtr<TensorImpl>::adopt(new TensorImpl(
      std::move(storage), to_dtype(dtype.ptr()), std::move(sizes), std::move(strides), 0)));
  made.impl()->layers = dispatch::bit(Layer::kSparse);
  no_bytes->tensor = wrap_as(cls, std::move(made));
  return nb::steal(no_bytes->tensor);
}

void resize_sparse(nb::handle object, nb::handle size) {
  const Tensor& tensor = tensor_argument(object.ptr(), "_resize_sparse", "tensor");
  MT_CHECK((tensor.impl()->layers & dispatch::bit(Layer::kSparse)) != 0, TypeError,
           "expected a sparse tensor");
  Shape sizes;
  MT_CHECK(to_int_list(size.ptr(), sizes), TypeError, "expected a size");
  Shape strides = contiguous_strides(sizes);
  tensor.impl()->set_sizes_and_strides(std::move(sizes), std::move(strides));
}

}  // namespace

void bind_sparse(nb::module_& module) {
  module.def("_make_sparse", &make_sparse, nb::arg("cls"), nb::arg("size"), nb::arg("dtype"),
             nb::arg("device"), "A tensor without bytes, as an instance of `cls`.");
  module.def("_resize_sparse", &resize_sparse, nb::arg("tensor"), nb::arg("size"));
  dispatch::install_layer(Layer::kSparse, &run_sparse);
  install_coo_maker(&make_coo);
}

}  // namespace mindtorch::python
