// Operators of class Tensor: a + b, -a, a < b, bool(a), for x in a.
#include "bindings/args/arguments.h"
#include "bindings/interop/interop.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/ops/op_function.h"
#include "bindings/overrides/torch_function.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/batching/batched.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::python {
namespace {

// One side of an operator: a tensor, or a number made into one.
struct Operand {
  const Tensor* tensor = nullptr;
  Tensor number;

  bool read(PyObject* object) {
    if (MT_LIKELY(is_native_tensor(object))) {
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

// The op behind an operator.
struct Operator {
  const char* op_name;
  // What an override is told was called: a method of Tensor, for tensor + x and for x + tensor.
  const char* method;
  const char* reflected;
  bool has_alpha = false;  // the op's third argument
};

// Lets the class of an operand, or a mode, handle the operator. Null: nobody does.
[[gnu::noinline]] PyObject* handle_operator(const char* method,
                                            const char* reflected,
                                            PyObject* a,
                                            PyObject* b) {
  const bool is_reflected = !is_tensor(a);
  PyObject* const args[] = {is_reflected ? b : a, is_reflected ? a : b};
  PyObject* result = nullptr;
  if (!handle_method(is_reflected ? reflected : method, args, 2, nullptr, result)) return nullptr;
  // As in torch, a handler that refuses the operands leaves them to the other one's operator.
  if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();
    return Py_NewRef(Py_NotImplemented);
  }
  if (result == nullptr) throw PythonError();
  return result;
}

PyObject* binary(const ops::Op& op, const Operator& operation, PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (MT_UNLIKELY(g_function_modes != 0)) {
      PyObject* const result = handle_operator(operation.method, operation.reflected, a, b);
      if (result != nullptr) return result;
    }
    Operand left;
    Operand right;
    if (MT_UNLIKELY(!left.read(a) || !right.read(b))) {
      PyObject* const result = handle_operator(operation.method, operation.reflected, a, b);
      return result != nullptr ? result : Py_NewRef(Py_NotImplemented);
    }
    const ops::Value args[] = {*left.tensor, *right.tensor, Scalar(1)};
    const bool large =
        left.tensor->numel() >= kReleaseGilElements || right.tensor->numel() >= kReleaseGilElements;
    return call_op(op, {args, operation.has_alpha ? size_t{3} : size_t{2}}, large);
  });
}

PyObject* run_unary(const ops::Op& op, PyObject* a) {
  const Tensor& self = unwrap(a);
  const ops::Value args[] = {self};
  return call_op(op, args, self.numel() >= kReleaseGilElements);
}

PyObject* unary(const ops::Op& op, const char* method, PyObject* a) {
  PyObject* result = nullptr;
  if (may_be_handled(a) && handle_method(method, &a, 1, nullptr, result)) return result;
  return guarded([&] { return run_unary(op, a); });
}

#define MT_BINARY(function, ...)                                      \
  PyObject* function(PyObject* a, PyObject* b) {                      \
    static constexpr Operator operation = {__VA_ARGS__};              \
    static const ops::Op& op = ops::registry().at(operation.op_name); \
    return binary(op, operation, a, b);                               \
  }
#define MT_UNARY(function, op_name, method)                 \
  PyObject* function(PyObject* a) {                         \
    static const ops::Op& op = ops::registry().at(op_name); \
    return unary(op, method, a);                            \
  }

MT_BINARY(add, "add.Tensor", "add", "add", true)
MT_BINARY(sub, "sub.Tensor", "sub", "__rsub__", true)
MT_BINARY(floor_divide, "floor_divide", "__floordiv__", "__rfloordiv__")
MT_BINARY(remainder, "remainder.Tensor", "remainder", "__rmod__")
MT_BINARY(bitwise_and, "bitwise_and.Tensor", "__and__", "bitwise_and")
MT_BINARY(bitwise_or, "bitwise_or.Tensor", "__or__", "bitwise_or")
MT_BINARY(bitwise_xor, "bitwise_xor.Tensor", "__xor__", "bitwise_xor")
MT_BINARY(left_shift, "bitwise_left_shift.Tensor", "__lshift__", "__rlshift__")
MT_BINARY(right_shift, "bitwise_right_shift.Tensor", "__rshift__", "__rrshift__")
MT_BINARY(add_, "add_.Tensor", "add_", nullptr, true)
MT_BINARY(sub_, "sub_.Tensor", "sub_", nullptr, true)
MT_BINARY(mul_, "mul_.Tensor", "mul_", nullptr)
MT_BINARY(true_divide_, "div_.Tensor", "div_", nullptr)
MT_BINARY(floor_divide_, "floor_divide_", "floor_divide_", nullptr)
MT_BINARY(remainder_, "remainder_.Tensor", "remainder_", nullptr)
MT_BINARY(bitwise_and_, "bitwise_and_.Tensor", "__iand__", nullptr)
MT_BINARY(bitwise_or_, "bitwise_or_.Tensor", "__ior__", nullptr)
MT_BINARY(bitwise_xor_, "bitwise_xor_.Tensor", "__ixor__", nullptr)
MT_BINARY(left_shift_, "bitwise_left_shift_.Tensor", "__ilshift__", nullptr)
MT_BINARY(right_shift_, "bitwise_right_shift_.Tensor", "__irshift__", nullptr)
MT_BINARY(multiply, "mul.Tensor", "mul", "mul")
MT_BINARY(divide, "div.Tensor", "div", "__rtruediv__")
MT_BINARY(matrix_multiply, "matmul", "matmul", "__rmatmul__")
MT_BINARY(to_power, "pow.Tensor_Tensor", "__pow__", "__rpow__")
MT_BINARY(to_power_, "pow_.Tensor_Tensor", "__ipow__", nullptr)
MT_UNARY(negative, "neg", "neg")
MT_UNARY(absolute, "abs", "abs")

// 2 * a is a * 2: the order matters where a product in a 16-bit float takes its second operand
// unrounded.
PyObject* mul(PyObject* a, PyObject* b) { return is_tensor(a) ? multiply(a, b) : multiply(b, a); }
// torch computes 2 / a as a.reciprocal() * 2, which rounds twice.
PyObject* true_divide(PyObject* a, PyObject* b) {
  static const ops::Op& reciprocal = ops::registry().at("reciprocal");
  if (is_tensor(a)) return divide(a, b);
  return guarded([&]() -> PyObject* {
    if (may_be_handled(b)) {
      PyObject* const result = handle_operator("div", "__rtruediv__", a, b);
      if (result != nullptr) return result;
    }
    Scalar number;
    if (!to_scalar(a, number)) return divide(a, b);  // which asks whether the class of `a` does it
    const PyRef inverse(run_unary(reciprocal, b));
    return mul(inverse.get(), a);
  });
}

PyObject* matmul(PyObject* a, PyObject* b) {
  if (MT_UNLIKELY(!is_tensor(a) || !is_tensor(b))) {
    return guarded([&] {
      PyObject* const result = handle_operator("matmul", "__rmatmul__", a, b);
      return result != nullptr ? result : Py_NewRef(Py_NotImplemented);
    });
  }
  return matrix_multiply(a, b);
}

PyObject* invert(PyObject* a) {
  static const ops::Op& op = ops::registry().at("bitwise_not");
  PyObject* result = nullptr;
  if (may_be_handled(a) && handle_method("__invert__", &a, 1, nullptr, result)) return result;
  if (is_differentiable(unwrap(a).dtype())) {
    PyErr_SetString(PyExc_TypeError,
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return nullptr;
  }
  return guarded([&] { return run_unary(op, a); });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return to_power(a, b);
}
PyObject* power_(PyObject* a, PyObject* b, PyObject*) { return to_power_(a, b); }
PyObject* positive(PyObject* a) {
  PyObject* result = nullptr;
  if (may_be_handled(a) && handle_method("positive", &a, 1, nullptr, result)) return result;
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
  if (PyObject* result = nullptr;
      may_be_handled(self) && handle_method("__bool__", &self, 1, nullptr, result)) {
    const int answer = result == nullptr ? -1 : PyObject_IsTrue(result);
    Py_XDECREF(result);
    return answer;
  }
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
  PyObject* handled = nullptr;
  if (may_be_handled(self) && handle_method("__int__", &self, 1, nullptr, handled)) return handled;
  return guarded([&]() -> PyObject* {
    const Scalar value = single_real(self, "int64_t");
    if (value.is_integral()) return wrap_scalar(value);
    return PyLong_FromDouble(value.to_double());  // raises on NaN and infinity, as Python does
  });
}
PyObject* to_python_float(PyObject* self) {
  PyObject* handled = nullptr;
  if (may_be_handled(self) && handle_method("__float__", &self, 1, nullptr, handled))
    return handled;
  return guarded([&] { return PyFloat_FromDouble(single_real(self, "double").to_double()); });
}
PyObject* to_index(PyObject* self) {
  PyObject* handled = nullptr;
  if (may_be_handled(self) && handle_method("__index__", &self, 1, nullptr, handled))
    return handled;
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
  static constexpr Operator kOperators[] = {
      {"lt.Tensor", "lt", nullptr}, {"le.Tensor", "le", nullptr}, {"eq.Tensor", "__eq__", nullptr},
      {"ne.Tensor", "ne", nullptr}, {"gt.Tensor", "gt", nullptr}, {"ge.Tensor", "ge", nullptr},
  };
  if (MT_UNLIKELY(is_ndarray(b))) {
    return guarded([&] {
      const PyRef other(wrap(tensor_from_numpy(b)));
      return binary(*kOps[operation], kOperators[operation], a, other.get());
    });
  }
  return binary(*kOps[operation], kOperators[operation], a, b);
}

// What a class or mode that handles calls sees of `for row in tensor`: dim() and unbind(0).
static PyObject* iterate_by_methods(PyObject* self) {
  const PyRef dim(PyObject_CallMethod(self, "dim", nullptr));
  const int is_number = PyObject_Not(dim.get());
  if (is_number < 0) throw PythonError();
  MT_CHECK(is_number == 0, TypeError, "iteration over a 0-d tensor");
  const PyRef rows(PyObject_CallMethod(self, "unbind", "i", 0));
  return PyObject_GetIter(rows.get());
}

PyObject* tensor_iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (may_be_handled(self)) return iterate_by_methods(self);
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
