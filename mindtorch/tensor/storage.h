#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mindtorch/base/intrusive_ptr.h"
#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/allocator.h"
#include "mindtorch/tensor/device.h"

namespace mindtorch {

class StorageImpl;

// Work that was recorded and not run so far. A storage that it will make, change or read names it,
// and whoever wants the storage's bytes makes it run.
class MT_API PendingWork {
 public:
  // Runs the work, on whatever thread; throws what made it fail. The storage names it no more.
  virtual void materialize(StorageImpl& storage) = 0;
  // A storage that still names it goes.
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
  // Bytes come later, by make_promised_bytes(); until then the storage names pending work.
  static IntrusivePtr<StorageImpl> promise(size_t size_bytes, Device device);
  // Wraps memory of somebody else; `release(context)` runs once when the last user is gone.
  static IntrusivePtr<StorageImpl> borrow(
      void* data, size_t size_bytes, Device device, void (*release)(void*), void* context);
  static void destroy(StorageImpl* storage) noexcept;

  // Runs pending work first, and throws what made that fail.
  void* data() const {
    if (MT_UNLIKELY(pending_.load(std::memory_order_acquire) != nullptr)) materialize();
    return allocation_.data;
  }
  PendingWork* pending() const noexcept { return pending_.load(std::memory_order_acquire); }
  void set_pending(PendingWork* work) noexcept { pending_.store(work, std::memory_order_release); }
  void make_promised_bytes();
  // For that work itself: the bytes as they are, or null, and an end to them.
  void* raw_data() const noexcept { return allocation_.data; }
  void drop_bytes() noexcept;
  // Other memory of somebody else, for a storage made by borrow().
  void rebind(void* data) noexcept { allocation_.data = data; }
  // For the work that this names: the number under which it knows the storage.
  uint32_t pending_number = 0;
  // Recorded ops that read the bytes, of all windows. A writer makes them run first.
  std::atomic<uint32_t> pending_reads{0};
  // Somebody outside may write through an address of ours at any time.
  bool is_exposed() const noexcept {
    return release_ != nullptr || exports_.load(std::memory_order_relaxed) != 0;
  }
  size_t size_bytes() const noexcept { return size_bytes_; }
  // What the allocator gave; empty for borrowed and meta storages.
  const runtime::Allocation& allocation() const noexcept { return allocation_; }
  Device device() const noexcept { return device_; }
  bool resizable() const noexcept {
    return (allocator_ != nullptr || device_.is_meta()) && exports_.load() == 0;
  }
  // Somebody outside (NumPy, DLPack) holds the address of the bytes: until the same number of
  // removals they stay where they are.
  void add_export() noexcept { exports_.fetch_add(1); }
  void remove_export() noexcept { exports_.fetch_sub(1); }
  // Keeps the leading bytes. Throws RuntimeError for borrowed or exported memory.
  void resize(size_t size_bytes);

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
