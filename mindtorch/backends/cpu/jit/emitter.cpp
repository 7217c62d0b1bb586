#include "mindtorch/backends/cpu/jit/emitter.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "mindtorch/base/error.h"

namespace mindtorch::cpu::jit {

using namespace Xbyak::util;
using Code = Xbyak::CodeGenerator;

void Value::reset() {
  if (emitter_ == nullptr) return;
  emitter_->give_back(*this);
  emitter_ = nullptr;
}

Emitter::Emitter(uint8_t* memory, size_t size_bytes, int lanes, Target target)
    : Xbyak::CodeGenerator(size_bytes, memory),
      lanes_(lanes),
      is_512_(target == Target::kAvx512),
      vectors_(is_512_ ? 32 : 16),
      free_vectors_(is_512_ ? ~0u : 0xffffu) {}

// ---- registers ----

uint8_t Emitter::take_one(bool mask) {
  uint32_t& free = mask ? free_masks_ : free_vectors_;
  if (free == 0) {
    failed_ = true;
    return 0;
  }
  const int at = std::countr_zero(free);
  free &= free - 1;
  if (mask) {
    peak_masks_ = std::max(peak_masks_, kMasks - std::popcount(free));
  } else {
    peak_vectors_ = std::max(peak_vectors_, vectors_ - std::popcount(free));
  }
  return static_cast<uint8_t>(at);
}

Value Emitter::take(Kind kind) {
  Value value;
  value.emitter_ = this;
  value.kind_ = kind;
  value.count_ = static_cast<uint8_t>(unroll_);
  for (int u = 0; u < unroll_; ++u)
    value.at_[static_cast<size_t>(u)] = take_one(has_own_registers(kind));
  return value;
}

void Emitter::give_back(const Value& value) {
  uint32_t& free = has_own_registers(value.kind_) ? free_masks_ : free_vectors_;
  for (size_t u = 0; u < value.count_; ++u) free |= 1u << value.at_[u];
}

// The registers of an operand that is used up, for a result; or new ones.
Value Emitter::reuse(Operand& operand, Kind kind) {
  if (!operand.used_up()) return take(kind);
  Value value = std::move(operand.own_);
  value.kind_ = kind;
  return value;
}
Value Emitter::reuse(Operand& first, Operand& second, Kind kind) {
  return reuse(first.used_up() ? first : second, kind);
}

Xbyak::Xmm Emitter::part(int at, int lane_bytes) const {
  switch (lanes_ * lane_bytes) {
    case 64:
      return Xbyak::Zmm(at);
    case 32:
      return Xbyak::Ymm(at);
    default:
      return Xbyak::Xmm(at);
  }
}
Xbyak::Xmm Emitter::vector(int at, Kind kind) const {
  return part(at, kind == Kind::kFloat64 ? 8 : 4);
}

// ---- operands ----

// An operand made ready for one instruction: registers, or, where the instruction can, memory.
class Emitter::Source {
 public:
  Source(Emitter& emitter, const Operand& operand, bool may_be_memory)
      : emitter_(emitter), kind_(emitter.kind_of(operand)) {
    if (operand.value() != nullptr) {
      at_ = operand.value()->at_;
      return;
    }
    Constant& constant = emitter.constants_[static_cast<size_t>(operand.constant_)];
    ++constant.uses;
    if (constant.at >= 0) {
      at_.fill(static_cast<uint8_t>(constant.at));
    } else if (may_be_memory && emitter.is_512_) {
      if (!emitter.dry_) memory_ = emitter.constant_address(constant);
    } else {
      at_.fill(emitter.take_one(false));
      scratch_ = true;
      if (!emitter.dry_) emitter.broadcast_constant(constant, at_[0]);
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (scratch_) emitter_.free_vectors_ |= 1u << at_[0];
  }

  Xbyak::Xmm vector(size_t u) const { return emitter_.vector(at_[u], kind_); }
  Xbyak::Opmask mask(size_t u) const { return Xbyak::Opmask(at_[u]); }
  const Xbyak::Operand& operator()(size_t u) {
    if (memory_) return *memory_;
    current_ = vector(u);
    return current_;
  }

 private:
  Emitter& emitter_;
  Kind kind_;
  std::array<uint8_t, kMaxUnroll> at_{};
  bool scratch_ = false;
  std::optional<Xbyak::Address> memory_;
  Xbyak::Xmm current_;
};

Kind Emitter::kind_of(const Operand& operand) const {
  if (operand.value() != nullptr) return operand.value()->kind_;
  return constants_[static_cast<size_t>(operand.constant_)].kind;
}

// A constant that is in no register can only be an instruction's last operand.
bool Emitter::in_memory(const Operand& operand) const {
  return is_512_ && operand.value() == nullptr &&
         constants_[static_cast<size_t>(operand.constant_)].at < 0;
}

int Emitter::find_constant(Kind kind, uint64_t bits, int input) {
  for (size_t i = 0; i < constants_.size(); ++i) {
    const Constant& known = constants_[i];
    if (known.kind == kind && known.bits == bits && known.input == input)
      return static_cast<int>(i);
  }
  constants_.push_back({kind, bits, input});
  return static_cast<int>(constants_.size()) - 1;
}
Operand Emitter::constant_bits(Kind kind, uint64_t bits) {
  return Operand(find_constant(kind, bits, -1));
}
Operand Emitter::constant(Kind kind, double value) {
  if (kind == Kind::kFloat64) return constant_bits(kind, std::bit_cast<uint64_t>(value));
  return constant_bits(kind, std::bit_cast<uint32_t>(static_cast<float>(value)));
}
Operand Emitter::single(Kind kind, int input) { return Operand(find_constant(kind, 0, input)); }

Xbyak::Address Emitter::constant_address(const Constant& constant) {
  if (constant.input >= 0) return ptr_b[pointer(constant.input)];
  return ptr_b[rbp + static_cast<int>(&constant - constants_.data()) * 8];
}

void Emitter::broadcast_constant(const Constant& constant, int to) {
  const Xbyak::RegExp from = constant.input >= 0
                                 ? Xbyak::RegExp(pointer(constant.input))
                                 : rbp + static_cast<int>(&constant - constants_.data()) * 8;
  if (constant.kind == Kind::kFloat64) {
    vbroadcastsd(Xbyak::Zmm(to), ptr[from]);
  } else {
    vbroadcastss(part(to, 4), ptr[from]);
  }
}

// ---- arithmetic ----

template <class Instruction>
Value Emitter::binary(Operand& a, Operand& b, const Pair<Instruction>& pair) {
  const Kind kind = kind_of(a);
  Source first(*this, a, false);
  Source second(*this, b, true);
  Value to = reuse(a, b, kind);
  const Instruction instruction = kind == Kind::kFloat64 ? pair.full : pair.single;
  each(
      [&](size_t u) { (this->*instruction)(vector(to.at_[u], kind), first.vector(u), second(u)); });
  return to;
}
template <class Instruction>
Value Emitter::commutative(Operand& a, Operand& b, const Pair<Instruction>& pair) {
  return in_memory(a) ? binary(b, a, pair) : binary(a, b, pair);
}

Value Emitter::add(Operand a, Operand b) {
  return commutative(a, b, Pair(&Code::vaddps, &Code::vaddpd));
}
Value Emitter::sub(Operand a, Operand b) {
  return binary(a, b, Pair(&Code::vsubps, &Code::vsubpd));
}
Value Emitter::mul(Operand a, Operand b) {
  return commutative(a, b, Pair(&Code::vmulps, &Code::vmulpd));
}
Value Emitter::div(Operand a, Operand b) {
  return binary(a, b, Pair(&Code::vdivps, &Code::vdivpd));
}
Value Emitter::max(Operand a, Operand b) {
  return binary(a, b, Pair(&Code::vmaxps, &Code::vmaxpd));
}
Value Emitter::min(Operand a, Operand b) {
  return binary(a, b, Pair(&Code::vminps, &Code::vminpd));
}
Value Emitter::bit_and(Operand a, Operand b) {
  return commutative(a, b, Pair(&Code::vandps, &Code::vandpd));
}
Value Emitter::bit_or(Operand a, Operand b) {
  return commutative(a, b, Pair(&Code::vorps, &Code::vorpd));
}
Value Emitter::bit_xor(Operand a, Operand b) {
  return commutative(a, b, Pair(&Code::vxorps, &Code::vxorpd));
}
Value Emitter::add_bits(Operand a, Operand b) {
  return commutative(a, b, Pair(&Code::vpaddd, &Code::vpaddq));
}
Value Emitter::scale(Operand a, Operand b) {
  if (!is_512_) return scale_by_products(a, b);
  return binary(a, b, Pair(&Code::vscalefps, &Code::vscalefpd));
}
// Twice by about half the power, so that neither factor leaves the range.
Value Emitter::scale_by_products(Operand& a, Operand& b) {
  const Operand bias = constant_bits(Kind::kFloat32, 127);
  Source whole(*this, b, false);
  Value second = take(Kind::kFloat32);
  Value first = take(Kind::kFloat32);
  each([&](size_t u) {
    const Xmm all = vector(second.at_[u], Kind::kFloat32);
    const Xmm half = vector(first.at_[u], Kind::kFloat32);
    vcvtps2dq(all, whole.vector(u));
    vpsrad(half, all, 1);
    vpsubd(all, all, half);
  });
  first = shift_left(add_bits(std::move(first), bias), 23);
  second = shift_left(add_bits(std::move(second), bias), 23);
  return mul(mul(std::move(a), std::move(first)), std::move(second));
}

// a b + c in one of three forms: the destination is a factor or the summand, and the last operand
// may be in memory.
Value Emitter::fused(Operand& a, Operand& b, Operand& c, const Fused& single, const Fused& full) {
  const Kind kind = kind_of(a);
  const Fused& forms = kind == Kind::kFloat64 ? full : single;
  if (c.used_up()) {
    Operand& first = in_memory(a) ? b : a;
    Operand& second = in_memory(a) ? a : b;
    Source x(*this, first, false);
    Source y(*this, second, true);
    Value to = reuse(c, kind);
    each([&](size_t u) { (this->*forms.f231)(vector(to.at_[u], kind), x.vector(u), y(u)); });
    return to;
  }
  const bool swap = a.value() == nullptr || (!a.used_up() && b.used_up());
  Operand& factor = swap ? b : a;
  Operand& other = swap ? a : b;
  const bool by_132 = in_memory(other) && !in_memory(c);
  Source x(*this, factor, false);
  Source y(*this, other, by_132);
  Source z(*this, c, !by_132);
  const bool must_copy = !factor.used_up();
  Value to = reuse(factor, kind);
  if (must_copy) each([&](size_t u) { vmovaps(vector(to.at_[u], kind), x.vector(u)); });
  each([&](size_t u) {
    const Xmm at = vector(to.at_[u], kind);
    if (by_132) {
      (this->*forms.f132)(at, z.vector(u), y(u));
    } else {
      (this->*forms.f213)(at, y.vector(u), z(u));
    }
  });
  return to;
}
Value Emitter::mul_add(Operand a, Operand b, Operand c) {
  return fused(a, b, c, {&Code::vfmadd132ps, &Code::vfmadd213ps, &Code::vfmadd231ps},
               {&Code::vfmadd132pd, &Code::vfmadd213pd, &Code::vfmadd231pd});
}
Value Emitter::mul_sub(Operand a, Operand b, Operand c) {
  return fused(a, b, c, {&Code::vfmsub132ps, &Code::vfmsub213ps, &Code::vfmsub231ps},
               {&Code::vfmsub132pd, &Code::vfmsub213pd, &Code::vfmsub231pd});
}
Value Emitter::neg_mul_add(Operand a, Operand b, Operand c) {
  return fused(a, b, c, {&Code::vfnmadd132ps, &Code::vfnmadd213ps, &Code::vfnmadd231ps},
               {&Code::vfnmadd132pd, &Code::vfnmadd213pd, &Code::vfnmadd231pd});
}

template <class Instruction>
Value Emitter::unary(Operand& a, const Instruction& instruction) {
  const Kind kind = kind_of(a);
  Source from(*this, a, true);
  Value to = reuse(a, kind);
  each([&](size_t u) { instruction(vector(to.at_[u], kind), from(u), kind == Kind::kFloat64); });
  return to;
}

Value Emitter::sqrt(Operand a) {
  return unary(a, [&](const Xmm& to, const Xbyak::Operand& from, bool full) {
    full ? vsqrtpd(to, from) : vsqrtps(to, from);
  });
}
Value Emitter::round(Operand a, uint8_t mode) {
  return unary(a, [&](const Xmm& to, const Xbyak::Operand& from, bool full) {
    if (!is_512_) {
      vroundps(to, from, mode);
    } else {
      full ? vrndscalepd(to, from, mode) : vrndscaleps(to, from, mode);
    }
  });
}
Value Emitter::exponent(Operand a) {
  return unary(a, [&](const Xmm& to, const Xbyak::Operand& from, bool full) {
    full ? vgetexppd(to, from) : vgetexpps(to, from);
  });
}
Value Emitter::mantissa(Operand a) {
  constexpr uint8_t kFrom3Quarters = 3 | 2 << 2;  // interval, NaN of what is negative
  return unary(a, [&](const Xmm& to, const Xbyak::Operand& from, bool full) {
    full ? vgetmantpd(to, from, kFrom3Quarters) : vgetmantps(to, from, kFrom3Quarters);
  });
}
Value Emitter::shift_left(Operand a, uint8_t bits) {
  return unary(a, [&](const Xmm& to, const Xbyak::Operand& from, bool full) {
    full ? vpsllq(to, from, bits) : vpslld(to, from, bits);
  });
}

Value Emitter::copy(Operand a) {
  const Kind kind = kind_of(a);
  if (a.used_up()) return reuse(a, kind);
  Source from(*this, a, false);
  Value to = take(kind);
  each([&](size_t u) {
    if (has_own_registers(kind)) {
      kmovw(Xbyak::Opmask(to.at_[u]), from.mask(u));
    } else {
      vmovaps(vector(to.at_[u], kind), from.vector(u));
    }
  });
  return to;
}

// ---- masks ----

Value Emitter::compare(Compare predicate, Operand a, Operand b) {
  const bool full = kind_of(a) == Kind::kFloat64;
  const auto code = static_cast<uint8_t>(predicate);
  Source first(*this, a, false);
  Source second(*this, b, true);
  Value to = take(Kind::kMask);
  each([&](size_t u) {
    const Xbyak::Opmask at(to.at_[u]);
    if (!is_512_) {
      vcmpps(part(to.at_[u], 4), first.vector(u), second(u), code);
    } else {
      full ? vcmppd(at, first.vector(u), second(u), code)
           : vcmpps(at, first.vector(u), second(u), code);
    }
  });
  return to;
}

Value Emitter::select(Operand mask, Operand yes, Operand no) {
  const Kind kind = kind_of(yes);
  const bool full = kind == Kind::kFloat64;
  Source condition(*this, mask, false);
  Source second(*this, no, false);
  Source first(*this, yes, true);  // last: nothing may come between its address and its use
  Value to = reuse(yes, no, kind);
  each([&](size_t u) {
    const Xmm at = vector(to.at_[u], kind);
    if (!is_512_) {
      vblendvps(at, second.vector(u), first(u), condition.vector(u));
      return;
    }
    const Xmm masked = at | condition.mask(u);
    full ? vblendmpd(masked, second.vector(u), first(u))
         : vblendmps(masked, second.vector(u), first(u));
  });
  return to;
}

Value Emitter::select_or_zero(Operand mask, Operand yes) {
  const Kind kind = kind_of(yes);
  const bool full = kind == Kind::kFloat64;
  Source condition(*this, mask, false);
  Source value(*this, yes, false);
  Value to = reuse(yes, kind);
  each([&](size_t u) {
    const Xmm at = vector(to.at_[u], kind);
    if (!is_512_) {
      vandps(at, condition.vector(u), value.vector(u));
      return;
    }
    const Xmm masked = at | condition.mask(u) | T_z;
    full ? vmovapd(masked, value.vector(u)) : vmovaps(masked, value.vector(u));
  });
  return to;
}

Value Emitter::mask_binary(Operand& a,
                           Operand& b,
                           MaskInstruction of_masks,
                           VectorInstruction of_vectors) {
  Source first(*this, a, false);
  Source second(*this, b, false);
  Value to = reuse(a, b, Kind::kMask);
  each([&](size_t u) {
    if (is_512_) {
      (this->*of_masks)(Xbyak::Opmask(to.at_[u]), first.mask(u), second.mask(u));
    } else {
      (this->*of_vectors)(part(to.at_[u], 4), first.vector(u), second(u));
    }
  });
  return to;
}
Value Emitter::mask_and(Operand a, Operand b) {
  return mask_binary(a, b, &Code::kandw, &Code::vandps);
}
Value Emitter::mask_or(Operand a, Operand b) {
  return mask_binary(a, b, &Code::korw, &Code::vorps);
}
Value Emitter::mask_xor(Operand a, Operand b) {
  return mask_binary(a, b, &Code::kxorw, &Code::vxorps);
}
Value Emitter::mask_not(Operand a) {
  if (!is_512_) {
    Operand ones = constant_bits(Kind::kMask, 0xffffffff);
    return mask_binary(a, ones, nullptr, &Code::vxorps);
  }
  Source from(*this, a, false);
  Value to = reuse(a, Kind::kMask);
  each([&](size_t u) { knotw(Xbyak::Opmask(to.at_[u]), from.mask(u)); });
  return to;
}

}  // namespace mindtorch::cpu::jit
