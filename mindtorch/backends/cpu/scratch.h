#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "mindtorch/backends/cpu/ceil_div.h"

namespace mindtorch::cpu {

// Uninitialised working memory for the length of a scope. Each thread keeps one block for its next
// scope, up to kKeptBytes, and nested scopes share it; what does not fit is served by the system
// and goes back to it.
class KeptScratch {
 public:
  static constexpr size_t kKeptBytes = size_t{16} << 20;

  // What take<T>(count) uses up.
  template <typename T>
  static constexpr size_t room(int64_t count) {
    return ceil_div(static_cast<size_t>(count) * sizeof(T), kLine) * kLine;
  }

  // `nested_bytes` are for scopes within this one.
  explicit KeptScratch(size_t size_bytes, size_t nested_bytes = 0);
  ~KeptScratch();
  KeptScratch(const KeptScratch&) = delete;
  KeptScratch& operator=(const KeptScratch&) = delete;

  // The next `count` elements, aligned to a cache line. Taking more than was asked for is a bug.
  template <typename T>
  [[nodiscard]] T* take(int64_t count) {
    return static_cast<T*>(take_bytes(room<T>(count)));
  }

 private:
  static constexpr size_t kLine = 64;

  void* take_bytes(size_t size_bytes);

  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  size_t used_bytes_ = 0;
  bool from_thread_ = false;  // else from the system
};

// The same for one array.
template <typename T>
class ScratchArray {
 public:
  explicit ScratchArray(int64_t count)
      : scratch_(KeptScratch::room<T>(count)), data_(scratch_.take<T>(count)) {}
  [[nodiscard]] T* get() const { return data_; }

 private:
  KeptScratch scratch_;
  T* data_;
};

// Uninitialised memory from the system, aligned to a cache line: for what outlives a scope, what
// another thread may release, and what is too large to be kept, so that it counts as memory in use
// no longer than it is needed.
template <typename T>
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(int64_t count) { allocate(count); }
  void allocate(int64_t count) {
    const size_t bytes = ceil_div(static_cast<size_t>(count) * sizeof(T), 64) * 64;
    memory_.reset(static_cast<T*>(std::aligned_alloc(64, bytes == 0 ? 64 : bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  T* get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};

}  // namespace mindtorch::cpu
