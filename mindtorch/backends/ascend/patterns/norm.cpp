// Norms of rows, and of sums.
#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/backends/ascend/patterns/contracts.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {
namespace {

// One number for each row, in float32.
Tensor make_row_numbers(const ops::Launch& on, const Tensor& rows) {
  Shape sizes = rows.sizes();
  sizes.back() = 1;
  return make_like(on, sizes, DType::kFloat32);
}

bool is_weight_of(const Tensor& weight, const Tensor& rows) {
  return weight.dim() == 1 && rows.dim() >= 1 && weight.size(0) == rows.size(-1);
}

// CANN computes in float32, and so must the parts: squares of float16 overflow early. `squared` is
// what they square, and undefined where they are one op.
bool is_rms_norm(const PatternCall& call, const Tensor& rows) {
  const Tensor& squared = call["squared"];
  if (squared.defined() && squared.dtype() != DType::kFloat32) return false;
  return have_one_float_dtype({&rows, &call["weight"], &call["out"]}) &&
         is_weight_of(call["weight"], rows) && have_sizes(rows.sizes(), {&call["out"]}) &&
         rows.numel() != 0;
}

bool accepts_rms_norm(PatternCall& call) { return is_rms_norm(call, call["x"]); }

void launch_rms_norm(ops::Launch& on, const PatternCall& call) {
  const Tensor& x = call["x"];
  ascend::call(on, MT_ACLNN(aclnnRmsNorm), x, call["weight"], call.number("eps"), call["out"],
               make_row_numbers(on, x));
}

void launch_gemma_rms_norm(ops::Launch& on, const PatternCall& call) {
  const Tensor& x = call["x"];
  ascend::call(on, MT_ACLNN(aclnnGemmaRmsNorm), x, call["weight"], call.number("eps"), call["out"],
               make_row_numbers(on, x));
}

// Without broadcasting: both operands and the sum look alike.
bool is_plain_sum(const PatternCall& call) {
  const Tensor& sum = call["sum"];
  return have_one_float_dtype({&call["a"], &call["b"], &sum}) &&
         have_sizes(sum.sizes(), {&call["a"], &call["b"]});
}

bool accepts_add_rms_norm(PatternCall& call) {
  return is_plain_sum(call) && is_rms_norm(call, call["sum"]);
}

void launch_add_rms_norm(ops::Launch& on, const PatternCall& call) {
  ascend::call(on, MT_ACLNN(aclnnAddRmsNorm), call["a"], call["b"], call["weight"],
               call.number("eps"), call["out"], make_row_numbers(on, call["sum"]), call["sum"]);
}

bool accepts_add_layer_norm(PatternCall& call) {
  const Tensor& sum = call["sum"];
  return is_plain_sum(call) && sum.numel() != 0 &&
         have_one_float_dtype({&sum, &call["weight"], &call["bias"], &call["out"]}) &&
         is_weight_of(call["weight"], sum) && is_weight_of(call["bias"], sum);
}

void launch_add_layer_norm(ops::Launch& on, const PatternCall& call) {
  const Tensor none;
  const Tensor& sum = call["sum"];
  ascend::call(on, MT_ACLNN(aclnnAddLayerNorm), call["a"], call["b"], call["weight"], call["bias"],
               none, call.number("eps"), true, call["out"], make_row_numbers(on, sum),
               make_row_numbers(on, sum), sum);
}

}  // namespace

const Fused kRmsNorm = {&accepts_rms_norm, &launch_rms_norm};
const Fused kGemmaRmsNorm = {&accepts_rms_norm, &launch_gemma_rms_norm};
const Fused kAddRmsNorm = {&accepts_add_rms_norm, &launch_add_rms_norm};
const Fused kAddLayerNorm = {&accepts_add_layer_norm, &launch_add_layer_norm};

}  // namespace mindtorch::ascend
