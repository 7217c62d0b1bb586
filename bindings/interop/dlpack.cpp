// DLPack, both ways. What comes in is not trusted: every field is checked before the capsule is
// taken over, so that a refused capsule still belongs to whoever made it.
#include "bindings/interop/dlpack.h"

#include "bindings/args/arguments.h"
#include "bindings/args/default_device.h"
#include "bindings/interop/interop.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::python {
namespace {

uint8_t float8_code(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3fn:
      return dlpack::kFloat8E4M3fn;
    case DType::kFloat8E4M3fnuz:
      return dlpack::kFloat8E4M3fnuz;
    case DType::kFloat8E5M2:
      return dlpack::kFloat8E5M2;
    case DType::kFloat8E5M2fnuz:
      return dlpack::kFloat8E5M2fnuz;
    default:
      return dlpack::kFloat8E8M0fnu;
  }
}

dlpack::DataType type_of(DType dtype) {
  const auto bits = static_cast<uint8_t>(size_bytes(dtype) * 8);
  if (dtype == DType::kBool) return {dlpack::kBool, bits, 1};
  if (dtype == DType::kBFloat16) return {dlpack::kBfloat, bits, 1};
  if (is_float8(dtype)) return {float8_code(dtype), bits, 1};
  if (is_complex(dtype)) return {dlpack::kComplex, bits, 1};
  if (is_floating_point(dtype)) return {dlpack::kFloat, bits, 1};
  return {is_signed(dtype) ? dlpack::kInt : dlpack::kUInt, bits, 1};
}

DType dtype_of(dlpack::DataType type) {
  MT_CHECK(type.lanes == 1, RuntimeError, "from_dlpack: ", type.lanes,
           " lanes per element are not supported, only 1 is");
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const dlpack::DataType known = type_of(dtype);
    if (known.code == type.code && known.bits == type.bits) return dtype;
  }
  MT_THROW(RuntimeError, "from_dlpack: unsupported dtype: code ", int{type.code}, ", ",
           int{type.bits}, " bits");
}

dlpack::Device device_of(Device device) {
  const int code = device_row(device.type).dlpack_type;
  MT_CHECK(code != 0, ValueError, "Unknown device type ", name(device.type), " for Dlpack");
  return {code, device.has_index() ? device.index : 0};
}

std::optional<DeviceType> type_of_code(int64_t code) {
  if (code == dlpack::kCudaHost) return DeviceType::kCpu;
  for (int i = 0; i < kDeviceTypeCount; ++i) {
    const auto type = static_cast<DeviceType>(i);
    if (code != 0 && device_row(type).dlpack_type == code) return type;
  }
  return std::nullopt;
}

// The device of a capsule; throws the reason when there is no such device here.
Device usable_device(int64_t code, int64_t index) {
  MT_CHECK(index >= 0 && index <= 127, RuntimeError, "from_dlpack: invalid device index ", index);
  const std::optional<DeviceType> type = type_of_code(code);
  MT_CHECK(type, RuntimeError, "from_dlpack: unsupported device type ", code);
  if (!is_accelerator(*type)) return *type;
  const Device device(*type, static_cast<int>(index));
  check_device_available(device);
  return device;
}

// Streams: who exports makes the stream that is named wait for what is queued here, so that whoever
// imports may use the memory on it at once.

constexpr int64_t kNoOrder = -1;
// Numbers up to this one mean a default stream or nothing; those above are the device's handles.
constexpr int64_t kLastNumber = 2;

runtime::Stream numbered_stream(Device device, std::optional<int64_t> number) {
  runtime::DeviceRuntime& runtime = runtime_of(device);
  const driver::DeviceRow& row = device_row(device.type);
  if (!number || *number == row.dlpack_default_stream) return runtime.default_stream();
  MT_CHECK(*number > kLastNumber, BufferError, "unsupported stream on ", row.title, ": ", *number,
           ".");
  return runtime.external_stream(reinterpret_cast<driver::StreamHandle>(*number));
}

int64_t number_of(runtime::Stream stream, Device device) {
  if (stream.handle() == nullptr) return device_row(device.type).dlpack_default_stream;
  return reinterpret_cast<int64_t>(stream.handle());
}

// The argument `stream` of __dlpack__; None is nothing.
std::optional<int64_t> stream_argument(PyObject* stream) {
  if (stream == Py_None) return std::nullopt;
  int64_t number = 0;
  MT_CHECK(PyLong_CheckExact(stream) && to_int(stream, number), TypeError,
           "stream must be ``int`` or ``none``");
  return number;
}

void order_before(const Tensor& tensor, std::optional<int64_t> number) {
  if (number == kNoOrder) return;
  tensor.storage()->data();  // what is pending is queued first
  const runtime::Stream consumer = numbered_stream(tensor.device(), number);
  const runtime::Stream here = runtime::current_stream(runtime_of(tensor.device()));
  if (consumer != here) consumer.wait_stream(here);
}

// Out

// What an exported capsule owns: the memory and the lists it shows. The structure that DLPack knows
// comes first in memory terms only through `managed.context`.
template <typename Structure>
struct Export {
  StorageExport memory;
  Shape sizes;
  Shape strides;
  Structure managed;
};

template <typename Structure>
void delete_export(Structure* managed) {
  delete static_cast<Export<Structure>*>(managed->context);
}

template <typename Structure>
Structure* make_export(const Tensor& tensor) {
  auto owned = std::unique_ptr<Export<Structure>>(
      new Export<Structure>{StorageExport(tensor.storage()), tensor.sizes(), tensor.strides(), {}});
  Structure& managed = owned->managed;
  managed.array = {tensor.data_ptr(),
                   device_of(tensor.device()),
                   static_cast<int32_t>(tensor.dim()),
                   type_of(tensor.dtype()),
                   owned->sizes.data(),
                   owned->strides.data(),
                   0};
  managed.deleter = &delete_export<Structure>;
  managed.context = owned.get();
  return &owned.release()->managed;
}

// Runs when the capsule was not consumed.
template <typename Structure>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Structure*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}
void destroy_plain(PyObject* capsule) { destroy_capsule<dlpack::Managed>(capsule, dlpack::kName); }
void destroy_versioned(PyObject* capsule) {
  destroy_capsule<dlpack::ManagedVersioned>(capsule, dlpack::kVersionedName);
}

template <typename Structure>
PyObject* make_capsule(Structure* managed, const char* name, PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(managed, name, destructor);
  if (capsule == nullptr) managed->deleter(managed);
  return capsule;
}

// In

template <typename Structure>
void call_deleter(void* context) {
  auto* managed = static_cast<Structure*>(context);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

struct Described {
  DType dtype;
  Shape sizes;
  Shape strides;
  Device device;
  char* data;
};

Described check(const dlpack::Array& array) {
  Described result{dtype_of(array.dtype), {}, {}, {}, nullptr};
  result.device = usable_device(array.device.device_type, array.device.device_id);
  MT_CHECK(array.ndim >= 0 && array.ndim <= kMaxArrayDims, RuntimeError,
           "from_dlpack: invalid number of dimensions ", array.ndim);
  MT_CHECK(array.ndim == 0 || array.shape != nullptr, RuntimeError,
           "from_dlpack: a tensor with dimensions but no shape");
  const auto ndim = static_cast<size_t>(array.ndim);
  result.sizes.assign(array.shape, array.shape + ndim);
  const int64_t count = numel(result.sizes);
  if (array.strides == nullptr) {
    result.strides = contiguous_strides(result.sizes);
  } else {
    result.strides.assign(array.strides, array.strides + ndim);
  }
  for (size_t i = 0; i < ndim; ++i) {
    // A stride that is never stepped along may be anything.
    if (count == 0 || result.sizes[i] <= 1)
      result.strides[i] = std::max<int64_t>(result.strides[i], 0);
    MT_CHECK(result.strides[i] >= 0, ValueError,
             "from_dlpack: tensors with negative strides are not supported, got strides ",
             to_string(result.strides));
  }
  MT_CHECK(count == 0 || array.data != nullptr, RuntimeError,
           "from_dlpack: a tensor with elements but no memory");
  result.data = static_cast<char*>(array.data);
  if (result.data != nullptr) result.data += array.byte_offset;
  return result;
}

template <typename Structure>
Tensor take_over(PyObject* capsule, const char* name, const char* used_name) {
  auto* managed = static_cast<Structure*>(PyCapsule_GetPointer(capsule, name));
  if (managed == nullptr) throw PythonError();
  if constexpr (std::is_same_v<Structure, dlpack::ManagedVersioned>) {
    MT_CHECK(managed->version.major == 1, BufferError, "from_dlpack: DLPack version ",
             managed->version.major, ".", managed->version.minor, " is not supported, 1.x is");
    if ((managed->flags & dlpack::kReadOnly) != 0) {
      static bool warned = false;
      if (!std::exchange(warned, true)) {
        warn(
            "from_dlpack: the memory is read-only, and tensors are not: writing to this tensor is "
            "undefined. Copy it to be safe. This warning is shown once.");
      }
    }
  }
  const Described described = check(managed->array);
  int64_t bytes = 0;
  MT_CHECK(!__builtin_mul_overflow(extent(described.sizes, described.strides),
                                   size_bytes(described.dtype), &bytes),
           RuntimeError, "from_dlpack: the size of the tensor overflows");
  if (PyCapsule_SetName(capsule, used_name) < 0) throw PythonError();
  Storage storage = StorageImpl::borrow(described.data, static_cast<size_t>(bytes),
                                        described.device, &call_deleter<Structure>, managed);
  return Tensor::over(std::move(storage), described.dtype, described.sizes, described.strides, 0);
}

Tensor from_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, dlpack::kName) != 0) {
    return take_over<dlpack::Managed>(capsule, dlpack::kName, dlpack::kUsedName);
  }
  if (PyCapsule_IsValid(capsule, dlpack::kVersionedName) != 0) {
    return take_over<dlpack::ManagedVersioned>(capsule, dlpack::kVersionedName,
                                               dlpack::kUsedVersionedName);
  }
  MT_THROW(RuntimeError,
           "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
           "only once, so you might have already constructed a tensor from it once.");
}

std::pair<int64_t, int64_t> read_pair(PyObject* object, const char* what) {
  Shape pair;
  MT_CHECK(to_int_list(object, pair) && pair.size() == 2, TypeError, what,
           " must be a tuple of two ints");
  return {pair[0], pair[1]};
}

// What is asked of a producer, and how it is called.
struct Request {
  std::optional<Device> place{};   // where its memory is; nothing: unknown, or out of reach
  std::optional<Device> wanted{};  // where the tensor is to be
  PyObject* copy = Py_None;        // None: where it must

  bool moves() const { return place && wanted && *place != *wanted; }
};

struct Answer {
  PyRef capsule;
  bool knows_copy = true;  // the producer took the wish
};

PyRef as_tuple(dlpack::Device device) {
  return PyRef(Py_BuildValue("(ii)", device.device_type, device.device_id));
}

// producer.__dlpack__(max_version=(1, 0), ...). Older producers know no versions, and the oldest
// take no arguments: what one does not take is left out, in torch's order.
Answer export_of(PyObject* producer, const Request& request) {
  const PyRef method(PyObject_GetAttrString(producer, "__dlpack__"));
  const PyRef kwargs(PyDict_New());
  const auto option = [&](const char* name, const PyRef& value) {
    if (PyDict_SetItemString(kwargs.get(), name, value.get()) < 0) throw PythonError();
  };
  option("max_version", PyRef(Py_BuildValue("(ii)", 1, 0)));
  if (request.copy != Py_None) option("copy", PyRef(Py_NewRef(request.copy)));
  if (request.wanted && !request.moves()) option("dl_device", as_tuple(device_of(*request.wanted)));
  runtime::Stream here;
  if (request.place && is_accelerator(request.place->type)) {
    here = runtime::current_stream(runtime_of(*request.place));
    option("stream", PyRef(PyLong_FromLongLong(number_of(here, *request.place))));
  }
  const PyRef nothing(PyTuple_New(0));
  const auto ask = [&] {
    return call_python([&] { return PyObject_Call(method.get(), nothing.get(), kwargs.get()); });
  };
  PyObject* capsule = ask();
  for (const char* const name : {"max_version", "copy", "dl_device", "stream"}) {
    if (capsule != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) break;
    const PyRef key(PyUnicode_FromString(name));
    if (PyDict_Contains(kwargs.get(), key.get()) == 0) continue;
    PyErr_Clear();
    if (PyDict_DelItem(kwargs.get(), key.get()) < 0) throw PythonError();
    capsule = ask();
  }
  Answer answer{PyRef(capsule)};
  const auto took = [&](const char* name) {
    return PyDict_GetItemString(kwargs.get(), name) != nullptr;
  };
  answer.knows_copy = took("copy");
  if (here && !took("stream")) {
    // Who is not told a stream orders its work before the default one.
    const runtime::Stream usual = here.runtime().default_stream();
    if (here != usual) here.wait_stream(usual);
  }
  return answer;
}

std::string text_of(PyObject* object) {
  const PyRef text(PyObject_Repr(object));
  const char* const utf8 = PyUnicode_AsUTF8(text.get());
  if (utf8 == nullptr) throw PythonError();
  return utf8;
}

// Where a producer says that its memory is. A device that is not reached from here is nothing where
// another one is wanted: the producer is asked to move the memory.
std::optional<Device> place_of(PyObject* producer, std::optional<Device> wanted, PyObject* copy) {
  if (PyObject_HasAttrString(producer, "__dlpack_device__") == 0) return std::nullopt;
  const PyRef told(
      call_python([&] { return PyObject_CallMethod(producer, "__dlpack_device__", nullptr); }));
  const PyRef plain(PySequence_Tuple(told.get()));
  const auto [code, index] = read_pair(plain.get(), "from_dlpack: __dlpack_device__()");
  if (wanted) {
    const dlpack::Device target = device_of(*wanted);
    const bool moves = code != target.device_type || index != target.device_id;
    MT_CHECK(!moves || copy != Py_False, ValueError, "cannot move DLPack tensor from device ",
             text_of(plain.get()), " to ", text_of(as_tuple(target).get()),
             " without copying. Set copy=None or copy=True.");
    const std::optional<DeviceType> type = type_of_code(code);
    if (!type || (is_accelerator(*type) && runtime::find_accelerator(name(*type)) == nullptr)) {
      return std::nullopt;
    }
  }
  return usable_device(code, index);
}

}  // namespace

Tensor tensor_from_dlpack(PyObject* data, PyObject* device, PyObject* copy) {
  Request request;
  if (copy != nullptr) request.copy = copy;
  if (device != nullptr && device != Py_None) {
    request.wanted = resolve(without_host_index(to_device(device)));
  }
  if (PyCapsule_CheckExact(data) != 0) {
    if (request.wanted || request.copy != Py_None) {
      PyErr_SetString(PyExc_AssertionError,
                      "device and copy kwargs not supported when ext_tensor is already a DLPack "
                      "capsule.");
      throw PythonError();
    }
    return from_capsule(data);
  }
  if (PyObject_HasAttrString(data, "__dlpack__") == 0) return from_capsule(Py_None);
  // Checked first, so that nothing is copied from a device that we cannot reach.
  request.place = place_of(data, request.wanted, request.copy);
  const Answer answer = export_of(data, request);
  const Tensor tensor = from_capsule(answer.capsule.get());
  const bool moves = request.wanted && tensor.device() != *request.wanted;
  const bool copies = request.copy == Py_True && !answer.knows_copy;
  if (!moves && !copies) return tensor;
  return mindtorch::_to_copy(tensor, std::nullopt, moves ? *request.wanted : tensor.device(), false,
                             true);
}

PyObject* tensor_dlpack_device(PyObject* self, PyObject*) {
  return guarded([&] {
    const dlpack::Device device = device_of(unwrap(self).device());
    return Py_BuildValue("(ii)", device.device_type, device.device_id);
  });
}

PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* keywords[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject* stream = nullptr;
    PyObject* max_version = Py_None;
    PyObject* dl_device = Py_None;
    PyObject* copy = Py_None;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(keywords),
                                    &stream, &max_version, &dl_device, &copy) == 0) {
      return nullptr;
    }
    Tensor tensor = unwrap(self);
    MT_CHECK(!tensor.device().is_meta(), BufferError, "Cannot pack tensors on meta");
    // As in torch, who names no stream at all wants no order.
    const auto number = stream == nullptr ? std::optional(kNoOrder) : stream_argument(stream);
    if (tensor.device().is_cpu() && number && number != kNoOrder) {
      PyErr_SetString(PyExc_AssertionError, "stream should be None on cpu.");
      return nullptr;
    }
    Device target = tensor.device();
    if (dl_device != Py_None) {
      const auto [code, index] = read_pair(dl_device, "__dlpack__: dl_device");
      target = usable_device(code, index);
    }
    const bool moves = target != tensor.device();
    const bool wants_copy = is_true(copy);
    MT_CHECK(!moves || copy != Py_False, BufferError, "cannot move (i.e. copy=False) tensor from ",
             tensor.device().str(), " to ", target.str(), " without copying.");
    if (moves || wants_copy) {
      tensor = mindtorch::_to_copy(tensor, std::nullopt, target, false, wants_copy);
    }
    if (is_accelerator(tensor.device().type)) order_before(tensor, number);
    bool versioned = false;
    if (max_version != Py_None) {
      versioned = read_pair(max_version, "__dlpack__: max_version").first >= 1;
    }
    if (!versioned) {
      return make_capsule(make_export<dlpack::Managed>(tensor), dlpack::kName, &destroy_plain);
    }
    auto* managed = make_export<dlpack::ManagedVersioned>(tensor);
    managed->version = {1, 0};
    managed->flags = wants_copy ? dlpack::kIsCopied : 0;
    return make_capsule(managed, dlpack::kVersionedName, &destroy_versioned);
  });
}

}  // namespace mindtorch::python
