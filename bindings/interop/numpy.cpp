// NumPy without its headers: arrays are read and made through the array interface's C structure,
// which NumPy documents for exactly this.
#include "bindings/interop/interop.h"

#include <climits>
#include <cstring>
#include <memory>

#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::python {
namespace {

// What the capsule in __array_struct__ points at.
struct ArrayInterface {
  int two;  // always 2
  int nd;
  char typekind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  void* data;
  PyObject* descr;
};
constexpr int kAligned = 0x100;
constexpr int kNotSwapped = 0x200;
constexpr int kWriteable = 0x400;

std::optional<DType> dtype_of(char kind, int itemsize) {
  switch (kind) {
    case 'b':
      if (itemsize == 1) return DType::kBool;
      break;
    case 'u':
      if (itemsize == 1) return DType::kUInt8;
      if (itemsize == 2) return DType::kUInt16;
      if (itemsize == 4) return DType::kUInt32;
      if (itemsize == 8) return DType::kUInt64;
      break;
    case 'c':
      if (itemsize == 8) return DType::kComplex64;
      if (itemsize == 16) return DType::kComplex128;
      break;
    case 'i':
      if (itemsize == 1) return DType::kInt8;
      if (itemsize == 2) return DType::kInt16;
      if (itemsize == 4) return DType::kInt32;
      if (itemsize == 8) return DType::kInt64;
      break;
    case 'f':
      if (itemsize == 2) return DType::kFloat16;
      if (itemsize == 4) return DType::kFloat32;
      if (itemsize == 8) return DType::kFloat64;
      break;
    default:
      break;
  }
  return std::nullopt;
}

char kind_of(DType dtype) {
  if (dtype == DType::kBool) return 'b';
  if (is_complex(dtype)) return 'c';
  if (is_floating_point(dtype)) return 'f';
  return is_signed(dtype) ? 'i' : 'u';
}

PyTypeObject* type_of(const char* name) {
  // An array exists only where NumPy was imported, so it need not be imported to recognise one.
  PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (numpy == nullptr) return nullptr;
  PyObject* type = PyObject_GetAttrString(numpy, name);  // kept for good
  if (type == nullptr) PyErr_Clear();
  return reinterpret_cast<PyTypeObject*>(type);
}

bool is_instance(PyObject* object, const char* name, PyTypeObject*& cached) {
  if (std::strncmp(Py_TYPE(object)->tp_name, "numpy.", 6) != 0 &&
      (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
    return false;
  }
  if (cached == nullptr) cached = type_of(name);
  return cached != nullptr && PyObject_TypeCheck(object, cached);
}

bool is_numpy_scalar(PyObject* object) {
  static PyTypeObject* generic = nullptr;
  return is_instance(object, "generic", generic);
}

void warn_read_only() {
  static bool warned = false;
  if (warned) return;
  warned = true;
  warn(
      "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
      "This means writing to this tensor will result in undefined behavior. You may want to copy "
      "the array to protect its data or make it writable before converting it to a tensor. This "
      "type of warning will be suppressed for the rest of this program.");
}

[[noreturn]] void unsupported_dtype(PyObject* array) {
  const PyRef dtype(PyObject_GetAttrString(array, "dtype"));
  const PyRef type(PyObject_GetAttrString(dtype.get(), "type"));
  MT_THROW(
      TypeError, "can't convert np.ndarray of type ",
      PyType_Check(type.get()) ? reinterpret_cast<PyTypeObject*>(type.get())->tp_name : "?",
      ". The only supported types are: float64, float32, float16, complex64, complex128, int64, "
      "int32, int16, int8, uint64, uint32, uint16, uint8, and bool.");
}

// From anything with __array_struct__.
Tensor tensor_from_struct(PyObject* array) {
  const PyRef capsule(
      call_python([&] { return PyObject_GetAttrString(array, "__array_struct__"); }));
  const auto* interface =
      static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.get(), nullptr));
  if (interface == nullptr) throw PythonError();
  MT_CHECK(
      interface->two == 2 && interface->nd >= 0 && interface->nd <= kMaxArrayDims &&
          interface->itemsize >= 0 &&
          (interface->nd == 0 || (interface->shape != nullptr && interface->strides != nullptr)),
      ValueError, "__array_struct__ does not point at an array interface");
  Shape sizes(static_cast<size_t>(interface->nd), 0);
  Shape strides(static_cast<size_t>(interface->nd), 0);
  const auto itemsize = static_cast<int64_t>(interface->itemsize);
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = interface->shape[i];
    const int64_t stride = interface->strides[i];
    MT_CHECK(stride >= 0, ValueError,
             "At least one stride in the given numpy array is negative, and tensors with negative "
             "strides are not currently supported. (You can probably work around this by making a "
             "copy of your array  with array.copy().) ");
    MT_CHECK(itemsize > 0 && stride % itemsize == 0, ValueError,
             "given numpy array strides not a multiple of the element byte size. Copy the numpy "
             "array to reallocate the memory.");
    strides[i] = stride / itemsize;
  }
  const std::optional<DType> dtype = dtype_of(interface->typekind, interface->itemsize);
  // Types without a byte order (objects, strings of bytes) count as not swapped.
  MT_CHECK((interface->flags & kNotSwapped) != 0 || !dtype, ValueError,
           "given numpy array has byte order different from the native byte order. Conversion "
           "between byte orders is currently not supported.");
  if (!dtype) unsupported_dtype(array);
  if ((interface->flags & kWriteable) == 0 && is_ndarray(array)) warn_read_only();
  numel(sizes);  // throws where there is a negative size
  int64_t bytes = 0;
  MT_CHECK(!__builtin_mul_overflow(extent(sizes, strides), itemsize, &bytes) &&
               (bytes == 0 || interface->data != nullptr),
           ValueError, "the array has more elements than memory");
  Storage storage =
      StorageImpl::borrow(interface->data, static_cast<size_t>(bytes), DeviceType::kCpu,
                          &release_python_reference, Py_NewRef(array));
  return Tensor::over(std::move(storage), *dtype, sizes, strides, 0);
}

// Hands a tensor's memory to numpy.asarray; the array's `base`.
struct ArrayMemory {
  PyObject_HEAD PyObject* tensor;
  StorageExport* memory;
};
PyTypeObject* g_memory_type = nullptr;

void free_interface(PyObject* capsule) { std::free(PyCapsule_GetPointer(capsule, nullptr)); }

PyObject* memory_struct(PyObject* self, void*) {
  const Tensor& tensor = unwrap(reinterpret_cast<ArrayMemory*>(self)->tensor);
  const auto ndim = static_cast<size_t>(tensor.dim());
  void* block = std::malloc(sizeof(ArrayInterface) + 2 * ndim * sizeof(Py_ssize_t));
  if (block == nullptr) return PyErr_NoMemory();
  auto* interface = static_cast<ArrayInterface*>(block);
  auto* shape = reinterpret_cast<Py_ssize_t*>(interface + 1);
  for (size_t i = 0; i < ndim; ++i) {
    shape[i] = tensor.sizes()[i];
    shape[ndim + i] = tensor.strides()[i] * tensor.element_size();
  }
  // NumPy takes null for a request to allocate; an empty tensor may have no memory.
  static char nothing[8];
  void* data = tensor.data_ptr();
  *interface = {2,
                static_cast<int>(ndim),
                kind_of(tensor.dtype()),
                static_cast<int>(tensor.element_size()),
                kAligned | kNotSwapped | kWriteable,
                shape,
                shape + ndim,
                data == nullptr ? nothing : data,
                nullptr};
  PyObject* capsule = PyCapsule_New(block, nullptr, &free_interface);
  if (capsule == nullptr) std::free(block);
  return capsule;
}

void memory_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<ArrayMemory*>(self)->memory;
  Py_DECREF(reinterpret_cast<ArrayMemory*>(self)->tensor);
  PyObject_Free(self);
  Py_DECREF(type);
}

void make_memory_type() {
  static PyGetSetDef attributes[] = {
      {"__array_struct__", &memory_struct, nullptr, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(&memory_dealloc)},
      {Py_tp_getset, attributes},
      {Py_tp_doc, const_cast<char*>("The memory of a tensor, for NumPy.")},
      {0, nullptr},
  };
  PyType_Spec spec = {"mindtorch_v2._C._ArrayMemory", sizeof(ArrayMemory), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  g_memory_type = reinterpret_cast<PyTypeObject*>(PyRef(PyType_FromSpec(&spec)).release());
}

PyRef as_array(PyObject* data) {
  static PyObject* asarray = nullptr;
  imported(asarray, "numpy", "asarray");
  return PyRef(call_python([&] { return PyObject_CallOneArg(asarray, data); }));
}

}  // namespace

bool is_ndarray(PyObject* object) {
  static PyTypeObject* ndarray = nullptr;
  return is_instance(object, "ndarray", ndarray);
}

Tensor tensor_from_numpy(PyObject* array) {
  MT_CHECK(is_ndarray(array), TypeError, "expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
  return tensor_from_struct(array);
}

Tensor tensor_from_array(PyObject* data) {
  if (is_ndarray(data) || is_numpy_scalar(data)) return tensor_from_struct(data);
  PyTypeObject* type = Py_TYPE(data);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 && PySequence_Check(data) != 0) return {};
  auto* type_object = reinterpret_cast<PyObject*>(type);
  if (PyObject_HasAttrString(type_object, "__dlpack__") != 0) return tensor_from_dlpack(data);
  if (PyObject_HasAttrString(type_object, "__array__") != 0 ||
      PyObject_HasAttrString(type_object, "__array_interface__") != 0) {
    return tensor_from_numpy(as_array(data).get());
  }
  return {};
}

PyObject* tensor_to_numpy(PyObject* tensor) {
  const Tensor& self = unwrap(tensor);
  MT_CHECK(!autograd::is_grad_enabled() || !autograd::requires_grad(self), RuntimeError,
           "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
  MT_CHECK(self.device().is_cpu(), TypeError, "can't convert ", self.device().str(),
           " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
           "first.");
  MT_CHECK(self.dtype() != DType::kBFloat16 && self.dtype() != DType::kComplex32 &&
               !is_float8(self.dtype()),
           TypeError, "Got unsupported ScalarType ", legacy_name(self.dtype()));
  if (g_memory_type == nullptr) make_memory_type();
  auto* memory = PyObject_New(ArrayMemory, g_memory_type);
  if (memory == nullptr) throw PythonError();
  memory->tensor = Py_NewRef(tensor);
  memory->memory = new StorageExport(self.storage());
  const PyRef owner(reinterpret_cast<PyObject*>(memory));
  return as_array(owner.get()).release();
}

}  // namespace mindtorch::python
