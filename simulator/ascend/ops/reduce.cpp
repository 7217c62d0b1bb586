// Sums, means, norms and the like over dims.
#include <limits>

#include "simulator/ascend/ops/reduce.h"

using namespace sim;

namespace {

struct Sum {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    return sum_of(values);
  }
};
struct Mean {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    return sum_of(values) / static_cast<C>(static_cast<float>(values.size()));
  }
};
struct NanSum {
  template <class C>
  C operator()(std::vector<C> values) const {
    for (C& value : values) {
      if (value != value) value = C{};
    }
    return sum_of(values);
  }
};
struct Product {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    C result(1);
    for (const C value : values) result = mul(result, value);
    return result;
  }
};
struct AnyOf {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    return static_cast<C>(
        std::any_of(values.begin(), values.end(), [](C value) { return value != C{}; }));
  }
};
struct AllOf {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    return static_cast<C>(
        std::all_of(values.begin(), values.end(), [](C value) { return value != C{}; }));
  }
};
struct LogSumExp {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    if (values.empty()) return -std::numeric_limits<C>::infinity();
    C top = Largest{}(values);
    if (std::isinf(top)) top = 0;
    C sum{};
    for (const C value : values) sum += std::exp(value - top);
    return std::log(sum) + top;
  }
};
struct LogSum {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    return std::log(sum_of(values));
  }
};
struct Variance {
  int64_t correction;
  bool root;
  template <class C>
  C operator()(const std::vector<C>& values) const {
    const C mean = sum_of(values) / static_cast<C>(values.size());
    std::vector<C> squares;
    for (const C value : values) squares.push_back((value - mean) * (value - mean));
    const auto freedom =
        static_cast<C>(std::max<int64_t>(static_cast<int64_t>(values.size()) - correction, 0));
    const C variance = sum_of(squares) / freedom;
    return root ? std::sqrt(variance) : variance;
  }
};
struct VectorNorm {
  double order;
  template <class C>
  C operator()(const std::vector<C>& values) const {
    if (std::isinf(order)) {
      C result = order > 0 ? C{} : std::numeric_limits<C>::infinity();
      for (const C value : values) {
        result = order > 0 ? larger(result, std::abs(value)) : smaller(result, std::abs(value));
      }
      return result;
    }
    std::vector<C> powers;
    for (const C value : values) {
      const C size = std::abs(value);
      powers.push_back(order == 0   ? static_cast<C>(size != 0)
                       : order == 1 ? size
                       : order == 2 ? size * size
                                    : std::pow(size, static_cast<C>(order)));
    }
    const C sum = sum_of(powers);
    if (order == 0 || order == 1) return sum;
    return order == 2 ? std::sqrt(sum) : std::pow(sum, static_cast<C>(1 / order));
  }
};

// The dtype argument of a sum must be a real dtype; CANN lets it differ from out's.
DType sum_dtype(aclDataType dtype, const aclTensor* out) {
  return dtype == ACL_DT_UNDEFINED && out != nullptr ? out->dtype : dtype;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(ReduceSum,
              const aclTensor* self,
              const aclIntArray* dims,
              bool keepDims,
              aclDataType dtype,
              aclTensor* out) {
  return reduce_dims<Numbers>("aclnnReduceSum", self, dims, "dims", keepDims, sum_dtype(dtype, out),
                              out, kReal | kC, kReal | kC, Sum{}, workspaceSize, executor);
}
SIM_SIGNATURE(ReduceNansum,
              const aclTensor* self,
              const aclIntArray* dim,
              bool keepDim,
              aclDataType dtype,
              aclTensor* out) {
  return reduce_dims<Reals>("aclnnReduceNansum", self, dim, "dim", keepDim, sum_dtype(dtype, out),
                            out, kF | kI | kBool, kReal, NanSum{}, workspaceSize, executor);
}
SIM_SIGNATURE(Mean,
              const aclTensor* self,
              const aclIntArray* dim,
              bool keepDim,
              aclDataType dtype,
              aclTensor* out) {
  return reduce_dims<Fields>("aclnnMean", self, dim, "dim", keepDim, sum_dtype(dtype, out), out,
                             kF | kI | kC | kF64, kF | kI | kC | kF64, Mean{}, workspaceSize,
                             executor);
}
SIM_SIGNATURE(MeanV2,
              const aclTensor* self,
              const aclIntArray* dim,
              bool keepDim,
              bool noopWithEmptyAxes,
              aclTensor* out) {
  return reduce_dims<Fields>("aclnnMeanV2", self, dim, "dim", keepDim,
                             sum_dtype(ACL_DT_UNDEFINED, out), out, kF | kI | kC | kF64,
                             kF | kI | kC | kF64, Mean{}, workspaceSize, executor,
                             !noopWithEmptyAxes);
}
SIM_SIGNATURE(ReduceLogSum,
              const aclTensor* data,
              const aclIntArray* axes,
              bool keepDims,
              bool noopWithEmptyAxes,
              aclTensor* reduce) {
  return reduce_dims<Floats>("aclnnReduceLogSum", data, axes, "axes", keepDims, ACL_DT_UNDEFINED,
                             reduce, kF, kF, LogSum{}, workspaceSize, executor, !noopWithEmptyAxes);
}
SIM_SIGNATURE(Any, const aclTensor* self, const aclIntArray* dim, bool keepdim, aclTensor* out) {
  return reduce_dims<Reals>("aclnnAny", self, dim, "dim", keepdim, ACL_DT_UNDEFINED, out, kReal,
                            kBool | kU8, AnyOf{}, workspaceSize, executor);
}
SIM_SIGNATURE(All, const aclTensor* self, const aclIntArray* dim, bool keepdim, aclTensor* out) {
  return reduce_dims<Reals>("aclnnAll", self, dim, "dim", keepdim, ACL_DT_UNDEFINED, out, kReal,
                            kBool | kU8, AllOf{}, workspaceSize, executor);
}
SIM_SIGNATURE(
    LogSumExp, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* out) {
  return reduce_dims<Floats>("aclnnLogSumExp", self, dim, "dim", keepDim, ACL_DT_UNDEFINED, out,
                             kF | kI | kBool, kF, LogSumExp{}, workspaceSize, executor);
}
SIM_SIGNATURE(Var,
              const aclTensor* self,
              const aclIntArray* dim,
              bool unbiased,
              bool keepdim,
              aclTensor* out) {
  return reduce_dims<Floats>("aclnnVar", self, dim, "dim", keepdim, ACL_DT_UNDEFINED, out, kF, kF,
                             (Variance{unbiased ? 1 : 0, false}), workspaceSize, executor);
}
SIM_SIGNATURE(VarCorrection,
              const aclTensor* self,
              const aclIntArray* dim,
              int64_t correction,
              bool keepdim,
              aclTensor* out) {
  return reduce_dims<Floats>("aclnnVarCorrection", self, dim, "dim", keepdim, ACL_DT_UNDEFINED, out,
                             kF, kF, (Variance{correction, false}), workspaceSize, executor);
}
SIM_SIGNATURE(Std,
              const aclTensor* self,
              const aclIntArray* dim,
              const int64_t correction,
              bool keepdim,
              aclTensor* out) {
  return reduce_dims<Floats>("aclnnStd", self, dim, "dim", keepdim, ACL_DT_UNDEFINED, out, kF, kF,
                             (Variance{correction, true}), workspaceSize, executor);
}
SIM_SIGNATURE(VarMean,
              const aclTensor* self,
              const aclIntArray* dim,
              int64_t correction,
              bool keepdim,
              aclTensor* varOut,
              aclTensor* meanOut) {
  return reduce_pair<Floats>("aclnnVarMean", self, {}, dim, keepdim, varOut, "varOut", meanOut,
                             "meanOut", kF, Variance{correction, false}, Mean{}, true,
                             workspaceSize, executor, false);
}
SIM_SIGNATURE(StdMeanCorrection,
              const aclTensor* self,
              const aclIntArray* dim,
              int64_t correction,
              bool keepdim,
              aclTensor* stdOut,
              aclTensor* meanOut) {
  return reduce_pair<Floats>("aclnnStdMeanCorrection", self, {}, dim, keepdim, stdOut, "stdOut",
                             meanOut, "meanOut", kF, Variance{correction, true}, Mean{}, true,
                             workspaceSize, executor, false);
}
SIM_SIGNATURE(Prod, const aclTensor* self, const aclDataType dtype, aclTensor* out) {
  return plan("aclnnProd", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kReal | kC);
    const Operand target = p.output(out, "out", kReal | kC);
    p.check(target.numel() == 1, "out must have one element");
    p.check(dtype == target.dtype(), "dtype must be the dtype of out");
    reduce<Numbers>(p, in, lines_of(p, in.shape(), {}, "dim"), target, dtype, Product{});
  });
}
SIM_SIGNATURE(ProdDim,
              const aclTensor* self,
              int64_t dim,
              bool keepDim,
              const aclDataType dtype,
              aclTensor* out) {
  return plan("aclnnProdDim", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kReal | kC);
    const Operand target = p.output(out, "out", kReal | kC);
    p.check(dtype == target.dtype(), "dtype must be the dtype of out");
    const Lines lines = lines_of(p, in.shape(), {dim}, "dim");
    check_reduced(p, lines, keepDim, target);
    reduce<Numbers>(p, in, lines, target, dtype, Product{});
  });
}
SIM_SIGNATURE(Norm,
              const aclTensor* self,
              const aclScalar* pScalar,
              const aclIntArray* dim,
              bool keepdim,
              aclTensor* out) {
  return plan("aclnnNorm", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const double order = p.scalar(pScalar, "pScalar").real();
    const Lines lines = lines_of(p, in.shape(), p.array(dim, "dim"), "dim");
    const Operand target = p.output(out, "out", kF);
    check_reduced(p, lines, keepdim, target);
    reduce<Floats>(p, in, lines, target, in.dtype(), VectorNorm{order});
  });
}
SIM_SIGNATURE(LinalgVectorNorm,
              const aclTensor* self,
              const aclScalar* ord,
              const aclIntArray* dims,
              bool keepDims,
              const aclDataType,
              aclTensor* out) {
  return plan("aclnnLinalgVectorNorm", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const double order = p.scalar(ord, "ord").real();
    const Lines lines = lines_of(p, in.shape(), p.array(dims, "dims"), "dims");
    const Operand target = p.output(out, "out", kF);
    check_reduced(p, lines, keepDims, target);
    reduce<Floats>(p, in, lines, target, in.dtype(), VectorNorm{order});
  });
}
}
