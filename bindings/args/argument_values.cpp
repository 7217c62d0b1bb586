// Python objects as numbers, lists of numbers and dtypes.
#include <algorithm>
#include <cstring>

#include "bindings/args/arguments.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::python {
namespace {

constexpr const char* kOverflow = "Overflow when unpacking long long";

bool is_number_type(PyObject* object) {
  const PyNumberMethods* number = Py_TYPE(object)->tp_as_number;
  return number != nullptr && (number->nb_index != nullptr || number->nb_float != nullptr) &&
         !is_tensor(object) && Py_TYPE(object)->tp_as_sequence == nullptr;
}

// NumPy's scalars: numbers that are neither float nor int.
bool is_foreign_number(PyObject* object) {
  if (!is_number_type(object)) {
    // np.generic has sequence slots; it is recognised by dtype and an empty shape.
    const char* name = Py_TYPE(object)->tp_name;
    return std::strncmp(name, "numpy.", 6) == 0 && std::strcmp(name, "numpy.ndarray") != 0 &&
           Py_TYPE(object)->tp_as_number != nullptr &&
           Py_TYPE(object)->tp_as_number->nb_float != nullptr;
  }
  return true;
}

// torch tells ints that fit 64 bits without a sign from larger ones.
[[noreturn]] void refuse_big_int(PyObject* object) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow > 0) {
    PyLong_AsUnsignedLongLong(object);
    MT_CHECK(PyErr_Occurred() != nullptr, RuntimeError,
             "value cannot be converted to type int64_t without overflow");
    PyErr_Clear();
  }
  PyErr_SetString(PyExc_OverflowError, "int too big to convert");
  throw PythonError();
}

}  // namespace

Scalar read_item(const Tensor& tensor) {
  if (!tensor.device().is_cpu()) return item(tensor);
  return read_element(tensor.data_ptr(), tensor.dtype());
}

PyObject* wrap_scalar(const Scalar& scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::kBool:
      return PyBool_FromLong(scalar.to_bool());
    case Scalar::Kind::kInt:
      return PyLong_FromLongLong(scalar.to_int());
    case Scalar::Kind::kUnsigned:
      return PyLong_FromUnsignedLongLong(scalar.to<uint64_t>());
    case Scalar::Kind::kFloat:
      return PyFloat_FromDouble(scalar.to_double());
    case Scalar::Kind::kComplex:
      return PyComplex_FromDoubles(scalar.to_double(), scalar.imag());
  }
  return nullptr;
}

bool to_scalar(PyObject* object, Scalar& scalar) {
  if (PyFloat_Check(object)) {
    scalar = Scalar(PyFloat_AS_DOUBLE(object));
    return true;
  }
  if (PyBool_Check(object)) {
    scalar = Scalar(object == Py_True);
    return true;
  }
  if (PyLong_Check(object)) {
    int over = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &over);
    if (over != 0) refuse_big_int(object);
    scalar = Scalar(static_cast<int64_t>(value));
    return true;
  }
  if (PyComplex_Check(object)) {  // NumPy's complex128, too
    const Py_complex value = PyComplex_AsCComplex(object);
    scalar = Scalar(std::complex<double>(value.real, value.imag));
    return true;
  }
  if (is_tensor(object) || PyUnicode_Check(object) || !is_foreign_number(object)) return false;
  if (std::strncmp(Py_TYPE(object)->tp_name, "numpy.complex", 13) == 0) {
    const Py_complex value = PyComplex_AsCComplex(object);
    if (PyErr_Occurred() != nullptr) throw PythonError();
    scalar = Scalar(std::complex<double>(value.real, value.imag));
    return true;
  }
  if (std::strncmp(Py_TYPE(object)->tp_name, "numpy.bool", 10) == 0) {
    scalar = Scalar(is_true(object));
    return true;
  }
  if (PyIndex_Check(object)) {
    PyObject* number = PyNumber_Index(object);
    if (number == nullptr) throw PythonError();
    const bool ok = to_scalar(number, scalar);
    Py_DECREF(number);
    return ok;
  }
  PyObject* number = PyNumber_Float(object);
  if (number == nullptr) {
    PyErr_Clear();
    return false;
  }
  scalar = Scalar(PyFloat_AS_DOUBLE(number));
  Py_DECREF(number);
  return true;
}

namespace {

enum class Read { kNo, kYes, kOverflow };

Read read_long(PyObject* number, int64_t& value) {
  int over = 0;
  value = PyLong_AsLongLongAndOverflow(number, &over);
  return over == 0 ? Read::kYes : Read::kOverflow;
}

Read read_int(PyObject* object, int64_t& value) {
  if (PyLong_CheckExact(object) || (PyLong_Check(object) && !PyBool_Check(object))) {
    return read_long(object, value);
  }
  if (PyBool_Check(object) || PyFloat_Check(object)) return Read::kNo;
  if (is_tensor(object)) {
    const Tensor& tensor = unwrap(object);
    if (tensor.numel() != 1 || !is_integral(tensor.dtype()) || tensor.device().is_meta()) {
      return Read::kNo;
    }
    value = read_item(tensor).to_int();
    return Read::kYes;
  }
  if (!PyIndex_Check(object)) return Read::kNo;
  const PyRef number = PyRef::maybe(PyNumber_Index(object));
  return number ? read_long(number.get(), value) : Read::kNo;
}

// Reading those runs no Python code.
bool has_only_ints(PyObject* list_or_tuple) {
  PyObject** const entries = PySequence_Fast_ITEMS(list_or_tuple);
  return std::all_of(entries, entries + PySequence_Fast_GET_SIZE(list_or_tuple),
                     [](PyObject* entry) { return PyLong_CheckExact(entry); });
}

}  // namespace

bool to_int(PyObject* object, int64_t& value) {
  const Read read = read_int(object, value);
  MT_CHECK(read != Read::kOverflow, ValueError, kOverflow);
  return read == Read::kYes;
}

bool to_int_entry(PyObject* object, int64_t& value, size_t position) {
  const Read read = read_int(object, value);
  MT_CHECK(read != Read::kOverflow, TypeError, "failed to unpack the object at pos ", position + 1,
           " with error \"", kOverflow, "\"");
  return read == Read::kYes;
}

bool to_int_list(PyObject* object, Shape& list) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  PyRef held;
  if (!has_only_ints(object)) {
    held = frozen(object);
    object = held.get();
  }
  const auto size = static_cast<size_t>(PySequence_Fast_GET_SIZE(object));
  list.resize(size);
  for (size_t i = 0; i < size; ++i) {
    PyObject* entry = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
    if (!to_int_entry(entry, list[i], i)) return false;
  }
  return true;
}

bool to_dtype_like(PyObject* object, DType& dtype) {
  if (MT_LIKELY(is_dtype(object))) {
    dtype = to_dtype(object);
  } else if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    dtype = DType::kFloat64;
  } else if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) {
    dtype = DType::kComplex128;
  } else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    dtype = DType::kInt64;
  } else if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    dtype = DType::kBool;
  } else {
    return false;
  }
  return true;
}

}  // namespace mindtorch::python
