// Products of groups of rows with a weight of their own, and sums over groups.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/groups.h"

using namespace sim;

namespace {

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
      store_all(target, multiply_rows(rows, own, b.empty() ? nullptr : &shift));
    }
  });
}

void refuse_list(Planner& p, const aclTensorList* list, const char* name) {
  const bool empty = list == nullptr || (object_id(list) != 0 && list->tensors.empty());
  p.check(empty, std::string(name) + " is not simulated");
}

void check_group_type(Planner& p, int64_t type) {
  p.check(type == -1 || type == 0,
          "groupType is " + std::to_string(type) + ", simulated are -1 and 0");
}

// The sum of the rows of each group; without a list the first dim counts groups.
aclnnStatus grouped_bias_grad(const char* op,
                              const aclTensor* grad,
                              const aclTensor* index,
                              int64_t index_type,
                              const aclTensor* out,
                              uint64_t* workspace_size,
                              aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "gradY", kF);
    p.check(index_type == 0 || index_type == 1,
            "groupIdxType is " + std::to_string(index_type) + ", expected is 0 or 1");
    const Groups groups = groups_of(p, index, "groupIdxOptional", index_type == 1);
    const Operand target = p.output(out, "out", kF);
    p.check_rank(g, groups.given ? 2 : 3, groups.given ? 2 : 3);
    const int64_t number = groups.given ? groups.tensor.numel() : g.shape()[0];
    p.check_shape(target, {number, g.shape().back()});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values grads = values(launch, g);
      const size_t n = z(g.shape().back());
      Values sums(z(target.numel()));
      const auto add = [&](size_t group, int64_t first, int64_t end) {
        for (size_t i = z(first) * n; i < z(end) * n; ++i) sums[group * n + i % n] += grads[i];
      };
      if (groups.given) {
        for_groups(launch, groups, g.shape()[0], add);
      } else {
        const int64_t rows = g.shape()[1];
        for (int64_t i = 0; i < number; ++i) add(z(i), i * rows, (i + 1) * rows);
      }
      put(launch, target, sums);
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
    refuse_list(p, scaleOptional, "scaleOptional");
    refuse_list(p, offsetOptional, "offsetOptional");
    refuse_list(p, antiquantScaleOptional, "antiquantScaleOptional");
    refuse_list(p, antiquantOffsetOptional, "antiquantOffsetOptional");
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
    refuse_list(p, scaleOptional, "scaleOptional");
    refuse_list(p, offsetOptional, "offsetOptional");
    refuse_list(p, antiquantScaleOptional, "antiquantScaleOptional");
    refuse_list(p, antiquantOffsetOptional, "antiquantOffsetOptional");
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
    refuse_list(p, scaleOptional, "scaleOptional");
    refuse_list(p, offsetOptional, "offsetOptional");
    refuse_list(p, antiquantScaleOptional, "antiquantScaleOptional");
    refuse_list(p, antiquantOffsetOptional, "antiquantOffsetOptional");
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
    refuse_list(p, scaleOptional, "scaleOptional");
    refuse_list(p, offsetOptional, "offsetOptional");
    refuse_list(p, antiquantScaleOptional, "antiquantScaleOptional");
    refuse_list(p, antiquantOffsetOptional, "antiquantOffsetOptional");
    refuse_list(p, perTokenScaleOptional, "perTokenScaleOptional");
    refuse_list(p, activationInputOptional, "activationInputOptional");
    refuse_list(p, activationQuantScaleOptional, "activationQuantScaleOptional");
    refuse_list(p, activationQuantOffsetOptional, "activationQuantOffsetOptional");
    refuse_list(p, activationFeatureOutOptional, "activationFeatureOutOptional");
    refuse_list(p, dynQuantScaleOutOptional, "dynQuantScaleOutOptional");
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

SIM_SIGNATURE(GroupedMatmulAdd,
              const aclTensor* x,
              const aclTensor* weight,
              const aclTensor* groupList,
              aclTensor* yRef,
              bool transposeX,
              bool transposeWeight,
              int64_t groupType) {
  return plan("aclnnGroupedMatmulAdd", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF16 | kBF16);
    const Operand w = p.input(weight, "weight", kF16 | kBF16);
    const Groups groups = groups_of(p, groupList, "groupList", false);
    const Operand y = p.inout(yRef, "yRef", kF32);
    p.check(groups.given, "groupList is needed");
    p.check(transposeX && !transposeWeight && groupType == 2,
            "simulated is the sum over rows: transposeX, not transposeWeight, groupType 2");
    p.check_rank(in, 2, 2);
    p.check_rank(w, 2, 2);
    p.check(in.shape()[0] == w.shape()[0], "x and weight must have the same number of rows");
    const Shape one{in.shape()[1], w.shape()[1]};
    check_count(p, y, groups.tensor.numel() * count(one));
    if (y.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values sums = values(launch, y);
      for_groups(launch, groups, in.shape()[0], [&](size_t group, int64_t first, int64_t end) {
        const View left = get(launch, in).slice(0, first, end - first).permute({1, 0});
        const Values part = multiply(left, get(launch, w).slice(0, first, end - first));
        for (size_t i = 0; i < part.size(); ++i) sums[group * part.size() + i] += part[i];
      });
      put(launch, y, sums);
    });
  });
}

SIM_SIGNATURE(GroupedBiasAddGrad,
              const aclTensor* gradY,
              const aclTensor* groupIdxOptional,
              aclTensor* out) {
  return grouped_bias_grad("aclnnGroupedBiasAddGrad", gradY, groupIdxOptional, 0, out,
                           workspaceSize, executor);
}
SIM_SIGNATURE(GroupedBiasAddGradV2,
              const aclTensor* gradY,
              const aclTensor* groupIdxOptional,
              int64_t groupIdxType,
              aclTensor* out) {
  return grouped_bias_grad("aclnnGroupedBiasAddGradV2", gradY, groupIdxOptional, groupIdxType, out,
                           workspaceSize, executor);
}
}
