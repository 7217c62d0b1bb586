// Products of groups of rows with a weight of their own, and with quantised weights.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

// The rows that each weight takes, as ends of ranges.
struct Groups {
  bool given = false;
  Operand tensor;               // on the device
  std::vector<int64_t> values;  // or on the host
  bool counts = false;          // sizes instead of ends

  std::vector<int64_t> ends(const Launch& launch) const {
    std::vector<int64_t> result = tensor ? load_all<int64_t>(get(launch, tensor)) : values;
    for (size_t i = 1; counts && i < result.size(); ++i) result[i] += result[i - 1];
    return result;
  }
};

void multiply_rows(const View& x, const View& weight, const View* bias, const View& out) {
  Values y = multiply(x, weight);
  if (bias != nullptr) {
    Values row(static_cast<size_t>(weight.size(1)));
    load(*bias, 0, weight.size(1), row.data());
    for (size_t i = 0; i < y.size(); ++i) y[i] += row[i % row.size()];
  }
  store_all(out, y);
}

// One product for each weight: x and out are one tensor cut by the groups, or one for each.
void grouped(Planner& p,
             const aclTensorList* x,
             const aclTensorList* weight,
             const aclTensorList* bias,
             Groups groups,
             int64_t split,
             const aclTensorList* out) {
  p.check(split >= 0 && split <= 3, "splitItem is " + std::to_string(split));
  const std::vector<Operand> in = p.inputs(x, "x", kF);
  const std::vector<Operand> w = p.inputs(weight, "weight", kF);
  const std::vector<Operand> b =
      bias == nullptr ? std::vector<Operand>{} : p.inputs(bias, "biasOptional", kF);
  const std::vector<Operand> to = p.outputs(out, "out", kF);
  p.check(!in.empty() && !w.empty() && !to.empty(), "x, weight and out must not be empty");
  const bool stacked = w.size() == 1 && w[0].rank() == 3;  // all weights in one tensor
  const size_t count_of = stacked ? static_cast<size_t>(w[0].shape()[0]) : w.size();
  p.check(in.size() == 1 || in.size() == count_of, "x must have one tensor, or one per weight");
  p.check(to.size() == 1 || to.size() == count_of, "out must have one tensor, or one per weight");
  p.check(in.size() > 1 || count_of == 1 || groups.given, "groupListOptional is needed");
  for (const Operand& each : w) p.check_rank(each, stacked ? 3 : 2, stacked ? 3 : 2);
  const int64_t inner = w[0].shape()[w[0].shape().size() - 2];
  for (const Operand& each : in) {
    p.check_rank(each, 2, 2);
    p.check(in.size() > 1 || each.shape()[1] == inner, "x and weight do not multiply");
  }
  p.run([=](Launch& launch) {
    const std::vector<int64_t> ends = groups.given ? groups.ends(launch) : std::vector<int64_t>{};
    int64_t in_row = 0;
    int64_t out_row = 0;
    for (size_t i = 0; i < count_of; ++i) {
      const View& matrix = get(launch, stacked ? w[0] : w[i]);
      const View own = stacked ? matrix.select(0, static_cast<int64_t>(i)) : matrix;
      View rows = get(launch, in.size() == 1 ? in[0] : in[i]);
      if (in.size() == 1 && groups.given) {
        if (i >= ends.size() || ends[i] < in_row || ends[i] > rows.size(0)) {
          throw DeviceFault{507015, "groupListOptional does not fit x"};
        }
        rows = rows.slice(0, in_row, ends[i] - in_row);
        in_row = ends[i];
      }
      const View& whole = get(launch, to.size() == 1 ? to[0] : to[i]);
      const View target = to.size() == 1 ? whole.slice(0, out_row, rows.size(0)) : whole;
      out_row += rows.size(0);
      if (rows.numel() == 0) continue;
      View shift;
      if (!b.empty()) {
        const View& all = get(launch, b.size() == 1 ? b[0] : b[i]);
        shift = all.rank() == 2 ? all.select(0, static_cast<int64_t>(i)) : all;
      }
      multiply_rows(rows, own, b.empty() ? nullptr : &shift, target);
    }
  });
}

void refuse(Planner& p, const aclTensorList* list, const char* name) {
  const bool empty = list == nullptr || (object_id(list) != 0 && list->tensors.empty());
  p.check(empty, std::string(name) + " is not simulated");
}

void check_group_type(Planner& p, int64_t type) {
  p.check(type == -1 || type == 0,
          "groupType is " + std::to_string(type) + ", simulated are -1 and 0");
}

// y = x @ ((weight + offset) * scale) + bias, with int8 weights.
aclnnStatus weight_quant(const char* op,
                         const aclTensor* x,
                         const aclTensor* weight,
                         const aclTensor* scale,
                         const aclTensor* offset,
                         const aclTensor* quant_scale,
                         const aclTensor* quant_offset,
                         const aclTensor* bias,
                         int64_t group,
                         const aclTensor* y,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF16 | kBF16);
    const Operand w = p.input(weight, "weight", kI8);
    const Operand s = p.input(scale, "antiquantScale", kF);
    const Operand o = p.optional(offset, "antiquantOffsetOptional", kF);
    p.check(quant_scale == nullptr, "quantScaleOptional is not simulated");
    p.check(quant_offset == nullptr, "quantOffsetOptional is not simulated");
    const Operand b = p.optional(bias, "biasOptional", kF);
    const Operand out = p.output(y, "y", kF);
    p.check_rank(in, 2, 2);
    p.check_rank(w, 2, 2);
    p.check(in.shape()[1] == w.shape()[0], "x and weight do not multiply");
    const int64_t k = w.shape()[0];
    const int64_t n = w.shape()[1];
    p.check_shape(out, {in.shape()[0], n});
    const int64_t rows = group > 0 ? (k + group - 1) / group : 1;
    p.check(s.numel() == 1 || s.numel() == rows * n, "antiquantScale has a wrong size");
    if (o) p.check(o.numel() == s.numel(), "antiquantOffsetOptional must be as antiquantScale");
    if (b) p.check(b.numel() == n, "biasOptional must have one element for each column");
    if (out.numel() == 0) return;
    const uint64_t at = p.workspace(k * n * 4);
    p.run([=](Launch& launch) {
      const Values raw = load_all<float>(get(launch, w));
      const Values scales = load_all<float>(get(launch, s));
      const Values offsets = o ? load_all<float>(get(launch, o)) : Values(scales.size());
      auto* const real = reinterpret_cast<float*>(launch.workspace(at));
      for (int64_t i = 0; i < k * n; ++i) {
        const int64_t row = group > 0 ? i / n / group : 0;
        const auto which = static_cast<size_t>(scales.size() == 1 ? 0 : row * n + i % n);
        real[i] = (raw[static_cast<size_t>(i)] + offsets[which]) * scales[which];
      }
      const View matrix = contiguous_view(real, ACL_FLOAT, {k, n});
      const View* const shift = b ? &get(launch, b) : nullptr;
      multiply_rows(get(launch, in), matrix, shift, get(launch, out));
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(GroupedMatmul,
              const aclTensorList* x,
              const aclTensorList* weight,
              const aclTensorList* biasOptional,
              const aclTensorList* scaleOptional,
              const aclTensorList* offsetOptional,
              const aclTensorList* antiquantScaleOptional,
              const aclTensorList* antiquantOffsetOptional,
              const aclIntArray* groupListOptional,
              int64_t splitItem,
              const aclTensorList* y) {
  return plan("aclnnGroupedMatmul", workspaceSize, executor, [&](Planner& p) {
    refuse(p, scaleOptional, "scaleOptional");
    refuse(p, offsetOptional, "offsetOptional");
    refuse(p, antiquantScaleOptional, "antiquantScaleOptional");
    refuse(p, antiquantOffsetOptional, "antiquantOffsetOptional");
    Groups groups;
    if (groupListOptional != nullptr) {
      groups.given = true;
      groups.values = p.array(groupListOptional, "groupListOptional");
    }
    grouped(p, x, weight, biasOptional, groups, splitItem, y);
  });
}
SIM_SIGNATURE(GroupedMatmulV2,
              const aclTensorList* x,
              const aclTensorList* weight,
              const aclTensorList* biasOptional,
              const aclTensorList* scaleOptional,
              const aclTensorList* offsetOptional,
              const aclTensorList* antiquantScaleOptional,
              const aclTensorList* antiquantOffsetOptional,
              const aclIntArray* groupListOptional,
              int64_t splitItem,
              int64_t groupType,
              const aclTensorList* y) {
  return plan("aclnnGroupedMatmulV2", workspaceSize, executor, [&](Planner& p) {
    refuse(p, scaleOptional, "scaleOptional");
    refuse(p, offsetOptional, "offsetOptional");
    refuse(p, antiquantScaleOptional, "antiquantScaleOptional");
    refuse(p, antiquantOffsetOptional, "antiquantOffsetOptional");
    check_group_type(p, groupType);
    Groups groups;
    if (groupListOptional != nullptr) {
      groups.given = true;
      groups.values = p.array(groupListOptional, "groupListOptional");
    }
    grouped(p, x, weight, biasOptional, groups, splitItem, y);
  });
}
SIM_SIGNATURE(GroupedMatmulV3,
              const aclTensorList* x,
              const aclTensorList* weight,
              const aclTensorList* biasOptional,
              const aclTensorList* scaleOptional,
              const aclTensorList* offsetOptional,
              const aclTensorList* antiquantScaleOptional,
              const aclTensorList* antiquantOffsetOptional,
              const aclTensor* groupListOptional,
              int64_t splitItem,
              int64_t groupType,
              const aclTensorList* y) {
  return plan("aclnnGroupedMatmulV3", workspaceSize, executor, [&](Planner& p) {
    refuse(p, scaleOptional, "scaleOptional");
    refuse(p, offsetOptional, "offsetOptional");
    refuse(p, antiquantScaleOptional, "antiquantScaleOptional");
    refuse(p, antiquantOffsetOptional, "antiquantOffsetOptional");
    check_group_type(p, groupType);
    Groups groups;
    if (groupListOptional != nullptr) {
      groups.given = true;
      groups.tensor = p.input(groupListOptional, "groupListOptional", kI64);
    }
    grouped(p, x, weight, biasOptional, groups, splitItem, y);
  });
}
SIM_SIGNATURE(GroupedMatmulV4,
              const aclTensorList* x,
              const aclTensorList* weight,
              const aclTensorList* biasOptional,
              const aclTensorList* scaleOptional,
              const aclTensorList* offsetOptional,
              const aclTensorList* antiquantScaleOptional,
              const aclTensorList* antiquantOffsetOptional,
              const aclTensorList* perTokenScaleOptional,
              const aclTensor* groupListOptional,
              const aclTensorList* activationInputOptional,
              const aclTensorList* activationQuantScaleOptional,
              const aclTensorList* activationQuantOffsetOptional,
              int64_t splitItem,
              int64_t groupType,
              int64_t groupListType,
              int64_t actType,
              aclTensorList* out,
              aclTensorList* activationFeatureOutOptional,
              aclTensorList* dynQuantScaleOutOptional) {
  return plan("aclnnGroupedMatmulV4", workspaceSize, executor, [&](Planner& p) {
    refuse(p, scaleOptional, "scaleOptional");
    refuse(p, offsetOptional, "offsetOptional");
    refuse(p, antiquantScaleOptional, "antiquantScaleOptional");
    refuse(p, antiquantOffsetOptional, "antiquantOffsetOptional");
    refuse(p, perTokenScaleOptional, "perTokenScaleOptional");
    refuse(p, activationInputOptional, "activationInputOptional");
    refuse(p, activationQuantScaleOptional, "activationQuantScaleOptional");
    refuse(p, activationQuantOffsetOptional, "activationQuantOffsetOptional");
    refuse(p, activationFeatureOutOptional, "activationFeatureOutOptional");
    refuse(p, dynQuantScaleOutOptional, "dynQuantScaleOutOptional");
    check_group_type(p, groupType);
    p.check(groupListType == 0 || groupListType == 1,
            "groupListType is " + std::to_string(groupListType) + ", expected is 0 or 1");
    p.check(actType == 0, "actType is " + std::to_string(actType) + ", simulated is 0");
    Groups groups;
    if (groupListOptional != nullptr) {
      groups.given = true;
      groups.tensor = p.input(groupListOptional, "groupListOptional", kI64);
      groups.counts = groupListType == 1;
    }
    grouped(p, x, weight, biasOptional, groups, splitItem, out);
  });
}
SIM_SIGNATURE(WeightQuantBatchMatmulV2,
              const aclTensor* x,
              const aclTensor* weight,
              const aclTensor* antiquantScale,
              const aclTensor* antiquantOffsetOptional,
              const aclTensor* quantScaleOptional,
              const aclTensor* quantOffsetOptional,
              const aclTensor* biasOptional,
              int antiquantGroupSize,
              const aclTensor* y) {
  return weight_quant("aclnnWeightQuantBatchMatmulV2", x, weight, antiquantScale,
                      antiquantOffsetOptional, quantScaleOptional, quantOffsetOptional,
                      biasOptional, antiquantGroupSize, y, workspaceSize, executor);
}
SIM_SIGNATURE(WeightQuantBatchMatmulV3,
              const aclTensor* x,
              const aclTensor* weight,
              const aclTensor* antiquantScale,
              const aclTensor* antiquantOffsetOptional,
              const aclTensor* quantScaleOptional,
              const aclTensor* quantOffsetOptional,
              const aclTensor* biasOptional,
              int antiquantGroupSize,
              int,
              const aclTensor* y) {
  return weight_quant("aclnnWeightQuantBatchMatmulV3", x, weight, antiquantScale,
                      antiquantOffsetOptional, quantScaleOptional, quantOffsetOptional,
                      biasOptional, antiquantGroupSize, y, workspaceSize, executor);
}
}
