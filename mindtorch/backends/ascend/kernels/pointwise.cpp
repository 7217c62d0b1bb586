#include "mindtorch/backends/ascend/kernels/pointwise.h"

#include <array>
#include <optional>

#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/ops/refusal.h"
#include "mindtorch/tensor/complex_view.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;
using ops::PointwiseCall;

// A call on its way to CANN: operands on the device, in the dtype it computes in.
struct Ready {
  const PointwiseCall& call;
  DType compute;
  const Tensor* in[ops::kMaxOperands];

  TypedScalar parameter(int index) const {
    if (is_complex(compute)) {
      const std::complex<double> value(call.params.f[index], call.params.imag[index]);
      return typed(Scalar(value), compute);
    }
    return is_floating_point(compute) ? typed(Scalar(call.params.f[index]), compute)
                                      : typed(Scalar(call.params.i[index]), compute);
  }
  TypedScalar one() const { return typed(Scalar(int64_t{1}), compute); }
};

// Functions that CANN has under a name of its own, with the operands and the result as arguments,
// and the dtypes its documents give.
// clang-format off
#define MT_UNARY_FUNCTIONS(X) \
  X(kAbs, aclnnAbs, kAny | bit(DType::kComplex64)) \
  X(kNeg, aclnnNeg, kComplex | kFloats | kDouble | kI8 | kI32 | kI64) \
  X(kSign, aclnnSign, kComplex | kFloats | kDouble | kI32 | kI64 | kBool) \
  X(kReciprocal, aclnnReciprocal, kAnyOrComplex) \
  X(kCeil, aclnnCeil, kFloats | kDouble) \
  X(kFloor, aclnnFloor, bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble | kInts) \
  X(kRound, aclnnRound, kFloats | kDouble | kI32 | kI64) \
  X(kTrunc, aclnnTrunc, kFloats) \
  X(kFrac, aclnnFrac, kFloats | kInts) \
  X(kSqrt, aclnnSqrt, kAnyOrComplex) \
  X(kRsqrt, aclnnRsqrt, kAnyOrComplex) \
  X(kExp, aclnnExp, kComplex | kFloats | kDouble | kI64 | kBool) \
  X(kExp2, aclnnExp2, kAny) \
  X(kExpm1, aclnnExpm1, kFloats | kI64 | kBool) \
  X(kLog, aclnnLog, kAnyOrComplex) \
  X(kLog2, aclnnLog2, kAnyOrComplex) \
  X(kLog10, aclnnLog10, kAnyOrComplex) \
  X(kLog1p, aclnnLog1p, kAny) \
  X(kErf, aclnnErf, bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble | kI64 | kBool) \
  X(kErfc, aclnnErfc, bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble | kI64 | kBool) \
  X(kErfinv, aclnnErfinv, kFloats | kInts | kBool) \
  X(kLgamma, aclnnLgamma, bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble) \
  X(kDigamma, aclnnDigamma, bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble) \
  X(kSinc, aclnnSinc, kAny) \
  X(kSin, aclnnSin, kAnyOrComplex) \
  X(kCos, aclnnCos, kAnyOrComplex) \
  X(kTan, aclnnTan, kAnyOrComplex) \
  X(kAsin, aclnnAsin, kInts | bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble | kBool) \
  X(kAcos, aclnnAcos, kInts | bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble | kBool) \
  X(kAtan, aclnnAtan, kAny) \
  X(kSinh, aclnnSinh, kAnyOrComplex) \
  X(kCosh, aclnnCosh, bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble) \
  X(kTanh, aclnnTanh, kFloats | kInts | kBool) \
  X(kAsinh, aclnnAsinh, kInts | bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble | kBool) \
  X(kAcosh, aclnnAcosh, bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble) \
  X(kAtanh, aclnnAtanh, kInts | bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble | kBool) \
  X(kSigmoid, aclnnSigmoid, kFloats) \
  X(kRelu, aclnnRelu, kFloats | kI8 | kI32 | kI64) \
  X(kSilu, aclnnSilu, kFloats) \
  X(kMish, aclnnMish, kFloats) \
  X(kHardsigmoid, aclnnHardsigmoid, kFloats | kI32) \
  X(kHardswish, aclnnHardswish, kFloats) \
  X(kLogSigmoid, aclnnLogSigmoid, kFloats) \
  X(kLogicalNot, aclnnLogicalNot, kAny) \
  X(kIsInf, aclnnIsInf, kAny) \
  X(kIsFinite, aclnnIsFinite, kFloats | kDouble) \
  X(kIsPosInf, aclnnIsPosInf, kFloats | kDouble) \
  X(kIsNegInf, aclnnIsNegInf, kFloats | kDouble) \
  X(kSignbit, aclnnSignbit, kAny) \
  X(kBitwiseNot, aclnnBitwiseNot, kInts | kBool)

#define MT_BINARY_FUNCTIONS(X) \
  X(kMul, aclnnMul, kAnyOrComplex) \
  X(kDiv, aclnnDiv, kAnyOrComplex) \
  X(kFloorDivide, aclnnFloorDivide, bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble | kInts | kBool) \
  X(kRemainder, aclnnRemainderTensorTensor, kFloats | kInts | kDouble) \
  X(kFmod, aclnnFmodTensor, kFloats | kDouble | kI8 | kU8 | kI32 | kI64) \
  X(kPow, aclnnPowTensorTensor, kAnyOrComplex) \
  X(kMaximum, aclnnMaximum, kAny) \
  X(kMinimum, aclnnMinimum, kAny) \
  X(kAtan2, aclnnAtan2, kAny) \
  X(kLogaddexp, aclnnLogAddExp, kAny) \
  X(kLogaddexp2, aclnnLogAddExp2, kAny) \
  X(kXlogy, aclnnXLogYTensor, kAny) \
  X(kGcd, aclnnGcd, kInts) \
  X(kEq, aclnnEqTensor, kAnyOrComplex) \
  X(kNe, aclnnNeTensor, kAnyOrComplex) \
  X(kLt, aclnnLtTensor, kAny) \
  X(kLe, aclnnLeTensor, kAny) \
  X(kGt, aclnnGtTensor, kAny) \
  X(kGe, aclnnGeTensor, kAny) \
  X(kLogicalAnd, aclnnLogicalAnd, kAnyOrComplex) \
  X(kLogicalOr, aclnnLogicalOr, kAnyOrComplex) \
  X(kLogicalXor, aclnnLogicalXor, kAnyOrComplex) \
  X(kBitwiseAnd, aclnnBitwiseAndTensor, kInts | kBool) \
  X(kBitwiseOr, aclnnBitwiseOrTensor, kInts | kBool) \
  X(kBitwiseXor, aclnnBitwiseXorTensor, kInts | kBool) \
  X(kPrelu, aclnnPrelu, kFloats)
// clang-format on

// The functions that take parameters, or whose CANN op is not one to one.
#define MT_OTHER_FUNCTIONS(X)                              \
  X(kAdd, kAnyOrComplex)                                   \
  X(kSub, kAnyOrComplex)                                   \
  X(kAddScaled, kAnyOrComplex)                             \
  X(kTruncDivide, kAny)                                    \
  X(kSquare, kAnyOrComplex)                                \
  X(kCube, kAnyOrComplex)                                  \
  X(kInverseSquare, kAnyOrComplex)                         \
  X(kPowScalar, kAnyOrComplex)                             \
  X(kIsNan, kAnyOrComplex)                                 \
  X(kRoundDecimals, kFloats | kDouble | kI32 | kI64)       \
  X(kNanToNum, kFloats | kInts | kBool)                    \
  X(kLogit, kFloats)                                       \
  X(kGelu, kFloats)                                        \
  X(kGeluTanh, kFloats)                                    \
  X(kElu, kFloats)                                         \
  X(kLeakyRelu, kFloats)                                   \
  X(kSoftplus, kFloats)                                    \
  X(kHardshrink, kFloats)                                  \
  X(kSoftshrink, kFloats)                                  \
  X(kThreshold, kFloats | kInts)                           \
  X(kClampScalar, kAny)                                    \
  X(kClampMinScalar, kFloats | kInts | kDouble)            \
  X(kClampMaxScalar, kFloats | kInts | kDouble)            \
  X(kClamp, kFloats | kInts | kDouble)                     \
  X(kWhere, kAnyOrComplex)                                 \
  X(kLerp, kFloats)                                        \
  X(kLerpScalar, kFloats)                                  \
  X(kAddcmul, kFloats | kDouble | kI8 | kU8 | kI32 | kI64) \
  X(kAddcdiv, kFloats | kDouble | kI64)

// The dtypes that CANN takes for a function; 0: it has no op for it.
constexpr std::array<DTypes, ops::kPointwiseCount> kTaken = [] {
  std::array<DTypes, ops::kPointwiseCount> taken{};
#define MT_TAKES(function, op, dtypes) taken[static_cast<size_t>(Pointwise::function)] = dtypes;
  MT_UNARY_FUNCTIONS(MT_TAKES)
  MT_BINARY_FUNCTIONS(MT_TAKES)
#undef MT_TAKES
#define MT_TAKES(function, dtypes) taken[static_cast<size_t>(Pointwise::function)] = dtypes;
  MT_OTHER_FUNCTIONS(MT_TAKES)
#undef MT_TAKES
  return taken;
}();

void apply(ops::Launch& on, const Ready& ready, const Tensor& out) {
  const Tensor* const* in = ready.in;
  const PointwiseCall& call = ready.call;
  switch (call.function) {
#define MT_CASE(function, op, dtypes) \
  case Pointwise::function:           \
    return ascend::call(on, MT_ACLNN(op), *in[0], out);
    MT_UNARY_FUNCTIONS(MT_CASE)
#undef MT_CASE
#define MT_CASE(function, op, dtypes) \
  case Pointwise::function:           \
    return ascend::call(on, MT_ACLNN(op), *in[0], *in[1], out);
    MT_BINARY_FUNCTIONS(MT_CASE)
#undef MT_CASE
    case Pointwise::kAdd:
      return ascend::call(on, MT_ACLNN(aclnnAdd), *in[0], *in[1], ready.one(), out);
    case Pointwise::kSub:
      return ascend::call(on, MT_ACLNN(aclnnSub), *in[0], *in[1], ready.one(), out);
    case Pointwise::kAddScaled:
      return ascend::call(on, MT_ACLNN(aclnnAdd), *in[0], *in[1], ready.parameter(0), out);
    case Pointwise::kTruncDivide:
      return ascend::call(on, MT_ACLNN(aclnnDivMod), *in[0], *in[1], 1, out);
    case Pointwise::kSquare:
      return ascend::call(on, MT_ACLNN(aclnnMul), *in[0], *in[0], out);
    case Pointwise::kCube:
    case Pointwise::kInverseSquare: {
      const int64_t power = call.function == Pointwise::kCube ? 3 : -2;
      const TypedScalar exponent = typed(Scalar(power), ready.compute);
      return ascend::call(on, MT_ACLNN(aclnnPowTensorScalar), *in[0], exponent, out);
    }
    case Pointwise::kPowScalar:
      return ascend::call(on, MT_ACLNN(aclnnPowTensorScalar), *in[0], ready.parameter(0), out);
    case Pointwise::kIsNan:
      return ascend::call(on, MT_ACLNN(aclnnNeTensor), *in[0], *in[0], out);
    case Pointwise::kRoundDecimals:
      return ascend::call(on, MT_ACLNN(aclnnRoundDecimals), *in[0], call.params.i[0], out);
    case Pointwise::kNanToNum:
      return ascend::call(on, MT_ACLNN(aclnnNanToNum), *in[0], static_cast<float>(call.params.f[0]),
                          static_cast<float>(call.params.f[1]),
                          static_cast<float>(call.params.f[2]), out);
    case Pointwise::kLogit:
      return ascend::call(on, MT_ACLNN(aclnnLogit), *in[0], call.params.f[0], out);
    case Pointwise::kGelu:  // aclnnGelu is the approximation by tanh
      return ascend::call(on, MT_ACLNN(aclnnGeluV2), *in[0], int64_t{0}, out);
    case Pointwise::kGeluTanh:
      return ascend::call(on, MT_ACLNN(aclnnGeluV2), *in[0], int64_t{1}, out);
    case Pointwise::kElu:
      return ascend::call(on, MT_ACLNN(aclnnElu), *in[0], ready.parameter(0), ready.parameter(1),
                          ready.parameter(2), out);
    case Pointwise::kLeakyRelu:
      return ascend::call(on, MT_ACLNN(aclnnLeakyRelu), *in[0], ready.parameter(0), out);
    case Pointwise::kSoftplus:
      return ascend::call(on, MT_ACLNN(aclnnSoftplus), *in[0], ready.parameter(0),
                          ready.parameter(1), out);
    case Pointwise::kHardshrink:
      return ascend::call(on, MT_ACLNN(aclnnHardshrink), *in[0], ready.parameter(0), out);
    case Pointwise::kSoftshrink:
      return ascend::call(on, MT_ACLNN(aclnnSoftshrink), *in[0], ready.parameter(0), out);
    case Pointwise::kThreshold:
      return ascend::call(on, MT_ACLNN(aclnnThreshold), *in[0], ready.parameter(0),
                          ready.parameter(1), out);
    case Pointwise::kClampScalar:
      return ascend::call(on, MT_ACLNN(aclnnClamp), *in[0], ready.parameter(0), ready.parameter(1),
                          out);
    case Pointwise::kClampMinScalar:
      return ascend::call(on, MT_ACLNN(aclnnClampMin), *in[0], ready.parameter(0), out);
    case Pointwise::kClampMaxScalar:
      return ascend::call(on, MT_ACLNN(aclnnClampMax), *in[0], ready.parameter(0), out);
    case Pointwise::kClamp:
      return ascend::call(on, MT_ACLNN(aclnnClampTensor), *in[0], *in[1], *in[2], out);
    case Pointwise::kWhere:
      return ascend::call(on, MT_ACLNN(aclnnSWhere), *in[0], *in[1], *in[2], out);
    case Pointwise::kLerp:
      return ascend::call(on, MT_ACLNN(aclnnLerp), *in[0], *in[1], *in[2], out);
    case Pointwise::kLerpScalar:
      return ascend::call(on, MT_ACLNN(aclnnLerps), *in[0], *in[1], ready.parameter(0), out);
    case Pointwise::kAddcmul:
      return ascend::call(on, MT_ACLNN(aclnnAddcmul), *in[0], *in[1], *in[2], ready.parameter(0),
                          out);
    case Pointwise::kAddcdiv:
      return ascend::call(on, MT_ACLNN(aclnnAddcdiv), *in[0], *in[1], *in[2], ready.parameter(0),
                          out);
    default:
      MT_ASSERT(false);
  }
}

bool is_number(const ops::Launch& on, const Tensor& operand) {
  return operand.device() != on.device;  // a 0-dim CPU tensor: anything else was refused before
}

// A tensor and a number, where CANN has an op for that. False: it has none.
bool apply_with_number(ops::Launch& on,
                       Pointwise function,
                       const Tensor& self,
                       const TypedScalar& number,
                       const Tensor& out) {
  const TypedScalar one = typed(Scalar(int64_t{1}), number.dtype);
  switch (function) {
    case Pointwise::kAdd:
      call(on, MT_ACLNN(aclnnAdds), self, number, one, out);
      return true;
    case Pointwise::kSub:
      call(on, MT_ACLNN(aclnnSubs), self, number, one, out);
      return true;
    case Pointwise::kTruncDivide:
      call(on, MT_ACLNN(aclnnDivMods), self, number, 1, out);
      return true;
#define MT_CASE(function, op)                  \
  case Pointwise::function:                    \
    call(on, MT_ACLNN(op), self, number, out); \
    return true;
      MT_CASE(kMul, aclnnMuls)
      MT_CASE(kDiv, aclnnDivs)
      MT_CASE(kFloorDivide, aclnnFloorDivides)
      MT_CASE(kPow, aclnnPowTensorScalar)
      MT_CASE(kEq, aclnnEqScalar)
      MT_CASE(kNe, aclnnNeScalar)
      MT_CASE(kLt, aclnnLtScalar)
      MT_CASE(kLe, aclnnLeScalar)
      MT_CASE(kGt, aclnnGtScalar)
      MT_CASE(kGe, aclnnGeScalar)
#undef MT_CASE
    default:
      return false;
  }
}

// The function that gives the same with its operands swapped, if there is one.
std::optional<Pointwise> swapped(Pointwise function) {
  switch (function) {
    case Pointwise::kAdd:
    case Pointwise::kMul:
    case Pointwise::kEq:
    case Pointwise::kNe:
      return function;
    case Pointwise::kLt:
      return Pointwise::kGt;
    case Pointwise::kLe:
      return Pointwise::kGe;
    case Pointwise::kGt:
      return Pointwise::kLt;
    case Pointwise::kGe:
      return Pointwise::kLe;
    default:
      return std::nullopt;
  }
}

// Without a tensor for the number, if it can be done.
bool run_with_number(ops::Launch& on, const PointwiseCall& call, DType compute, const Tensor& out) {
  const bool second = is_number(on, *call.operands[1]);
  const Tensor& tensor = *call.operands[second ? 0 : 1];
  if (is_number(on, tensor) || tensor.dtype() != compute) return false;
  const std::optional<Pointwise> function = second ? call.function : swapped(call.function);
  if (!function) return false;
  const int which = second ? 1 : 0;
  const Tensor& number = *call.operands[which];
  Scalar value = read_element(number.data_ptr(), number.dtype());
  if (which != call.unrounded) value = round_to_half(value, compute);
  return apply_with_number(on, *function, tensor, typed(value, compute), out);
}

// Operands as CANN wants them, and the op. `out` is of the dtype that the op gives.
void compute_into(ops::Launch& on, const PointwiseCall& call, DType compute, const Tensor& out) {
  if (call.count == 2 && compute == call.compute &&
      (is_number(on, *call.operands[0]) || is_number(on, *call.operands[1])) &&
      run_with_number(on, call, compute, out)) {
    return;
  }
  Tensor converted[ops::kMaxOperands];
  Ready ready{call, compute, {}};
  for (int i = 0; i < call.count; ++i) {
    const Tensor& operand = *call.operands[i];
    const bool condition = ops::takes_bool(call.function, i);
    const bool keeps = i == call.unrounded;
    const DType real = condition ? DType::kBool : keeps ? DType::kFloat32 : call.compute;
    const DType dtype = condition || keeps ? real : compute;
    if (operand.device() == on.device && operand.dtype() == real && real == dtype) {
      ready.in[i] = &operand;
    } else {
      // A wider dtype that stands in for the real one sees the numbers that that one has.
      converted[i] = on_device(on, on_device(on, operand, real), dtype);
      ready.in[i] = &converted[i];
    }
  }
  apply(on, ready, out);
}

// ceil, floor, round and trunc leave integers alone.
bool is_identity(const PointwiseCall& call) {
  return call.function >= Pointwise::kCeil && call.function <= Pointwise::kTrunc &&
         !is_floating_point(call.compute) && call.function != Pointwise::kRoundDecimals;
}

// No integer is infinite or not a number.
bool asks_for_a_float(Pointwise function) {
  return function == Pointwise::kIsFinite || function == Pointwise::kIsPosInf ||
         function == Pointwise::kIsNegInf;
}

}  // namespace

Tensor make_like(const ops::Launch& on, IntList sizes, DType dtype) {
  return Tensor::make(sizes, dtype, on.device);
}

Tensor on_device(ops::Launch& on, const Tensor& tensor, DType dtype) {
  if (tensor.device() == on.device) {
    if (tensor.dtype() == dtype) return tensor;
    if (dtype == DType::kUInt8 && is_floating_point(tensor.dtype())) {
      // Negative numbers wrap around; CANN stops at 0.
      return on_device(on, on_device(on, tensor, DType::kInt32), dtype);
    }
    Tensor converted = make_like(on, tensor.sizes(), dtype);
    call(on, MT_ACLNN(aclnnCast), tensor, dtype, converted);
    return converted;
  }
  MT_ASSERT(tensor.device().is_cpu() && tensor.dim() == 0);
  Tensor filled = make_like(on, {}, dtype);
  call(on, MT_ACLNN(aclnnInplaceFillScalar), filled,
       typed(read_element(tensor.data_ptr(), tensor.dtype()), dtype));
  return filled;
}

namespace {

const char* label_of(Pointwise function) { return ops::function_info(function).name.c_str(); }

// The dtype that CANN's op computes in; throws where it has none.
DType computed_in(const ops::Launch& on, const PointwiseCall& call) {
  if (!ops::is_built_in(call.function)) {
    return computable(on, label_of(call.function), call.compute, kAny);
  }
  if (asks_for_a_float(call.function) && is_integral(call.compute, true)) return DType::kFloat32;
  return computable(on, label_of(call.function), call.compute,
                    kTaken[static_cast<size_t>(call.function)]);
}

// The functions of complex numbers that CANN lacks are computed on their parts.
bool is_of_parts(const PointwiseCall& call) {
  return is_complex(call.compute) &&
         (call.function == Pointwise::kConj || call.function == Pointwise::kAngle);
}
bool run_on_parts(ops::Launch& on, const PointwiseCall& call, const Tensor& out) {
  if (!is_of_parts(call)) return false;
  const auto part = [](const Tensor& complex, int64_t which) {
    const Tensor parts = parts_of(complex);
    Shape sizes = parts.sizes();
    Shape strides = parts.strides();
    sizes.pop_back();
    strides.pop_back();
    return parts.alias(std::move(sizes), std::move(strides), parts.storage_offset() + which);
  };
  const Tensor self = on_device(on, *call.operands[0], call.compute);
  if (call.function == Pointwise::kAngle) {
    ascend::call(on, MT_ACLNN(aclnnAtan2), part(self, 1), part(self, 0), out);
  } else {
    ascend::call(on, MT_ACLNN(aclnnInplaceCopy), out, self);
    ascend::call(on, MT_ACLNN(aclnnNeg), part(self, 1), part(out, 1));
  }
  return true;
}

bool is_composed(const PointwiseCall& call) {
  return !ops::is_built_in(call.function) || kTaken[static_cast<size_t>(call.function)] == 0 ||
         has_composition(call);
}

Device device_of(const PointwiseCall& call) {
  Device device = call.operands[0]->device();
  for (int i = 1; i < call.count && device.is_cpu(); ++i) device = call.operands[i]->device();
  return device;
}

// Operands are of dtypes that there are on this chip. What is computed or stored may not be.
void check_chip(const PointwiseCall& call) {
  const DTypes held = ops::registry().device_dtypes(DeviceType::kNpu);
  for (const DType dtype : {call.compute, call.result}) {
    if (MT_LIKELY(contains(held, dtype))) continue;
    ops::refuse(label_of(call.function), device_of(call), dtype, "there are no such tensors",
                ops::registry().chip_without(DeviceType::kNpu, dtype));
  }
}

}  // namespace

void check_pointwise(const PointwiseCall& call) {
  check_chip(call);
  const bool has_op = !is_complex(call.compute) || is_of_parts(call);
  if (has_op && (is_identity(call) || is_of_parts(call) || is_composed(call))) return;
  computed_in(ops::Launch{device_of(call)}, call);
}

void run_pointwise(ops::Launch& on, const PointwiseCall& call, const Tensor& out) {
  check_chip(call);
  if (is_identity(call)) {
    return ascend::call(on, MT_ACLNN(aclnnInplaceCopy), out, *call.operands[0]);
  }
  if (is_complex(call.compute) && run_on_parts(on, call, out)) return;
  if (is_composed(call) && is_common(call.compute)) return run_composed(on, call, out);
  const DType compute = computed_in(on, call);
  const bool gives_bool = ops::gives_bool(call.function);
  const DType given = gives_bool                       ? DType::kBool
                      : ops::gives_real(call.function) ? real_dtype(compute)
                                                       : compute;
  const bool widened = !gives_bool && compute != call.compute;
  if (out.dtype() == given && !widened) return compute_into(on, call, compute, out);
  Tensor computed = make_like(on, out.sizes(), given);
  compute_into(on, call, compute, computed);
  // What torch would have rounded or wrapped is, before it is stored in yet another dtype.
  if (widened && out.dtype() != call.compute) computed = on_device(on, computed, call.compute);
  ascend::call(on, MT_ACLNN(aclnnInplaceCopy), out, computed);
}

}  // namespace mindtorch::ascend
