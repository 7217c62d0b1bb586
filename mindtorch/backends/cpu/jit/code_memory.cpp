#include "mindtorch/backends/cpu/jit/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace mindtorch::cpu::jit {
namespace {

size_t whole_pages(size_t size_bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (size_bytes + page - 1) / page * page;
}

}  // namespace

CodeMemory::CodeMemory(size_t size_bytes) {
  const size_t size = whole_pages(size_bytes);
  void* const pages =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  data_ = static_cast<uint8_t*>(pages);
  size_bytes_ = size;
}

CodeMemory::~CodeMemory() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

bool CodeMemory::seal(size_t used_bytes) {
  const size_t used = whole_pages(used_bytes);
  if (used < size_bytes_) ::munmap(data_ + used, size_bytes_ - used);
  size_bytes_ = used;
  return ::mprotect(data_, size_bytes_, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace mindtorch::cpu::jit
