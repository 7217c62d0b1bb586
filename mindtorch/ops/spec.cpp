#include "mindtorch/ops/spec.h"

#include "mindtorch/base/error.h"
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

// The strides of an operand where the function is computed. One of another dtype counts as the
// dense tensor that converting it makes.
Shape strides_there(const PointwiseCall& call, int i) {
  const Tensor& operand = *call.operands[i];
  const bool is_condition = call.function == Pointwise::kWhere && i == 0;
  if (operand.dtype() == call.compute || is_condition) return operand.strides();
  return strides_like(operand.sizes(), operand.strides());
}

bool is_contiguous_there(const PointwiseCall& call, int i) {
  const Tensor& operand = *call.operands[i];
  return operand.is_contiguous() || is_contiguous(operand.sizes(), strides_there(call, i));
}

bool all_channels_last(IntList sizes, const Shape* strides, int count) {
  if (sizes.size() != 4) return false;
  for (int i = 0; i < count; ++i) {
    if (!is_channels_last(sizes, strides[i])) return false;
  }
  return true;
}

}  // namespace

Shape agreed_strides(const Shape* strides, int count, IntList sizes) {
  const Shape order = common_order(strides, count, sizes);
  bool is_natural = true;
  for (size_t i = 0; i < order.size(); ++i) {
    is_natural &= order[i] == static_cast<int64_t>(order.size() - 1 - i);
  }
  if (is_natural) return contiguous_strides(sizes);
  Shape result(sizes.size());
  int64_t step = 1;
  for (const int64_t dim : order) {
    const auto d = static_cast<size_t>(dim);
    result[d] = step;
    step *= sizes[d];
  }
  return result;
}

TensorSpec infer_pointwise(const PointwiseCall& call) {
  const Tensor& first = *call.operands[0];
  TensorSpec spec{first.sizes(), call.result, first.device(), std::nullopt};
  if (call.layout == Layout::kLikeFirst) {
    spec.strides = strides_like(first.sizes(), first.strides());
    return spec;
  }
  const int count = layout_operands(call);
  bool same_shape = true;
  bool all_contiguous = is_contiguous_there(call, 0);
  for (int i = 1; i < count; ++i) {
    const Tensor& operand = *call.operands[i];
    // A 0-dim CPU tensor may join operands of another device.
    if (spec.device.is_host()) spec.device = operand.device();
    all_contiguous = all_contiguous && is_contiguous_there(call, i);
    if (operand.sizes() == spec.sizes) continue;
    same_shape = false;
    spec.sizes = broadcast_shapes(spec.sizes, operand.sizes());
  }
  if (spec.sizes.size() < 2 || call.layout == Layout::kContiguous) return spec;
  // When all operands of the full rank are contiguous, so is the result.
  bool dims_agree = all_contiguous;
  if (all_contiguous && !same_shape) {
    for (int i = 0; i < count; ++i) {
      const Tensor& operand = *call.operands[i];
      dims_agree = dims_agree && (operand.numel() == 1 ||
                                  (operand.sizes() == spec.sizes && operand.numel() != 0 &&
                                   has_plain_strides(spec.sizes, operand.strides())));
    }
  }
  if (dims_agree) return spec;
  Shape strides[kMaxOperands];
  for (int i = 0; i < count; ++i) strides[i] = strides_there(call, i);
  if (same_shape) {
    if (all_channels_last(spec.sizes, strides, count)) {
      spec.strides = strides_for(spec.sizes, MemoryFormat::kChannelsLast);
      return spec;
    }
    bool same_strides = is_dense(spec.sizes, strides[0]);
    for (int i = 1; i < count; ++i) same_strides &= strides[i] == strides[0];
    if (same_strides) {
      spec.strides = std::move(strides[0]);
      return spec;
    }
  }
  for (int i = 0; i < count; ++i) {
    strides[i] = broadcast_strides(call.operands[i]->sizes(), strides[i], spec.sizes);
  }
  spec.strides = agreed_strides(strides, count, spec.sizes);
  return spec;
}

}  // namespace mindtorch::ops
