// Ops by name on numbers: arithmetic, norms, order.
#include <numeric>

#include "simulator/ascend/aclop/tables.h"
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

using Unary = aclnnStatus (*)(const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);
using Binary =
    aclnnStatus (*)(const aclTensor*, const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);

// An op of the newer path with the same tensors in the same order.
template <Unary phase_one>
aclnnStatus unary(Arguments& call) {
  return phase_one(call.input(0), call.output(0), call.size(), call.executor());
}
template <Binary phase_one>
aclnnStatus binary(Arguments& call) {
  return phase_one(call.input(0), call.input(1), call.output(0), call.size(), call.executor());
}

// CANN's way to write infinite orders.
constexpr double kMostOrder = 2147483647;

// Sums of powers, of which the root is an op of its own; largest or smallest sizes where the order
// is infinite.
aclnnStatus norm_reduce(Arguments& call) {
  const double order = call.real("p", 2);
  const std::vector<int64_t> axes = call.integers("axes");
  const bool keep = call.integer("keepdim", 0) != 0;
  return plan("LpNormReduceV2", call.size(), call.executor(), [&](Planner& p) {
    const Operand in = p.input(call.input(0), "x", kF32 | kF16);
    const Operand out = p.output(call.output(0), "y", kF32 | kF16);
    const Lines lines = lines_of(p, in.shape(), axes, "axes");
    check_reduced(p, lines, keep, out);
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      std::vector<double> result;
      for_lines<double>(get(launch, in), lines, [&](int64_t, const std::vector<double>& values) {
        double total = order <= -kMostOrder ? INFINITY : 0;
        for (const double value : values) {
          const double size = std::abs(value);
          if (order >= kMostOrder) {
            total = larger(total, size);
          } else if (order <= -kMostOrder) {
            total = smaller(total, size);
          } else {
            total += order == 0 ? (size != 0 ? 1 : 0) : std::pow(size, order);
          }
        }
        result.push_back(total);
      });
      const View& to = get(launch, out);
      store_all(to, result);
    });
  });
}

aclnnStatus norm_update(Arguments& call) {
  const double order = call.real("p", 2);
  const double least = call.real("epsilon", 1e-12);
  return plan("LpNormUpdateV2", call.size(), call.executor(), [&](Planner& p) {
    const Operand in = p.input(call.input(0), "x", kF32 | kF16);
    const Operand out = p.output(call.output(0), "y", kF32 | kF16);
    p.check_shape(out, in.shape());
    const bool root = order != 0 && std::abs(order) < kMostOrder;
    run_elementwise(p, out, in.dtype(), in.dtype(), {{in, {}}},
                    over_elements<Floats, 1>([=](auto x) {
                      using C = decltype(x);
                      const double value = root ? std::pow(double{x}, 1 / order) : double{x};
                      return static_cast<C>(std::max(value, least));
                    }));
  });
}

aclnnStatus log_space(Arguments& call) {
  return aclnnLogSpaceGetWorkspaceSize(call.scalar(call.real("start", 0), ACL_FLOAT),
                                       call.scalar(call.real("end", 0), ACL_FLOAT),
                                       call.integer("steps", 100), call.real("base", 10),
                                       call.output(0), call.size(), call.executor());
}

// Distances of rows, which the caller has spread out already: both are [batch, n, m, size].
aclnnStatus cdist(Arguments& call) {
  const auto order = static_cast<float>(call.real("p", 2));
  Shape shape = call.input_shape(0);
  if (shape.size() < 2) throw Rejected{kInvalid, "x1 has fewer than 2 dims"};
  const int64_t size = shape.back();
  shape.back() = 1;
  shape.push_back(size);  // single points
  Shape result = call.output_shape(0);
  result.insert(result.end(), {1, 1});
  const auto input = [&](size_t i) {
    return call.input_as(i, contiguous_view(nullptr, call.input_dtype(i), shape));
  };
  return aclnnCdistGetWorkspaceSize(
      input(0), input(1), order, 0,
      call.output_as(0, contiguous_view(nullptr, call.output_dtype(0), result)), call.size(),
      call.executor());
}

// Gradients, rows and distances are spread out as those of Cdist are: [batch, n, m, size], of which
// the first operand's rows are the same for every m.
aclnnStatus cdist_backward(Arguments& call) {
  const auto order = static_cast<float>(call.real("p", 2));
  const Shape shape = call.input_shape(1);
  if (shape.size() < 3) throw Rejected{kInvalid, "x1 has fewer than 3 dims"};
  const View whole = contiguous_view(nullptr, call.input_dtype(1), shape);
  const int64_t columns = whole.rank() - 2;
  const auto input = [&](size_t i, const View& part) {
    if (call.input_shape(i) != shape) throw Rejected{kInvalid, "the inputs differ in shape"};
    return call.input_as(i, part);
  };
  const View one_row = whole.slice(columns, 0, 1);
  const View numbers = whole.slice(columns + 1, 0, 1);  // one for each pair
  std::vector<int64_t> turned(shape.size());
  std::iota(turned.begin(), turned.end(), int64_t{0});
  std::swap(turned[z(columns)], turned[z(columns + 1)]);
  return aclnnCdistBackwardGetWorkspaceSize(
      input(0, numbers.permute(turned)), input(1, one_row), input(2, whole),
      input(3, numbers.permute(turned)), order,
      call.output_as(0, contiguous_view(nullptr, call.output_dtype(0), one_row.shape)), call.size(),
      call.executor());
}

aclnnStatus log_softmax(Arguments& call) {
  const std::vector<int64_t> axes = call.integers("axes");
  return aclnnLogSoftmaxGetWorkspaceSize(call.input(0), axes.empty() ? -1 : axes[0], call.output(0),
                                         call.size(), call.executor());
}

aclnnStatus batch_sums(Arguments& call) {
  return aclnnBatchNormReduceGetWorkspaceSize(call.input(0), call.output(0), call.output(1),
                                              call.size(), call.executor());
}

using Reduction = aclnnStatus (*)(
    const aclTensor*, const aclIntArray*, bool, aclTensor*, uint64_t*, aclOpExecutor**);

// Axes are an input.
template <Reduction phase_one>
aclnnStatus reduce(Arguments& call) {
  return phase_one(call.input(0), call.array(call.host_integers(1)),
                   call.integer("keep_dims", 0) != 0, call.output(0), call.size(), call.executor());
}

aclnnStatus sign_bits(Arguments& call) {
  return aclnnSignBitsPackGetWorkspaceSize(call.input(0), call.integer("size", 1), call.output(0),
                                           call.size(), call.executor());
}

// The outputs are the first three inputs.
aclnnStatus adam_w(Arguments& call) {
  return aclnnApplyAdamWGetWorkspaceSize(
      call.input(0), call.input(1), call.input(2), call.input(3), call.input(4), call.input(5),
      call.input(6), call.input(7), call.input(8), call.input(9), call.input(10), call.optional(11),
      call.integer("amsgrad", 0) != 0, call.integer("maximize", 0) != 0, call.size(),
      call.executor());
}
aclnnStatus adam(Arguments& call) {
  return aclnnApplyAdamGetWorkspaceSize(
      call.input(0), call.input(1), call.input(2), call.input(3), call.input(4), call.input(5),
      call.input(6), call.input(7), call.input(8), call.input(9),
      call.integer("use_locking", 0) != 0, call.integer("use_nesterov", 0) != 0, call.size(),
      call.executor());
}

// The running statistics are inputs and outputs.
aclnnStatus gather_stats(Arguments& call) {
  return aclnnSyncBatchNormGatherStatsGetWorkspaceSize(
      call.input(0), call.input(1), call.input(2), call.input(3), call.input(4),
      static_cast<float>(call.real("momentum", 0.1)), static_cast<float>(call.real("eps", 1e-5)),
      call.output(0), call.output(1), call.size(), call.executor());
}

using Extreme = aclnnStatus (*)(
    const aclTensor*, int64_t, bool, aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);

// Indices are the first output.
template <Extreme phase_one>
aclnnStatus extreme(Arguments& call) {
  return phase_one(call.input(0), call.integer("dimension", 0), call.integer("keep_dims", 0) != 0,
                   call.output(1), call.output(0), call.size(), call.executor());
}

aclnnStatus swish(Arguments& call) {
  return aclnnSwishGetWorkspaceSize(call.input(0), call.scalar(call.real("scale", 1), ACL_FLOAT),
                                    call.output(0), call.size(), call.executor());
}
// The third input is what Swish gave, which says nothing new.
aclnnStatus swish_grad(Arguments& call) {
  return aclnnSwishBackwardGetWorkspaceSize(call.input(0), call.input(1),
                                            call.scalar(call.real("scale", 1), ACL_FLOAT),
                                            call.output(0), call.size(), call.executor());
}

// Values in order, without their places.
aclnnStatus sort(Arguments& call) {
  const bool descending = call.integer("descending", 0) != 0;
  const int64_t axis = call.integer("axis", -1);
  return plan("SortV2", call.size(), call.executor(), [&](Planner& p) {
    const Operand in = p.input(call.input(0), "x", kF32 | kF16);
    const Operand out = p.output(call.output(0), "y", kF32 | kF16);
    p.check_shape(out, in.shape());
    p.check(out.dtype() == in.dtype(), "y must have the dtype of x");
    const int64_t dim = p.dim(axis, in.rank(), "axis");
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& to = get(launch, out);
      for_rows<float>(get(launch, in), dim, [&](int64_t row, std::vector<float>& line) {
        std::stable_sort(line.begin(), line.end(), [&](float a, float b) {
          if (std::isnan(a) || std::isnan(b)) return descending ? std::isnan(a) : std::isnan(b);
          return descending ? a > b : a < b;
        });
        store_row(to, dim, row, line);
      });
    });
  });
}

constexpr NamedOp kNumbers[] = {
    {"ApplyAdamD", adam},
    {"ApplyAdamW", adam_w},
    {"ArgMaxWithValue", extreme<aclnnMaxDimGetWorkspaceSize>},
    {"ArgMinWithValue", extreme<aclnnMinDimGetWorkspaceSize>},
    {"BNTrainingReduce", batch_sums},
    {"Cdist", cdist},
    {"CdistGrad", cdist_backward},
    {"Equal", binary<aclnnEqTensorGetWorkspaceSize>},
    {"FastGelu", unary<aclnnFastGeluGetWorkspaceSize>},
    {"FastGeluGrad", binary<aclnnFastGeluBackwardGetWorkspaceSize>},
    {"Greater", binary<aclnnGtTensorGetWorkspaceSize>},
    {"GreaterEqual", binary<aclnnGeTensorGetWorkspaceSize>},
    {"LeftShift", binary<aclnnLeftShiftGetWorkspaceSize>},
    {"Less", binary<aclnnLtTensorGetWorkspaceSize>},
    {"LessEqual", binary<aclnnLeTensorGetWorkspaceSize>},
    {"LogSoftmaxV2", log_softmax},
    {"LogSpaceD", log_space},
    {"LpNormReduceV2", norm_reduce},
    {"LpNormUpdateV2", norm_update},
    {"Mish", unary<aclnnMishGetWorkspaceSize>},
    {"MishGrad", binary<aclnnMishBackwardGetWorkspaceSize>},
    {"NotEqual", binary<aclnnNeTensorGetWorkspaceSize>},
    {"ReduceMax", reduce<aclnnAmaxGetWorkspaceSize>},
    {"ReduceMin", reduce<aclnnAminGetWorkspaceSize>},
    {"RightShift", binary<aclnnRightShiftGetWorkspaceSize>},
    {"SignBitsPack", sign_bits},
    {"SortV2", sort},
    {"Swish", swish},
    {"SwishGrad", swish_grad},
    {"SyncBatchNormGatherStats", gather_stats},
};

}  // namespace

std::span<const NamedOp> sim::named_numbers() { return kNumbers; }
