// Conversions, loads and stores, and the loops around a body.
#include <algorithm>
#include <numeric>

#include "mindtorch/backends/cpu/jit/emitter.h"
#include "mindtorch/base/error.h"

namespace mindtorch::cpu::jit {

using namespace Xbyak::util;
using Code = Xbyak::CodeGenerator;

namespace {

// Lines of memory have a register each, as far as these go.
const Xbyak::Reg64 kPointers[] = {r8, r9, r10, r11, rbx, r12, r13, r14, r15};
constexpr int kPointerCount = 9;
constexpr int kVolatilePointers = 4;  // need not be saved

}  // namespace

Value Emitter::convert(Operand a, Kind to) {
  const Kind from = kind_of(a);
  if (from == to) return copy(std::move(a));
  if (to == Kind::kMask) return compare(Compare::kNotEqual, std::move(a), constant(from, 0));
  if (from == Kind::kMask) return select_or_zero(std::move(a), constant(to, 1));
  MT_ASSERT(a.value() != nullptr);
  const auto at = a.value()->at_;
  Value result = reuse(a, to);
  each([&](size_t u) {
    if (to == Kind::kFloat64) {
      vcvtps2pd(part(result.at_[u], 8), part(at[u], 4));
    } else {
      vcvtpd2ps(part(result.at_[u], 4), part(at[u], 8));
    }
  });
  return result;
}

// Of float32 lanes: the nearest value that the 16-bit dtype has.
Value Emitter::round_to(Operand a, DType dtype) {
  if (dtype == DType::kFloat16) {
    Value to = copy(std::move(a));
    each([&](size_t u) { vcvtps2ph(part(to.at_[u], 2), part(to.at_[u], 4), 0); });
    each([&](size_t u) { vcvtph2ps(part(to.at_[u], 4), part(to.at_[u], 2)); });
    return to;
  }
  // To even: half a unit less one, and one more if the last bit that stays is set.
  const auto bits = [&](uint32_t word) { return constant_bits(Kind::kFloat32, word); };
  const Value is_nan = compare(Compare::kUnordered, a, a);
  const Value from = copy(std::move(a));
  Value to = take(Kind::kFloat32);
  each([&](size_t u) { vpsrld(part(to.at_[u], 4), part(from.at_[u], 4), 16); });
  to = bit_and(std::move(to), bits(1));
  to = add_bits(std::move(to), from);
  to = add_bits(std::move(to), bits(0x7fff));
  to = bit_and(std::move(to), bits(0xffff0000));
  return select(is_nan, bits(0x7fc00000), std::move(to));
}

// ---- memory ----

Xbyak::Reg64 Emitter::pointer(int line) {
  if (line < kPointerCount) return kPointers[line];
  if (line < inputs_) {
    mov(rax, ptr[rdi + line * 8]);
  } else {
    mov(rax, ptr[rsi + (line - inputs_) * 8]);
  }
  return rax;
}

Xbyak::RegExp Emitter::element(const Xbyak::Reg64& base, size_t u, int size) const {
  return base + rcx * size + static_cast<int>(u) * lanes_ * size;
}

Value Emitter::load(int input, DType dtype, bool single) {
  const Kind kind = dtype == DType::kBool      ? Kind::kMask
                    : dtype == DType::kFloat64 ? Kind::kFloat64
                                               : Kind::kFloat32;
  const auto size = static_cast<int>(mindtorch::size_bytes(dtype));
  Value to = take(kind);
  const uint8_t scratch = kind == Kind::kMask ? take_one(false) : uint8_t{0};
  if (!dry_ && !failed_) {
    const Xbyak::Reg64 base = pointer(input);
    for (size_t u = 0; u < static_cast<size_t>(unroll_); ++u) {
      const uint8_t at = kind == Kind::kMask ? scratch : to.at_[u];
      const Xmm raw = part(at, size);
      const Xbyak::RegExp from = single ? Xbyak::RegExp(base) : element(base, u, size);
      const Xmm masked = masked_ && !single ? raw | k1 | T_z : raw;
      if (size == 8) {
        single ? vbroadcastsd(Xbyak::Zmm(at), ptr[from]) : vmovupd(masked, ptr[from]);
      } else if (size == 4) {
        single ? vbroadcastss(raw, ptr[from]) : vmovups(masked, ptr[from]);
      } else if (size == 2 && single) {
        vpbroadcastw(raw, ptr[from]);
      } else if (size == 2) {
        masked_ ? vmovdqu16(masked, ptr[from]) : vmovups(raw, ptr[from]);
      } else if (single) {
        vpbroadcastb(raw, ptr[from]);
      } else if (masked_ || lanes_ == 16) {
        vmovdqu8(masked, ptr[from]);
      } else {
        vmovq(raw, ptr[from]);
      }
      if (dtype == DType::kBool && is_512_) {
        vptestmb(Xbyak::Opmask(to.at_[u]), raw, raw);
      } else if (dtype == DType::kBool) {
        const Xmm mask = part(to.at_[u], 4);
        vpmovzxbd(part(at, 4), raw);
        vpxor(mask, mask, mask);
        vpcmpgtd(mask, part(at, 4), mask);
      } else if (dtype == DType::kFloat16) {
        vcvtph2ps(part(at, 4), raw);
      } else if (dtype == DType::kBFloat16) {
        vpmovzxwd(part(at, 4), raw);
        vpslld(part(at, 4), part(at, 4), 16);
      }
    }
  }
  if (kind == Kind::kMask) free_vectors_ |= 1u << scratch;
  return to;
}

void Emitter::store(int output, DType dtype, const Value& value) {
  const auto size = static_cast<int>(mindtorch::size_bytes(dtype));
  const bool narrows = size < 4;
  const uint8_t scratch = narrows ? take_one(false) : uint8_t{0};
  if (!dry_ && !failed_) {
    const Xbyak::Reg64 base = pointer(inputs_ + output);
    for (size_t u = 0; u < static_cast<size_t>(unroll_); ++u) {
      const uint8_t at = value.at_[u];
      const Xbyak::Xmm short_scratch(scratch);
      if (dtype == DType::kBool && is_512_) {
        vpmovm2b(short_scratch, Xbyak::Opmask(at));
        vpabsb(short_scratch, short_scratch);
      } else if (dtype == DType::kBool) {
        vextracti128(short_scratch, Xbyak::Ymm(at), 1);
        vpackssdw(short_scratch, Xbyak::Xmm(at), short_scratch);
        vpacksswb(short_scratch, short_scratch, short_scratch);
        vpabsb(short_scratch, short_scratch);
      } else if (dtype == DType::kFloat16) {
        vcvtps2ph(part(scratch, 2), part(at, 4), 0);
      } else if (dtype == DType::kBFloat16) {
        vpsrld(part(scratch, 4), part(at, 4), 16);
        if (is_512_) {
          vpmovdw(part(scratch, 2), part(scratch, 4));
        } else {  // in each half of the register, then the halves together
          const Xbyak::Ymm words(scratch);
          vpackusdw(words, words, words);
          vpermq(words, words, 0x08);
        }
      }
      const Xmm raw = part(narrows ? scratch : at, size);
      const Xbyak::Address plain = ptr[element(base, u, size)];
      const Xbyak::Address to = masked_ ? plain | k1 : plain;
      if (size == 8) {
        vmovupd(to, raw);
      } else if (size == 4) {
        vmovups(to, raw);
      } else if (size == 2) {
        masked_ ? vmovdqu16(to, raw) : vmovups(to, raw);
      } else if (masked_ || lanes_ == 16) {
        vmovdqu8(to, raw);
      } else {
        vmovq(to, raw);
      }
    }
  }
  if (narrows) free_vectors_ |= 1u << scratch;
}

// ---- loops ----

bool Emitter::begin(int inputs, int outputs) {
  if (failed_) return false;
  inputs_ = inputs;
  lines_ = inputs + outputs;
  // Vectors in flight hide latency, which constants in registers do not.
  planned_unroll_ = kMaxUnroll;
  while (planned_unroll_ > 1 &&
         (planned_unroll_ * peak_vectors_ > vectors_ || planned_unroll_ * peak_masks_ > kMasks)) {
    --planned_unroll_;
  }
  unroll_ = planned_unroll_;
  dry_ = false;

  for (const Constant& constant : constants_) dq(constant.bits);
  dq((uint64_t{1} << lanes_) - 1);  // the mask of all lanes
  align(64);
  entry_ = getSize();
  push(rbp);
  for (int i = kVolatilePointers; i < std::min(lines_, kPointerCount); ++i) push(kPointers[i]);
  lea(rbp, ptr[rip - static_cast<int>(getSize() + 7)]);  // the length of this instruction is 7
  for (int i = 0; i < std::min(lines_, kPointerCount); ++i) {
    mov(kPointers[i], i < inputs_ ? ptr[rdi + i * 8] : ptr[rsi + (i - inputs_) * 8]);
  }
  keep_constants(vectors_ - planned_unroll_ * peak_vectors_);
  xor_(ecx, ecx);
  return true;
}

// The constants used most stay in the registers that the values leave.
void Emitter::keep_constants(int registers) {
  std::vector<size_t> order(constants_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return constants_[a].uses > constants_[b].uses; });
  int at = vectors_ - 1;
  for (size_t i = 0; i < order.size() && static_cast<int>(i) < registers; ++i, --at) {
    Constant& constant = constants_[order[i]];
    broadcast_constant(constant, at);
    constant.at = at;
    free_vectors_ &= ~(1u << at);
  }
}

void Emitter::start_main_loop() {
  mov(rax, rdx);
  Code::sub(rax, planned_unroll_ * lanes_);
  jl(rest_, T_NEAR);
  L(main_);
}

void Emitter::start_rest_loop() {
  Code::add(rcx, planned_unroll_ * lanes_);
  lea(rax, ptr[rcx + planned_unroll_ * lanes_]);
  cmp(rax, rdx);
  jle(main_, T_NEAR);
  L(rest_);
  unroll_ = 1;
  mov(rax, rdx);
  Code::sub(rax, rcx);
  jle(done_, T_NEAR);
  if (!is_512_) return;
  // Fewer than the main loop's elements, and so fewer than bzhi can count.
  bzhi(eax, ptr[rbp + static_cast<int>(constants_.size()) * 8], eax);
  kmovd(k1, eax);
  masked_ = true;
}

void Emitter::finish() {
  Code::add(rcx, lanes_);
  jmp(rest_, T_NEAR);
  L(done_);
  vzeroupper();
  for (int i = std::min(lines_, kPointerCount) - 1; i >= kVolatilePointers; --i) pop(kPointers[i]);
  pop(rbp);
  ret();
}

}  // namespace mindtorch::cpu::jit
