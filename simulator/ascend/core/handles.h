#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace sim {

enum class HandleKind : uint64_t { kContext = 1, kStream, kEvent, kModel, kPhysical };

// Live objects by handle. A handle is a number, never an address, and no two objects ever have the
// same one: a handle that outlives its object is found out.
template <class T, HandleKind kKind>
class Table {
 public:
  void* add(const std::shared_ptr<T>& object) {
    const uint64_t number = kTag | (++made_ << 4);
    void* handle = reinterpret_cast<void*>(number);
    object->handle = handle;
    live_.emplace(number, object);
    return handle;
  }

  std::shared_ptr<T> find(const void* handle) const {
    const auto found = live_.find(reinterpret_cast<uint64_t>(handle));
    return found == live_.end() ? nullptr : found->second;
  }

  // Whether an object had this handle and is gone.
  bool was(const void* handle) const {
    const auto number = reinterpret_cast<uint64_t>(handle);
    return (number & kTagMask) == kTag && (number & ~kTagMask) >> 4 <= made_ && !find(handle);
  }

  void remove(const void* handle) { live_.erase(reinterpret_cast<uint64_t>(handle)); }
  void clear() { live_.clear(); }
  size_t size() const { return live_.size(); }
  auto begin() const { return live_.begin(); }
  auto end() const { return live_.end(); }

 private:
  static constexpr uint64_t kTagMask = uint64_t{0xffff} << 48;
  static constexpr uint64_t kTag = (uint64_t{0x5100} + static_cast<uint64_t>(kKind)) << 48;

  std::unordered_map<uint64_t, std::shared_ptr<T>> live_;
  uint64_t made_ = 0;
};

}  // namespace sim
