#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace mindtorch::cpu::fft {

// The most recently used values by number, up to some memory.
template <typename Value>
class Cache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  template <typename Make>
  Pointer get(int64_t key, const Make& make) {
    {
      const std::scoped_lock lock(mutex_);
      if (Pointer found = find(key)) return found;
    }
    auto made = std::make_shared<const Value>(make(key));
    const std::scoped_lock lock(mutex_);
    if (Pointer found = find(key)) return found;
    entries_.push_front({key, made});
    elements_ += key;
    while (elements_ > kMostElements && entries_.size() > 1) {
      elements_ -= entries_.back().first;
      entries_.pop_back();
    }
    return made;
  }

 private:
  static constexpr int64_t kMostElements = 1 << 22;

  Pointer find(int64_t key) {
    const auto at = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const auto& entry) { return entry.first == key; });
    if (at == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at);
    return entries_.front().second;
  }

  std::mutex mutex_;
  std::list<std::pair<int64_t, Pointer>> entries_;
  int64_t elements_ = 0;
};

}  // namespace mindtorch::cpu::fft
