#pragma once

#include <cstddef>
#include <cstdint>

namespace mindtorch::cpu::sorting {

// Uninitialised working memory for the length of a scope. Each thread keeps one block for its next
// scope, up to kKeptBytes, and nested scopes share it; what does not fit is served by the system
// and goes back to it.
class Scratch {
 public:
  static constexpr size_t kKeptBytes = size_t{16} << 20;

  // What take<T>(count) uses up.
  template <typename T>
  static constexpr size_t room(int64_t count) {
    return (static_cast<size_t>(count) * sizeof(T) + kLine - 1) / kLine * kLine;
  }

  // `nested_bytes` are for scopes within this one.
  explicit Scratch(size_t size_bytes, size_t nested_bytes = 0);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

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
      : scratch_(Scratch::room<T>(count)), data_(scratch_.take<T>(count)) {}
  [[nodiscard]] T* get() const { return data_; }

 private:
  Scratch scratch_;
  T* data_;
};

}  // namespace mindtorch::cpu::sorting
