#pragma once

#include <xbyak/xbyak.h>

#include <array>
#include <utility>
#include <vector>

#include "mindtorch/backends/cpu/jit/kernel.h"

namespace mindtorch::cpu::jit {

// What the lanes of a register hold. float16 and bfloat16 are held as float32, bool as a mask.
enum class Kind : uint8_t { kFloat32, kFloat64, kMask };

// Vectors in flight.
inline constexpr int kMaxUnroll = 4;

class Emitter;

// The registers of one value, one for each vector in flight. Gives them back when it goes.
class Value {
 public:
  Value() = default;
  Value(Value&& other) noexcept { swap(other); }
  Value& operator=(Value&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Value() { reset(); }

  Kind kind() const { return kind_; }
  bool is_set() const { return emitter_ != nullptr; }
  void reset();

 private:
  friend class Emitter;
  void swap(Value& other) {
    std::swap(emitter_, other.emitter_);
    std::swap(kind_, other.kind_);
    std::swap(count_, other.count_);
    std::swap(at_, other.at_);
  }

  Emitter* emitter_ = nullptr;
  Kind kind_{};
  uint8_t count_ = 0;
  std::array<uint8_t, kMaxUnroll> at_{};
};

// What an operation reads: a value, or a constant. A value that is moved in is used up: the result
// may take its registers. Copies of an operand only borrow.
class Operand {
 public:
  Operand(const Value& value) : value_(&value) {}              // NOLINT: implicit
  Operand(Value&& value) noexcept : own_(std::move(value)) {}  // NOLINT: implicit
  Operand(const Operand& other) : value_(other.value()), constant_(other.constant_) {}
  // In f(x, std::move(x)) either may come first: what was moved from still knows the value.
  Operand(Operand&& other) noexcept
      : own_(std::move(other.own_)), value_(other.value_), constant_(other.constant_) {
    other.value_ = value();
  }
  Operand& operator=(const Operand&) = delete;

 private:
  friend class Emitter;
  explicit Operand(int constant) : constant_(constant) {}
  const Value* value() const { return own_.is_set() ? &own_ : value_; }
  bool used_up() const { return own_.is_set(); }

  Value own_;
  const Value* value_ = nullptr;
  int constant_ = -1;
};

// Comparison predicates: none is true for NaN but those that say so.
enum class Compare : uint8_t {
  kEq = 0x00,
  kLt = 0x11,
  kLe = 0x12,
  kUnordered = 0x03,
  kNotEqual = 0x04,  // true for NaN
  kGe = 0x1d,
  kGt = 0x1e,
};

// An assembler of whole values: every operation is emitted once for each vector in flight, which
// interleaves their chains of dependences.
//
// The code is made in two passes over the same calls. The first, dry, counts registers and collects
// constants; begin() then decides how many vectors fly and which constants stay in registers.
class Emitter : private Xbyak::CodeGenerator {
 public:
  Emitter(uint8_t* memory, size_t size_bytes, int lanes, Target target);

  int lanes() const { return lanes_; }

  // A constant of the kind, by value or bits.
  Operand constant(Kind kind, double value);
  Operand constant_bits(Kind kind, uint64_t bits);
  // The single element of an input, as it is in memory; float32 and float64 only.
  Operand single(Kind kind, int input);

  Value add(Operand a, Operand b);
  Value sub(Operand a, Operand b);
  Value mul(Operand a, Operand b);
  Value div(Operand a, Operand b);
  Value max(Operand a, Operand b);  // the second when either is NaN or both are zero
  Value min(Operand a, Operand b);
  Value bit_and(Operand a, Operand b);
  Value bit_or(Operand a, Operand b);
  Value bit_xor(Operand a, Operand b);
  Value scale(Operand a, Operand b);                   // a 2^b
  Value mul_add(Operand a, Operand b, Operand c);      // a b + c
  Value mul_sub(Operand a, Operand b, Operand c);      // a b - c
  Value neg_mul_add(Operand a, Operand b, Operand c);  // c - a b
  Value sqrt(Operand a);
  Value round(Operand a, uint8_t mode);          // the processor's rounding modes
  bool has_exponent() const { return is_512_; }  // and mantissa()
  Value exponent(Operand a);
  Value mantissa(Operand a);  // in [0.75, 1.5), NaN of negative numbers
  Value shift_left(Operand a, uint8_t bits);
  Value add_bits(Operand a, Operand b);  // as integers
  Value copy(Operand a);

  // Masks.
  Value compare(Compare predicate, Operand a, Operand b);
  Value select(Operand mask, Operand yes, Operand no);
  Value select_or_zero(Operand mask, Operand yes);
  Value mask_and(Operand a, Operand b);
  Value mask_or(Operand a, Operand b);
  Value mask_xor(Operand a, Operand b);
  Value mask_not(Operand a);

  // Between kinds, and to the values that a dtype can hold.
  Value convert(Operand a, Kind to);
  Value round_to(Operand a, DType dtype);

  // Elements of this iteration. `single`: one element for all lanes.
  Value load(int input, DType dtype, bool single);
  void store(int output, DType dtype, const Value& value);

  // After the dry pass. False: not enough registers.
  bool begin(int inputs, int outputs);
  // The body for all vectors in flight, and once more for the rest.
  template <class Body>
  void loops(const Body& body) {
    start_main_loop();
    body();
    start_rest_loop();
    body();
    finish();
  }
  size_t entry() const { return entry_; }
  size_t size_bytes() const { return getSize(); }
  bool failed() const { return failed_; }

 private:
  friend class Value;
  using Xmm = Xbyak::Xmm;
  static constexpr int kMasks = 6;  // k0 cannot be a mask, k1 is that of the rest

  // AVX-512 has registers for masks. On AVX2 they are vectors of all ones and zeros; it has half as
  // many registers, does not repeat a constant as an operand in memory, and does whole vectors
  // only.
  bool has_own_registers(Kind kind) const { return is_512_ && kind == Kind::kMask; }

  struct Constant {
    Kind kind;
    uint64_t bits;
    int input;  // its single element, or -1
    int uses = 0;
    int at = -1;  // register
  };
  class Source;
  using MaskInstruction = void (Xbyak::CodeGenerator::*)(const Xbyak::Opmask&,
                                                         const Xbyak::Opmask&,
                                                         const Xbyak::Opmask&);
  using VectorInstruction = void (Xbyak::CodeGenerator::*)(const Xmm&,
                                                           const Xbyak::Operand&,
                                                           const Xbyak::Operand&);
  // One instruction for either width.
  template <class Instruction>
  struct Pair {
    Pair(Instruction of_float32, Instruction of_float64) : single(of_float32), full(of_float64) {}
    Instruction single, full;
  };
  // Named as the processor does: which two of its operands are multiplied, and which is added.
  struct Fused {
    using Instruction = void (Xbyak::CodeGenerator::*)(const Xmm&,
                                                       const Xmm&,
                                                       const Xbyak::Operand&);
    Instruction f132, f213, f231;
  };

  Value scale_by_products(Operand& a, Operand& b);
  Value take(Kind kind);
  uint8_t take_one(bool mask);
  void give_back(const Value& value);
  Value reuse(Operand& operand, Kind kind);
  Value reuse(Operand& first, Operand& second, Kind kind);
  Xmm vector(int at, Kind kind) const;
  Xmm part(int at, int lane_bytes) const;

  Kind kind_of(const Operand& operand) const;
  bool in_memory(const Operand& operand) const;
  int find_constant(Kind kind, uint64_t bits, int input);
  Xbyak::Address constant_address(const Constant& constant);
  void broadcast_constant(const Constant& constant, int to);
  void keep_constants(int registers);
  Xbyak::Reg64 pointer(int line);
  Xbyak::RegExp element(const Xbyak::Reg64& base, size_t u, int size) const;

  template <class Instruction>
  void each(const Instruction& instruction);
  template <class Instruction>
  Value binary(Operand& a, Operand& b, const Pair<Instruction>& pair);
  template <class Instruction>
  Value commutative(Operand& a, Operand& b, const Pair<Instruction>& pair);
  template <class Instruction>
  Value unary(Operand& a, const Instruction& instruction);
  Value mask_binary(Operand& a, Operand& b, MaskInstruction of_masks, VectorInstruction of_vectors);
  Value fused(Operand& a, Operand& b, Operand& c, const Fused& single, const Fused& full);

  void start_main_loop();
  void start_rest_loop();
  void finish();

  const int lanes_;
  const bool is_512_;
  const int vectors_;  // registers
  bool dry_ = true;
  bool failed_ = false;  // out of registers
  bool masked_ = false;  // the rest: perhaps fewer elements than lanes
  int unroll_ = 1;
  int planned_unroll_ = 1;
  uint32_t free_vectors_;
  uint32_t free_masks_ = 0xfc;
  int peak_vectors_ = 0;
  int peak_masks_ = 0;
  int inputs_ = 0;
  int lines_ = 0;
  size_t entry_ = 0;
  std::vector<Constant> constants_;
  Xbyak::Label main_, rest_, done_;
};

// Registers are dealt out the same way in both passes: nothing may depend on which it is.
template <class Instruction>
void Emitter::each(const Instruction& instruction) {
  if (dry_ || failed_) return;
  for (size_t u = 0; u < static_cast<size_t>(unroll_); ++u) instruction(u);
}

}  // namespace mindtorch::cpu::jit
