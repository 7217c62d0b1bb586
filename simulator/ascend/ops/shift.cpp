// Shifts of integers by other integers.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kTypes = kI | kU;
constexpr int kBits = 64;  // of the computing types

struct LeftShift {
  template <class C>
  C operator()(C x, C bits) const {
    if (bits < C(0) || bits >= C(kBits)) return C(0);
    return static_cast<C>(static_cast<uint64_t>(x) << static_cast<int>(bits));
  }
};
// Of a signed number the sign comes in.
struct RightShift {
  template <class C>
  C operator()(C x, C bits) const {
    if (bits < C(0) || bits >= C(kBits)) return static_cast<C>(x < C(0) ? C(-1) : C(0));
    return static_cast<C>(x >> static_cast<int>(bits));
  }
};

}  // namespace

extern "C" {

SIM_SIGNATURE(LeftShift, const aclTensor* self, const aclTensor* shiftBits, aclTensor* result) {
  SIM_RUN(LeftShift, Integers, kTypes, Result::kSame, LeftShift{}, out("out", result),
          arg("self", self), arg("shiftBits", shiftBits));
}
SIM_SIGNATURE(LeftShifts, const aclTensor* self, const aclScalar* shiftBits, aclTensor* result) {
  SIM_RUN(LeftShifts, Integers, kTypes, Result::kSame, LeftShift{}, out("out", result),
          arg("self", self), factor("shiftBits", shiftBits));
}
SIM_SIGNATURE(RightShift, const aclTensor* input, const aclTensor* shiftBits, aclTensor* result) {
  SIM_RUN(RightShift, Integers, kTypes, Result::kSame, RightShift{}, out("out", result),
          arg("input", input), arg("shiftBits", shiftBits));
}
}
