// Operators of class Tensor: a + b, -a, a < b, bool(a), for x in a.
#include "bindings/args/arguments.h"
#include "bindings/interop/interop.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/ops/op_function.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/batching/batched.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::python {
namespace {

constexpr int64_t kReleaseGil = 16 * 1024;  // elements

// One side of an operator: a tensor, or a number made into one.
struct Operand {
  const Tensor* tensor = nullptr;
  Tensor number;

  bool read(PyObject* object) {
    if (MT_LIKELY(is_tensor(object))) {
      tensor = &unwrap(object);
      return true;
    }
    Scalar scalar;
    if (!to_scalar(object, scalar)) return false;
    number = Tensor::wrapped_number(scalar);
    tensor = &number;
    return true;
  }
};

// Extra arguments of the op behind an operator, after its two operands.
enum class Extra { kNone, kAlpha };

PyObject* binary(const ops::Op& op, PyObject* a, PyObject* b, Extra extra = Extra::kNone) {
  return guarded([&]() -> PyObject* {
    Operand left;
    Operand right;
    if (!left.read(a) || !right.read(b)) Py_RETURN_NOTIMPLEMENTED;
    const ops::Value args[] = {*left.tensor, *right.tensor, Scalar(1)};
    const bool large = left.tensor->numel() >= kReleaseGil || right.tensor->numel() >= kReleaseGil;
    return call_op(op, {args, extra == Extra::kAlpha ? size_t{3} : size_t{2}}, large);
  });
}

PyObject* unary(const ops::Op& op, PyObject* a) {
  return guarded([&]() -> PyObject* {
    const Tensor& self = unwrap(a);
    const ops::Value args[] = {self};
    return call_op(op, args, self.numel() >= kReleaseGil);
  });
}

#define MT_BINARY(function, op_name, ...)                   \
  PyObject* function(PyObject* a, PyObject* b) {            \
    static const ops::Op& op = ops::registry().at(op_name); \
    return binary(op, a, b, ##__VA_ARGS__);                 \
  }
#define MT_UNARY(function, op_name)                         \
  PyObject* function(PyObject* a) {                         \
    static const ops::Op& op = ops::registry().at(op_name); \
    return unary(op, a);                                    \
  }

MT_BINARY(add, "add.Tensor", Extra::kAlpha)
MT_BINARY(sub, "sub.Tensor", Extra::kAlpha)
MT_BINARY(floor_divide, "floor_divide")
MT_BINARY(remainder, "remainder.Tensor")
MT_BINARY(bitwise_and, "bitwise_and.Tensor")
MT_BINARY(bitwise_or, "bitwise_or.Tensor")
MT_BINARY(bitwise_xor, "bitwise_xor.Tensor")
MT_BINARY(left_shift, "bitwise_left_shift.Tensor")
MT_BINARY(right_shift, "bitwise_right_shift.Tensor")
MT_BINARY(add_, "add_.Tensor", Extra::kAlpha)
MT_BINARY(sub_, "sub_.Tensor", Extra::kAlpha)
MT_BINARY(mul_, "mul_.Tensor")
MT_BINARY(true_divide_, "div_.Tensor")
MT_BINARY(floor_divide_, "floor_divide_")
MT_BINARY(remainder_, "remainder_.Tensor")
MT_BINARY(bitwise_and_, "bitwise_and_.Tensor")
MT_BINARY(bitwise_or_, "bitwise_or_.Tensor")
MT_BINARY(bitwise_xor_, "bitwise_xor_.Tensor")
MT_BINARY(left_shift_, "bitwise_left_shift_.Tensor")
MT_BINARY(right_shift_, "bitwise_right_shift_.Tensor")
MT_UNARY(negative, "neg")
MT_UNARY(absolute, "abs")

// 2 * a is a * 2: the order matters where a product in a 16-bit float takes its second operand
// unrounded.
PyObject* mul(PyObject* a, PyObject* b) {
  static const ops::Op& op = ops::registry().at("mul.Tensor");
  return is_tensor(a) ? binary(op, a, b) : binary(op, b, a);
}
// torch computes 2 / a as a.reciprocal() * 2, which rounds twice.
PyObject* true_divide(PyObject* a, PyObject* b) {
  static const ops::Op& op = ops::registry().at("div.Tensor");
  static const ops::Op& reciprocal = ops::registry().at("reciprocal");
  if (is_tensor(a)) return binary(op, a, b);
  return guarded([&]() -> PyObject* {
    Scalar number;
    if (!to_scalar(a, number)) Py_RETURN_NOTIMPLEMENTED;
    const PyRef inverse(unary(reciprocal, b));
    return mul(inverse.get(), a);
  });
}

PyObject* matmul(PyObject* a, PyObject* b) {
  static const ops::Op& op = ops::registry().at("matmul");
  if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
  return binary(op, a, b);
}

PyObject* invert(PyObject* a) {
  static const ops::Op& op = ops::registry().at("bitwise_not");
  if (is_differentiable(unwrap(a).dtype())) {
    PyErr_SetString(PyExc_TypeError,
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return nullptr;
  }
  return unary(op, a);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  static const ops::Op& op = ops::registry().at("pow.Tensor_Tensor");
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary(op, a, b);
}
PyObject* power_(PyObject* a, PyObject* b, PyObject*) {
  static const ops::Op& op = ops::registry().at("pow_.Tensor_Tensor");
  return binary(op, a, b);
}
PyObject* positive(PyObject* a) {
  if (unwrap(a).dtype() == DType::kBool) {
    PyErr_SetString(PyExc_RuntimeError, "The `+` operator, on a bool tensor is not supported.");
    return nullptr;
  }
  return Py_NewRef(a);
}

Scalar single_value(PyObject* self) {
  const Tensor& tensor = unwrap(self);
  MT_CHECK(tensor.numel() == 1, ValueError,
           "only one element tensors can be converted to Python scalars");
  return mindtorch::item(tensor);
}

// Of a complex number: its real part, where that is all of it.
Scalar single_real(PyObject* self, const char* type) {
  const Scalar value = single_value(self);
  MT_CHECK(value.imag() == 0, RuntimeError, "value cannot be converted to type ", type,
           " without overflow");
  return value.is_complex() ? Scalar(value.to_double()) : value;
}

int truth(PyObject* self) {
  return guarded_int([&] {
    const Tensor& tensor = unwrap(self);
    MT_CHECK(tensor.numel() == 1, RuntimeError, "Boolean value of Tensor with ",
             tensor.numel() == 0 ? "no values" : "more than one value", " is ambiguous");
    MT_CHECK(!batching::is_batched(tensor), RuntimeError,
             "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
             "flow. We don't support that yet, please file an issue at "
             "https://github.com/pytorch/pytorch/issues .");
    return mindtorch::item(tensor).to_bool() ? 1 : 0;
  });
}
PyObject* to_python_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Scalar value = single_real(self, "int64_t");
    if (value.is_integral()) return wrap_scalar(value);
    return PyLong_FromDouble(value.to_double());  // raises on NaN and infinity, as Python does
  });
}
PyObject* to_python_float(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(single_real(self, "double").to_double()); });
}
PyObject* to_index(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    MT_CHECK(tensor.numel() == 1 && is_integral(tensor.dtype(), true), TypeError,
             "only integer tensors of a single element can be converted to an index");
    return PyLong_FromLongLong(single_value(self).to_int());
  });
}

}  // namespace

PyNumberMethods g_tensor_number = {
    .nb_add = &add,
    .nb_subtract = &sub,
    .nb_multiply = &mul,
    .nb_remainder = &remainder,
    .nb_power = &power,
    .nb_negative = &negative,
    .nb_positive = &positive,
    .nb_absolute = &absolute,
    .nb_bool = &truth,
    .nb_invert = &invert,
    .nb_lshift = &left_shift,
    .nb_rshift = &right_shift,
    .nb_and = &bitwise_and,
    .nb_xor = &bitwise_xor,
    .nb_or = &bitwise_or,
    .nb_int = &to_python_int,
    .nb_float = &to_python_float,
    .nb_inplace_add = &add_,
    .nb_inplace_subtract = &sub_,
    .nb_inplace_multiply = &mul_,
    .nb_inplace_remainder = &remainder_,
    .nb_inplace_power = &power_,
    .nb_inplace_lshift = &left_shift_,
    .nb_inplace_rshift = &right_shift_,
    .nb_inplace_and = &bitwise_and_,
    .nb_inplace_xor = &bitwise_xor_,
    .nb_inplace_or = &bitwise_or_,
    .nb_floor_divide = &floor_divide,
    .nb_true_divide = &true_divide,
    .nb_inplace_floor_divide = &floor_divide_,
    .nb_inplace_true_divide = &true_divide_,
    .nb_index = &to_index,
    .nb_matrix_multiply = &matmul,
};

PyObject* tensor_compare(PyObject* a, PyObject* b, int operation) {
  static const ops::Op* const kOps[] = {
      &ops::registry().at("lt.Tensor"), &ops::registry().at("le.Tensor"),
      &ops::registry().at("eq.Tensor"), &ops::registry().at("ne.Tensor"),
      &ops::registry().at("gt.Tensor"), &ops::registry().at("ge.Tensor"),
  };
  if (MT_UNLIKELY(is_ndarray(b))) {
    return guarded([&] {
      const PyRef other(wrap(tensor_from_numpy(b)));
      return binary(*kOps[operation], a, other.get());
    });
  }
  return binary(*kOps[operation], a, b);
}

PyObject* tensor_iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = unwrap(self);
    MT_CHECK(tensor.dim() > 0, TypeError, "iteration over a 0-d tensor");
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(tensor.sizes()[0]));
    if (list == nullptr) return nullptr;
    for (int64_t i = 0; i < tensor.sizes()[0]; ++i) {
      PyObject* entry = wrap(mindtorch::select(tensor, 0, i));
      if (entry == nullptr) {
        Py_DECREF(list);
        return nullptr;
      }
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), entry);
    }
    PyObject* iterator = PyObject_GetIter(list);
    Py_DECREF(list);
    return iterator;
  });
}

}  // namespace mindtorch::python
