// Gated activations of quantised numbers, quantised again.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/groups.h"
#include "simulator/ascend/ops/quant.h"

using namespace sim;

namespace {

bool is_dynamic(Planner& p, const char* text) {
  const std::string mode = text == nullptr ? "static" : text;
  p.check(mode == "static" || mode == "dynamic",
          "quantModeOptional is " + mode + ", expected is static or dynamic");
  return mode == "dynamic";
}

// Lines of twice `half` elements become lines of int8, each with a scale of its own or with one
// that is given: `smooth` and `offset` hold one line, or one element, for each group.
struct SwigluQuant {
  Operand in;
  Operand weight_scale;  // of the columns of an int32 input
  Operand row_scale;
  Operand bias;
  Operand smooth;
  Operand offset;
  Groups groups;
  bool left;
  bool dynamic;
  Operand out;
  Operand scale_out;
};

// The part of a list of lines, or of single values, that belongs to a group.
Values of_group(const Values& all, size_t group, size_t groups) {
  const size_t each = all.size() / groups;
  if (all.size() % groups != 0 || each == 0) return all;
  const auto first = all.begin() + static_cast<int64_t>(group * each);
  return {first, first + static_cast<int64_t>(each)};
}

void run_swiglu_quant(Planner& p, const SwigluQuant& q) {
  p.check_rank(q.in, 2, 8);
  const int64_t width = q.in.shape().back();
  p.check(width % 2 == 0, "the last dim of x must be even");
  Shape shape = q.in.shape();
  shape.back() = width / 2;
  p.check_shape(q.out, shape);
  p.check_shape(q.scale_out, Shape(shape.begin(), shape.end() - 1));
  const int64_t rows = q.scale_out.numel();
  const int64_t groups = q.groups.given ? q.groups.tensor.numel() : 1;
  check_count(p, q.weight_scale, count({groups, width}));
  check_count(p, q.row_scale, rows);
  check_count(p, q.bias, count({groups, width}));
  for (const Operand& each : {q.smooth, q.offset}) {
    if (each && each.numel() != groups) check_count(p, each, count({groups, width / 2}));
  }
  p.check(q.dynamic || q.smooth, "a static quantMode needs its scales");
  if (q.in.numel() == 0) return;
  p.run([=](Launch& launch) {
    Values x = values(launch, q.in);
    const Values columns = values(launch, q.weight_scale);
    const Values row_scales = values(launch, q.row_scale);
    const Values biases = values(launch, q.bias);
    const Values smooths = values(launch, q.smooth);
    const Values offsets = values(launch, q.offset);
    const size_t n = z(width);
    const bool integer_bias = q.bias && q.bias.dtype() == ACL_INT32;
    Values result(z(q.out.numel()));
    Values line_scales(z(rows));
    for_groups(launch, q.groups, rows, [&](size_t group, int64_t first, int64_t end) {
      const Values by = of_group(columns, group, z(groups));
      const Values bias = of_group(biases, group, z(groups));
      const Values smooth = of_group(smooths, group, z(groups));
      const Values offset = of_group(offsets, group, z(groups));
      for (size_t row = z(first); row < z(end); ++row) {
        float* const line = x.data() + row * n;
        for (size_t i = 0; i < n; ++i) {
          if (integer_bias) line[i] += bias[i];
          line[i] *= repeated(by, i, 1) * repeated(row_scales, row, 1);
          if (q.bias && !integer_bias) line[i] += bias[i];
        }
        Values gated = swiglu(line, n / 2, q.left);
        for (size_t i = 0; i < gated.size(); ++i) gated[i] *= repeated(smooth, i, 1);
        float* const to = result.data() + row * gated.size();
        if (q.dynamic) {
          line_scales[row] = quantize_line(gated.data(), gated.size(), to);
          continue;
        }
        for (size_t i = 0; i < gated.size(); ++i) {
          to[i] = to_int8(gated[i] + repeated(offset, i, 0));
        }
      }
    });
    put(launch, q.out, result);
    put(launch, q.scale_out, line_scales);
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(SwiGluQuant,
              const aclTensor* x,
              const aclTensor* smoothScalesOptional,
              const aclTensor* offsetsOptional,
              const aclTensor* groupIndexOptional,
              bool activateLeft,
              char* quantModeOptional,
              const aclTensor* yOut,
              const aclTensor* scaleOut) {
  return plan("aclnnSwiGluQuant", workspaceSize, executor, [&](Planner& p) {
    SwigluQuant q;
    q.in = p.input(x, "x", kF);
    q.smooth = p.optional(smoothScalesOptional, "smoothScalesOptional", kF32);
    q.offset = p.optional(offsetsOptional, "offsetsOptional", kF32);
    q.groups = groups_of(p, groupIndexOptional, "groupIndexOptional", false);
    q.left = activateLeft;
    q.dynamic = is_dynamic(p, quantModeOptional);
    q.out = p.output(yOut, "yOut", kI8);
    q.scale_out = p.output(scaleOut, "scaleOut", kF32);
    run_swiglu_quant(p, q);
  });
}
SIM_SIGNATURE(DequantSwigluQuant,
              const aclTensor* x,
              const aclTensor* weightScaleOptional,
              const aclTensor* activationScaleOptional,
              const aclTensor* biasOptional,
              const aclTensor* quantScaleOptional,
              const aclTensor* quantOffsetOptional,
              const aclTensor* groupIndexOptional,
              bool activateLeft,
              char* quantModeOptional,
              const aclTensor* yOut,
              const aclTensor* scaleOut) {
  return plan("aclnnDequantSwigluQuant", workspaceSize, executor, [&](Planner& p) {
    SwigluQuant q;
    q.in = p.input(x, "x", kI32 | kF16 | kBF16);
    q.weight_scale = p.optional(weightScaleOptional, "weightScaleOptional", kF32);
    q.row_scale = p.optional(activationScaleOptional, "activationScaleOptional", kF32);
    q.bias = p.optional(biasOptional, "biasOptional", kI32 | kF);
    q.smooth = p.optional(quantScaleOptional, "quantScaleOptional", kF32 | kF16);
    q.offset = p.optional(quantOffsetOptional, "quantOffsetOptional", kF32 | kF16);
    q.groups = groups_of(p, groupIndexOptional, "groupIndexOptional", true);
    q.left = activateLeft;
    q.dynamic = is_dynamic(p, quantModeOptional);
    q.out = p.output(yOut, "yOut", kI8);
    q.scale_out = p.output(scaleOut, "scaleOut", kF32);
    p.check(q.in.dtype() != ACL_INT32 || q.weight_scale,
            "weightScaleOptional is needed when x is INT32");
    run_swiglu_quant(p, q);
  });
}
SIM_SIGNATURE(GroupedMatmulSwigluQuant,
              const aclTensor* x,
              const aclTensor* weight,
              const aclTensor* bias,
              const aclTensor* offset,
              const aclTensor* weightScale,
              const aclTensor* xScale,
              const aclTensor* groupList,
              aclTensor* output,
              aclTensor* outputScale,
              aclTensor* outputOffset) {
  return plan("aclnnGroupedMatmulSwigluQuant", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kI8);
    const Operand w = p.input(weight, "weight", kI8);
    refuse(p, bias, "bias");
    refuse(p, offset, "offset");
    const Operand columns = p.input(weightScale, "weightScale", kF);
    const Operand rows = p.input(xScale, "xScale", kF32);
    const Groups groups{true, p.input(groupList, "groupList", kI64), {}, false};
    const Operand out = p.output(output, "output", kI8);
    const Operand scale = p.output(outputScale, "outputScale", kF32);
    p.check(outputOffset == nullptr, "outputOffset is not simulated");
    p.check_rank(in, 2, 2);
    p.check_rank(w, 3, 3);
    const int64_t m = in.shape()[0];
    const int64_t n = w.shape()[2];
    p.check(in.shape()[1] == w.shape()[1], "x and weight do not multiply");
    p.check(n % 2 == 0, "the last dim of weight must be even");
    p.check_shape(columns, {w.shape()[0], n});
    p.check_shape(rows, {m});
    p.check_shape(groups.tensor, {w.shape()[0]});
    p.check_shape(out, {m, n / 2});
    p.check_shape(scale, {m});
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values by = values(launch, columns);
      const Values row_scales = values(launch, rows);
      const size_t width = z(n);
      Values result(z(out.numel()));
      Values line_scales(z(m));
      for_groups(launch, groups, m, [&](size_t group, int64_t first, int64_t end) {
        const auto sums = multiply<double>(get(launch, in).slice(0, first, end - first),
                                           get(launch, w).select(0, static_cast<int64_t>(group)));
        for (size_t row = z(first); row < z(end); ++row) {
          Values line(width);
          for (size_t i = 0; i < width; ++i) {
            const double sum = sums[(row - z(first)) * width + i];
            line[i] = static_cast<float>(sum) * by[group * width + i] * row_scales[row];
          }
          const Values gated = swiglu(line.data(), width / 2, true);
          line_scales[row] =
              quantize_line(gated.data(), gated.size(), result.data() + row * gated.size());
        }
      });
      put(launch, out, result);
      put(launch, scale, line_scales);
    });
  });
}
}
