#include "mindtorch/runtime/host_allocator.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <new>

#include "mindtorch/base/error.h"
#include "mindtorch/base/options.h"
#include "mindtorch/base/round_up.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/profiler/recorder.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlwaysCached = size_t{64} << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooled = false;  // so that the sanitizer sees every use after free
#else
constexpr bool kPooled = true;
#endif

// Size classes: multiples of 64 up to 256, then four steps per power of two.
constexpr int kClassCount = 4 + 7 * 4;

constexpr int size_class(size_t bytes) {
  if (bytes <= 256) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  const int log2 = 63 - std::countl_zero(bytes - 1);  // 8 for 257..512
  const auto step = static_cast<int>((bytes - 1) >> (log2 - 2)) & 3;
  return 4 + (log2 - 8) * 4 + step;
}

constexpr size_t class_bytes(int index) {
  if (index < 4) return static_cast<size_t>(index + 1) * 64;
  const int log2 = 8 + (index - 4) / 4;
  return (size_t{1} << log2) +
         (static_cast<size_t>((index - 4) % 4) + 1) * (size_t{1} << (log2 - 2));
}

static_assert(class_bytes(kClassCount - 1) == HostAllocator::kSmallLimit);
static_assert(class_bytes(size_class(257)) == 320 && class_bytes(size_class(320)) == 320);
static_assert(class_bytes(size_class(512)) == 512 && class_bytes(size_class(513)) == 640);

struct FreeNode {
  FreeNode* next;
};

// Per-thread free lists. Trivially destructible state plus a guard object, so that tensors freed
// by other thread-local destructors still find `closed` set instead of a dead list.
struct ThreadCache {
  FreeNode* lists[kClassCount] = {};
  uint16_t counts[kClassCount] = {};
  bool registered = false;
  bool closed = false;

  void drain() noexcept {
    for (int i = 0; i < kClassCount; ++i) {
      while (FreeNode* node = lists[i]) {
        lists[i] = node->next;
        std::free(node);
      }
      counts[i] = 0;
    }
  }
};

constinit thread_local ThreadCache t_cache __attribute__((tls_model("initial-exec")));

struct ThreadCacheGuard {
  ~ThreadCacheGuard() {
    t_cache.drain();
    t_cache.closed = true;
  }
};

void register_thread() {
  thread_local ThreadCacheGuard guard;
  (void)guard;
  t_cache.registered = true;
}

// At most 64 KiB or 8 blocks a class and thread stay cached, whichever is more.
constexpr uint16_t list_limit(int index) {
  const size_t blocks = (size_t{64} << 10) / class_bytes(index);
  return static_cast<uint16_t>(blocks < 8 ? 8 : blocks > 512 ? 512 : blocks);
}

constexpr auto kListLimits = [] {
  std::array<uint16_t, kClassCount> limits{};
  for (int i = 0; i < kClassCount; ++i) limits[static_cast<size_t>(i)] = list_limit(i);
  return limits;
}();

void* system_small(size_t bytes) {
  void* data = std::aligned_alloc(kAlignment, bytes);
  if (data == nullptr) {
    host_allocator().empty_cache();
    data = std::aligned_alloc(kAlignment, bytes);
  }
  MT_CHECK(data != nullptr, RuntimeError,
           "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes, " bytes.");
  return data;
}

// Milliseconds of a clock that is read without a system call.
int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// The shared cache of large blocks.
class LargeCache {
 public:
  // Held while the process forks: a child must not be given a mutex that another thread had locked.
  void before_fork() MT_UNCHECKED_LOCKS { mutex_.lock(); }
  void after_fork() MT_UNCHECKED_LOCKS { mutex_.unlock(); }
  Allocation take(size_t bytes) {
    const size_t rounded = rounded_size(bytes);
    std::list<Cached> expired;
    const Allocation block = find(rounded, expired);
    for (const Cached& old : expired) unmap(old.block);
    return block.data != nullptr ? block : grow(rounded, bytes);
  }

  void give(Allocation block) noexcept {
    std::list<Cached> dropped;
    bool kept = false;
    {
      std::lock_guard lock(mutex_);
      allocated_bytes_ -= block.capacity_bytes;
      kept = keep(block);
      const size_t most = most_cached();
      while (cached_bytes_ > most) drop_oldest(dropped);
      drop_expired(dropped);
    }
    if (!kept) unmap(block);
    for (const Cached& old : dropped) unmap(old.block);
  }

  void clear() noexcept {
    std::list<Cached> dropped;
    {
      std::lock_guard lock(mutex_);
      dropped.swap(by_age_);
      by_size_.clear();
      cached_bytes_ = 0;
    }
    for (const Cached& old : dropped) unmap(old.block);
  }

  void set_keep_time(int64_t milliseconds) noexcept {
    std::lock_guard lock(mutex_);
    keep_ms_ = milliseconds;
  }

  HostAllocator::Stats stats() const {
    std::lock_guard lock(mutex_);
    return {allocated_bytes_, cached_bytes_, limit_bytes_};
  }

 private:
  struct Cached {
    Allocation block;
    int64_t since_ms;
  };

  // A block with a quarter to spare is taken; a much larger one would waste memory. None: no data.
  Allocation find(size_t rounded, std::list<Cached>& expired) {
    std::lock_guard lock(mutex_);
    auto found = by_size_.lower_bound(rounded);
    Allocation block{};
    if (found != by_size_.end() && found->first <= rounded + rounded / 4) {
      // Of several that fit, the last one given back: caches may still hold it.
      found = std::prev(by_size_.upper_bound(found->first));
      block = found->second->block;
      by_age_.erase(found->second);
      by_size_.erase(found);
      cached_bytes_ -= block.capacity_bytes;
      add_allocated(block.capacity_bytes);
    }
    drop_expired(expired);
    return block;
  }

  // Pages below 1 MiB, then eighths of a power of two, so that nearly equal sizes share blocks.
  static size_t rounded_size(size_t bytes) {
    MT_CHECK(bytes <= (size_t{1} << 62), RuntimeError,
             "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
             " bytes.");
    size_t unit = 4096;
    if (bytes > (size_t{1} << 20)) unit = std::bit_floor(bytes) / 8;
    if (bytes >= kHugePage && unit < kHugePage) unit = kHugePage;
    return round_up(bytes, unit);
  }

  Allocation grow(size_t rounded, size_t asked) {
    if (low_on_memory(rounded)) clear();
    Allocation block{map(rounded), rounded};
    if (block.data == nullptr) {
      clear();
      block.data = map(rounded);
    }
    MT_CHECK(block.data != nullptr, RuntimeError,
             "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", asked,
             " bytes.");
    std::lock_guard lock(mutex_);
    add_allocated(rounded);
    return block;
  }

  // True when what is cached is wanted elsewhere: taking `bytes` more would leave the machine with
  // less than a sixteenth of its memory. Asked for large growth only: it reads a file.
  bool low_on_memory(size_t bytes) {
    if (bytes < (size_t{16} << 20)) return false;
    {
      std::lock_guard lock(mutex_);
      if (cached_bytes_ == 0) return false;
    }
    std::FILE* file = std::fopen("/proc/meminfo", "re");
    if (file == nullptr) return false;
    unsigned long long total = 0;
    unsigned long long available = ~0ull;
    char line[128];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::sscanf(line, "MemTotal: %llu kB", &total) == 1) continue;
      if (std::sscanf(line, "MemAvailable: %llu kB", &available) == 1) break;
    }
    std::fclose(file);
    return available < bytes / 1024 + total / 16;
  }

  static void* map(size_t bytes) {
    const size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
    void* data = std::aligned_alloc(alignment, bytes);
    if (data != nullptr && bytes >= kHugePage) madvise(data, bytes, MADV_HUGEPAGE);
    return data;
  }
  static void unmap(Allocation block) noexcept { std::free(block.data); }

  // False, and nothing changed, when there is no memory for the entries.
  bool keep(Allocation block) noexcept MT_REQUIRES(mutex_) {
    try {
      std::list<Cached> entry(1, Cached{block, now_ms()});
      by_size_.emplace(block.capacity_bytes, entry.begin());
      by_age_.splice(by_age_.end(), entry);
    } catch (const std::bad_alloc&) {
      return false;
    }
    cached_bytes_ += block.capacity_bytes;
    return true;
  }

  void drop_oldest(std::list<Cached>& dropped) MT_REQUIRES(mutex_) {
    const auto oldest = by_age_.begin();
    auto [first, last] = by_size_.equal_range(oldest->block.capacity_bytes);
    while (first->second != oldest) ++first;
    by_size_.erase(first);
    cached_bytes_ -= oldest->block.capacity_bytes;
    dropped.splice(dropped.end(), by_age_, oldest);
  }

  // The most that was in use at once is known for the last keep time, and up to another one.
  void add_allocated(size_t bytes) MT_REQUIRES(mutex_) {
    allocated_bytes_ += bytes;
    if (allocated_bytes_ > peak_bytes_) peak_bytes_ = allocated_bytes_;
    const int64_t now = now_ms();
    if (now - peak_since_ms_ < keep_ms_) return;
    last_peak_bytes_ = peak_bytes_;
    peak_bytes_ = allocated_bytes_;
    peak_since_ms_ = now;
  }

  // Blocks of ever new sizes would fill the cache and never be wanted again: with those in use they
  // may take half more than was lately in use at once.
  size_t most_cached() const MT_REQUIRES(mutex_) {
    const size_t peak = std::max(peak_bytes_, last_peak_bytes_);
    const size_t spare = peak + peak / 2 - std::min(peak, allocated_bytes_);
    return std::min(limit_bytes_, std::max(spare, kAlwaysCached));
  }

  // A few at a time: giving memory back takes its time too.
  void drop_expired(std::list<Cached>& dropped) MT_REQUIRES(mutex_) {
    if (by_age_.empty()) return;
    const int64_t limit = now_ms() - keep_ms_;
    for (int i = 0; i < 8 && !by_age_.empty() && by_age_.front().since_ms < limit; ++i) {
      drop_oldest(dropped);
    }
  }

  static size_t default_limit() {
    if (const auto megabytes = options::kCpuCacheMb.find()) return *megabytes << 20;
    const auto pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 4;
  }

  mutable std::mutex mutex_;
  std::list<Cached> by_age_ MT_GUARDED_BY(mutex_);  // oldest first
  std::multimap<size_t, std::list<Cached>::iterator> by_size_ MT_GUARDED_BY(mutex_);
  size_t peak_bytes_ MT_GUARDED_BY(mutex_) = 0;
  size_t last_peak_bytes_ MT_GUARDED_BY(mutex_) = 0;
  int64_t peak_since_ms_ MT_GUARDED_BY(mutex_) = now_ms();
  int64_t keep_ms_ MT_GUARDED_BY(mutex_) = HostAllocator::kKeepSeconds * 1000;
  size_t allocated_bytes_ MT_GUARDED_BY(mutex_) = 0;
  size_t cached_bytes_ MT_GUARDED_BY(mutex_) = 0;
  const size_t limit_bytes_ = kPooled ? default_limit() : 0;
};

// Never destroyed: tensors in static storage may be freed after any destructor of ours.
LargeCache& large_cache() {
  static LargeCache& cache = *new LargeCache;
  static const int registered =
      pthread_atfork([] { large_cache().before_fork(); }, [] { large_cache().after_fork(); },
                     [] { large_cache().after_fork(); });
  (void)registered;
  return cache;
}

}  // namespace

void* allocate_small(size_t bytes) {
  const int index = size_class(bytes);
  FreeNode* node = t_cache.lists[index];
  if (MT_LIKELY(node != nullptr)) {
    t_cache.lists[index] = node->next;
    --t_cache.counts[index];
    return node;
  }
  return system_small(class_bytes(index));
}

void release_small(void* data, size_t bytes) noexcept {
  const int index = size_class(bytes);
  if (MT_UNLIKELY(!t_cache.registered) && !t_cache.closed) register_thread();
  if (!kPooled || t_cache.closed ||
      t_cache.counts[index] >= kListLimits[static_cast<size_t>(index)]) {
    std::free(data);
    return;
  }
  auto* node = static_cast<FreeNode*>(data);
  node->next = t_cache.lists[index];
  t_cache.lists[index] = node;
  ++t_cache.counts[index];
}

Allocation HostAllocator::allocate(size_t bytes) {
  if (bytes == 0) return {};
  Allocation taken = bytes <= kSmallLimit
                         ? Allocation{allocate_small(bytes), class_bytes(size_class(bytes))}
                         : large_cache().take(bytes);
  if (MT_UNLIKELY(profiler::wants(profiler::kMemory))) {
    profiler::note_host_allocation(taken.data, bytes);
  }
  return taken;
}

void HostAllocator::release(Allocation allocation) noexcept {
  if (allocation.data == nullptr) return;
  if (MT_UNLIKELY(profiler::wants(profiler::kMemory))) {
    profiler::note_host_release(allocation.data);
  }
  if (allocation.capacity_bytes <= kSmallLimit) {
    release_small(allocation.data, allocation.capacity_bytes);
  } else {
    large_cache().give(allocation);
  }
}

void HostAllocator::empty_cache() noexcept {
  t_cache.drain();
  large_cache().clear();
#ifdef __GLIBC__
  malloc_trim(0);  // what malloc took from its heap, it keeps otherwise
#endif
}

void HostAllocator::set_keep_time(std::chrono::milliseconds time) noexcept {
  large_cache().set_keep_time(time.count());
}

HostAllocator::Stats HostAllocator::stats() const { return large_cache().stats(); }

HostAllocator& host_allocator() {
  static HostAllocator& allocator = *new HostAllocator;
  return allocator;
}

}  // namespace mindtorch::runtime
