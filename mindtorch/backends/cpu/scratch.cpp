#include "mindtorch/backends/cpu/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/base/error.h"

namespace mindtorch::cpu {
namespace {

constexpr std::align_val_t kLineAlignment{64};
constexpr std::align_val_t kHugePageAlignment{size_t{2} << 20};
constexpr size_t kSmallestBytes = size_t{16} << 10;

bool is_large(size_t size_bytes) {
  return size_bytes >= 2 * static_cast<size_t>(kHugePageAlignment);
}

void* allocate(size_t size_bytes) {
  if (!is_large(size_bytes)) return ::operator new(size_bytes, kLineAlignment);
  void* data = ::operator new(size_bytes, kHugePageAlignment);
  // Scattering into many buckets wants few page-table entries. Without them it is only slower.
  madvise(data, size_bytes, MADV_HUGEPAGE);
  return data;
}

void release(void* data, size_t size_bytes) noexcept {
  ::operator delete(data, is_large(size_bytes) ? kHugePageAlignment : kLineAlignment);
}

struct KeptBlock {
  void* data = nullptr;
  size_t size_bytes = 0;
  size_t used_bytes = 0;

  ~KeptBlock() { release(data, size_bytes); }
};

thread_local KeptBlock kept;

}  // namespace

KeptScratch::KeptScratch(size_t size_bytes, size_t nested_bytes)
    : size_bytes_(ceil_div(size_bytes, kLine) * kLine) {
  const size_t wanted = size_bytes_ + nested_bytes;
  if (kept.used_bytes == 0 && wanted > kept.size_bytes && wanted <= kKeptBytes) {
    // Doubling keeps rows that grow slowly from allocating at every call.
    const size_t grown =
        std::min(std::max({wanted, 2 * kept.size_bytes, kSmallestBytes}), kKeptBytes);
    release(std::exchange(kept.data, nullptr), std::exchange(kept.size_bytes, size_t{0}));
    kept.data = allocate(grown);
    kept.size_bytes = grown;
  }
  from_thread_ = size_bytes_ <= kept.size_bytes - kept.used_bytes;
  if (!from_thread_) {
    data_ = static_cast<std::byte*>(allocate(size_bytes_));
    return;
  }
  data_ = static_cast<std::byte*>(kept.data) + kept.used_bytes;
  kept.used_bytes += size_bytes_;
}

KeptScratch::~KeptScratch() {
  if (from_thread_) {
    kept.used_bytes -= size_bytes_;
  } else {
    release(data_, size_bytes_);
  }
}

void* KeptScratch::take_bytes(size_t size_bytes) {
  MT_ASSERT(size_bytes <= size_bytes_ - used_bytes_);
  return data_ + std::exchange(used_bytes_, used_bytes_ + size_bytes);
}

}  // namespace mindtorch::cpu
