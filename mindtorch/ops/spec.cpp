#include "mindtorch/ops/spec.h"

#include "mindtorch/base/error.h"

namespace mindtorch::ops {
namespace {

// Orders dims from fastest to slowest by what the operands' strides agree on, as torch does: the
// first operand that tells two dims apart decides, and dims nobody tells apart keep their order.
Shape common_order(const Shape* strides, int count, IntList sizes) {
  const size_t ndim = sizes.size();
  Shape order(ndim);
  for (size_t i = 0; i < ndim; ++i) order[i] = static_cast<int64_t>(ndim - 1 - i);
  const auto compare = [&](int64_t a, int64_t b) {
    const auto ua = static_cast<size_t>(a);
    const auto ub = static_cast<size_t>(b);
    for (int i = 0; i < count; ++i) {
      const int64_t sa = strides[i][ua];
      const int64_t sb = strides[i][ub];
      if (sa == 0 || sb == 0) continue;  // broadcast: says nothing
      if (sa != sb) return sa < sb ? -1 : 1;
      if (sizes[ua] > sizes[ub]) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < ndim; ++i) {
    size_t moving = i;
    for (size_t below = i; below-- > 0;) {
      const int result = compare(order[below], order[moving]);
      if (result > 0) {
        std::swap(order[below], order[moving]);
        moving = below;
      } else if (result < 0) {
        break;
      }
    }
  }
  return order;
}

// What torch calls the kernel, where that is not the name of the function.
std::string_view kernel_name(Pointwise function) {
  switch (function) {
    case Pointwise::kGelu:
    case Pointwise::kGeluTanh:
      return "GeluKernelImpl";
    case Pointwise::kSoftshrink:
      return "softshrink_check";
    case Pointwise::kFloorDivide:
      return "div_floor_cpu";
    case Pointwise::kTruncDivide:
      return "div_trunc_cpu";
    case Pointwise::kShiftLeft:
      return "lshift_cpu";
    case Pointwise::kShiftRight:
      return "rshift_cpu";
    case Pointwise::kCeil:
      return "ceil_vml_cpu";
    case Pointwise::kFloor:
      return "floor_vml_cpu";
    case Pointwise::kRound:
      return "round_vml_cpu";
    case Pointwise::kTrunc:
      return "trunc_vml_cpu";
    case Pointwise::kAddcmul:
      return "addcmul_cpu_out";
    case Pointwise::kAddcdiv:
      return "addcdiv_cpu_out";
    case Pointwise::kLerp:
      return "lerp_kernel_tensor";
    case Pointwise::kLerpScalar:
      return "lerp_kernel_scalar";
    case Pointwise::kElu:
      return "elu_cpu";
    case Pointwise::kHardshrink:
      return "hardshrink_cpu";
    case Pointwise::kHardsigmoid:
      return "hardsigmoid_cpu";
    case Pointwise::kHardswish:
      return "hardswish_cpu";
    case Pointwise::kLeakyRelu:
      return "leaky_relu_cpu";
    case Pointwise::kLogSigmoid:
      return "log_sigmoid_cpu";
    case Pointwise::kMish:
      return "mish_cpu";
    case Pointwise::kSilu:
      return "silu_cpu";
    case Pointwise::kSoftplus:
      return "softplus_cpu";
    case Pointwise::kThreshold:
      return "threshold_cpu";
    case Pointwise::kFmod:
      return "fmod_cpu";
    case Pointwise::kRemainder:
      return "remainder_cpu";
    case Pointwise::kGcd:
      return "gcd_cpu";
    case Pointwise::kLcm:
      return "lcm_cpu";
    case Pointwise::kHypot:
      return "hypot_cpu";
    case Pointwise::kLogaddexp:
      return "logaddexp_cpu";
    case Pointwise::kLogaddexp2:
      return "logaddexp2_cpu";
    case Pointwise::kNextafter:
      return "nextafter_cpu";
    case Pointwise::kBitwiseAnd:
      return "bitwise_and_cpu";
    case Pointwise::kBitwiseOr:
      return "bitwise_or_cpu";
    case Pointwise::kBitwiseXor:
      return "bitwise_xor_cpu";
    case Pointwise::kBitwiseNot:
      return "bitwise_not_cpu";
    case Pointwise::kFrac:
      return "frac_cpu";
    case Pointwise::kAbs:
      return "abs_cpu";
    default:
      return info(function).name;
  }
}

}  // namespace

void refuse_dtype(Pointwise function, DType dtype) {
  MT_THROW(NotImplementedError, "\"", kernel_name(function), "\" not implemented for '",
           legacy_name(dtype), "'");
}

TensorSpec infer_pointwise(const PointwiseCall& call) {
  const Tensor& first = *call.operands[0];
  TensorSpec spec{first.sizes(), call.result, first.device(), std::nullopt};
  bool same_shape = true;
  bool all_contiguous = first.is_contiguous();
  for (int i = 1; i < call.count; ++i) {
    const Tensor& operand = *call.operands[i];
    // A 0-dim CPU tensor may join operands of another device.
    if (spec.device.is_cpu()) spec.device = operand.device();
    all_contiguous &= operand.is_contiguous();
    if (operand.sizes() == spec.sizes) continue;
    same_shape = false;
    spec.sizes = broadcast_shapes(spec.sizes, operand.sizes());
  }
  // When all operands of the full rank are contiguous, so is the result.
  bool dims_agree = all_contiguous;
  if (all_contiguous && !same_shape) {
    for (int i = 0; i < call.count; ++i) {
      const Tensor& operand = *call.operands[i];
      dims_agree &= operand.numel() == 1 || operand.sizes() == spec.sizes;
    }
  }
  if (dims_agree || spec.sizes.size() < 2) return spec;
  if (same_shape) {
    bool same_strides = is_dense(first.sizes(), first.strides());
    for (int i = 1; i < call.count; ++i)
      same_strides &= call.operands[i]->strides() == first.strides();
    if (same_strides) {
      spec.strides = first.strides();
      return spec;
    }
  }
  Shape strides[3];
  for (int i = 0; i < call.count; ++i) {
    const Tensor& operand = *call.operands[i];
    strides[i] = broadcast_strides(operand.sizes(), operand.strides(), spec.sizes);
  }
  const Shape order = common_order(strides, call.count, spec.sizes);
  Shape result(spec.sizes.size());
  int64_t step = 1;
  for (const int64_t dim : order) {
    const auto d = static_cast<size_t>(dim);
    result[d] = step;
    step *= std::max<int64_t>(spec.sizes[d], 1);
  }
  spec.strides = std::move(result);
  return spec;
}

}  // namespace mindtorch::ops
