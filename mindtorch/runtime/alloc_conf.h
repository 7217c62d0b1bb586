#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"

namespace mindtorch::driver {
struct DeviceRow;
}

namespace mindtorch::runtime {

// Settings of the device allocators, from the environment or from a text in torch's format:
// "max_split_size_mb:64,garbage_collection_threshold:0.8"; "=" may stand for ":".
struct MT_API AllocConf {
  static constexpr size_t kUnlimited = SIZE_MAX;

  size_t max_split_size = kUnlimited;
  size_t max_non_split_rounding = size_t{20} << 20;
  size_t large_segment_size = size_t{20} << 20;
  double garbage_collection_threshold = 0;                 // 0: off
  std::array<uint32_t, 16> roundup_power2_divisions = {};  // [i]: sizes of [2^i, 2^(i+1)) MiB
  bool expandable_segments = false;
  double per_process_memory_fraction = 1.0;
  // A cached segment this many searches old goes back to the driver when a larger one is needed;
  // 0: never. Ours, not torch's.
  uint64_t outgrown_segment_age = 1024;

  size_t pinned_max_cached_size = kUnlimited;
  size_t pinned_max_round_threshold = kUnlimited;
  size_t pinned_reserve_segment_size = 0;

  using Value = std::variant<int64_t, double, bool, std::string>;
  // What was recognised, in the order of the text.
  std::vector<std::pair<std::string, Value>> settings;
  std::string text;

  // Unknown keys and bad values go to `warn` and are left out.
  static AllocConf parse(std::string_view text,
                         const std::function<void(const std::string&)>& warn);
  // The text of the first environment variable that is set and not empty: of the device's own, then
  // PYTORCH_ALLOC_CONF.
  static std::string environment_text(const driver::DeviceRow& row);

  // What a request takes: a multiple of 512 bytes, coarser with roundup_power2_divisions.
  size_t round(size_t bytes) const noexcept;
};

// The settings in force, which may be replaced at any time. Thread-safe.
class SharedAllocConf {
 public:
  explicit SharedAllocConf(const AllocConf& conf) { set(conf); }

  std::shared_ptr<const AllocConf> get() const {
    std::lock_guard lock(mutex_);
    return conf_;
  }
  void set(const AllocConf& conf) {
    auto made = std::make_shared<const AllocConf>(conf);
    std::lock_guard lock(mutex_);
    conf_.swap(made);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const AllocConf> conf_ MT_GUARDED_BY(mutex_);
};

}  // namespace mindtorch::runtime
