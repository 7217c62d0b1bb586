// How many vector registers there are; compiled once per instruction set.

#include "hwy/highway.h"

#if defined(MT_TILES_REGISTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_REGISTERS_INL_H_
#undef MT_TILES_REGISTERS_INL_H_
#else
#define MT_TILES_REGISTERS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

// 32 and not 16: as many sums stay in registers, beside the operands.
inline constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM;

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
