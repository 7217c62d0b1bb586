#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace mindtorch::cpu::jit {

// Pages of their own for machine code: written first, then executable, never both. Move-only.
class CodeMemory {
 public:
  CodeMemory() = default;
  // Writable; empty where the system gives none.
  explicit CodeMemory(size_t size_bytes);
  CodeMemory(CodeMemory&& other) noexcept { swap(other); }
  CodeMemory& operator=(CodeMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CodeMemory();

  uint8_t* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }

  // Keeps the first bytes, read-only and executable. False where the system refuses that, as
  // hardened ones do.
  bool seal(size_t used_bytes);

 private:
  void swap(CodeMemory& other) {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
  }

  uint8_t* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace mindtorch::cpu::jit
