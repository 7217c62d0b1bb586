#pragma once

#include <Python.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "bindings/interpreter/python_ref.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/driver/driver.h"

namespace mindtorch::python {

// A device whose memory, events and waits are methods of a Python object: _raw_malloc, _raw_free,
// _mem_get_info, _sync_device, _record_event and _event_complete. They are looked up at each call,
// so that a test may replace them on the object. A RuntimeError of _raw_malloc means that the
// memory is used up; every other exception comes out as it is.
//
// May be called with or without the GIL; takes it. There is one device, and there are no copies.
class PythonDriver final : public driver::DeviceDriver {
 public:
  // `owner` is borrowed: it owns this.
  PythonDriver(PyObject* owner, const std::string& kind);
  ~PythonDriver() override;

  // A stream as Python code names it: None, a number, an object with an npu_stream or cuda_stream,
  // or any hashable object. Both need the GIL.
  driver::StreamHandle stream_handle(PyObject* stream);
  PyRef stream_object(driver::StreamHandle stream);

  // What _raw_malloc raised last, if it did, and forgets it: the cause of an OutOfMemoryError.
  std::optional<CarriedError> take_refusal();

  // The owner goes away: what can still fail does so silently.
  void retire() noexcept { retired_ = true; }
  // The owner is gone: it is not called again. What it was not asked to give back is lost.
  void forget_owner() noexcept { owner_ = nullptr; }

  const driver::DeviceRow& row() const noexcept override { return row_; }
  int device_count() noexcept override { return 1; }
  driver::DeviceProperties properties(int device) override;
  driver::MemoryInfo memory_info(int device) override;
  void bind_thread(int) override {}
  void wait_device(int device) override;

  void* allocate(int device, size_t bytes) override;
  void release(int device, void* data) noexcept override;
  void* allocate_pinned(size_t bytes) override;
  void release_pinned(void*) noexcept override {}
  void copy_async(void* to,
                  const void* from,
                  size_t bytes,
                  driver::CopyKind kind,
                  int device,
                  driver::StreamHandle stream) override;
  void fill_async(
      void* to, uint8_t value, size_t bytes, int device, driver::StreamHandle stream) override;

  driver::StreamHandle create_stream(int device, int priority) override;
  void destroy_stream(int, driver::StreamHandle) noexcept override {}
  bool query_stream(int device, driver::StreamHandle stream) override;
  void wait_stream(int device, driver::StreamHandle) override { wait_device(device); }

  driver::EventHandle create_event(int device, driver::EventFlags flags) override;
  void destroy_event(int, driver::EventHandle event) noexcept override;
  void record_event(driver::EventHandle event, int device, driver::StreamHandle stream) override;
  void block_stream(int device, driver::StreamHandle stream, driver::EventHandle event) override;
  bool query_event(int, driver::EventHandle event) override;
  void wait_event(int device, driver::EventHandle event) override;
  float elapsed_ms(int, driver::EventHandle start, driver::EventHandle end) override;

 private:
  // Calls a method of the owner with one argument or, if it is null, none. Throws CarriedError.
  PyRef call(const char* method, PyObject* argument = nullptr);
  // The same for calls whose errors may be kept for later: without the traceback.
  PyRef call_about_event(const char* method, PyObject* argument);
  bool is_complete(PyObject* event);

  PyObject* owner_;
  const std::string kind_;
  const std::string title_;
  driver::DeviceRow row_{};
  std::atomic<bool> retired_{false};
  std::mutex refusal_mutex_;
  std::optional<CarriedError> refusal_;
  // Streams that are no numbers, and where in the list they are. The address of an entry is the
  // handle. The GIL protects both.
  std::deque<PyRef> streams_;
  PyRef stream_places_;
};

// Makes _DeviceUnavailableError: what the default methods raise where there is no such device.
int add_driver_errors(PyObject* module);

}  // namespace mindtorch::python
