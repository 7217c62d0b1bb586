#pragma once

#include <span>

#include "mindtorch/backends/cpu/jit/emitter.h"
#include "mindtorch/ops/pointwise.h"

namespace mindtorch::cpu::jit {

// What a function computes in, and the numbers of its op.
struct Call {
  ops::Pointwise function{};
  Kind kind{};  // kMask: on bool
  const ops::PointwiseParams* params = nullptr;
};

// The code of a function, on operands of the call's kind (the condition of `where` is a mask).
// Returns an unset value where there is none.
//
// Each is the tile's, in backends/cpu/tiles, operation by operation: results must not differ.
Value emit(Emitter& e, const Call& call, std::span<Operand> in);

// The same for those that need an exponential or a logarithm, which are long.
Value emit_transcendental(Emitter& e, const Call& call, Operand a);

}  // namespace mindtorch::cpu::jit
