#include "mindtorch/ops/spec.h"

#include "mindtorch/ops/layout.h"

namespace mindtorch::ops {
namespace {

// Dims from fastest to slowest.
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

// How many operands have a say: in a power, a number as exponent has none.
int layout_operands(const PointwiseCall& call) {
  const bool to_a_number =
      call.function == Pointwise::kPow && call.operands[1]->is_wrapped_number();
  return to_a_number ? 1 : call.count;
}

bool all_channels_last(const PointwiseCall& call, int count) {
  for (int i = 0; i < count; ++i) {
    const Tensor& operand = *call.operands[i];
    if (operand.dim() != 4 || !is_channels_last(operand.sizes(), operand.strides())) return false;
  }
  return true;
}

// The few functions whose results torch lays out without asking their operands.
bool gives_contiguous(const PointwiseCall& call) {
  return call.function == Pointwise::kLogSigmoid ||
         (call.function == Pointwise::kPow && call.operands[0]->is_wrapped_number());
}

}  // namespace

Shape agreed_strides(const Shape* strides, int count, IntList sizes) {
  Shape result(sizes.size());
  int64_t step = 1;
  for (const int64_t dim : common_order(strides, count, sizes)) {
    const auto d = static_cast<size_t>(dim);
    result[d] = step;
    step *= sizes[d];
  }
  return result;
}

TensorSpec infer_pointwise(const PointwiseCall& call) {
  const Tensor& first = *call.operands[0];
  TensorSpec spec{first.sizes(), call.result, first.device(), std::nullopt};
  if (call.function == Pointwise::kNanToNum) {
    spec.strides = strides_like(first.sizes(), first.strides());
    return spec;
  }
  const int count = layout_operands(call);
  bool same_shape = true;
  bool all_contiguous = first.is_contiguous();
  for (int i = 1; i < count; ++i) {
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
    for (int i = 0; i < count; ++i) {
      const Tensor& operand = *call.operands[i];
      dims_agree &= operand.numel() == 1 || (operand.sizes() == spec.sizes &&
                                             has_plain_strides(spec.sizes, operand.strides()));
    }
  }
  if (dims_agree || spec.sizes.size() < 2 || gives_contiguous(call)) return spec;
  if (same_shape) {
    if (all_channels_last(call, count)) {
      spec.strides = strides_for(spec.sizes, MemoryFormat::kChannelsLast);
      return spec;
    }
    bool same_strides = is_dense(first.sizes(), first.strides());
    for (int i = 1; i < count; ++i) same_strides &= call.operands[i]->strides() == first.strides();
    if (same_strides) {
      spec.strides = first.strides();
      return spec;
    }
  }
  Shape strides[3];
  for (int i = 0; i < count; ++i) {
    const Tensor& operand = *call.operands[i];
    const bool is_condition = call.function == Pointwise::kWhere && i == 0;
    // An operand of another dtype counts as the dense tensor that converting it makes.
    strides[i] =
        operand.dtype() == call.compute || is_condition
            ? broadcast_strides(operand.sizes(), operand.strides(), spec.sizes)
            : broadcast_strides(operand.sizes(), strides_like(operand.sizes(), operand.strides()),
                                spec.sizes);
  }
  spec.strides = agreed_strides(strides, count, spec.sizes);
  return spec;
}

}  // namespace mindtorch::ops
