// Products of groups of rows with a weight of their own, and sums over groups.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/groups.h"
#include "simulator/ascend/ops/quant.h"
#include "simulator/ascend/ops/small_numbers.h"

using namespace sim;

namespace {

// The tensors of an optional list, none where it was left out.
std::vector<Operand> optional_inputs(Planner& p,
                                     const aclTensorList* list,
                                     const char* name,
                                     Types types) {
  return list == nullptr ? std::vector<Operand>{} : p.inputs(list, name, types);
}

void refuse_list(Planner& p, const aclTensorList* list, const char* name) {
  const bool empty = list == nullptr || (object_id(list) != 0 && list->tensors.empty());
  p.check(empty, std::string(name) + " is not simulated");
}

struct GroupedLists {
  const aclTensorList* x;
  const aclTensorList* weight;
  const aclTensorList* bias;
  const aclTensorList* scale;
  const aclTensorList* offset;
  const aclTensorList* anti_scale;
  const aclTensorList* anti_offset;
  const aclTensorList* token_scale;
};

struct GroupedProduct {
  std::vector<Operand> x;
  std::vector<Operand> weight;
  std::vector<Operand> bias;
  std::vector<Operand> scale;  // of the columns of int8 products
  std::vector<Operand> anti_scale;
  std::vector<Operand> anti_offset;  // of weights of small numbers, times floats
  std::vector<Operand> token_scale;  // of the rows of int8 products
  Groups groups;
  std::vector<Operand> out;
  bool stacked = false;  // all weights in one tensor
  size_t number = 0;     // of weights

  bool words() const { return weight[0].dtype() == ACL_INT32; }  // Note [Eight in a word]
  int64_t columns() const { return weight[0].shape().back() * (words() ? kNibbles : 1); }
  bool integer() const { return x[0].dtype() == ACL_INT8; }
};

// The line of group `i`: of a tensor of its own, or of one for all groups. A view without data
// where the list was left out.
View line_of(const Launch& launch, const std::vector<Operand>& list, size_t i) {
  if (list.empty()) return {};
  const View& all = get(launch, list.size() == 1 ? list[0] : list[i]);
  return all.rank() == 2 ? all.select(0, static_cast<int64_t>(i)) : all;
}

void check_lines(Planner& p, const GroupedProduct& g, const std::vector<Operand>& list) {
  p.check(list.size() <= 1 || list.size() == g.number,
          "lists of lines must have one tensor, or one per weight");
  for (const Operand& each : list) {
    p.check_rank(each, 1, 2);
    p.check(
        each.rank() == 1 || (list.size() == 1 && each.shape()[0] == static_cast<int64_t>(g.number)),
        p.name(each) + " must have one line for each weight");
    p.check(each.shape().back() == g.columns(),
            p.name(each) + " must have one element for each column");
  }
}

// The dims [lines, columns] of group `i` in scales of small weights: each tensor of a list, or each
// part of one tensor, has one line, or one for each of equal parts of the rows.
Shape anti_shape(const GroupedProduct& g, const std::vector<Operand>& list) {
  Shape shape = list[0].shape();
  if (list.size() == 1 && (shape.size() == 3 || (shape.size() == 2 && g.number > 1))) {
    shape.erase(shape.begin());
  }
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  return shape;
}
Values anti_values(const Launch& launch,
                   const GroupedProduct& g,
                   const std::vector<Operand>& list,
                   size_t i) {
  const View& all = get(launch, list.size() == 1 ? list[0] : list[i]);
  const bool parts = list.size() == 1 && all.numel() > count(anti_shape(g, list));
  return load_all<float>(parts ? all.select(0, static_cast<int64_t>(i)) : all);
}

void check_anti(Planner& p, const GroupedProduct& g, const std::vector<Operand>& list) {
  if (list.empty()) return;
  p.check(list.size() == 1 || list.size() == g.number,
          "lists of lines must have one tensor, or one per weight");
  for (const Operand& each : list) {
    p.check_rank(each, 1, 3);
    p.check(each.shape() == list[0].shape(), p.name(each) + " must be as the first of its list");
  }
  const Shape shape = anti_shape(g, list);
  const auto number = static_cast<int64_t>(g.number);
  const bool whole = list.size() == g.number || list[0].numel() == count({number, count(shape)});
  const Shape& weight = g.weight[0].shape();
  const int64_t rows = weight[weight.size() - 2];
  p.check(whole && shape.size() == 2 && shape[1] == g.columns(),
          p.name(list[0]) + " must have lines of one element for each column, for each weight");
  p.check(shape[0] > 0 && rows % shape[0] == 0,
          p.name(list[0]) + " must have a number of lines that divides the rows of weight");
}

void check_grouped(Planner& p, GroupedProduct* g) {
  p.check(!g->x.empty() && !g->weight.empty() && !g->out.empty(),
          "x, weight and out must not be empty");
  const std::vector<Operand>& w = g->weight;
  g->stacked = w.size() == 1 && w[0].rank() == 3;
  g->number = g->stacked ? z(w[0].shape()[0]) : w.size();
  p.check(g->x.size() == 1 || g->x.size() == g->number,
          "x must have one tensor, or one per weight");
  p.check(g->out.size() == 1 || g->out.size() == g->number,
          "out must have one tensor, or one per weight");
  p.check(g->x.size() > 1 || g->number == 1 || g->groups.given, "groupListOptional is needed");
  for (const Operand& each : w) p.check_rank(each, g->stacked ? 3 : 2, g->stacked ? 3 : 2);
  int64_t rows = 0;
  for (size_t i = 0; i < g->x.size(); ++i) {
    const Shape& own = w[g->stacked || g->x.size() == 1 ? 0 : i].shape();
    p.check_rank(g->x[i], 2, 2);
    p.check(g->x[i].shape()[1] == own[own.size() - 2], "x and weight do not multiply");
    rows += g->x[i].shape()[0];
  }
  for (size_t i = 0; i < g->out.size(); ++i) {
    const Shape& own = w[g->stacked || g->out.size() == 1 ? 0 : i].shape();
    p.check_rank(g->out[i], 2, 2);
    const int64_t own_rows = g->out.size() == 1 ? rows
                             : g->x.size() == 1 ? g->out[i].shape()[0]
                                                : g->x[i].shape()[0];
    p.check_shape(g->out[i], {own_rows, own.back() * (g->words() ? kNibbles : 1)});
  }
  for (const Operand& each : w) {
    p.check(each.dtype() == w[0].dtype(), p.name(each) + " must have the dtype of the first");
  }
  const bool small = contains(kI8 | kI4 | kI32, w[0].dtype());
  p.check(!g->integer() || w[0].dtype() == ACL_INT8, "weight must be INT8 as x");
  p.check(g->integer() != g->scale.empty(), "scaleOptional goes with an INT8 x, and only with it");
  p.check((small && !g->integer()) != g->anti_scale.empty(),
          "antiquantScaleOptional goes with integer weights of a floating x, and only with them");
  p.check(g->integer() || g->token_scale.empty(), "perTokenScaleOptional goes with an INT8 x");
  if (!g->token_scale.empty()) {
    p.check(g->token_scale.size() == 1 && g->x.size() == 1,
            "perTokenScaleOptional is simulated for one x");
    check_count(p, g->token_scale[0], rows);
  }
  check_lines(p, *g, g->bias);
  check_lines(p, *g, g->scale);
  check_anti(p, *g, g->anti_scale);
  check_anti(p, *g, g->anti_offset);
  p.check(g->anti_offset.empty() ||
              (!g->anti_scale.empty() && g->anti_offset[0].shape() == g->anti_scale[0].shape()),
          "antiquantOffsetOptional must be as antiquantScaleOptional");
}

// Rows, from number `first` of all on, times the weight of group `i`.
Values product_of(
    const Launch& launch, const GroupedProduct& g, const View& rows, int64_t first, size_t i) {
  const View& matrix = get(launch, g.weight[g.stacked ? 0 : i]);
  const View weight = g.stacked ? matrix.select(0, static_cast<int64_t>(i)) : matrix;
  const View bias = line_of(launch, g.bias, i);
  const View* const shift = g.bias.empty() ? nullptr : &bias;
  if (g.integer()) {
    auto sums = multiply<double>(rows, weight);
    const Values shifts = shift != nullptr ? load_all<float>(bias) : Values{};
    const Values by = scales(line_of(launch, g.scale, i));
    const Values tokens = g.token_scale.empty() ? Values{} : values(launch, g.token_scale[0]);
    const size_t n = by.size();
    Values result(sums.size());
    for (size_t k = 0; k < sums.size(); ++k) {
      const double sum = sums[k] + repeated(shifts, k, 0);
      const float token = tokens.empty() ? 1 : tokens[z(first) + k / n];
      result[k] = static_cast<float>(sum) * by[k % n] * token;
    }
    return result;
  }
  if (g.anti_scale.empty()) return multiply_rows(rows, weight, shift);
  std::vector<int8_t> numbers;
  if (g.words()) numbers = unpack_words(weight, 1);
  const Shape shape{weight.size(0), g.columns()};
  Values real =
      load_all<float>(g.words() ? contiguous_view(numbers.data(), ACL_INT8, shape) : weight);
  const Values by = anti_values(launch, g, g.anti_scale, i);
  const Values offsets =
      g.anti_offset.empty() ? Values(by.size()) : anti_values(launch, g, g.anti_offset, i);
  const size_t n = z(shape[1]);
  if (n == 0) return {};
  const size_t part = real.size() / (by.size() / n);  // elements that one line of scales is for
  for (size_t k = 0; k < real.size(); ++k) {
    const size_t which = k / part * n + k % n;
    real[k] = (real[k] + offsets[which]) * by[which];
  }
  return multiply_rows(rows, contiguous_view(real.data(), ACL_FLOAT, shape), shift);
}

// One product for each weight: x and out are one tensor cut by the groups, or one for each.
// `groups` reads the list of groups, in its place among the arguments.
void grouped(Planner& p,
             const GroupedLists& lists,
             const std::function<Groups()>& groups,
             int64_t split,
             const aclTensorList* out) {
  p.check(split >= 0 && split <= 3, "splitItem is " + std::to_string(split));
  GroupedProduct g;
  g.x = p.inputs(lists.x, "x", kF | kI8);
  g.weight = p.inputs(lists.weight, "weight", kF | kI8 | kI4 | kI32);
  g.bias = optional_inputs(p, lists.bias, "biasOptional", kF | kI32);
  g.scale = optional_inputs(p, lists.scale, "scaleOptional", kU64 | kI64 | kF32 | kBF16);
  refuse_list(p, lists.offset, "offsetOptional");
  g.anti_scale = optional_inputs(p, lists.anti_scale, "antiquantScaleOptional", kF);
  g.anti_offset = optional_inputs(p, lists.anti_offset, "antiquantOffsetOptional", kF);
  g.token_scale = optional_inputs(p, lists.token_scale, "perTokenScaleOptional", kF32);
  g.groups = groups();
  g.out = p.outputs(out, "out", kF);
  check_grouped(p, &g);
  p.run([=](Launch& launch) {
    const std::vector<int64_t> ends =
        g.groups.given ? g.groups.ends(launch) : std::vector<int64_t>{};
    int64_t in_row = 0;
    int64_t out_row = 0;
    for (size_t i = 0; i < g.number; ++i) {
      View rows = get(launch, g.x.size() == 1 ? g.x[0] : g.x[i]);
      const int64_t first = in_row;
      if (g.x.size() == 1 && g.groups.given) {
        if (i >= ends.size() || ends[i] < in_row || ends[i] > rows.size(0)) {
          throw DeviceFault{507015, "groupListOptional does not fit x"};
        }
        rows = rows.slice(0, in_row, ends[i] - in_row);
        in_row = ends[i];
      }
      const View& whole = get(launch, g.out.size() == 1 ? g.out[0] : g.out[i]);
      if (g.out.size() > 1 && whole.size(0) != rows.size(0)) {
        throw DeviceFault{507015, "groupListOptional does not fit out"};
      }
      const View target = g.out.size() == 1 ? whole.slice(0, out_row, rows.size(0)) : whole;
      out_row += rows.size(0);
      if (rows.numel() == 0) continue;
      store_all(target, product_of(launch, g, rows, first, i));
    }
  });
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
    grouped(
        p,
        {x, weight, biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional,
         antiquantOffsetOptional, nullptr},
        [&] { return host_groups(p, groupListOptional, "groupListOptional", true); }, splitItem, y);
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
    check_group_type(p, groupType);
    grouped(
        p,
        {x, weight, biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional,
         antiquantOffsetOptional, nullptr},
        [&] { return host_groups(p, groupListOptional, "groupListOptional", true); }, splitItem, y);
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
    check_group_type(p, groupType);
    grouped(
        p,
        {x, weight, biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional,
         antiquantOffsetOptional, nullptr},
        [&] { return groups_of(p, groupListOptional, "groupListOptional", false); }, splitItem, y);
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
    refuse_list(p, activationInputOptional, "activationInputOptional");
    refuse_list(p, activationQuantScaleOptional, "activationQuantScaleOptional");
    refuse_list(p, activationQuantOffsetOptional, "activationQuantOffsetOptional");
    refuse_list(p, activationFeatureOutOptional, "activationFeatureOutOptional");
    refuse_list(p, dynQuantScaleOutOptional, "dynQuantScaleOutOptional");
    check_group_type(p, groupType);
    p.check(groupListType == 0 || groupListType == 1,
            "groupListType is " + std::to_string(groupListType) + ", expected is 0 or 1");
    p.check(actType == 0, "actType is " + std::to_string(actType) + ", simulated is 0");
    grouped(
        p,
        {x, weight, biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional,
         antiquantOffsetOptional, perTokenScaleOptional},
        [&] { return groups_of(p, groupListOptional, "groupListOptional", groupListType == 1); },
        splitItem, out);
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
    check_count(p, y, count({groups.tensor.numel(), one[0], one[1]}));
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
