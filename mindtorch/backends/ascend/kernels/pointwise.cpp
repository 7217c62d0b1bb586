#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;
using ops::PointwiseCall;

// The parameters of a call as scalars of its computing dtype.
TypedScalar parameter(const PointwiseCall& call, int index) {
  return is_floating_point(call.compute) ? typed(Scalar(call.params.f[index]), call.compute)
                                         : typed(Scalar(call.params.i[index]), call.compute);
}
TypedScalar one(const PointwiseCall& call) { return typed(Scalar(int64_t{1}), call.compute); }

// Functions that CANN has under a name of its own, with the operands and the result as arguments.
#define MT_UNARY_FUNCTIONS(X)       \
  X(kAbs, aclnnAbs)                 \
  X(kNeg, aclnnNeg)                 \
  X(kSign, aclnnSign)               \
  X(kReciprocal, aclnnReciprocal)   \
  X(kCeil, aclnnCeil)               \
  X(kFloor, aclnnFloor)             \
  X(kRound, aclnnRound)             \
  X(kTrunc, aclnnTrunc)             \
  X(kFrac, aclnnFrac)               \
  X(kSqrt, aclnnSqrt)               \
  X(kRsqrt, aclnnRsqrt)             \
  X(kExp, aclnnExp)                 \
  X(kExp2, aclnnExp2)               \
  X(kExpm1, aclnnExpm1)             \
  X(kLog, aclnnLog)                 \
  X(kLog2, aclnnLog2)               \
  X(kLog10, aclnnLog10)             \
  X(kLog1p, aclnnLog1p)             \
  X(kErf, aclnnErf)                 \
  X(kErfc, aclnnErfc)               \
  X(kErfinv, aclnnErfinv)           \
  X(kLgamma, aclnnLgamma)           \
  X(kDigamma, aclnnDigamma)         \
  X(kSinc, aclnnSinc)               \
  X(kSin, aclnnSin)                 \
  X(kCos, aclnnCos)                 \
  X(kTan, aclnnTan)                 \
  X(kAsin, aclnnAsin)               \
  X(kAcos, aclnnAcos)               \
  X(kAtan, aclnnAtan)               \
  X(kSinh, aclnnSinh)               \
  X(kCosh, aclnnCosh)               \
  X(kTanh, aclnnTanh)               \
  X(kAsinh, aclnnAsinh)             \
  X(kAcosh, aclnnAcosh)             \
  X(kAtanh, aclnnAtanh)             \
  X(kSigmoid, aclnnSigmoid)         \
  X(kRelu, aclnnRelu)               \
  X(kGelu, aclnnGelu)               \
  X(kSilu, aclnnSilu)               \
  X(kMish, aclnnMish)               \
  X(kHardsigmoid, aclnnHardsigmoid) \
  X(kHardswish, aclnnHardswish)     \
  X(kLogSigmoid, aclnnLogSigmoid)   \
  X(kLogicalNot, aclnnLogicalNot)   \
  X(kIsInf, aclnnIsInf)             \
  X(kIsFinite, aclnnIsFinite)       \
  X(kIsPosInf, aclnnIsPosInf)       \
  X(kIsNegInf, aclnnIsNegInf)       \
  X(kSignbit, aclnnSignbit)         \
  X(kBitwiseNot, aclnnBitwiseNot)

#define MT_BINARY_FUNCTIONS(X)              \
  X(kMul, aclnnMul)                         \
  X(kDiv, aclnnDiv)                         \
  X(kFloorDivide, aclnnFloorDivide)         \
  X(kRemainder, aclnnRemainderTensorTensor) \
  X(kFmod, aclnnFmodTensor)                 \
  X(kPow, aclnnPowTensorTensor)             \
  X(kMaximum, aclnnMaximum)                 \
  X(kMinimum, aclnnMinimum)                 \
  X(kAtan2, aclnnAtan2)                     \
  X(kLogaddexp, aclnnLogAddExp)             \
  X(kLogaddexp2, aclnnLogAddExp2)           \
  X(kXlogy, aclnnXLogYTensor)               \
  X(kGcd, aclnnGcd)                         \
  X(kEq, aclnnEqTensor)                     \
  X(kNe, aclnnNeTensor)                     \
  X(kLt, aclnnLtTensor)                     \
  X(kLe, aclnnLeTensor)                     \
  X(kGt, aclnnGtTensor)                     \
  X(kGe, aclnnGeTensor)                     \
  X(kLogicalAnd, aclnnLogicalAnd)           \
  X(kLogicalOr, aclnnLogicalOr)             \
  X(kLogicalXor, aclnnLogicalXor)           \
  X(kBitwiseAnd, aclnnBitwiseAndTensor)     \
  X(kBitwiseOr, aclnnBitwiseOrTensor)       \
  X(kBitwiseXor, aclnnBitwiseXorTensor)     \
  X(kPrelu, aclnnPrelu)

void apply(ops::Launch& on, const PointwiseCall& call, const Tensor* in, const Tensor& out) {
  switch (call.function) {
#define MT_CASE(function, op) \
  case Pointwise::function:   \
    return ascend::call(on, MT_ACLNN(op), in[0], out);
    MT_UNARY_FUNCTIONS(MT_CASE)
#undef MT_CASE
#define MT_CASE(function, op) \
  case Pointwise::function:   \
    return ascend::call(on, MT_ACLNN(op), in[0], in[1], out);
    MT_BINARY_FUNCTIONS(MT_CASE)
#undef MT_CASE
    case Pointwise::kAdd:
      return ascend::call(on, MT_ACLNN(aclnnAdd), in[0], in[1], one(call), out);
    case Pointwise::kSub:
      return ascend::call(on, MT_ACLNN(aclnnSub), in[0], in[1], one(call), out);
    case Pointwise::kAddScaled:
      return ascend::call(on, MT_ACLNN(aclnnAdd), in[0], in[1], parameter(call, 0), out);
    case Pointwise::kTruncDivide:
      return ascend::call(on, MT_ACLNN(aclnnDivMod), in[0], in[1], 1, out);
    case Pointwise::kSquare:
      return ascend::call(on, MT_ACLNN(aclnnMul), in[0], in[0], out);
    case Pointwise::kIsNan:
      return ascend::call(on, MT_ACLNN(aclnnNeTensor), in[0], in[0], out);
    case Pointwise::kRoundDecimals:
      return ascend::call(on, MT_ACLNN(aclnnRoundDecimals), in[0], call.params.i[0], out);
    case Pointwise::kNanToNum:
      return ascend::call(on, MT_ACLNN(aclnnNanToNum), in[0], static_cast<float>(call.params.f[0]),
                          static_cast<float>(call.params.f[1]),
                          static_cast<float>(call.params.f[2]), out);
    case Pointwise::kLogit:
      return ascend::call(on, MT_ACLNN(aclnnLogit), in[0], call.params.f[0], out);
    case Pointwise::kGeluTanh:
      return ascend::call(on, MT_ACLNN(aclnnGeluV2), in[0], int64_t{1}, out);
    case Pointwise::kElu:
      return ascend::call(on, MT_ACLNN(aclnnElu), in[0], parameter(call, 0), parameter(call, 1),
                          parameter(call, 2), out);
    case Pointwise::kLeakyRelu:
      return ascend::call(on, MT_ACLNN(aclnnLeakyRelu), in[0], parameter(call, 0), out);
    case Pointwise::kSoftplus:
      return ascend::call(on, MT_ACLNN(aclnnSoftplus), in[0], parameter(call, 0),
                          parameter(call, 1), out);
    case Pointwise::kHardshrink:
      return ascend::call(on, MT_ACLNN(aclnnHardshrink), in[0], parameter(call, 0), out);
    case Pointwise::kSoftshrink:
      return ascend::call(on, MT_ACLNN(aclnnSoftshrink), in[0], parameter(call, 0), out);
    case Pointwise::kThreshold:
      return ascend::call(on, MT_ACLNN(aclnnThreshold), in[0], parameter(call, 0),
                          parameter(call, 1), out);
    case Pointwise::kClampScalar:
      return ascend::call(on, MT_ACLNN(aclnnClamp), in[0], parameter(call, 0), parameter(call, 1),
                          out);
    case Pointwise::kClampMinScalar:
      return ascend::call(on, MT_ACLNN(aclnnClampMin), in[0], parameter(call, 0), out);
    case Pointwise::kClampMaxScalar:
      return ascend::call(on, MT_ACLNN(aclnnClampMax), in[0], parameter(call, 0), out);
    case Pointwise::kClamp:
      return ascend::call(on, MT_ACLNN(aclnnClampTensor), in[0], in[1], in[2], out);
    case Pointwise::kWhere:
      return ascend::call(on, MT_ACLNN(aclnnSWhere), in[0], in[1], in[2], out);
    case Pointwise::kLerp:
      return ascend::call(on, MT_ACLNN(aclnnLerp), in[0], in[1], in[2], out);
    case Pointwise::kLerpScalar:
      return ascend::call(on, MT_ACLNN(aclnnLerps), in[0], in[1], parameter(call, 0), out);
    case Pointwise::kAddcmul:
      return ascend::call(on, MT_ACLNN(aclnnAddcmul), in[0], in[1], in[2], parameter(call, 0), out);
    case Pointwise::kAddcdiv:
      return ascend::call(on, MT_ACLNN(aclnnAddcdiv), in[0], in[1], in[2], parameter(call, 0), out);
    default:
      MT_THROW(NotImplementedError, "Could not run '", ops::info(call.function).name,
               "' on device ", on.device.str(), " for torch.", name(call.compute),
               ": CANN has no op for it");
  }
}

}  // namespace

Tensor make_like(const ops::Launch& on, IntList sizes, DType dtype) {
  return Tensor::make(sizes, dtype, on.device);
}

Tensor on_device(ops::Launch& on, const Tensor& tensor, DType dtype) {
  if (tensor.device() == on.device) {
    if (tensor.dtype() == dtype) return tensor;
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

void run_pointwise(ops::Launch& on, const PointwiseCall& call, const Tensor& out) {
  Tensor operands[3];
  for (int i = 0; i < call.count; ++i) {
    const bool condition = call.function == Pointwise::kWhere && i == 0;
    operands[i] = on_device(on, *call.operands[i], condition ? DType::kBool : call.compute);
  }
  const DType result = ops::gives_bool(call.function) ? DType::kBool : call.compute;
  if (out.dtype() == result) return apply(on, call, operands, out);
  const Tensor computed = make_like(on, out.sizes(), result);
  apply(on, call, operands, computed);
  ascend::call(on, MT_ACLNN(aclnnInplaceCopy), out, computed);
}

}  // namespace mindtorch::ascend
