// Pointwise functions that CANN lacks, made of those it has. Each step runs on the device.
#include <cmath>
#include <initializer_list>
#include <numbers>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
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
    const PointwiseCall call = make(function, operands);
    const ops::TensorSpec spec = ops::infer_pointwise(call);
    const Tensor out = make_like(on_, spec.sizes, spec.dtype);
    run_pointwise(on_, call, out);
    return out;
  }
  // The last step.
  void into(const Tensor& out, Pointwise function, std::initializer_list<Tensor> operands) const {
    run_pointwise(on_, make(function, operands), out);
  }

  Tensor number(double value) const { return Tensor::wrapped_number(Scalar(value)); }
  Tensor number(int64_t value) const { return Tensor::wrapped_number(Scalar(value)); }
  Tensor zero() const { return number(int64_t{0}); }
  Tensor is_nan(const Tensor& a) const { return (*this)(Pointwise::kNe, {a, a}); }

 private:
  PointwiseCall make(Pointwise function, std::initializer_list<Tensor> operands) const {
    PointwiseCall call(function, dtype_, ops::gives_bool(function) ? DType::kBool : dtype_);
    for (const Tensor& operand : operands) call.on(operand);
    return call;
  }

  ops::Launch& on_;
  const DType dtype_;
};

// fmax and fmin: an operand that is not a number loses.
void nan_loses(
    const Steps& run, Pointwise extremum, const Tensor& a, const Tensor& b, const Tensor& out) {
  const Tensor one = run(extremum, {a, b});
  const Tensor two = run(Pointwise::kWhere, {run.is_nan(a), b, one});
  run.into(out, Pointwise::kWhere, {run.is_nan(b), a, two});
}

// Scaled by the larger operand, so that squares neither overflow nor vanish.
void hypot(const Steps& run, const Tensor& x, const Tensor& y, const Tensor& out) {
  const Tensor a = run(Pointwise::kAbs, {x});
  const Tensor b = run(Pointwise::kAbs, {y});
  const Tensor large = run(Pointwise::kMaximum, {a, b});
  const Tensor small = run(Pointwise::kMinimum, {a, b});
  const Tensor ratio = run(Pointwise::kDiv, {small, large});
  const Tensor root =
      run(Pointwise::kSqrt,
          {run(Pointwise::kAdd, {run(Pointwise::kMul, {ratio, ratio}), run.number(1.0)})});
  const Tensor scaled = run(Pointwise::kMul, {large, root});
  const Tensor finite =
      run(Pointwise::kWhere, {run(Pointwise::kEq, {large, run.zero()}), large, scaled});
  const Tensor infinite =
      run(Pointwise::kLogicalOr, {run(Pointwise::kIsInf, {a}), run(Pointwise::kIsInf, {b})});
  run.into(out, Pointwise::kWhere, {infinite, run.number(INFINITY), finite});
}

void copysign(const Steps& run, const Tensor& a, const Tensor& b, const Tensor& out) {
  const Tensor differ =
      run(Pointwise::kLogicalXor, {run(Pointwise::kSignbit, {a}), run(Pointwise::kSignbit, {b})});
  run.into(out, Pointwise::kWhere, {differ, run(Pointwise::kNeg, {a}), a});
}

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

void heaviside(const Steps& run, const Tensor& a, const Tensor& b, const Tensor& out) {
  const Tensor positive = run(Pointwise::kWhere, {run(Pointwise::kGt, {a, run.zero()}),
                                                  run.number(int64_t{1}), run.zero()});
  run.into(out, Pointwise::kWhere, {run(Pointwise::kEq, {a, run.zero()}), b, positive});
}

void lcm(const Steps& run, const Tensor& a, const Tensor& b, const Tensor& out) {
  const Tensor divisor = run(Pointwise::kGcd, {a, b});
  const Tensor none = run(Pointwise::kEq, {divisor, run.zero()});
  const Tensor safe = run(Pointwise::kWhere, {none, run.number(int64_t{1}), divisor});
  const Tensor product = run(Pointwise::kMul, {run(Pointwise::kTruncDivide, {a, safe}), b});
  run.into(out, Pointwise::kWhere, {none, run.zero(), run(Pointwise::kAbs, {product})});
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

}  // namespace

bool has_composition(const PointwiseCall& call) {
  if (call.function == Pointwise::kFloorDivide) return is_floating_point(call.compute);
  return call.compute == DType::kFloat64 &&
         (call.function == Pointwise::kRelu || call.function == Pointwise::kTrunc ||
          call.function == Pointwise::kFrac);
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
  const Tensor a = operand(0);
  const Tensor b = operand(call.count > 1 ? 1 : 0);
  switch (call.function) {
    case Pointwise::kFmax:
      return nan_loses(run, Pointwise::kMaximum, a, b, out);
    case Pointwise::kFmin:
      return nan_loses(run, Pointwise::kMinimum, a, b, out);
    case Pointwise::kHypot:
      return hypot(run, a, b, out);
    case Pointwise::kCopysign:
      return copysign(run, a, b, out);
    case Pointwise::kNextafter:
      return nextafter(on, dtype, a, b, out);
    case Pointwise::kFloorDivide:
      return floor_divide(on, dtype, a, b, out);
    case Pointwise::kHeaviside:
      return heaviside(run, a, b, out);
    case Pointwise::kLcm:
      return lcm(run, a, b, out);
    case Pointwise::kShiftLeft:
    case Pointwise::kShiftRight:
      return shift(run, call, a, b, out);
    case Pointwise::kDeg2rad:
      return run.into(out, Pointwise::kMul, {a, run.number(std::numbers::pi / 180)});
    case Pointwise::kRad2deg:
      return run.into(out, Pointwise::kMul, {a, run.number(180 / std::numbers::pi)});
    case Pointwise::kRelu:
      return run.into(out, Pointwise::kMaximum, {a, run.zero()});
    case Pointwise::kTrunc:
      return run.into(out, Pointwise::kWhere,
                      {run(Pointwise::kLt, {a, run.zero()}), run(Pointwise::kCeil, {a}),
                       run(Pointwise::kFloor, {a})});
    case Pointwise::kFrac:
      return run.into(out, Pointwise::kSub, {a, run(Pointwise::kTrunc, {a})});
    default:
      refuse(on, ops::info(call.function).name.data(), call.compute, "CANN has no op for it");
  }
}

}  // namespace mindtorch::ascend
