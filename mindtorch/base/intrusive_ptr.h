#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace mindtorch {

// Reference count for the two types that need to be shared cheaply: tensors and storages. The
// count starts at 1, owned by whoever made the object (IntrusivePtr::adopt).
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  // True when the last reference went away; the caller then deletes the object.
  [[nodiscard]] bool drop() const noexcept {
    // A sole owner needs no locked instruction: nobody else can be looking at the count.
    if (count_.load(std::memory_order_acquire) == 1) return true;
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  // Takes back a drop() that returned true, before anybody else can see the object.
  void revive() const noexcept { count_.store(1, std::memory_order_relaxed); }
  uint32_t use_count() const noexcept { return count_.load(std::memory_order_acquire); }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<uint32_t> count_{1};
};

template <typename T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}  // NOLINT
  static IntrusivePtr adopt(T* object) noexcept {
    IntrusivePtr pointer;
    pointer.object_ = object;
    return pointer;
  }
  static IntrusivePtr retain(T* object) noexcept {
    if (object) object->retain();
    return adopt(object);
  }
  IntrusivePtr(const IntrusivePtr& other) noexcept : object_(other.object_) {
    if (object_) object_->retain();
  }
  IntrusivePtr(IntrusivePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ~IntrusivePtr() { reset(); }
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  void reset() noexcept {
    if (T* object = std::exchange(object_, nullptr); object && object->drop()) T::destroy(object);
  }
  // Gives up ownership without dropping the count.
  [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) {
    return a.object_ == b.object_;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace mindtorch
