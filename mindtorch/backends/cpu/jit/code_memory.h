#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace mindtorch::cpu::jit {

// Machine code in pages of its own: written first, then executable, never both. Move-only.
class CodeMemory {
 public:
  CodeMemory() = default;
  // Empty where the system gives no memory or refuses to make it executable, as hardened ones do.
  explicit CodeMemory(std::span<const uint8_t> code);
  CodeMemory(CodeMemory&& other) noexcept { swap(other); }
  CodeMemory& operator=(CodeMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CodeMemory();

  const uint8_t* data() const { return data_; }

 private:
  void swap(CodeMemory& other) {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
  }

  const uint8_t* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace mindtorch::cpu::jit
