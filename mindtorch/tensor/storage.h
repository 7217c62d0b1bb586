#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mindtorch/base/intrusive_ptr.h"
#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/allocator.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/device.h"

namespace mindtorch {

class StorageImpl;

// Deferred work: recorded, not executed so far. A storage that it writes points to it, and reading
// the storage's bytes executes it first.
class MT_API PendingWork {
 public:
  // Executes the work, on the calling thread; throws its error. The storage is no longer pending.
  virtual void materialize(StorageImpl& storage) = 0;
  // Work queued on `stream` by now uses the bytes: see StorageImpl::record_stream.
  virtual void record_stream(StorageImpl& storage, runtime::Stream stream);
  // A pending storage is destroyed.
  virtual void forget(StorageImpl& storage) noexcept = 0;

 protected:
  ~PendingWork() = default;
};

// The bytes behind a tensor and all its views. Views share the storage and with it the version
// counter. Metadata may be read by any thread; writing needs the caller's own order.
class MT_API StorageImpl final : public RefCounted {
 public:
  // Bytes from the device's allocator, not initialised. Meta storages have a size but no bytes.
  static IntrusivePtr<StorageImpl> allocate(size_t size_bytes, Device device);
  // Bytes from another allocator than the device's own: pinned memory.
  static IntrusivePtr<StorageImpl> allocate_from(runtime::Allocator& allocator,
                                                 size_t size_bytes,
                                                 Device device);
  // No bytes until allocate_now(), which pending work calls.
  static IntrusivePtr<StorageImpl> unallocated(size_t size_bytes, Device device);
  // Wraps memory that the caller owns; `release(context)` runs once when the last user is gone.
  static IntrusivePtr<StorageImpl> borrow(
      void* data, size_t size_bytes, Device device, void (*release)(void*), void* context);
  static void destroy(StorageImpl* storage) noexcept;

  // For reading. Executes the pending work that writes the bytes, and throws its error.
  const void* data() const {
    if (MT_UNLIKELY(pending_.load(std::memory_order_acquire) != nullptr)) materialize();
    return allocation_.data;
  }
  // For writing. Also executes the recorded ops that still read the bytes as they are now.
  void* mutable_data() {
    flush_readers();
    return const_cast<void*>(data());
  }

  // --- deferred execution ---
  PendingWork* pending() const noexcept { return pending_.load(std::memory_order_acquire); }
  // The id under which the pending work knows the storage.
  uint32_t pending_id() const noexcept { return pending_id_; }
  void set_pending(PendingWork* work, uint32_t id = 0) noexcept {
    pending_id_ = id;
    pending_.store(work, std::memory_order_release);
  }
  // Recorded traces, of all threads, that read the bytes and do not write them: the readers among
  // those who have a reference.
  uint32_t pending_readers() const noexcept { return readers(); }
  // Executes them: before the bytes change by other means than mutable_data().
  void flush_readers() const {
    if (MT_UNLIKELY(pending_readers() != 0)) flush_pending_readers(*this);
  }
  // Installed by dispatch/ before it records anything.
  static void (*flush_pending_readers)(const StorageImpl& storage) noexcept;
  // Work queued on `stream` by now uses the bytes: when the storage goes, their memory waits for
  // it. Executes the pending work that writes them. Nothing happens to bytes that are not from the
  // allocator of a device.
  void record_stream(runtime::Stream stream);
  void allocate_now();
  // The bytes as they are, or null: for the pending work itself.
  void* raw_data() const noexcept { return allocation_.data; }
  void release_bytes() noexcept;
  // Points a storage made by borrow() to other memory.
  void rebind(void* data) noexcept { allocation_.data = data; }

  // Code outside the library holds an address and may write through it at any time.
  bool is_exposed() const noexcept {
    return release_ != nullptr || exports_.load(std::memory_order_relaxed) != 0;
  }
  size_t size_bytes() const noexcept { return size_bytes_; }
  // What the allocator gave; empty for borrowed and meta storages.
  const runtime::Allocation& allocation() const noexcept { return allocation_; }
  Device device() const noexcept { return device_; }
  // Of the device whose allocator gives the bytes; null for the CPU, meta and borrowed memory.
  runtime::DeviceRuntime* device_runtime() const noexcept;
  bool resizable() const noexcept {
    return (allocator_ != nullptr || device_.is_meta()) && exports_.load() == 0;
  }
  // NumPy, DLPack or another exporter holds the address of the bytes: they are not moved until the
  // same number of removals.
  void add_export() noexcept { exports_.fetch_add(1); }
  void remove_export() noexcept { exports_.fetch_sub(1); }
  // Keeps the leading bytes. Pending work on the storage is executed first. Throws RuntimeError for
  // borrowed or exported memory.
  void resize(size_t size_bytes);
  // Both storages lie on one device and have one size: each takes the other's memory, with what
  // releases it. Throws RuntimeError when somebody else holds the address of this one's bytes.
  void exchange_memory(StorageImpl& other);

  uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void bump_version() noexcept { version_.fetch_add(1, std::memory_order_relaxed); }

  static void* operator new(size_t bytes);
  static void operator delete(void* data, size_t bytes) noexcept;

  // The Python object that stands for this storage, if any; owned by bindings/.
  void* python_object = nullptr;

 private:
  StorageImpl() = default;
  ~StorageImpl();
  void materialize() const;

  std::atomic<PendingWork*> pending_{nullptr};
  uint32_t pending_id_ = 0;
  runtime::Allocation allocation_;
  size_t size_bytes_ = 0;
  runtime::Allocator* allocator_ = nullptr;  // null: borrowed or meta
  void (*release_)(void*) = nullptr;
  void* context_ = nullptr;
  std::atomic<uint32_t> version_{0};
  std::atomic<uint32_t> exports_{0};
  Device device_;
};

using Storage = IntrusivePtr<StorageImpl>;

}  // namespace mindtorch
