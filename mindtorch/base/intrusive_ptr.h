#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace mindtorch {

// Reference count for the two types that need to be shared cheaply: tensors and storages. The
// count starts at 1, owned by whoever made the object (IntrusivePtr::adopt). Some references are of
// readers, who want to be told before the object changes: these are counted beside all references,
// in one word, so that to come and to go is one locked instruction each.
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
    return owners(count_.fetch_sub(1, std::memory_order_acq_rel)) == 1;
  }
  // Before anybody else can see the object.
  void retain_unseen() const noexcept { count_.store(2, std::memory_order_relaxed); }
  // Takes back a drop() that returned true, before anybody else can see the object.
  void revive() const noexcept { count_.store(1, std::memory_order_relaxed); }
  uint32_t use_count() const noexcept { return owners(count_.load(std::memory_order_acquire)); }

  // A reader with a reference of its own.
  void retain_reader() const noexcept { count_.fetch_add(kReader + 1, std::memory_order_relaxed); }
  [[nodiscard]] bool drop_reader() const noexcept {
    if (count_.load(std::memory_order_acquire) == kReader + 1) return true;
    return owners(count_.fetch_sub(kReader + 1, std::memory_order_acq_rel)) == 1;
  }
  // Who has a reference becomes a reader.
  void add_reader() const noexcept { count_.fetch_add(kReader, std::memory_order_relaxed); }
  uint32_t readers() const noexcept {
    return static_cast<uint32_t>(count_.load(std::memory_order_relaxed) >> kReaderShift);
  }

 protected:
  ~RefCounted() = default;

 private:
  static constexpr int kReaderShift = 32;
  static constexpr uint64_t kReader = uint64_t{1} << kReaderShift;
  static constexpr uint32_t owners(uint64_t count) { return static_cast<uint32_t>(count); }

  mutable std::atomic<uint64_t> count_{1};
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
