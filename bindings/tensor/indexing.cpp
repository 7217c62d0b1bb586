// a[...] and a[...] = value. Integers, slices, None and ... are views made right here; index
// tensors and masks go to the ops index and index_put_.
#include <utility>

#include "bindings/args/arguments.h"
#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/overrides/torch_function.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/batching/batched.h"
#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/dtype_limits.h"
#include "mindtorch/profiler/recorder.h"
#include "mindtorch/tensor/element.h"
#include "mindtorch/tensor/overlap.h"

namespace mindtorch::python {

// Tensor from nested sequences, in tensor_from_data.cpp.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype);

namespace {

bool is_plain_bound(PyObject* bound) { return bound == Py_None || PyLong_CheckExact(bound); }

// Reading those runs no Python code.
bool has_plain_bounds(PyObject* object) {
  const auto* const slice = reinterpret_cast<const PySliceObject*>(object);
  return is_plain_bound(slice->start) && is_plain_bound(slice->stop) && is_plain_bound(slice->step);
}

// A view under construction: sizes and strides change as the index is read from left to right.
struct View {
  Shape sizes;
  Shape strides;
  int64_t offset;
  size_t dim = 0;               // the dimension the next entry applies to
  std::vector<Tensor> indices;  // one per dim of the view so far; undefined: whole dim
  bool advanced = false;
  bool ran_python = false;  // code of an entry, which may have given the tensor another storage
  // What runs instead of the view as a whole where autograd or a profiler records it, or the tensor
  // is batched.
  struct Step {
    enum class Kind : uint8_t { kSelect, kSlice, kUnsqueeze } kind;
    int64_t dim;
    int64_t start;  // or the index
    int64_t stop;
    int64_t step;
  };
  const bool records;
  SmallVector<Step, 4> steps;

  explicit View(const Tensor& self)
      : sizes(self.sizes()),
        strides(self.strides()),
        offset(self.storage_offset()),
        records(batching::is_batched(self) || profiler::is_recording() ||
                (autograd::is_grad_enabled() && autograd::requires_grad(self))) {}
  void note(Step step) {
    if (records) steps.push_back(step);
  }

  void check_dim(size_t ndim) const {
    MT_CHECK(dim < sizes.size(), IndexError, "too many indices for tensor of dimension ", ndim);
  }
  void select(int64_t index, size_t source_dim) {
    const int64_t size = sizes[dim];
    MT_CHECK(index >= -size && index < size, IndexError, "index ", index,
             " is out of bounds for dimension ", source_dim, " with size ", size);
    note({Step::Kind::kSelect, static_cast<int64_t>(dim), index, 0, 0});
    offset += (index < 0 ? index + size : index) * strides[dim];
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
  }
  void slice(PyObject* object) {
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(object, &start, &stop, &step) < 0) throw PythonError();
    ran_python |= !has_plain_bounds(object);
    MT_CHECK(step > 0, ValueError, "step must be greater than zero");
    MT_CHECK(!sizes.empty(), IndexError, "slice() cannot be applied to a 0-dim tensor.");
    const Py_ssize_t length = PySlice_AdjustIndices(sizes[dim], &start, &stop, step);
    if (length != sizes[dim] || step != 1) {
      note({Step::Kind::kSlice, static_cast<int64_t>(dim), start, stop, step});
    }
    offset += start * strides[dim];
    sizes[dim] = length;
    strides[dim] *= step;
    ++dim;
  }
  void insert() {
    note({Step::Kind::kUnsqueeze, static_cast<int64_t>(dim), 0, 0, 0});
    sizes.insert(sizes.begin() + dim, 1);
    strides.insert(strides.begin() + dim,
                   dim + 1 < sizes.size() ? strides[dim] * sizes[dim + 1] : 1);
    ++dim;
  }
  void put_index(Tensor index, size_t dims) {
    if (indices.size() < dim - collapsed) indices.resize(dim - collapsed);
    indices.push_back(std::move(index));
    advanced = true;
    dim += dims;
    // A mask over several dims stands for as many index tensors: `index` expands it, so entries
    // after it shift to the left.
    collapsed += dims - 1;
  }
  // A new dim of size 1, kept or dropped.
  void put_truth(bool truth) {
    insert();
    --dim;
    put_index(mindtorch::zeros({truth ? 1 : 0}, DType::kInt64), 1);
  }
  size_t collapsed = 0;
};

bool is_index_tensor(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kBool ||
         dtype == DType::kUInt8;
}

// How many dims of the tensor an entry uses up.
size_t consumed(PyObject* entry) {
  if (entry == Py_None || entry == Py_Ellipsis || PyBool_Check(entry)) return 0;
  if (is_tensor(entry)) {
    const Tensor& tensor = unwrap(entry);
    const bool mask = tensor.dtype() == DType::kBool || tensor.dtype() == DType::kUInt8;
    return mask ? static_cast<size_t>(tensor.dim()) : 1;
  }
  return 1;
}

void apply(View& view, PyObject* entry, size_t ndim, size_t& source_dim) {
  if (PyBool_Check(entry)) {
    view.put_truth(entry == Py_True);
    return;
  }
  if (entry == Py_None) {
    view.insert();
    return;
  }
  if (PySlice_Check(entry)) {
    if (ndim > 0) view.check_dim(ndim);
    view.slice(entry);
    ++source_dim;
    return;
  }
  if (is_tensor(entry)) {
    const Tensor& index = unwrap(entry);
    if (index.dim() > 0) view.check_dim(ndim);
    const bool is_number = index.dim() == 0 && is_integral(index.dtype());
    MT_CHECK(is_number || is_index_tensor(index), IndexError,
             "tensors used as indices must be long, int, byte or bool tensors");
    const bool mask = index.dtype() == DType::kBool || index.dtype() == DType::kUInt8;
    if (index.dtype() == DType::kUInt8) {
      warn(
          "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
          "instead.");
    }
    if (index.dim() == 0 && !mask) {
      view.check_dim(ndim);
      if (batching::is_batched(index)) {  // another number for each sample
        view.put_index(index, 1);
        ++source_dim;
        return;
      }
      view.select(mindtorch::item(index).to_int(), source_dim++);
      return;
    }
    if (index.dim() == 0) {
      view.put_truth(mindtorch::item(index).to_bool());
      return;
    }
    const size_t dims = consumed(entry);
    MT_CHECK(view.dim + dims <= view.sizes.size(), IndexError,
             "too many indices for tensor of dimension ", ndim);
    view.put_index(index, dims);
    source_dim += dims;
    return;
  }
  int64_t number = 0;
  view.ran_python |= !PyLong_CheckExact(entry);
  if (to_int(entry, number)) {
    view.check_dim(ndim);
    view.select(number, source_dim++);
    return;
  }
  const bool is_sequence = PyObject_CheckBuffer(entry) || PySequence_Check(entry) ||
                           PyObject_HasAttrString(entry, "__array__");
  MT_CHECK(is_sequence, IndexError,
           "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
           "valid indices (got ",
           Py_TYPE(entry)->tp_name, ")");
  view.check_dim(ndim);
  Tensor index = tensor_from_data(entry, std::nullopt);
  // Whatever is no mask becomes a list of positions, [1.5] like [1].
  const bool mask = index.dtype() == DType::kBool;
  if (!mask && index.dtype() != DType::kUInt8) index = mindtorch::_to_copy(index, DType::kInt64);
  const size_t dims = mask ? static_cast<size_t>(index.dim()) : 1;
  MT_CHECK(view.dim + dims <= view.sizes.size(), IndexError,
           "too many indices for tensor of dimension ", ndim);
  view.put_index(std::move(index), dims);
  source_dim += dims;
}

// torch keeps NumPy's old rule: a short list that holds more than numbers is a tuple of indices.
PyRef as_tuple(PyObject* list) {
  const Py_ssize_t size = PyList_GET_SIZE(list);
  constexpr Py_ssize_t kMaxEntries = 32;
  bool is_tuple = false;
  for (Py_ssize_t i = 0; i < size && size < kMaxEntries && !is_tuple; ++i) {
    PyObject* entry = PyList_GET_ITEM(list, i);
    is_tuple = is_tensor(entry) || PySequence_Check(entry) || PySlice_Check(entry) ||
               entry == Py_None || entry == Py_Ellipsis;
  }
  if (!is_tuple) return PyRef();
  static bool warned = false;
  if (!std::exchange(warned, true)) {
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] "
        "instead of x[seq].");
  }
  return PyRef(PyList_AsTuple(list));
}

View read_index(const Tensor& self, PyObject* key) {
  View view(self);
  const auto ndim = static_cast<size_t>(self.dim());
  size_t source_dim = 0;
  PyRef held;
  if (PyList_Check(key)) {
    held = as_tuple(key);
    if (held) key = held.get();
  }
  if (!PyTuple_Check(key)) {
    if (key == Py_Ellipsis) return view;
    if (int64_t number = 0; ndim == 0 && PyLong_Check(key) && !PyBool_Check(key)) {
      to_int(key, number);
      MT_CHECK(number != 0, IndexError,
               "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
               "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
      MT_THROW(IndexError, "index ", number, " is out of bounds for dimension 0 with size 0");
    }
    apply(view, key, ndim, source_dim);
    return view;
  }
  size_t used = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    PyObject* entry = PyTuple_GET_ITEM(key, i);
    used += consumed(entry);
  }
  MT_CHECK(used <= ndim, IndexError, "too many indices for tensor of dimension ", ndim);
  bool expanded = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    PyObject* entry = PyTuple_GET_ITEM(key, i);
    if (entry == Py_Ellipsis) {
      if (!expanded) {
        view.dim += ndim - used;
        source_dim += ndim - used;
      }
      expanded = true;
      continue;
    }
    apply(view, entry, ndim, source_dim);
  }
  return view;
}

// The same view, made by the ops that torch records for it.
Tensor recorded_view(const Tensor& self, const View& view) {
  if (view.steps.empty()) return mindtorch::alias(self);
  Tensor made = self;
  for (const View::Step& step : view.steps) {
    switch (step.kind) {
      case View::Step::Kind::kSelect:
        made = mindtorch::select(made, step.dim, step.start);
        break;
      case View::Step::Kind::kSlice:
        made = mindtorch::slice(made, step.dim, step.start, step.stop, step.step);
        break;
      case View::Step::Kind::kUnsqueeze:
        made = mindtorch::unsqueeze(made, step.dim);
        break;
    }
  }
  return made;
}

Tensor take_view(const Tensor& self, View& view) {
  if (MT_UNLIKELY(view.ran_python)) {  // throws where the view would lie outside the storage
    Tensor::over(self.storage(), self.dtype(), view.sizes, view.strides, view.offset);
  }
  if (MT_UNLIKELY(view.records)) return recorded_view(self, view);
  return dispatch::make_view(self,
                             {std::move(view.sizes), std::move(view.strides), view.offset, {}});
}

// Whether the tensor, a tensor in the key or a mode may handle a[key].
bool may_index_be_handled(PyObject* object, PyObject* key) {
  if (may_be_handled(object)) return true;
  if (!PyTuple_CheckExact(key)) return may_be_handled(&key, 1);
  return may_be_handled(&PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key));
}

PyObject* subscript(PyObject* object, PyObject* key) {
  if (MT_UNLIKELY(may_index_be_handled(object, key))) {
    PyObject* const args[] = {object, key};
    PyObject* result = nullptr;
    if (handle_method("__getitem__", args, 2, nullptr, result)) return result;
  }
  return guarded([&]() -> PyObject* {
    const Tensor& self = unwrap(object);
    View view = read_index(self, key);
    if (MT_LIKELY(!view.advanced)) return wrap(take_view(self, view));
    const Tensor base = take_view(self, view);
    return wrap(mindtorch::index(base, view.indices));
  });
}

Tensor without_leading_ones(const Tensor& tensor) {
  size_t ones = 0;
  while (ones < tensor.sizes().size() && tensor.sizes()[ones] == 1) ++ones;
  if (ones == 0) return tensor;
  return mindtorch::view(tensor, Shape(tensor.sizes().begin() + ones, tensor.sizes().end()));
}

int assign(PyObject* object, PyObject* key, PyObject* value) {
  if (MT_UNLIKELY(value != nullptr &&
                  (may_index_be_handled(object, key) || may_be_handled(&value, 1)))) {
    PyObject* const args[] = {object, key, value};
    PyObject* result = nullptr;
    if (handle_method("__setitem__", args, 3, nullptr, result)) {
      Py_XDECREF(result);
      return result == nullptr ? -1 : 0;
    }
  }
  return guarded_int([&] {
    MT_CHECK(value != nullptr, TypeError, "Tensor does not support deleting items");
    const Tensor& self = unwrap(object);
    Scalar scalar;
    Tensor source;
    if (is_tensor(value)) {
      source = unwrap(value);
    } else {
      if (int64_t number = 0; PyLong_Check(value)) to_int(value, number);  // refuses what overflows
      MT_CHECK(to_scalar(value, scalar), TypeError, "can't assign a ", Py_TYPE(value)->tp_name,
               " to a torch.", legacy_name(self.dtype()), "Tensor");
      if (!ops::is_half(self.dtype())) {
        ops::check_in_range(scalar, self.dtype());
      } else {  // a 16-bit float: infinity where the number is too large
        scalar = round_to_half(scalar, self.dtype());
      }
    }
    if (key == Py_False) return 0;
    if (key == Py_True) key = Py_None;
    View view = read_index(self, key);
    const Tensor target = take_view(self, view);
    if (!source.defined()) {
      if (!view.advanced && !is_expanded(target)) {  // torch copies to an expanded one: refused
        mindtorch::fill_(target, scalar);
        return 0;
      }
      source = mindtorch::full({}, scalar, self.dtype());
    }
    if (view.advanced) {
      mindtorch::index_put_(target, view.indices, without_leading_ones(source), false);
      return 0;
    }
    if (source.sizes() == target.sizes()) {
      const bool is_all_of_it = source.is_same(self) && source.strides() == target.strides() &&
                                source.storage_offset() == target.storage_offset();
      if (!is_all_of_it) mindtorch::copy_(target, source);
    } else if (source.dim() == 0 && source.device().is_cpu()) {
      mindtorch::fill_(target, source);
    } else {
      mindtorch::copy_(target, mindtorch::expand(without_leading_ones(source), target.sizes()));
    }
    return 0;
  });
}

Py_ssize_t length(PyObject* object) {
  if (PyObject* result = nullptr;
      may_be_handled(object) && handle_method("__len__", &object, 1, nullptr, result)) {
    const Py_ssize_t size = result == nullptr ? -1 : PyLong_AsSsize_t(result);
    Py_XDECREF(result);
    return size;
  }
  const Tensor& self = unwrap(object);
  if (self.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return static_cast<Py_ssize_t>(self.sizes()[0]);
}

}  // namespace

PyMappingMethods g_tensor_mapping = {&length, &subscript, &assign};

}  // namespace mindtorch::python
