// Reductions over dims.
#include <limits>

#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

constexpr Types kReal = kF | kI | kF64 | kBool;

// out = f(values of a line), computed in `compute`; the results of all lines gather in the
// workspace, from where they are stored as out's dtype.
template <class With, class F>
void reduce(
    Planner& p, const Operand& in, const Lines& lines, const Operand& out, DType compute, F f) {
  if (out.numel() == 0) return;
  const uint64_t at = p.workspace(lines.rows * 16);
  p.run([=](Launch& launch) {
    With::with(compute, [&](auto zero) {
      using C = decltype(zero);
      auto* const results = reinterpret_cast<C*>(launch.workspace(at));
      for_lines<C>(get(launch, in), lines, [&](int64_t row, const std::vector<C>& values) {
        results[row] = static_cast<C>(f(values));
      });
      store(get(launch, out), 0, lines.rows, results);
    });
  });
}

// An op with dims given as a list.
template <class With, class F>
aclnnStatus reduce_dims(const char* op,
                        const aclTensor* self,
                        const aclIntArray* dims,
                        const char* dims_name,
                        bool keep,
                        DType dtype,
                        const aclTensor* out,
                        Types types,
                        Types out_types,
                        F f,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor,
                        bool empty_is_all = true,
                        bool needs_elements = false) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", types);
    const std::vector<int64_t> over = p.array(dims, dims_name);
    const Operand target = p.output(out, "out", out_types);
    const Lines lines = lines_of(p, in.shape(), over, dims_name, empty_is_all);
    check_reduced(p, lines, keep, target);
    p.check(!needs_elements || lines.length > 0 || target.numel() == 0,
            "self has no elements along " + std::string(dims_name));
    // Sums and the like are made in the dtype asked for, comparisons in self's own.
    const DType compute = dtype == ACL_DT_UNDEFINED ? in.dtype() : dtype;
    reduce<With>(p, in, lines, target, compute, f);
  });
}

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
struct Largest {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    C result = values[0];
    for (const C value : values) result = larger(result, value);
    return result;
  }
};
struct Smallest {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    C result = values[0];
    for (const C value : values) result = smaller(result, value);
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

// Values and where they are, along one dim.
template <class Better>
aclnnStatus reduce_index(const char* op,
                         const aclTensor* self,
                         int64_t dim,
                         bool keep,
                         const aclTensor* values,
                         const char* values_name,
                         const aclTensor* indices,
                         const char* indices_name,
                         Types types,
                         Better better,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", types);
    const Operand best = values_name == nullptr ? Operand{} : p.output(values, values_name, types);
    const Operand place = p.output(indices, indices_name, kIndex);
    const Lines lines = lines_of(p, in.shape(), {dim}, "dim");
    if (best) {
      check_reduced(p, lines, keep, best);
      p.check(best.dtype() == in.dtype(), p.name(best) + " must have the dtype of self");
    }
    check_reduced(p, lines, keep, place);
    p.check(lines.length > 0 || place.numel() == 0, "self has no elements along dim");
    if (place.numel() == 0) return;
    const uint64_t at = p.workspace(lines.rows * 8);
    p.run([=](Launch& launch) {
      with_real(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        auto* const places = reinterpret_cast<int64_t*>(launch.workspace(at));
        for_lines<C>(get(launch, in), lines, [&](int64_t row, const std::vector<C>& line) {
          size_t found = 0;
          for (size_t i = 1; i < line.size(); ++i) {
            if (line[found] != line[found]) break;  // not-a-number wins
            if (line[i] != line[i] || better(line[i], line[found])) found = i;
          }
          places[row] = static_cast<int64_t>(found);
          if (best) store(get(launch, best), row, 1, &line[found]);
        });
        store(get(launch, place), 0, lines.rows, places);
      });
    });
  });
}

struct Greater {
  template <class C>
  bool operator()(C a, C b) const {
    return b < a;
  }
};
struct Less {
  template <class C>
  bool operator()(C a, C b) const {
    return a < b;
  }
};

// Two results of the same lines.
template <class F, class G>
aclnnStatus reduce_pair(const char* op,
                        const aclTensor* self,
                        const std::vector<int64_t>& dims,
                        const aclIntArray* list,
                        bool keep,
                        const aclTensor* first,
                        const char* first_name,
                        const aclTensor* second,
                        const char* second_name,
                        Types types,
                        F f,
                        G g,
                        bool listed,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", types);
    const std::vector<int64_t> over = listed ? p.array(list, "dim") : dims;
    const Operand one = p.output(first, first_name, types);
    const Operand two = p.output(second, second_name, types);
    const Lines lines = lines_of(p, in.shape(), over, "dim");
    check_reduced(p, lines, keep, one);
    check_reduced(p, lines, keep, two);
    if (one.numel() == 0) return;
    p.check(lines.length > 0, "self has no elements along dim");
    const uint64_t at = p.workspace(lines.rows * 8);
    p.run([=](Launch& launch) {
      const auto loop = [&](auto zero) {
        using C = decltype(zero);
        auto* const results = reinterpret_cast<C*>(launch.workspace(at));
        for_lines<C>(get(launch, in), lines, [&](int64_t row, const std::vector<C>& line) {
          results[row] = static_cast<C>(f(line));
          const C other = static_cast<C>(g(line));
          store(get(launch, two), row, 1, &other);
        });
        store(get(launch, one), 0, lines.rows, results);
      };
      if constexpr (std::is_same_v<F, Variance>) {
        with_floating(in.dtype(), loop);
      } else {
        with_real(in.dtype(), loop);
      }
    });
  });
}

aclnnStatus whole(const char* op,
                  const aclTensor* self,
                  const aclTensor* out,
                  const char* out_name,
                  bool largest,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kReal);
    const Operand target = p.output(out, out_name, kReal);
    p.check(in.numel() > 0, "self is empty");
    p.check(target.numel() == 1, p.name(target) + " must have one element");
    const Lines lines = lines_of(p, in.shape(), {}, "dim");
    if (largest) return reduce<Reals>(p, in, lines, target, in.dtype(), Largest{});
    reduce<Reals>(p, in, lines, target, in.dtype(), Smallest{});
  });
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
SIM_SIGNATURE(Amax, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* out) {
  return reduce_dims<Reals>("aclnnAmax", self, dim, "dim", keepDim, ACL_DT_UNDEFINED, out, kReal,
                            kReal, Largest{}, workspaceSize, executor, true, true);
}
SIM_SIGNATURE(Amin, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* out) {
  return reduce_dims<Reals>("aclnnAmin", self, dim, "dim", keepDim, ACL_DT_UNDEFINED, out, kReal,
                            kReal, Smallest{}, workspaceSize, executor, true, true);
}
SIM_SIGNATURE(MaxV2,
              const aclTensor* self,
              const aclIntArray* dims,
              bool keepDims,
              bool noopWithEmptyDims,
              aclTensor* out) {
  return reduce_dims<Reals>("aclnnMaxV2", self, dims, "dims", keepDims, ACL_DT_UNDEFINED, out,
                            kReal, kReal, Largest{}, workspaceSize, executor, !noopWithEmptyDims,
                            true);
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
  return reduce_pair("aclnnVarMean", self, {}, dim, keepdim, varOut, "varOut", meanOut, "meanOut",
                     kF, Variance{correction, false}, Mean{}, true, workspaceSize, executor);
}
SIM_SIGNATURE(StdMeanCorrection,
              const aclTensor* self,
              const aclIntArray* dim,
              int64_t correction,
              bool keepdim,
              aclTensor* stdOut,
              aclTensor* meanOut) {
  return reduce_pair("aclnnStdMeanCorrection", self, {}, dim, keepdim, stdOut, "stdOut", meanOut,
                     "meanOut", kF, Variance{correction, true}, Mean{}, true, workspaceSize,
                     executor);
}
SIM_SIGNATURE(Aminmax,
              const aclTensor* self,
              const aclIntArray* dim,
              bool keepDim,
              aclTensor* minOut,
              aclTensor* maxOut) {
  return reduce_pair("aclnnAminmax", self, {}, dim, keepDim, minOut, "minOut", maxOut, "maxOut",
                     kReal, Smallest{}, Largest{}, true, workspaceSize, executor);
}
SIM_SIGNATURE(AminmaxDim,
              const aclTensor* self,
              const int64_t dim,
              bool keepDim,
              aclTensor* minOut,
              aclTensor* maxOut) {
  return reduce_pair("aclnnAminmaxDim", self, {dim}, nullptr, keepDim, minOut, "minOut", maxOut,
                     "maxOut", kReal, Smallest{}, Largest{}, false, workspaceSize, executor);
}
SIM_SIGNATURE(AminmaxAll, const aclTensor* self, aclTensor* minOut, aclTensor* maxOut) {
  return reduce_pair("aclnnAminmaxAll", self, {}, nullptr, false, minOut, "minOut", maxOut,
                     "maxOut", kReal, Smallest{}, Largest{}, false, workspaceSize, executor);
}
SIM_SIGNATURE(Max, const aclTensor* self, aclTensor* out) {
  return whole("aclnnMax", self, out, "out", true, workspaceSize, executor);
}
SIM_SIGNATURE(Min, const aclTensor* self, aclTensor* out) {
  return whole("aclnnMin", self, out, "out", false, workspaceSize, executor);
}
SIM_SIGNATURE(
    MaxDim, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out, aclTensor* indices) {
  return reduce_index("aclnnMaxDim", self, dim, keepdim, out, "out", indices, "indices", kReal,
                      Greater{}, workspaceSize, executor);
}
SIM_SIGNATURE(
    MinDim, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out, aclTensor* indices) {
  return reduce_index("aclnnMinDim", self, dim, keepdim, out, "out", indices, "indices", kReal,
                      Less{}, workspaceSize, executor);
}
SIM_SIGNATURE(ArgMax, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out) {
  return reduce_index("aclnnArgMax", self, dim, keepdim, nullptr, nullptr, out, "out",
                      kReal & ~kBool, Greater{}, workspaceSize, executor);
}
SIM_SIGNATURE(ArgMin, const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out) {
  return reduce_index("aclnnArgMin", self, dim, keepdim, nullptr, nullptr, out, "out",
                      kReal & ~kBool, Less{}, workspaceSize, executor);
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
SIM_SIGNATURE(
    Bincount, const aclTensor* self, const aclTensor* weights, int64_t minlength, aclTensor* out) {
  return plan("aclnnBincount", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kI);
    const Operand weight = p.optional(weights, "weights", kReal);
    const Operand target = p.output(out, "out", kI32 | kI64 | kF32 | kF64);
    p.check_rank(in, 1, 1);
    p.check_rank(target, 1, 1);
    if (weight) p.check_shape(weight, in.shape());
    p.check(minlength >= 0 && target.numel() >= minlength, "out is shorter than minlength");
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto places = load_all<int64_t>(get(launch, in));
      std::vector<double> sums(static_cast<size_t>(target.numel()));
      const auto each = weight ? load_all<double>(get(launch, weight)) : std::vector<double>{};
      for (size_t i = 0; i < places.size(); ++i) {
        if (places[i] < 0 || places[i] >= target.numel()) {
          throw DeviceFault{507018, "self has the value " + std::to_string(places[i]) +
                                        ", out has no place for it"};
        }
        sums[static_cast<size_t>(places[i])] += weight ? each[i] : 1;
      }
      store_all(get(launch, target), sums);
    });
  });
}
}
