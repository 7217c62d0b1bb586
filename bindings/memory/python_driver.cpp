#include "bindings/memory/python_driver.h"

#include <cctype>

#include "bindings/interpreter/errors.h"
#include "mindtorch/runtime/accelerator.h"

namespace mindtorch::python {
namespace {

PyObject* g_unavailable = nullptr;

// What a device that is not there can hold: no rule may depend on it.
constexpr size_t kUnknownTotal = size_t{1} << 60;

// Runs Python calls; their errors become exceptions that can leave the GIL behind.
template <typename Body>
auto carrying(const Body& body) {
  try {
    return body();
  } catch (const PythonError&) {
    throw CarriedError::take();
  }
}

PyRef address_object(const void* address) {
  return PyRef(PyLong_FromVoidPtr(const_cast<void*>(address)));
}

size_t to_size(PyObject* number) {
  const size_t value = PyLong_AsSize_t(number);
  if (value == static_cast<size_t>(-1) && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

// Of a pair, or of the tuples that ACL's functions give.
PyRef item(PyObject* sequence, Py_ssize_t index) {
  return PyRef(PySequence_GetItem(sequence, index));
}

bool is_out_of_memory(const CarriedError& error) {
  return error.is_a(PyExc_RuntimeError) && !error.is_a(g_unavailable) &&
         !error.is_a(PyExc_NotImplementedError) && !error.is_a(PyExc_RecursionError);
}

struct PythonEvent {
  PyRef object;  // what _record_event gave; empty before
};

PythonEvent* unwrap_event(driver::EventHandle event) {
  return reinterpret_cast<PythonEvent*>(event);
}

[[noreturn]] void refuse(const char* what) {
  MT_THROW(NotImplementedError, "a device driven from Python has no ", what);
}

std::string upper(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(letter));
  return text;
}

}  // namespace

int add_driver_errors(PyObject* module) {
  g_unavailable =
      PyErr_NewExceptionWithDoc("mindtorch_v2._C._DeviceUnavailableError",
                                "There is no such device here.", PyExc_RuntimeError, nullptr);
  if (g_unavailable == nullptr) return -1;
  return PyModule_AddObjectRef(module, "_DeviceUnavailableError", g_unavailable);
}

PythonDriver::PythonDriver(PyObject* owner, const std::string& kind)
    : owner_(owner), kind_(kind), title_(upper(kind)) {
  const runtime::Accelerator* const known = runtime::find_accelerator(kind);
  if (known != nullptr) row_ = known->driver().row();
  row_.name = kind_.c_str();
  row_.title = row_.noun = title_.c_str();
}

PythonDriver::~PythonDriver() {
  const GilHold gil;
  streams_.clear();
  stream_places_ = PyRef();
}

PyRef PythonDriver::call(const char* method, PyObject* argument) {
  MT_CHECK(owner_ != nullptr, RuntimeError, "the Python object behind this device is gone");
  return carrying([&] {
    const PyRef name(PyUnicode_FromString(method));
    PyObject* const args[] = {owner_, argument};
    const size_t count = argument == nullptr ? 1 : 2;
    return PyRef(
        call_python([&] { return PyObject_VectorcallMethod(name.get(), args, count, nullptr); }));
  });
}

PyRef PythonDriver::call_about_event(const char* method, PyObject* argument) {
  try {
    return call(method, argument);
  } catch (const CarriedError& error) {
    error.drop_traceback();
    throw;
  }
}

// Streams.

driver::StreamHandle PythonDriver::stream_handle(PyObject* stream) {
  if (stream == nullptr || stream == Py_None) return nullptr;
  if (PyLong_Check(stream)) {
    return reinterpret_cast<driver::StreamHandle>(to_size(stream));
  }
  for (const char* attribute : {"npu_stream", "cuda_stream"}) {
    const PyRef number = PyRef::maybe(PyObject_GetAttrString(stream, attribute));
    if (number && PyLong_Check(number.get())) return stream_handle(number.get());
  }
  if (!stream_places_) stream_places_ = PyRef(PyDict_New());
  if (PyObject* known = PyDict_GetItemWithError(stream_places_.get(), stream)) {
    return reinterpret_cast<driver::StreamHandle>(to_size(known));
  }
  if (PyErr_Occurred() != nullptr) throw PythonError();
  streams_.push_back(PyRef::borrow(stream));
  const PyRef place = address_object(&streams_.back());
  if (PyDict_SetItem(stream_places_.get(), stream, place.get()) < 0) throw PythonError();
  return reinterpret_cast<driver::StreamHandle>(&streams_.back());
}

PyRef PythonDriver::stream_object(driver::StreamHandle stream) {
  if (stream == nullptr) return PyRef::borrow(Py_None);
  for (const PyRef& known : streams_) {
    if (reinterpret_cast<driver::StreamHandle>(const_cast<PyRef*>(&known)) == stream) {
      return PyRef::borrow(known.get());
    }
  }
  return address_object(stream);
}

driver::StreamHandle PythonDriver::create_stream(int, int) { refuse("streams of its own"); }

// An event recorded now is reached at once on a stream that has nothing to do.
bool PythonDriver::query_stream(int, driver::StreamHandle stream) {
  const GilHold gil;
  const PyRef object = carrying([&] { return stream_object(stream); });
  const PyRef event = call_about_event("_record_event", object.get());
  return is_complete(event.get());
}

void PythonDriver::wait_device(int) {
  const GilHold gil;
  call("_sync_device");
}

// Memory.

driver::DeviceProperties PythonDriver::properties(int device) {
  driver::DeviceProperties properties;
  properties.name = kind_;
  properties.total_memory_bytes = memory_info(device).total_bytes;
  return properties;
}

driver::MemoryInfo PythonDriver::memory_info(int) {
  const GilHold gil;
  try {
    const PyRef info = call("_mem_get_info");
    return carrying([&] {
      return driver::MemoryInfo{to_size(item(info.get(), 0).get()),
                                to_size(item(info.get(), 1).get())};
    });
  } catch (const CarriedError& error) {
    if (error.is_a(g_unavailable)) return {0, kUnknownTotal};
    throw;
  }
}

void* PythonDriver::allocate(int, size_t bytes) {
  const GilHold gil;
  PyRef result;
  try {
    const PyRef size = carrying([&] { return PyRef(PyLong_FromSize_t(bytes)); });
    result = call("_raw_malloc", size.get());
    take_refusal();
  } catch (const CarriedError& error) {
    if (!is_out_of_memory(error)) throw;
    const std::lock_guard lock(refusal_mutex_);
    error.drop_traceback();
    refusal_ = error;
    return nullptr;
  }
  return carrying([&] {
    const bool pair = PyTuple_Check(result.get()) || PyList_Check(result.get());
    const PyRef pointer = pair ? item(result.get(), 0) : PyRef::borrow(result.get());
    return pointer.get() == Py_None ? nullptr : reinterpret_cast<void*>(to_size(pointer.get()));
  });
}

std::optional<CarriedError> PythonDriver::take_refusal() {
  const std::lock_guard lock(refusal_mutex_);
  return std::exchange(refusal_, std::nullopt);
}

void PythonDriver::release(int, void* data) noexcept {
  if (Py_IsInitialized() == 0 || owner_ == nullptr) return;
  const GilHold gil;
  try {
    call("_raw_free", address_object(data).get());
  } catch (const CarriedError& error) {
    if (retired_) return;
    error.restore();
    PyErr_WriteUnraisable(owner_);
  } catch (...) {
    PyErr_Clear();
  }
}

void* PythonDriver::allocate_pinned(size_t) { refuse("pinned memory"); }

void PythonDriver::copy_async(
    void*, const void*, size_t, driver::CopyKind, int, driver::StreamHandle) {
  refuse("copies");
}

void PythonDriver::fill_async(void*, uint8_t, size_t, int, driver::StreamHandle) {
  refuse("fills");
}

// Events.

driver::EventHandle PythonDriver::create_event(int, driver::EventFlags) {
  return reinterpret_cast<driver::EventHandle>(new PythonEvent);
}

void PythonDriver::destroy_event(int, driver::EventHandle event) noexcept {
  if (Py_IsInitialized() == 0) return;
  const GilHold gil;
  delete unwrap_event(event);
}

void PythonDriver::record_event(driver::EventHandle event, int, driver::StreamHandle stream) {
  const GilHold gil;
  const PyRef object = carrying([&] { return stream_object(stream); });
  unwrap_event(event)->object = call_about_event("_record_event", object.get());
}

void PythonDriver::block_stream(int, driver::StreamHandle, driver::EventHandle) {
  refuse("streams that wait");
}

bool PythonDriver::is_complete(PyObject* event) {
  const PyRef answer = call_about_event("_event_complete", event);
  return carrying([&] {
    const int truth = PyObject_IsTrue(answer.get());
    if (truth < 0) throw PythonError();
    return truth != 0;
  });
}

bool PythonDriver::query_event(int, driver::EventHandle event) {
  const GilHold gil;
  const PyRef& object = unwrap_event(event)->object;
  return !object || is_complete(PyRef::borrow(object.get()).get());
}

void PythonDriver::wait_event(int device, driver::EventHandle event) {
  if (!query_event(device, event)) wait_device(device);
}

float PythonDriver::elapsed_ms(int, driver::EventHandle, driver::EventHandle) {
  refuse("timed events");
}

}  // namespace mindtorch::python
