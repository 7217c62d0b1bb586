// Tensors from Python numbers and nested sequences.
#include <cstring>

#include "bindings/args/arguments.h"
#include "bindings/interop/interop.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::python {

namespace {

bool is_sequence(PyObject* object) {
  return PyList_Check(object) || PyTuple_Check(object) ||
         (PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
          !is_tensor(object) && std::strncmp(Py_TYPE(object)->tp_name, "numpy.", 6) != 0);
}

// A sequence as list or tuple, owned while it is read.
class FastSequence {
 public:
  explicit FastSequence(PyObject* object)
      : object_(PySequence_Fast(object, "expected a sequence")) {
    if (object_ == nullptr) throw PythonError();
  }
  ~FastSequence() { Py_DECREF(object_); }
  FastSequence(const FastSequence&) = delete;
  FastSequence& operator=(const FastSequence&) = delete;
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(object_); }
  PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(object_, i); }

 private:
  PyObject* object_;
};

constexpr size_t kMaxDepth = 128;

Shape infer_sizes(PyObject* data) {
  Shape sizes;
  PyObject* level = Py_NewRef(data);
  while (is_sequence(level)) {
    MT_CHECK(sizes.size() < kMaxDepth, ValueError, "too many dimensions '", Py_TYPE(level)->tp_name,
             "'");
    const Py_ssize_t size = PySequence_Size(level);
    if (size < 0) {
      Py_DECREF(level);
      throw PythonError();
    }
    sizes.push_back(size);
    if (size == 0) break;
    PyObject* first = PySequence_GetItem(level, 0);
    Py_DECREF(level);
    if (first == nullptr) throw PythonError();
    level = first;
  }
  const PyRef last(level);
  // A string is a sequence of strings, without end.
  MT_CHECK(sizes.empty() || (!PyUnicode_Check(level) && !PyBytes_Check(level)), ValueError,
           "too many dimensions '", Py_TYPE(level)->tp_name, "'");
  // A tensor counts as a number, as in torch; an array as a sequence.
  if (is_ndarray(level)) {
    for (const int64_t size : tensor_from_numpy(level).sizes()) sizes.push_back(size);
  }
  return sizes;
}

DType leaf_dtype(PyObject* leaf) {
  if (PyFloat_CheckExact(leaf)) return default_dtype();
  if (PyBool_Check(leaf)) return DType::kBool;
  if (PyLong_Check(leaf)) return DType::kInt64;
  if (is_tensor(leaf)) return unwrap(leaf).dtype();
  MT_CHECK(!PyUnicode_Check(leaf) && !PyBytes_Check(leaf), TypeError, "new(): invalid data type '",
           Py_TYPE(leaf)->tp_name, "'");
  MT_CHECK(!PyList_Check(leaf) && !PyTuple_Check(leaf), TypeError, "must be real number, not ",
           Py_TYPE(leaf)->tp_name);
  if (Tensor array = tensor_from_array(leaf); array.defined()) return array.dtype();
  if (PyFloat_Check(leaf)) return default_dtype();
  if (PyComplex_Check(leaf)) return complex_dtype(default_dtype());
  Scalar scalar;
  MT_CHECK(to_scalar(leaf, scalar), RuntimeError, "Could not infer dtype of ",
           Py_TYPE(leaf)->tp_name);
  return scalar.is_floating_point() ? default_dtype() : scalar.dtype();
}

DType infer_dtype(PyObject* data, size_t depth) {
  if (depth == 0 || !is_sequence(data)) return leaf_dtype(data);
  const FastSequence sequence(data);
  if (sequence.size() == 0) return default_dtype();
  const auto entry_dtype = [&](Py_ssize_t i) {
    const PyRef entry(Py_NewRef(sequence[i]));
    return infer_dtype(entry.get(), depth - 1);
  };
  DType dtype = entry_dtype(0);
  for (Py_ssize_t i = 1; i < sequence.size(); ++i) {
    dtype = promote_types(dtype, entry_dtype(i));
    if (dtype == DType::kComplex128) break;  // nothing is wider
  }
  return dtype;
}

template <typename T>
T read_leaf(PyObject* leaf) {
  Scalar scalar;
  constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  constexpr bool kIsComplex = is_complex(DTypeOf<T>::value);
  if (is_tensor(leaf)) {
    const bool is_number = unwrap(leaf).numel() == 1;
    MT_CHECK(is_number || !kIsInteger, TypeError,
             "only integer tensors of a single element can be converted to an index");
    MT_CHECK(is_number, ValueError, "only one element tensors can be converted to Python scalars");
    scalar = mindtorch::item(unwrap(leaf));
  } else if (PyLong_Check(leaf)) {
    int over = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(leaf, &over);
    scalar = value;
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (over > 0) {
        const uint64_t large = PyLong_AsUnsignedLongLong(leaf);
        if (PyErr_Occurred() == nullptr) return large;
        PyErr_Clear();
      }
    }
    if (over != 0) {
      MT_CHECK(!kIsInteger, ValueError, "Overflow when unpacking long long");
      scalar = PyLong_AsDouble(leaf);
      if (PyErr_Occurred() != nullptr) throw PythonError();
    }
  } else {
    MT_CHECK(to_scalar(leaf, scalar), TypeError,
             PyUnicode_Check(leaf)
                 ? "new(): invalid data type 'str'"
                 : detail::concat("must be real number, not ", Py_TYPE(leaf)->tp_name));
  }
  constexpr bool kTakesComplex = kIsComplex || std::is_same_v<T, bool>;
  MT_CHECK(kTakesComplex || !scalar.is_complex(), TypeError, "must be real number, not complex");
  if constexpr (kIsInteger) {
    MT_CHECK(ops::is_in_range(scalar, DTypeOf<T>::value), RuntimeError,
             "value cannot be converted to type ", name(DTypeOf<T>::value), " without overflow");
  }
  return scalar.to<T>();
}

template <typename T>
void store(PyObject* data, const Shape& sizes, size_t dim, T*& out) {
  if (dim == sizes.size()) {
    *out++ = read_leaf<T>(data);
    return;
  }
  if (is_ndarray(data)) {
    const Tensor source = tensor_from_numpy(data);
    const Tensor part = mindtorch::contiguous(
        mindtorch::_to_copy(source, DTypeOf<T>::value, Device(DeviceType::kCpu)));
    MT_CHECK(equal(part.sizes(), IntList(sizes).subspan(dim)), ValueError,
             "expected sequence of length ", sizes[dim], " at dim ", dim);
    std::copy_n(part.data<T>(), part.numel(), out);
    out += part.numel();
    return;
  }
  MT_CHECK(is_sequence(data), TypeError, "expected a sequence of length ", sizes[dim], " at dim ",
           dim, ", not ", Py_TYPE(data)->tp_name);
  const FastSequence sequence(data);
  MT_CHECK(sequence.size() == sizes[dim], ValueError, "expected sequence of length ", sizes[dim],
           " at dim ", dim, " (got ", sequence.size(), ")");
  for (Py_ssize_t i = 0; i < sizes[dim]; ++i) {
    // Reading an entry may run Python code, which may change the list.
    MT_CHECK(i < sequence.size(), ValueError, "expected sequence of length ", sizes[dim],
             " at dim ", dim, " (got ", sequence.size(), ")");
    const PyRef entry(Py_NewRef(sequence[i]));
    store(entry.get(), sizes, dim + 1, out);
  }
}

}  // namespace

// A new tensor with its own memory.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype) {
  if (is_tensor(data)) {
    return mindtorch::_to_copy(unwrap(data), dtype, std::nullopt, false, true);
  }
  if (!PyList_Check(data) && !PyTuple_Check(data) && !PyFloat_Check(data) && !PyLong_Check(data)) {
    if (Tensor array = tensor_from_array(data); array.defined()) {
      return mindtorch::_to_copy(array, dtype, std::nullopt, false, true);
    }
  }
  const Shape sizes = infer_sizes(data);
  const DType target = dtype ? *dtype : infer_dtype(data, sizes.size());
  const Tensor result = Tensor::make(sizes, target);
  visit_any_dtype(target, [&]<typename T>() {
    T* out = result.data<T>();
    if (result.numel() == 0 && !sizes.empty()) return;
    store<T>(data, sizes, 0, out);
  });
  return result;
}

}  // namespace mindtorch::python
