#include "mindtorch/tensor/storage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/copy.h"
#include "mindtorch/runtime/host_allocator.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch {
namespace {

// Null for meta. Fills in the index of an accelerator.
runtime::Allocator* allocator_for(Device& device) {
  if (MT_LIKELY(device.is_host())) return &runtime::host_allocator();
  if (device.is_meta()) return nullptr;
  if (!device.has_index()) device = resolve(device);
  runtime::Accelerator* const accelerator = find_accelerator(device.type);
  if (MT_UNLIKELY(accelerator == nullptr)) check_device_available(device);
  return &accelerator->runtime(device.index).allocator();
}

}  // namespace

void (*StorageImpl::flush_pending_readers)(const StorageImpl&) noexcept = nullptr;

void* StorageImpl::operator new(size_t bytes) { return runtime::allocate_small(bytes); }
void StorageImpl::operator delete(void* data, size_t bytes) noexcept {
  runtime::release_small(data, bytes);
}

Storage StorageImpl::allocate(size_t size_bytes, Device device) {
  runtime::Allocator* allocator = allocator_for(device);
  Storage storage = Storage::adopt(new StorageImpl);
  storage->device_ = device;
  storage->allocator_ = allocator;
  if (allocator != nullptr) storage->allocation_ = allocator->allocate(size_bytes);
  storage->size_bytes_ = size_bytes;
  return storage;
}

Storage StorageImpl::allocate_from(runtime::Allocator& allocator,
                                   size_t size_bytes,
                                   Device device) {
  Storage storage = Storage::adopt(new StorageImpl);
  storage->device_ = device;
  storage->allocator_ = &allocator;
  storage->allocation_ = allocator.allocate(size_bytes);
  storage->size_bytes_ = size_bytes;
  return storage;
}

Storage StorageImpl::unallocated(size_t size_bytes, Device device) {
  Storage storage = Storage::adopt(new StorageImpl);
  storage->allocator_ = allocator_for(device);
  storage->device_ = device;
  storage->size_bytes_ = size_bytes;
  return storage;
}

void PendingWork::record_stream(StorageImpl& storage, runtime::Stream stream) {
  materialize(storage);
  storage.record_stream(stream);
}

void StorageImpl::record_stream(runtime::Stream stream) {
  if (PendingWork* const work = pending()) return work->record_stream(*this, stream);
  runtime::DeviceRuntime* const device = device_runtime();
  if (device == nullptr || allocation_.block == nullptr) return;
  device->memory().record_stream(static_cast<runtime::Block*>(allocation_.block), stream.handle());
}

runtime::DeviceRuntime* StorageImpl::device_runtime() const noexcept {
  if (device_.is_host() || allocator_ == nullptr) return nullptr;
  return &static_cast<runtime::DeviceAllocator*>(allocator_)->runtime();
}

void StorageImpl::allocate_now() {
  if (allocation_.data == nullptr && allocator_ != nullptr) {
    allocation_ = allocator_->allocate(size_bytes_);
  }
}

void StorageImpl::release_bytes() noexcept {
  if (allocator_ != nullptr) allocator_->release(std::exchange(allocation_, {}));
}

void StorageImpl::materialize() const {
  auto* const self = const_cast<StorageImpl*>(this);
  if (PendingWork* const work = pending()) work->materialize(*self);
}

Storage StorageImpl::borrow(
    void* data, size_t size_bytes, Device device, void (*release)(void*), void* context) {
  Storage storage = Storage::adopt(new StorageImpl);
  storage->allocation_ = {data, size_bytes};
  storage->size_bytes_ = size_bytes;
  storage->device_ = device;
  storage->release_ = release;
  storage->context_ = context;
  return storage;
}

void StorageImpl::destroy(StorageImpl* storage) noexcept { delete storage; }

StorageImpl::~StorageImpl() {
  if (PendingWork* const work = pending()) work->forget(*this);
  if (allocator_ != nullptr) {
    allocator_->release(allocation_);
  } else if (release_ != nullptr) {
    release_(context_);
  }
}

void StorageImpl::resize(size_t size_bytes) {
  MT_CHECK(resizable(), RuntimeError, "Trying to resize storage that is not resizable");
  mutable_data();  // recorded ops see the old bytes
  if (allocator_ != nullptr && size_bytes > allocation_.capacity_bytes) {
    const runtime::Allocation grown = allocator_->allocate(size_bytes);
    if (size_bytes_ != 0) {
      if (device_.is_host()) {
        std::memcpy(grown.data, allocation_.data, size_bytes_);
      } else {
        // In stream order: the old bytes are free to be used again behind the copy.
        auto& device = static_cast<runtime::DeviceAllocator*>(allocator_)->runtime();
        try {
          runtime::copy_between_devices(device, grown.data, device, allocation_.data, size_bytes_);
        } catch (...) {
          allocator_->release(grown);
          throw;
        }
      }
    }
    allocator_->release(allocation_);
    allocation_ = grown;
  }
  size_bytes_ = size_bytes;
}

void StorageImpl::exchange_memory(StorageImpl& other) {
  MT_CHECK(device_ == other.device_ && size_bytes_ == other.size_bytes_, RuntimeError,
           "only storages of one device and one size can exchange their memory");
  MT_CHECK(exports_.load() == 0, RuntimeError,
           "the memory of a storage that NumPy or another library looks at can not be exchanged");
  mutable_data();  // recorded ops see the old bytes
  other.mutable_data();
  std::swap(allocation_, other.allocation_);
  std::swap(allocator_, other.allocator_);
  std::swap(release_, other.release_);
  std::swap(context_, other.context_);
}

}  // namespace mindtorch
