// x * cos + rotate_half(x) * sin
#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/patterns/contracts.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {
namespace {

constexpr int64_t kMostHeads = 1000;
constexpr int64_t kMostSize = 896;

// [batch, heads, length, size] with one angle for all heads, or the same with heads and length
// swapped; CANN finds out which by the dims of length 1.
bool accepts_rotary(PatternCall& call) {
  const Tensor& x = call["x"];
  const Tensor& cos = call["cos"];
  const Tensor& sin = call["sin"];
  const Tensor& out = call["out"];
  if (x.dim() != 4 || x.numel() == 0 || !have_one_float_dtype({&x, &cos, &sin, &out}) ||
      !have_sizes(x.sizes(), {&out}) || !have_sizes(cos.sizes(), {&sin}) || cos.dim() != 4) {
    return false;
  }
  if (!is_half(call["first"], x, 0) || !is_half(call["second"], x, 1)) return false;
  const bool is_by_length = cos.size(1) == 1 && cos.size(2) == x.size(2);
  const bool is_by_length_swapped = cos.size(2) == 1 && cos.size(1) == x.size(1);
  return (cos.size(0) == 1 || cos.size(0) == x.size(0)) && cos.size(3) == x.size(3) &&
         (is_by_length || is_by_length_swapped) && x.size(0) < kMostHeads &&
         std::min(x.size(1), x.size(2)) < kMostHeads && x.size(3) <= kMostSize;
}

void launch_rotary(ops::Launch& on, const PatternCall& call) {
  constexpr int64_t kHalves = 0;  // mode
  const Tensor& x = call["x"];
  // Heads of linear layers lie behind the length.
  const bool is_swapped = x.stride(1) < x.stride(2) && x.size(1) != 1 && x.size(2) != 1;
  const auto in_order = [&](const Tensor& self) { return is_swapped ? swapped(self, 1, 2) : self; };
  ascend::call(on, MT_ACLNN(aclnnRotaryPositionEmbedding), in_order(x), in_order(call["cos"]),
               in_order(call["sin"]), kHalves, in_order(call["out"]));
}

}  // namespace

const Fused kRotary = {&accepts_rotary, &launch_rotary};

}  // namespace mindtorch::ascend
