// Without Xbyak, or on other processors than x86-64: the tiles do it all.
#include "mindtorch/backends/cpu/jit/kernel.h"

namespace mindtorch::cpu::jit {

bool available() { return false; }
bool can_generate(const ops::FusedStep&, std::span<const DType>) { return false; }
bool is_long(const ops::FusedStep&) { return false; }
std::unique_ptr<Kernel> compile(const Run&) { return nullptr; }

}  // namespace mindtorch::cpu::jit
