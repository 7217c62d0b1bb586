// Pointwise functions that CANN lacks, made of those it has. Each step runs on the device.
#include <cmath>
#include <initializer_list>
#include <span>
#include <vector>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/ops/evaluate.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;
using ops::PointwiseCall;

// Steps of one composition, all in one dtype.
class Steps {
 public:
  Steps(ops::Launch& on, DType dtype) : on_(on), dtype_(dtype) {}

  Tensor operator()(Pointwise function, std::initializer_list<Tensor> operands) const {
    return computed(function, {operands.begin(), operands.size()}, false);
  }
  // The last step.
  void into(const Tensor& out, Pointwise function, std::initializer_list<Tensor> operands) const {
    compute_into(out, function, {operands.begin(), operands.size()}, false);
  }
  // The same; `is_logic`: on operands that are bool.
  Tensor computed(Pointwise function, std::span<const Tensor> operands, bool is_logic) const {
    const PointwiseCall call = make(function, operands, is_logic);
    const ops::TensorSpec spec = ops::infer_pointwise(call);
    const Tensor out = make_like(on_, spec.sizes, spec.dtype);
    run_pointwise(on_, call, out);
    return out;
  }
  void compute_into(const Tensor& out,
                    Pointwise function,
                    std::span<const Tensor> operands,
                    bool is_logic) const {
    run_pointwise(on_, make(function, operands, is_logic), out);
  }
  Tensor copied(const Tensor& from, const Tensor& out) const {
    call(on_, MT_ACLNN(aclnnInplaceCopy), out, on_device(on_, from, dtype_));
    return out;
  }

  Tensor number(double value) const { return Tensor::wrapped_number(Scalar(value)); }
  Tensor number(int64_t value) const { return Tensor::wrapped_number(Scalar(value)); }
  Tensor zero() const { return number(int64_t{0}); }
  Tensor is_nan(const Tensor& a) const { return (*this)(Pointwise::kNe, {a, a}); }

 private:
  PointwiseCall make(Pointwise function, std::span<const Tensor> operands, bool is_logic) const {
    const DType dtype = is_logic ? DType::kBool : dtype_;
    PointwiseCall call(function, dtype, ops::gives_bool(function) ? DType::kBool : dtype);
    for (const Tensor& operand : operands) call.on(operand);
    return call;
  }

  ops::Launch& on_;
  const DType dtype_;
};

// The same bits seen as integers of the same width.
Tensor as_bits(const Tensor& tensor) {
  Tensor bits = tensor.alias(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  switch (tensor.element_size()) {
    case 2:
      bits.impl()->dtype = DType::kInt16;
      break;
    case 4:
      bits.impl()->dtype = DType::kInt32;
      break;
    default:
      bits.impl()->dtype = DType::kInt64;
  }
  return bits;
}

// Neighbouring floats are neighbouring integers, away from zero upwards.
void nextafter(ops::Launch& on, DType dtype, const Tensor& x, const Tensor& y, const Tensor& out) {
  const Steps run(on, dtype);
  // A copy in the shape of the result: its bits are counted up or down in place.
  const Tensor stepped = make_like(on, out.sizes(), dtype);
  call(on, MT_ACLNN(aclnnInplaceCopy), stepped, on_device(on, x, dtype));
  const Tensor& a = x;
  const Tensor zero = run(Pointwise::kEq, {a, run.zero()});
  const Tensor up = run(Pointwise::kLogicalXor,
                        {run(Pointwise::kLt, {a, y}), run(Pointwise::kLt, {a, run.zero()})});
  const Tensor bits = as_bits(stepped);
  const Steps whole(on, bits.dtype());
  const Tensor step =
      whole(Pointwise::kWhere, {up, whole.number(int64_t{1}), whole.number(int64_t{-1})});
  whole.into(bits, Pointwise::kAdd, {bits, step});
  // From zero: the smallest number, with the sign of y.
  Tensor smallest = make_like(on, out.sizes(), dtype);
  call(on, MT_ACLNN(aclnnInplaceFillScalar), as_bits(smallest),
       typed(Scalar(int64_t{1}), as_bits(smallest).dtype()));
  const Tensor signed_smallest =
      run(Pointwise::kWhere,
          {run(Pointwise::kLt, {y, run.zero()}), run(Pointwise::kNeg, {smallest}), smallest});
  const Tensor moved = run(Pointwise::kWhere, {zero, signed_smallest, stepped});
  const Tensor settled = run(Pointwise::kWhere, {run(Pointwise::kEq, {a, y}), y, moved});
  const Tensor nan = run(Pointwise::kLogicalOr, {run.is_nan(a), run.is_nan(y)});
  run.into(out, Pointwise::kWhere, {nan, run.number(NAN), settled});
}

// By powers of two. Shifts by a negative number or all bits push every bit out.
void shift(
    const Steps& run, const PointwiseCall& call, const Tensor& a, const Tensor& b, Tensor out) {
  const bool left = call.function == Pointwise::kShiftLeft;
  // 2^63 is no int64: to the right, its sign is all that is left by then.
  const int64_t bits = size_bytes(call.compute) * 8 - (!left && call.compute == DType::kInt64);
  const Tensor within = run(Pointwise::kLogicalAnd, {run(Pointwise::kGe, {b, run.zero()}),
                                                     run(Pointwise::kLt, {b, run.number(bits)})});
  const Tensor count = run(Pointwise::kWhere, {within, b, run.zero()});
  const Tensor power = run(Pointwise::kPow, {run.number(int64_t{2}), count});
  const Tensor emptied = left ? run.zero()
                              : run(Pointwise::kWhere, {run(Pointwise::kLt, {a, run.zero()}),
                                                        run.number(int64_t{-1}), run.zero()});
  const Tensor shifted = run(left ? Pointwise::kMul : Pointwise::kFloorDivide, {a, power});
  run.into(out, Pointwise::kWhere, {within, shifted, emptied});
}

// CANN rounds the quotient down, which says nothing about infinite operands. A finite number
// divided by an infinite one of the other sign is just below 0, and an infinite one leaves no
// remainder.
void floor_divide(
    ops::Launch& on, DType dtype, const Tensor& a, const Tensor& b, const Tensor& out) {
  const Steps run(on, dtype);
  const auto value = [](const Tensor& number) {
    return read_element(number.data_ptr(), number.dtype()).to_double();
  };
  Tensor quotient = make_like(on, broadcast_shapes(a.sizes(), b.sizes()), dtype);
  call(on, MT_ACLNN(aclnnFloorDivide), on_device(on, a, dtype), on_device(on, b, dtype), quotient);
  const bool may_cross = b.device() == on.device || std::isinf(value(b));
  if (may_cross) {
    Tensor crosses = run(Pointwise::kEq, {run(Pointwise::kMul, {a, b}), run.number(-INFINITY)});
    if (b.device() == on.device) {
      crosses = run(Pointwise::kLogicalAnd, {run(Pointwise::kIsInf, {b}), crosses});
    }
    quotient = run(Pointwise::kWhere, {crosses, run.number(-1.0), quotient});
  }
  const Tensor lost =
      a.device() == on.device ? run(Pointwise::kSub, {a, a}) : run.number(value(a) - value(a));
  run.into(out, Pointwise::kSub, {quotient, lost});
}

// The function's expression, node by node.
class Composition {
 public:
  Composition(const Steps& run, const PointwiseCall& call, std::span<const Tensor> operands)
      : run_(run),
        call_(call),
        operands_(operands),
        nodes_(ops::function_info(call.function).value_in(call.compute).nodes()) {}

  void into(const Tensor& out) {
    for (size_t i = 0; i < nodes_.size(); ++i) values_.push_back(make(i, out));
  }

 private:
  Tensor make(size_t i, const Tensor& out) const {
    const ops::ExprNode& node = nodes_[i];
    const bool is_float = is_floating_point(call_.compute);
    switch (node.kind) {
      case ops::ExprNode::Kind::kOperand:
        return operands_[node.index];
      case ops::ExprNode::Kind::kParam:
        return is_float ? run_.number(call_.params.f[node.index])
                        : run_.number(call_.params.i[node.index]);
      case ops::ExprNode::Kind::kConstant:
        return is_float ? run_.number(node.constant)
                        : run_.number(static_cast<int64_t>(node.constant));
      case ops::ExprNode::Kind::kCall:
        break;
    }
    if (is_number(i)) return run_.number(value_of(i));
    SmallVector<Tensor, 3> in;
    bool is_logic = true;  // on what comparisons gave
    for (int k = 0; k < node.count; ++k) {
      in.push_back(values_[node.arguments[k]]);
      is_logic &= is_truth(node.arguments[k]);
    }
    if (node.function == Pointwise::kWhere && is_number(node.arguments[0])) {
      const Tensor& chosen = in[value_of(node.arguments[0]) != 0 ? 1 : 2];
      return i + 1 == nodes_.size() ? run_.copied(chosen, out) : chosen;
    }
    const Steps& run = run_;
    const std::span<const Tensor> operands(in.data(), in.size());
    if (i + 1 < nodes_.size()) return run.computed(node.function, operands, is_logic);
    run.compute_into(out, node.function, operands, is_logic);
    return out;
  }

  // A condition, not an operand that happens to be bool.
  bool is_truth(size_t i) const {
    const ops::ExprNode& node = nodes_[i];
    if (node.kind == ops::ExprNode::Kind::kOperand) {
      return ops::takes_bool(call_.function, node.index);
    }
    return node.kind == ops::ExprNode::Kind::kCall && ops::gives_bool(node.function);
  }

  // Known without the device.
  bool is_number(size_t i) const {
    const ops::ExprNode& node = nodes_[i];
    if (node.kind == ops::ExprNode::Kind::kOperand) return false;
    for (int k = 0; k < node.count; ++k) {
      if (!is_number(node.arguments[k])) return false;
    }
    return true;
  }
  double value_of(size_t i) const {
    const ops::ExprNode& node = nodes_[i];
    if (node.kind == ops::ExprNode::Kind::kParam) return call_.params.f[node.index];
    if (node.kind == ops::ExprNode::Kind::kConstant) return node.constant;
    double numbers[3] = {};
    for (int k = 0; k < node.count; ++k) numbers[k] = value_of(node.arguments[k]);
    return ops::evaluate<double>(node.function, {numbers, node.count}, {});
  }

  const Steps& run_;
  const PointwiseCall& call_;
  const std::span<const Tensor> operands_;
  const std::span<const ops::ExprNode> nodes_;
  std::vector<Tensor> values_;
};

}  // namespace

bool has_composition(const PointwiseCall& call) {
  if (call.function == Pointwise::kFloorDivide) return is_floating_point(call.compute);
  return call.compute == DType::kFloat64 &&
         (call.function == Pointwise::kRelu || call.function == Pointwise::kTrunc ||
          call.function == Pointwise::kFrac || call.function == Pointwise::kLerp ||
          call.function == Pointwise::kLerpScalar);
}

// As the CPU has it: half precision is rounded, and a product in few bits wraps around, only at the
// end.
static DType steps_dtype(const PointwiseCall& call) {
  if (call.function == Pointwise::kNextafter) return call.compute;
  if ((kHalves & bit(call.compute)) != 0) return DType::kFloat32;
  if (call.function == Pointwise::kShiftRight) return DType::kInt64;  // the powers of two fit
  const bool narrow = size_bytes(call.compute) < size_bytes(DType::kInt32);
  return call.function == Pointwise::kLcm && narrow ? DType::kInt32 : call.compute;
}

void run_composed(ops::Launch& on, const PointwiseCall& call, const Tensor& out) {
  const DType dtype = steps_dtype(call);
  if (dtype != call.compute && out.dtype() != call.compute) {
    return compute_in(on, call.compute, out,
                      [&](const Tensor& rounded) { run_composed(on, call, rounded); });
  }
  const Steps run(on, dtype);
  const auto operand = [&](int i) {
    const bool is_wide = i == call.unrounded;
    return dtype == call.compute ? *call.operands[i]
                                 : on_device(on, *call.operands[i], is_wide ? dtype : call.compute);
  };
  Tensor operands[ops::kMaxOperands];
  for (int i = 0; i < call.count; ++i) operands[i] = operand(i);
  switch (call.function) {
    case Pointwise::kNextafter:
      return nextafter(on, dtype, operands[0], operands[1], out);
    case Pointwise::kFloorDivide:
      return floor_divide(on, dtype, operands[0], operands[1], out);
    case Pointwise::kShiftLeft:
    case Pointwise::kShiftRight:
      return shift(run, call, operands[0], operands[1], out);
    default:
      break;
  }
  const ops::FunctionInfo& info = ops::function_info(call.function);
  if (info.value_in(call.compute).empty()) {
    refuse(on, info.name.c_str(), call.compute, "CANN has no op for it");
  }
  Composition(run, call, {operands, static_cast<size_t>(call.count)}).into(out);
}

}  // namespace mindtorch::ascend
