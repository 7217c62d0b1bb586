#include "mindtorch/backends/cpu/jit/code_memory.h"
#include "mindtorch/backends/cpu/ceil_div.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace mindtorch::cpu::jit {

CodeMemory::CodeMemory(std::span<const uint8_t> code) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t size = ceil_div(code.size(), page) * page;
  void* const pages =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  std::memcpy(pages, code.data(), code.size());
  if (::mprotect(pages, size, PROT_READ | PROT_EXEC) != 0) {
    ::munmap(pages, size);
    return;
  }
  data_ = static_cast<const uint8_t*>(pages);
  size_bytes_ = size;
}

CodeMemory::~CodeMemory() {
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_bytes_);
}

}  // namespace mindtorch::cpu::jit
