// act(a) * b
#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/backends/ascend/patterns/contracts.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {
namespace {

// The tensor whose last dim has `first` and then `second` as halves; undefined: there is none.
Tensor whole_of(const Tensor& first, const Tensor& second) {
  if (first.dim() == 0) return {};
  Shape sizes = first.sizes();
  sizes.back() *= 2;
  const Tensor whole = first.alias(sizes, first.strides(), first.storage_offset());
  const bool is_whole = is_half(first, whole, 0) && is_half(second, whole, 1);
  return is_whole ? whole : Tensor();
}

// Both operands are halves of one tensor, of which the activation takes the first.
bool accepts_halves(PatternCall& call) {
  return have_one_float_dtype({&call["a"], &call["b"], &call["out"]}) && call["out"].numel() != 0 &&
         whole_of(call["a"], call["b"]).defined();
}

void launch_swiglu(ops::Launch& on, const PatternCall& call) {
  ascend::call(on, MT_ACLNN(aclnnSwiGlu), whole_of(call["a"], call["b"]), int64_t{-1}, call["out"]);
}

template <bool kTanh>
void launch_geglu(ops::Launch& on, const PatternCall& call) {
  const Tensor& out = call["out"];
  ascend::call(on, MT_ACLNN(aclnnGeGluV3), whole_of(call["a"], call["b"]), int64_t{-1},
               int64_t{kTanh}, true, out, make_like(on, out.sizes(), out.dtype()));
}

// Two products of the same rows.
bool accepts_products(PatternCall& call) {
  const Tensor& x = call["x"];
  const Tensor& weight = call["weight_a"];
  const Tensor& out = call["out"];
  return have_one_float_dtype({&x, &weight, &call["weight_b"], &out}) &&
         have_sizes(weight.sizes(), {&call["weight_b"]}) && out.is_contiguous() && x.numel() != 0 &&
         out.numel() == x.size(0) * weight.size(1) && out.numel() != 0;
}

// The products lie behind each other, as CANN's op wants its halves.
void launch_swiglu_of_products(ops::Launch& on, const PatternCall& call) {
  const Tensor& x = call["x"];
  const int64_t rows = x.size(0);
  const int64_t size = call["weight_a"].size(1);
  const Tensor both = make_like(on, {2 * rows, size}, x.dtype());
  const auto half = [&](int64_t index) {
    return both.alias({rows, size}, both.strides(), index * rows * size);
  };
  ascend::call(on, MT_ACLNN(aclnnMm), x, call["weight_a"], half(0), kKeepDtype);
  ascend::call(on, MT_ACLNN(aclnnMm), x, call["weight_b"], half(1), kKeepDtype);
  ascend::call(on, MT_ACLNN(aclnnSwiGlu), both, int64_t{0}, reshaped(call["out"], {rows, size}));
}

}  // namespace

const Fused kSwiGlu = {&accepts_halves, &launch_swiglu};
const Fused kSwiGluOfProducts = {&accepts_products, &launch_swiglu_of_products};
const Fused kGeGlu = {&accepts_halves, &launch_geglu<false>};
const Fused kGeGluTanh = {&accepts_halves, &launch_geglu<true>};

}  // namespace mindtorch::ascend
