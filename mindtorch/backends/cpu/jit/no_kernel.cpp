// Without Xbyak, or on other processors than x86-64: the tiles do it all.
#include "mindtorch/backends/cpu/jit/kernel.h"

namespace mindtorch::cpu::jit {

Target best_target() { return Target::kNone; }
bool can_generate(const ops::FusedStep&, std::span<const DType>, Target) { return false; }
bool is_long(const ops::FusedStep&) { return false; }
std::unique_ptr<Kernel> compile(const Run&, Target) { return nullptr; }
void Kernel::run_rest(const void* const*, void* const*, int64_t, int64_t) const {}

}  // namespace mindtorch::cpu::jit
