// Python's buffer protocol, both ways, and tensors as nested lists.
#include "bindings/interop/interop.h"

#include <cstring>
#include <vector>

#include "bindings/args/arguments.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::python {
namespace {

// struct's code of a dtype; null where it has none.
const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "?";
    case DType::kUInt8:
      return "B";
    case DType::kInt8:
      return "b";
    case DType::kInt16:
      return "h";
    case DType::kInt32:
      return "i";
    case DType::kInt64:
      return sizeof(long) == 8 ? "l" : "q";
    case DType::kFloat16:
      return "e";
    case DType::kFloat32:
      return "f";
    case DType::kFloat64:
      return "d";
    case DType::kUInt16:
      return "H";
    case DType::kUInt32:
      return "I";
    case DType::kUInt64:
      return sizeof(long) == 8 ? "L" : "Q";
    case DType::kComplex64:
      return "Zf";
    case DType::kComplex128:
      return "Zd";
    default:
      break;
  }
  return nullptr;
}

// What a buffer of a tensor refers to.
struct Exported {
  StorageExport memory;
  std::vector<Py_ssize_t> lists;  // sizes, then strides
};

int refuse(Py_buffer* view, const std::string& text) {
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, text.c_str());
  return -1;
}

// An exported Python buffer; needs the GIL to be destroyed.
struct HeldBuffer {
  Py_buffer view{};
  HeldBuffer() = default;
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  ~HeldBuffer() { PyBuffer_Release(&view); }
};

void release_held_buffer(void* context) {
  if (Py_IsInitialized() == 0) return;  // the interpreter took all objects with it
  const GilHold gil;
  delete static_cast<HeldBuffer*>(context);
}

// Memory of others may be unaligned, and their bools any byte.
template <typename T>
PyObject* number_at(const T* place) {
  if constexpr (std::is_same_v<T, bool>) {
    return PyBool_FromLong(*reinterpret_cast<const uint8_t*>(place) != 0);
  } else {
    T value{};
    std::memcpy(&value, place, sizeof(T));
    return wrap_scalar(read_element(&value, DTypeOf<T>::value));
  }
}

template <typename T>
PyObject* list_of(const Tensor& tensor, size_t dim, const T* data) {
  if (dim == tensor.sizes().size()) return PyRef(number_at(data)).release();
  const int64_t size = tensor.sizes()[dim];
  const int64_t stride = tensor.strides()[dim];
  PyRef list(PyList_New(static_cast<Py_ssize_t>(size)));
  for (int64_t i = 0; i < size; ++i) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                    list_of(tensor, dim + 1, data + i * stride));
  }
  return list.release();
}

}  // namespace

PyObject* tensor_to_list(const Tensor& tensor) {
  MT_CHECK(!tensor.device().is_meta(), NotImplementedError,
           "Cannot copy out of meta tensor; no data!");
  const Tensor local =
      tensor.device().is_cpu()
          ? tensor
          : mindtorch::_to_copy(tensor, std::nullopt, Device(DeviceType::kCpu), false, false);
  return visit_any_dtype(local.dtype(),
                         [&]<typename T>() { return list_of<T>(local, 0, local.data<T>()); });
}

static int fill_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& tensor = unwrap(self);
  // NumPy then asks __array__, which tells why.
  MT_CHECK(!autograd::requires_grad(unwrap(self)), BufferError,
           "a tensor that requires grad gives its memory to nobody: use tensor.detach()");
  const auto wants = [&](int flag) { return (flags & flag) == flag; };
  if (!tensor.device().is_cpu()) {
    return refuse(view, "a tensor on " + tensor.device().str() + " has no Python buffer");
  }
  const char* format = format_of(tensor.dtype());
  if (format == nullptr) {
    return refuse(view, "Python buffers have no format for " + std::string(name(tensor.dtype())));
  }
  const auto ndim = static_cast<size_t>(tensor.dim());
  Shape reversed_sizes(tensor.sizes());
  Shape reversed_strides(tensor.strides());
  std::reverse(reversed_sizes.begin(), reversed_sizes.end());
  std::reverse(reversed_strides.begin(), reversed_strides.end());
  const bool fortran = is_contiguous(reversed_sizes, reversed_strides);
  const bool needs_c = wants(PyBUF_C_CONTIGUOUS) || !wants(PyBUF_STRIDES);
  if ((needs_c && !tensor.is_contiguous()) || (wants(PyBUF_F_CONTIGUOUS) && !fortran) ||
      (wants(PyBUF_ANY_CONTIGUOUS) && !fortran && !tensor.is_contiguous())) {
    return refuse(view, "the tensor is not contiguous");
  }
  void* const data = tensor.data_ptr();  // runs pending ops, and raises their error
  auto* exported = new Exported{StorageExport(tensor.storage()), {}};
  exported->lists.resize(2 * ndim);
  Py_ssize_t* lists = exported->lists.data();
  for (size_t i = 0; i < ndim; ++i) {
    lists[i] = tensor.sizes()[i];
    lists[ndim + i] = tensor.strides()[i] * tensor.element_size();
  }
  static char nothing[8];
  view->buf = data == nullptr ? nothing : data;
  view->obj = Py_NewRef(self);
  view->len = tensor.numel() * tensor.element_size();
  view->readonly = 0;
  // Who asks for no shape gets a row: memoryview reads as many sizes as there are dims.
  const bool plain = !wants(PyBUF_ND) && !wants(PyBUF_FORMAT);
  view->itemsize = plain ? 1 : tensor.element_size();
  view->ndim = wants(PyBUF_ND) ? static_cast<int>(ndim) : 1;
  view->format = wants(PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
  view->shape = wants(PyBUF_ND) ? lists : nullptr;
  view->strides = wants(PyBUF_STRIDES) ? lists + ndim : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported;
  return 0;
}

int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded_int([&] { return fill_buffer(self, view, flags); });
}

void tensor_release_buffer(PyObject*, Py_buffer* view) {
  delete static_cast<Exported*>(view->internal);
}

Tensor tensor_from_buffer(PyObject* buffer, DType dtype, int64_t count, int64_t offset) {
  MT_CHECK(PyObject_CheckBuffer(buffer) != 0, ValueError,
           "object does not implement Python buffer protocol.");
  auto held = std::make_unique<HeldBuffer>();
  if (PyObject_GetBuffer(buffer, &held->view, PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(buffer, &held->view, PyBUF_SIMPLE) < 0) {
      PyErr_Clear();
      MT_THROW(RuntimeError, "could not retrieve buffer from object");
    }
    static bool warned = false;
    if (!warned) {
      warned = true;
      warn(
          "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
          "This means you can write to the underlying (supposedly non-writable) buffer using the "
          "tensor. You may want to copy the buffer to protect its data or make it writable before "
          "converting it to a tensor. This type of warning will be suppressed for the rest of "
          "this program.");
    }
  }
  void* data = held->view.buf;
  const int64_t length = held->view.len;
  // From here on the storage gives the buffer back, whatever happens.
  Storage storage = StorageImpl::borrow(static_cast<char*>(data) + (offset > 0 ? offset : 0),
                                        static_cast<size_t>(std::max<int64_t>(length - offset, 0)),
                                        DeviceType::kCpu, &release_held_buffer, held.release());
  const int64_t itemsize = size_bytes(dtype);
  MT_CHECK(length > 0 && count != 0, ValueError, "both buffer length (", length, ") and count (",
           count, ") must not be 0");
  MT_CHECK(offset >= 0 && offset < length, ValueError, "offset (", offset,
           " bytes) must be non-negative and no greater than buffer length (", length,
           " bytes) minus 1");
  MT_CHECK(count > 0 || (length - offset) % itemsize == 0, ValueError, "buffer length (",
           length - offset, " bytes) after offset (", offset,
           " bytes) must be a multiple of element size (", itemsize, ")");
  const int64_t elements = count > 0 ? count : (length - offset) / itemsize;
  MT_CHECK(elements <= (length - offset) / itemsize, ValueError, "requested buffer length (",
           elements, " * ", itemsize, " bytes) after offset (", offset,
           " bytes) must not be greater than actual buffer length (", length, " bytes)");
  return Tensor::over(std::move(storage), dtype, {elements}, {1}, 0);
}

}  // namespace mindtorch::python
