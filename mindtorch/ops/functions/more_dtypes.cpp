// Which functions are also computed in complex numbers, wide unsigned integers and 8-bit floats.
#include <algorithm>

#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {
namespace {

constexpr DTypeSet kHalfComplex = bit(DType::kComplex32);

struct MoreDTypes {
  Pointwise function;
  DTypeSet dtypes;
};
constexpr MoreDTypes kMoreDTypes[] = {
    {Pointwise::kAdd, kComplexTypes | kHalfComplex},
    {Pointwise::kSub, kComplexTypes | kHalfComplex},
    {Pointwise::kMul, kComplexTypes | kHalfComplex | kWideUnsignedTypes | kFloat8Types},
    {Pointwise::kDiv, kComplexTypes},
    {Pointwise::kAddScaled, kComplexTypes | kHalfComplex},
    {Pointwise::kPow, kComplexTypes},
    {Pointwise::kEq, kAnyType},
    {Pointwise::kNe, kAnyType},
    {Pointwise::kLogicalAnd, kComplexTypes},
    {Pointwise::kLogicalOr, kComplexTypes},
    {Pointwise::kLogicalXor, kComplexTypes},
    {Pointwise::kLogicalNot, kComplexTypes},
    {Pointwise::kIsNan, kAnyType},
    {Pointwise::kIsInf, kAnyType},
    {Pointwise::kIsFinite, kAnyType},
    {Pointwise::kBitwiseAnd, kWideUnsignedTypes},
    {Pointwise::kBitwiseOr, kWideUnsignedTypes},
    {Pointwise::kBitwiseXor, kWideUnsignedTypes},
    {Pointwise::kAbs, kComplexTypes | kHalfComplex | kFloat8Types},
    {Pointwise::kAngle, kComplexTypes},
    {Pointwise::kConj, kComplexTypes | kHalfComplex},
    {Pointwise::kNeg, kComplexTypes | kHalfComplex},
    {Pointwise::kSign, kComplexTypes},
    {Pointwise::kNanToNum, kComplexTypes},
    {Pointwise::kSquare, kComplexTypes},
    {Pointwise::kCube, kComplexTypes},
    {Pointwise::kReciprocal, kComplexTypes},
    {Pointwise::kInverseSquare, kComplexTypes},
    {Pointwise::kSqrt, kComplexTypes},
    {Pointwise::kRsqrt, kComplexTypes},
    {Pointwise::kPowScalar, kComplexTypes},
    {Pointwise::kExp, kComplexTypes},
    {Pointwise::kExp2, kComplexTypes},
    {Pointwise::kExpm1, kComplexTypes},
    {Pointwise::kLog, kComplexTypes},
    {Pointwise::kLog2, kComplexTypes},
    {Pointwise::kLog10, kComplexTypes},
    {Pointwise::kLog1p, kComplexTypes},
    {Pointwise::kSinc, kComplexTypes},
    {Pointwise::kSin, kComplexTypes},
    {Pointwise::kCos, kComplexTypes},
    {Pointwise::kTan, kComplexTypes},
    {Pointwise::kAsin, kComplexTypes},
    {Pointwise::kAcos, kComplexTypes},
    {Pointwise::kAtan, kComplexTypes},
    {Pointwise::kSinh, kComplexTypes},
    {Pointwise::kCosh, kComplexTypes},
    {Pointwise::kTanh, kComplexTypes},
    {Pointwise::kAsinh, kComplexTypes},
    {Pointwise::kAcosh, kComplexTypes},
    {Pointwise::kAtanh, kComplexTypes},
    {Pointwise::kSigmoid, kComplexTypes},
    {Pointwise::kSilu, kComplexTypes},
    {Pointwise::kWhere, kAnyType},
    {Pointwise::kLerp, kComplexTypes},
    {Pointwise::kLerpScalar, kComplexTypes},
    {Pointwise::kAddcmul, kComplexTypes},
    {Pointwise::kAddcdiv, kComplexTypes},
};

}  // namespace

void declare_more_dtypes(FunctionInfo* infos) {
  for (const auto& [function, dtypes] : kMoreDTypes) {
    infos[static_cast<int>(function)].dtypes |= dtypes;
  }
  const auto takes_complex = [&](const ExprNode& node) {
    return node.kind != ExprNode::Kind::kCall ||
           contains(infos[static_cast<int>(node.function)].dtypes, DType::kComplex64);
  };
  // A derivative is a function of complex numbers where all of its steps are.
  for (const MoreDTypes& entry : kMoreDTypes) {
    for (const Derivative& derivative : infos[static_cast<int>(entry.function)].derivatives) {
      if (derivative.kind != Derivative::Kind::kExpression || is_built_in(derivative.function)) {
        continue;
      }
      FunctionInfo& backward = infos[static_cast<int>(derivative.function)];
      if (std::ranges::all_of(backward.value.nodes(), takes_complex)) {
        backward.dtypes |= entry.dtypes & kComplexTypes;
      }
    }
  }
}

}  // namespace mindtorch::ops
