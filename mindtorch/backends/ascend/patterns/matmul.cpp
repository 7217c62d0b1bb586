// Products of matrices, and what is added to them.
#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/patterns/contracts.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {
namespace {

bool is_product(const PatternCall& call, int64_t elements) {
  const Tensor& out = call["out"];
  return have_one_float_dtype({&call["left"], &call["right"], &call["more"], &out}) &&
         call["left"].numel() != 0 && out.numel() != 0 && out.numel() == elements &&
         out.is_contiguous();
}

// A bias for each column, or a matrix of the result's sizes.
bool accepts_addmm(PatternCall& call) {
  const Tensor& more = call["more"];
  const Tensor& out = call["out"];
  const int64_t columns = call["right"].size(1);
  if (!is_product(call, call["left"].size(0) * columns)) return false;
  return (more.dim() == 1 && more.size(0) == columns && out.dim() >= 2 &&
          out.size(-1) == columns) ||
         (have_sizes(out.sizes(), {&more}) && more.is_contiguous());
}

bool accepts_baddbmm(PatternCall& call) {
  const Tensor& left = call["left"];
  return is_product(call, left.size(0) * left.size(1) * call["right"].size(2)) &&
         have_sizes(call["out"].sizes(), {&call["more"]}) && call["more"].is_contiguous();
}

template <typename Op>
void launch(ops::Launch& on, const Op& op, const PatternCall& call, const Shape& sizes) {
  const Tensor& more = call["more"];
  const DType dtype = more.dtype();
  const TypedScalar one = typed(Scalar(1.0), dtype);
  ascend::call(on, op, more.dim() == 1 ? more : reshaped(more, sizes), call["left"], call["right"],
               one, one, reshaped(call["out"], sizes), float32_math());
}

void launch_addmm(ops::Launch& on, const PatternCall& call) {
  launch(on, MT_ACLNN(aclnnAddmm), call, {call["left"].size(0), call["right"].size(1)});
}

void launch_baddbmm(ops::Launch& on, const PatternCall& call) {
  const Tensor& left = call["left"];
  launch(on, MT_ACLNN(aclnnBaddbmm), call, {left.size(0), left.size(1), call["right"].size(2)});
}

}  // namespace

const Fused kAddmm = {&accepts_addmm, &launch_addmm};
const Fused kBaddbmm = {&accepts_baddbmm, &launch_baddbmm};

}  // namespace mindtorch::ascend
