#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "mindtorch/runtime/caching_allocator.h"

namespace mindtorch::python {

// Blocks that Python code gave back, of all allocators.
extern std::atomic<uint64_t> g_blocks_freed;

// A device's allocator as Python sees it: memory by its address. Any thread may call; those that
// take Python objects need the GIL.
class AllocatorHandle {
 public:
  AllocatorHandle() = default;
  virtual ~AllocatorHandle() = default;
  AllocatorHandle(const AllocatorHandle&) = delete;
  AllocatorHandle& operator=(const AllocatorHandle&) = delete;

  // Throws RuntimeError once it is closed.
  virtual runtime::CachingAllocator& allocator() = 0;
  // A stream as Python code names it.
  virtual driver::StreamHandle stream_handle(PyObject* stream) = 0;
  // Waits for the device, without the GIL.
  virtual void wait() = 0;

  uintptr_t malloc(nanobind::handle size, nanobind::handle stream);
  void free(nanobind::handle pointer, nanobind::handle stream);
  void record_stream(nanobind::handle pointer, nanobind::handle stream);
  bool owns(nanobind::handle pointer);

 protected:
  virtual runtime::Block* allocate(size_t bytes, driver::StreamHandle stream);

 private:
  runtime::Block* find(uintptr_t address, bool erase);

  std::mutex mutex_;
  std::unordered_map<uintptr_t, runtime::Block*> blocks_;
};

// Adds the class _Allocator.
void bind_allocator_handle(nanobind::module_& module);

}  // namespace mindtorch::python
