// softmax(x * scale + mask)
#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/patterns/contracts.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {
namespace {

constexpr int64_t kLongestRow = 1024;

// One matrix for all of `x`, or one for each of its heads, the third dim from the end.
bool is_mask_of(const Tensor& mask, const Tensor& x) {
  if (mask.dim() < 2 || mask.dim() > x.dim() || mask.size(-1) != x.size(-1) ||
      mask.size(-2) != x.size(-2)) {
    return false;
  }
  const int64_t matrices = mask.numel() / (x.size(-1) * x.size(-2));
  return matrices == 1 || (mask.size(-3) == x.size(-3) && matrices == x.size(-3));
}

// CANN's op takes no other layouts.
bool accepts_softmax(PatternCall& call) {
  const Tensor& x = call["x"];
  const Tensor& mask = call["mask"];
  const Tensor& out = call["out"];
  return have_one_float_dtype({&x, &mask, &out}) && have_sizes(x.sizes(), {&out}) && x.dim() >= 2 &&
         x.numel() != 0 && x.size(-1) <= kLongestRow && is_mask_of(mask, x) && x.is_contiguous() &&
         mask.is_contiguous() && out.is_contiguous();
}

template <bool kIsScaled>
void launch_softmax(ops::Launch& on, const PatternCall& call) {
  constexpr int64_t kHighPrecision = 0;
  const Tensor& x = call["x"];
  const int64_t rows = x.size(-2);
  const int64_t columns = x.size(-1);
  const int64_t heads = call["mask"].numel() / (rows * columns);
  const Shape sizes = {x.numel() / (heads * rows * columns), heads, rows, columns};
  const Tensor none;
  ascend::call(on, MT_ACLNN(aclnnMaskedSoftmaxWithRelPosBias), reshaped(x, sizes), none,
               reshaped(call["mask"], {heads, rows, columns}),
               kIsScaled ? call.number("scale") : 1.0, kHighPrecision,
               reshaped(call["out"], sizes));
}

}  // namespace

const Fused kMaskedSoftmax = {&accepts_softmax, &launch_softmax<false>};
const Fused kScaledMaskedSoftmax = {&accepts_softmax, &launch_softmax<true>};

}  // namespace mindtorch::ascend
