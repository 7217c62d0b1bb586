// Rows of tokens copied for each of their experts, in the experts' order, and summed up afterwards.
#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/order.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

constexpr Types kRows = kF | kI8;

// The rows and choices of a token matrix and its experts.
struct Choices {
  int64_t rows = 0;
  int64_t k = 0;
  int64_t width = 0;
  int64_t all() const { return count({rows, k}); }
};

Choices check_choices(Planner& p, const Operand& x, const Operand& experts) {
  p.check_rank(x, 2, 2);
  p.check_rank(experts, 2, 2);
  p.check(experts.shape()[0] == x.shape()[0], "expertIdx must have a row for each of x");
  return {x.shape()[0], experts.shape()[1], x.shape()[1]};
}

// Where the results of a row's experts are. By columns: first choices of all rows, then second
// ones.
struct Finalize {
  Operand expanded, places, first, second, bias, scales, experts, out;
  Choices c;
  bool by_columns = true;

  int64_t number(int64_t row, int64_t choice) const {
    return by_columns ? choice * c.rows + row : row * c.k + choice;
  }
};

void check_finalize(Planner& p, const Finalize& f, int64_t rows_of_expanded) {
  for (const Operand& each : {f.first, f.second}) {
    if (each) p.check_shape(each, f.out.shape());
  }
  if (f.scales) p.check_shape(f.scales, {f.c.rows, f.c.k});
  if (f.experts) p.check_shape(f.experts, {f.c.rows, f.c.k});
  p.check(!f.bias || f.experts, "a bias needs the experts");
  if (f.bias) {
    p.check_rank(f.bias, 2, 2);
    p.check_shape(f.bias, {f.bias.shape()[0], f.c.width});
  }
  p.check_shape(f.places, {f.c.all()});
  p.check(f.expanded.numel() == count({rows_of_expanded, f.c.width}),
          p.name(f.expanded) + " has a wrong size");
}

void run_finalize(Planner& p, const Finalize& f) {
  if (f.out.numel() == 0) return;
  p.run([=](Launch& launch) {
    const Values expanded = load_all<float>(get(launch, f.expanded));
    const auto places = load_all<int64_t>(get(launch, f.places));
    const auto values = [&](const Operand& operand) {
      return operand ? load_all<float>(get(launch, operand)) : Values{};
    };
    const Values first = values(f.first);
    const Values second = values(f.second);
    const Values bias = values(f.bias);
    const Values scales = values(f.scales);
    const auto experts =
        f.experts ? load_all<int64_t>(get(launch, f.experts)) : std::vector<int64_t>{};
    const int64_t rows = static_cast<int64_t>(expanded.size()) / f.c.width;
    Values result(z(f.out.numel()));
    for (int64_t row = 0; row < f.c.rows; ++row) {
      for (int64_t c = 0; c < f.c.width; ++c) {
        float sum = 0;
        if (f.first) sum += first[z(row * f.c.width + c)];
        if (f.second) sum += second[z(row * f.c.width + c)];
        for (int64_t j = 0; j < f.c.k; ++j) {
          const int64_t place = places[z(f.number(row, j))];
          float value = place < 0 ? 0 : expanded[z(wrap(place, rows) * f.c.width + c)];
          if (f.bias) {
            const int64_t expert = wrap(experts[z(row * f.c.k + j)], f.bias.shape()[0]);
            value += bias[z(expert * f.c.width + c)];
          }
          sum += (f.scales ? scales[z(row * f.c.k + j)] : 1) * value;
        }
        result[z(row * f.c.width + c)] = sum;
      }
    }
    store_all(get(launch, f.out), result);
  });
}

}  // namespace

extern "C" {

// rowIdx numbers the choices of all rows; expandedRowIdxOut says where each of them went.
SIM_SIGNATURE(MoeInitRouting,
              const aclTensor* x,
              const aclTensor* rowIdx,
              const aclTensor* expertIdx,
              int64_t activeNum,
              const aclTensor* expandedXOut,
              const aclTensor* expandedRowIdxOut,
              const aclTensor* expandedExpertIdxOut) {
  return plan("aclnnMoeInitRouting", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kRows);
    const Operand numbers = p.input(rowIdx, "rowIdx", kI32);
    const Operand experts = p.input(expertIdx, "expertIdx", kI32);
    const Operand expanded = p.output(expandedXOut, "expandedXOut", kRows);
    const Operand places = p.output(expandedRowIdxOut, "expandedRowIdxOut", kI32);
    const Operand sorted = p.output(expandedExpertIdxOut, "expandedExpertIdxOut", kI32);
    const Choices c = check_choices(p, in, experts);
    p.check_shape(numbers, experts.shape());
    p.check(activeNum >= 0, "activeNum is negative");
    check_same_dtype(p, expanded, in);
    p.check_shape(expanded, {count({std::min(activeNum, c.rows), c.k}), c.width});
    p.check_shape(places, {c.all()});
    p.check_shape(sorted, {c.all()});
    if (c.all() == 0) return;
    p.run([=](Launch& launch) {
      const auto all = load_all<int64_t>(get(launch, experts));
      const auto number = load_indices(get(launch, numbers), c.all());
      const auto order = order_of(all, false);
      std::vector<int64_t> where(order.size());
      std::vector<int64_t> in_order;
      for (size_t i = 0; i < order.size(); ++i) {
        const int64_t own = number[z(order[i])];
        in_order.push_back(all[z(order[i])]);
        where[z(own)] = static_cast<int64_t>(i);
        if (static_cast<int64_t>(i) >= expanded.shape()[0]) continue;
        copy_elements(get(launch, expanded).select(0, static_cast<int64_t>(i)),
                      get(launch, in).select(0, own % c.rows));
      }
      store_all(get(launch, places), where);
      store_all(get(launch, sorted), in_order);
    });
  });
}

// Choices are numbered row by row. dropPadMode 1: each expert has room for expertCapacity rows;
// what does not fit is dropped (place -1), what stays free is 0.
SIM_SIGNATURE(MoeInitRoutingV2,
              const aclTensor* x,
              const aclTensor* expertIdx,
              int64_t activeNumOptional,
              int64_t expertCapacityOptional,
              int64_t expertNumOptional,
              int64_t dropPadModeOptional,
              int64_t expertTokensCountOrCumsumFlagOptional,
              bool expertTokensBeforeCapacityFlagOptional,
              const aclTensor* expandedXOut,
              const aclTensor* expandedRowIdxOut,
              const aclTensor* expertTokensCountOrCumsumOutOptional,
              const aclTensor* expertTokensBeforeCapacityOutOptional) {
  return plan("aclnnMoeInitRoutingV2", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kRows);
    const Operand experts = p.input(expertIdx, "expertIdx", kI32);
    const Operand expanded = p.output(expandedXOut, "expandedXOut", kRows);
    const Operand places = p.output(expandedRowIdxOut, "expandedRowIdxOut", kI32);
    const int64_t flag = expertTokensCountOrCumsumFlagOptional;
    const bool padded = dropPadModeOptional == 1;
    const int64_t capacity = expertCapacityOptional;
    const int64_t number = expertNumOptional;
    const Choices c = check_choices(p, in, experts);
    p.check(dropPadModeOptional == 0 || padded, "dropPadModeOptional must be 0 or 1");
    p.check(flag >= 0 && flag <= 2, "expertTokensCountOrCumsumFlagOptional must be 0, 1 or 2");
    p.check(!padded || (capacity > 0 && number > 0),
            "dropPadModeOptional 1 needs expertCapacityOptional and expertNumOptional");
    const bool counts = flag > 0 && !padded;
    const bool before = padded && expertTokensBeforeCapacityFlagOptional;
    const Operand sums = counts ? p.output(expertTokensCountOrCumsumOutOptional,
                                           "expertTokensCountOrCumsumOutOptional", kI32)
                                : Operand{};
    const Operand wanted = before ? p.output(expertTokensBeforeCapacityOutOptional,
                                             "expertTokensBeforeCapacityOutOptional", kI32)
                                  : Operand{};
    if (counts) p.check_shape(sums, {number});
    if (before) p.check_shape(wanted, {number});
    const int64_t active = activeNumOptional > 0 ? std::min(activeNumOptional, c.all()) : c.all();
    check_same_dtype(p, expanded, in);
    p.check_shape(expanded, padded ? Shape{number, capacity, c.width} : Shape{active, c.width});
    p.check_shape(places, {c.all()});
    if (c.all() == 0) return;
    p.run([=](Launch& launch) {
      constexpr int64_t kZero = 0;
      const View zero = contiguous_view(const_cast<int64_t*>(&kZero), ACL_INT64, {});
      if (padded) cast_elements(get(launch, expanded), zero);
      const auto all = load_all<int64_t>(get(launch, experts));
      const auto order = order_of(all, false);
      std::vector<int64_t> where(order.size());
      std::vector<int64_t> tokens(z(std::max<int64_t>(number, 1)));
      for (size_t i = 0; i < order.size(); ++i) {
        const int64_t expert = all[z(order[i])];
        const bool known = expert >= 0 && expert < number;
        if (padded && !known) throw DeviceFault{507015, "expertIdx has a value out of range"};
        const int64_t rank = known ? tokens[z(expert)]++ : 0;
        const int64_t place = static_cast<int64_t>(i);
        const View from = get(launch, in).select(0, order[i] / c.k);
        where[z(order[i])] = !padded ? place : rank < capacity ? expert * capacity + rank : -1;
        if (padded && rank < capacity) {
          copy_elements(get(launch, expanded).select(0, expert).select(0, rank), from);
        } else if (!padded && place < active) {
          copy_elements(get(launch, expanded).select(0, place), from);
        }
      }
      store_all(get(launch, places), where);
      if (before) store_all(get(launch, wanted), tokens);
      for (size_t e = 1; flag == 1 && e < tokens.size(); ++e) tokens[e] += tokens[e - 1];
      if (counts) store_all(get(launch, sums), tokens);
    });
  });
}

SIM_SIGNATURE(MoeInitRoutingV2Grad,
              const aclTensor* gradExpandedX,
              const aclTensor* expandedRowIdx,
              int64_t topK,
              int64_t dropPadMode,
              int64_t activeNum,
              const aclTensor* out) {
  return plan("aclnnMoeInitRoutingV2Grad", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(gradExpandedX, "gradExpandedX", kF);
    const Operand places = p.input(expandedRowIdx, "expandedRowIdx", kI32);
    const Operand target = p.output(out, "out", kF);
    p.check(dropPadMode == 0 || dropPadMode == 1, "dropPadMode must be 0 or 1");
    p.check_rank(grad, dropPadMode == 1 ? 3 : 2, dropPadMode == 1 ? 3 : 2);
    p.check_rank(target, 2, 2);
    p.check(topK > 0, "topK must be positive");
    p.check_shape(places, {count({target.shape()[0], topK})});
    const int64_t width = target.shape()[1];
    p.check(grad.shape().back() == width, "gradExpandedX and out must have rows of one size");
    if (target.numel() == 0) return;
    const int64_t rows = grad.numel() / width;
    const int64_t active = dropPadMode == 0 && activeNum > 0 ? std::min(activeNum, rows) : rows;
    p.run([=](Launch& launch) {
      const auto where = load_all<int64_t>(get(launch, places));
      const Values grads = load_all<float>(get(launch, grad));
      Values sums(z(target.numel()));
      for (size_t i = 0; i < where.size(); ++i) {
        if (where[i] < 0 || where[i] >= active) continue;
        for (int64_t c = 0; c < width; ++c) {
          sums[z(static_cast<int64_t>(i) / topK * width + c)] += grads[z(where[i] * width + c)];
        }
      }
      store_all(get(launch, target), sums);
    });
  });
}

SIM_SIGNATURE(MoeFinalizeRouting,
              const aclTensor* expandedX,
              const aclTensor* x1,
              const aclTensor* x2Optional,
              const aclTensor* bias,
              const aclTensor* scales,
              const aclTensor* expandedRowIdx,
              const aclTensor* expandedExpertIdx,
              const aclTensor* out) {
  return plan("aclnnMoeFinalizeRouting", workspaceSize, executor, [&](Planner& p) {
    Finalize f;
    f.expanded = p.input(expandedX, "expandedX", kF);
    f.first = p.input(x1, "x1", kF);
    f.second = p.optional(x2Optional, "x2Optional", kF);
    f.bias = p.input(bias, "bias", kF);
    f.scales = p.input(scales, "scales", kF);
    f.places = p.input(expandedRowIdx, "expandedRowIdx", kI32);
    f.experts = p.input(expandedExpertIdx, "expandedExpertIdx", kI32);
    f.out = p.output(out, "out", kF);
    p.check_rank(f.out, 2, 2);
    p.check_rank(f.scales, 2, 2);
    p.check_rank(f.bias, 2, 2);
    f.c = {f.out.shape()[0], f.scales.shape()[1], f.out.shape()[1]};
    check_finalize(p, f, f.c.all());
    run_finalize(p, f);
  });
}

// dropPadMode: 0 and 1 have the places by columns, 2 and 3 by rows; 1 and 3 have dropped some.
SIM_SIGNATURE(MoeFinalizeRoutingV2,
              const aclTensor* expandedX,
              const aclTensor* expandedRowIdx,
              const aclTensor* x1Optional,
              const aclTensor* x2Optional,
              const aclTensor* biasOptional,
              const aclTensor* scalesOptional,
              const aclTensor* expertIdxOptional,
              int64_t dropPadMode,
              const aclTensor* out) {
  return plan("aclnnMoeFinalizeRoutingV2", workspaceSize, executor, [&](Planner& p) {
    Finalize f;
    f.expanded = p.input(expandedX, "expandedX", kF);
    f.places = p.input(expandedRowIdx, "expandedRowIdx", kI32);
    f.first = p.optional(x1Optional, "x1Optional", kF);
    f.second = p.optional(x2Optional, "x2Optional", kF);
    f.bias = p.optional(biasOptional, "biasOptional", kF);
    f.scales = p.optional(scalesOptional, "scalesOptional", kF);
    f.experts = p.optional(expertIdxOptional, "expertIdxOptional", kI32);
    f.out = p.output(out, "out", kF);
    p.check(dropPadMode >= 0 && dropPadMode <= 3, "dropPadMode must be 0 to 3");
    p.check_rank(f.out, 2, 2);
    p.check_rank(f.places, 1, 1);
    const int64_t rows = f.out.shape()[0];
    f.c = {rows, rows == 0 ? 0 : f.places.numel() / rows, f.out.shape()[1]};
    f.by_columns = dropPadMode < 2;
    const bool padded = dropPadMode % 2 == 1;
    p.check_rank(f.expanded, padded ? 3 : 2, padded ? 3 : 2);
    const int64_t room = padded ? f.expanded.shape()[0] * f.expanded.shape()[1] : f.c.all();
    check_finalize(p, f, room);
    run_finalize(p, f);
  });
}

SIM_SIGNATURE(MoeFinalizeRoutingV2Grad,
              const aclTensor* gradY,
              const aclTensor* expandedRowIdx,
              const aclTensor* expandedXOptional,
              const aclTensor* scalesOptional,
              const aclTensor* expertIdxOptional,
              const aclTensor* biasOptional,
              int64_t dropPadMode,
              int64_t,
              int64_t expertNum,
              int64_t expertCapacity,
              const aclTensor* gradExpandedXOut,
              const aclTensor* gradScalesOut) {
  return plan("aclnnMoeFinalizeRoutingV2Grad", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(gradY, "gradY", kF);
    const Operand places = p.input(expandedRowIdx, "expandedRowIdx", kI32);
    const Operand expanded = p.optional(expandedXOptional, "expandedXOptional", kF);
    const Operand scales = p.optional(scalesOptional, "scalesOptional", kF);
    const Operand experts = p.optional(expertIdxOptional, "expertIdxOptional", kI32);
    const Operand bias = p.optional(biasOptional, "biasOptional", kF);
    const Operand of_x = p.output(gradExpandedXOut, "gradExpandedXOut", kF);
    const Operand of_scales = scales ? p.output(gradScalesOut, "gradScalesOut", kF) : Operand{};
    p.check(dropPadMode == 0 || dropPadMode == 1, "dropPadMode must be 0 or 1");
    p.check_rank(grad, 2, 2);
    const int64_t rows = grad.shape()[0];
    const int64_t width = grad.shape()[1];
    if (scales) p.check_rank(scales, 2, 2);
    const int64_t k = scales ? scales.shape().back() : 1;
    p.check_shape(places, {count({rows, k})});
    if (bias) {
      p.check_rank(bias, 2, 2);
      p.check_shape(bias, {bias.shape()[0], width});
    }
    p.check(!scales || expanded, "scalesOptional needs expandedXOptional");
    p.check(!bias || experts, "biasOptional needs expertIdxOptional");
    if (scales) p.check_shape(scales, {rows, k});
    if (scales) p.check_shape(of_scales, {rows, k});
    if (dropPadMode == 1) p.check_shape(of_x, {expertNum, expertCapacity, width});
    p.check(of_x.rank() > 0 && of_x.shape().back() == width, "gradExpandedXOut has a wrong size");
    if (expanded) p.check_shape(expanded, of_x.shape());
    if (experts) p.check_shape(experts, {rows, k});
    if (of_x.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto where = load_all<int64_t>(get(launch, places));
      const Values grads = load_all<float>(get(launch, grad));
      const Values x = expanded ? load_all<float>(get(launch, expanded)) : Values{};
      const Values by = scales ? load_all<float>(get(launch, scales)) : Values(where.size(), 1);
      const Values more = bias ? load_all<float>(get(launch, bias)) : Values{};
      const auto own = bias ? load_all<int64_t>(get(launch, experts)) : std::vector<int64_t>{};
      Values x_out(z(of_x.numel()));
      Values scales_out(where.size());
      for (size_t i = 0; i < where.size(); ++i) {
        const bool kept = where[i] >= 0 && where[i] < of_x.numel() / width;
        for (int64_t c = 0; c < width; ++c) {
          const float g = grads[z(static_cast<int64_t>(i) / k * width + c)];
          if (kept) x_out[z(where[i] * width + c)] = g * by[i];
          float value = kept && expanded ? x[z(where[i] * width + c)] : 0;
          if (bias) value += more[z(wrap(own[i], bias.shape()[0]) * width + c)];
          scales_out[i] += g * value;
        }
      }
      store_all(get(launch, of_x), x_out);
      if (scales) store_all(get(launch, of_scales), scales_out);
    });
  });
}
}
