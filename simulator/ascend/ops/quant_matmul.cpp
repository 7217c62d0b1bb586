// Products of quantised matrices.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/quant.h"
#include "simulator/ascend/ops/small_numbers.h"

using namespace sim;

namespace {

struct QuantProduct {
  SmallNumbers x1;
  SmallNumbers x2;
  Operand bias;
  Operand scale;   // of the columns
  Operand offset;  // of an int8 result
  Operand token;   // scale of the rows
  Operand out;
  bool transpose1 = false;
  bool transpose2 = false;
  float factor = 1;         // of all elements
  bool bias_first = false;  // bias is added before scaling; an int32 one always is
};

// (x1 @ x2 + bias) * scale * token, or the bias after that; as int8 with an offset where out is
// int8. Sums of int8 products are exact.
void run_quant_product(Planner& p, const QuantProduct& q) {
  const Operand& x1 = q.x1.matrix.operand;
  const Operand& x2 = q.x2.matrix.operand;
  p.check_rank(x1, 2, 6);
  p.check_rank(x2, 2, 6);
  p.check(x1.dtype() == x2.dtype(), p.name(x2) + " must have the dtype of " + p.name(x1));
  const Shape left = turned(q.x1.shape(), q.transpose1);
  const Shape right = turned(q.x2.shape(), q.transpose2);
  const std::string names = p.name(x1) + " and " + p.name(x2);
  const Shape full = product_shape(p, left, right, names.c_str());
  p.check_shape(q.out, full);
  const int64_t m = full[full.size() - 2];
  const int64_t n = full.back();
  check_count(p, q.bias, n);
  check_one_or(p, q.scale, n);
  check_one_or(p, q.offset, n);
  check_one_or(p, q.token, m);
  p.check(!q.offset || q.out.dtype() == ACL_INT8, "an offset is for an INT8 out only");
  if (q.out.numel() == 0) return;
  p.run([=](Launch& launch) {
    const Values by = scales(launch, q.scale);
    const Values rows = values(launch, q.token);
    const auto bias = q.bias ? load_all<double>(get(launch, q.bias)) : std::vector<double>{};
    const bool before = q.bias && (q.bias_first || q.bias.dtype() == ACL_INT32);
    SmallNumbers::Copies left_copies;
    SmallNumbers::Copies right_copies;
    const View a = turned(q.x1.view(launch, &left_copies), q.transpose1);
    const View b = turned(q.x2.view(launch, &right_copies), q.transpose2);
    const Shape batch(full.begin(), full.end() - 2);
    std::vector<double> sums;
    for (int64_t i = 0; i < count(batch); ++i) {
      const auto part = multiply<double>(matrix(a, batch, i), matrix(b, batch, i));
      sums.insert(sums.end(), part.begin(), part.end());
    }
    for (size_t i = 0; before && i < sums.size(); ++i) sums[i] += bias[i % z(n)];
    if (q.out.dtype() == ACL_INT32) return store_all(get(launch, q.out), sums);
    Values result(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      const size_t column = i % z(n);
      result[i] = static_cast<float>(sums[i]) * repeated(by, column, 1) * q.factor;
      result[i] *= repeated(rows, i / z(n) % z(m), 1);
      if (q.bias && !before) result[i] += static_cast<float>(bias[column]);
    }
    if (q.out.dtype() == ACL_INT8) quantize({}, offsets_of(launch, q.scale, q.offset), &result);
    put(launch, q.out, result);
  });
}

aclnnStatus scaled_product(const char* op,
                           const aclTensor* x1,
                           const aclTensor* x2,
                           const aclTensor* scale,
                           const aclTensor* offset,
                           const aclTensor* token,
                           bool takes_token,  // even when it is left out
                           const aclTensor* bias,
                           bool transpose1,
                           bool transpose2,
                           const aclTensor* out,
                           uint64_t* workspace_size,
                           aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    QuantProduct q;
    q.x1 = small_numbers(p, x1, "x1", kI8 | kI4 | kI32);
    q.x2 = small_numbers(p, x2, "x2", kI8 | kI4 | kI32);
    q.scale = p.input(scale, "scale", kU64 | kI64 | kF32 | kBF16);
    q.offset = p.optional(offset, "offset", kF32);
    if (takes_token) q.token = p.optional(token, "pertokenScaleOptional", kF32);
    q.bias = p.optional(bias, "bias", takes_token ? kI32 | kF : kI32 | kBF16);
    q.transpose1 = transpose1;
    q.transpose2 = transpose2;
    q.out = p.output(out, "out", kF16 | kBF16 | kI8 | kI32);
    run_quant_product(p, q);
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(QuantMatmul,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* bias,
              float deqScale,
              aclTensor* out) {
  return plan("aclnnQuantMatmul", workspaceSize, executor, [&](Planner& p) {
    QuantProduct q;
    q.x1 = small_numbers(p, x1, "x1", kI8);
    q.x2 = small_numbers(p, x2, "x2", kI8);
    q.bias = p.optional(bias, "bias", kI32);
    q.factor = deqScale;
    q.out = p.output(out, "out", kF16);
    run_quant_product(p, q);
  });
}
SIM_SIGNATURE(QuantMatmulV2,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* bias,
              const aclTensor* deqScale,
              bool adjX1,
              bool adjX2,
              aclTensor* out) {
  return plan("aclnnQuantMatmulV2", workspaceSize, executor, [&](Planner& p) {
    QuantProduct q;
    q.x1 = small_numbers(p, x1, "x1", kI8);
    q.x2 = small_numbers(p, x2, "x2", kI8);
    q.bias = p.optional(bias, "bias", kI32);
    q.scale = p.input(deqScale, "deqScale", kU64);
    q.transpose1 = adjX1;
    q.transpose2 = adjX2;
    q.out = p.output(out, "out", kF16);
    run_quant_product(p, q);
  });
}
SIM_SIGNATURE(QuantMatmulV3,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* scale,
              const aclTensor* offset,
              const aclTensor* bias,
              bool transposeX1,
              bool transposeX2,
              const aclTensor* out) {
  return scaled_product("aclnnQuantMatmulV3", x1, x2, scale, offset, nullptr, false, bias,
                        transposeX1, transposeX2, out, workspaceSize, executor);
}
SIM_SIGNATURE(QuantMatmulV4,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* scale,
              const aclTensor* offset,
              const aclTensor* pertokenScaleOptional,
              const aclTensor* bias,
              bool transposeX1,
              bool transposeX2,
              const aclTensor* out) {
  return scaled_product("aclnnQuantMatmulV4", x1, x2, scale, offset, pertokenScaleOptional, true,
                        bias, transposeX1, transposeX2, out, workspaceSize, executor);
}
SIM_SIGNATURE(QuantMatmulWeightNz,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* x1Scale,
              const aclTensor* x2Scale,
              const aclTensor* yScale,
              const aclTensor* x1Offset,
              const aclTensor* x2Offset,
              const aclTensor* yOffset,
              const aclTensor* bias,
              bool transposeX1,
              bool transposeX2,
              int64_t groupSize,
              aclTensor* out) {
  return plan("aclnnQuantMatmulWeightNz", workspaceSize, executor, [&](Planner& p) {
    QuantProduct q;
    q.x1 = small_numbers(p, x1, "x1", kI8 | kI4 | kI32);
    q.x2 = small_numbers(p, x2, "x2", kI8 | kI4 | kI32);
    q.token = p.optional(x1Scale, "x1Scale", kF32);
    q.scale = p.input(x2Scale, "x2Scale", kU64 | kI64 | kF32 | kBF16);
    refuse(p, yScale, "yScale");
    refuse(p, x1Offset, "x1Offset");
    refuse(p, x2Offset, "x2Offset");
    p.check(groupSize == 0, "groupSize is " + std::to_string(groupSize) + ", simulated is 0");
    q.offset = p.optional(yOffset, "yOffset", kF32);
    q.bias = p.optional(bias, "bias", kI32 | kF);
    q.transpose1 = transposeX1;
    q.transpose2 = transposeX2;
    q.out = p.output(out, "out", kF16 | kBF16 | kI8 | kI32);
    p.check(q.x2.matrix.blocked, "x2 must have the format FRACTAL_NZ");
    run_quant_product(p, q);
  });
}
SIM_SIGNATURE(BatchMatmulQuant,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* quantParam,
              const aclTensor* bias,
              bool transposeX1,
              bool transposeX2,
              aclTensor* out) {
  return plan("aclnnBatchMatmulQuant", workspaceSize, executor, [&](Planner& p) {
    QuantProduct q;
    q.x1 = {{p.input(x1, "x1", kF16)}};
    q.x2 = {{p.input(x2, "x2", kF16)}};
    q.scale = p.input(quantParam, "quantParam", kU64);
    q.bias = p.optional(bias, "bias", kF16);
    q.bias_first = true;
    q.transpose1 = transposeX1;
    q.transpose2 = transposeX2;
    q.out = p.output(out, "out", kI8);
    run_quant_product(p, q);
  });
}
SIM_SIGNATURE(QuantMatmulDequant,
              const aclTensor* x,
              const aclTensor* weight,
              const aclTensor* weightScale,
              const aclTensor* biasOptional,
              const aclTensor* xScaleOptional,
              const aclTensor* xOffsetOptional,
              const aclTensor* smoothScaleOptional,
              char* xQuantMode,
              bool transposeWeight,
              const aclTensor* out) {
  return plan("aclnnQuantMatmulDequant", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF16);
    const Operand w = p.input(weight, "weight", kI8);
    const Operand by = p.input(weightScale, "weightScale", kF32 | kI64);
    const Operand b = p.optional(biasOptional, "biasOptional", kI32);
    const Operand xs = p.optional(xScaleOptional, "xScaleOptional", kF32 | kF16);
    refuse(p, xOffsetOptional, "xOffsetOptional");
    const Operand smooth = p.optional(smoothScaleOptional, "smoothScaleOptional", kF16);
    const std::string mode = p.text(xQuantMode, "xQuantMode");
    const Operand target = p.output(out, "out", kF16);
    p.check(mode == "pertoken" || mode == "pertensor",
            "xQuantMode is " + mode + ", expected is pertoken or pertensor");
    p.check_rank(in, 2, 2);
    p.check_rank(w, 2, 2);
    const Shape full =
        product_shape(p, in.shape(), turned(w.shape(), transposeWeight), "x and weight");
    p.check_shape(target, full);
    check_one_or(p, by, full[1]);
    check_count(p, b, full[1]);
    check_count(p, xs, mode == "pertoken" ? full[0] : 1);
    check_count(p, smooth, in.shape()[1]);
    p.check(xs || mode == "pertoken", "xScaleOptional is needed when xQuantMode is pertensor");
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values rows = values(launch, in);
      const Values factors = values(launch, smooth);
      Values row_scales = values(launch, xs);
      const size_t k = z(in.shape()[1]);
      for (size_t i = 0; i < rows.size(); ++i) rows[i] *= repeated(factors, i, 1);
      for (size_t row = 0; row < z(full[0]); ++row) {
        float* const line = rows.data() + row * k;
        if (!xs) {
          row_scales.push_back(quantize_line(line, k, line));
          continue;
        }
        for (size_t i = 0; i < k; ++i) line[i] = to_int8(line[i] / repeated(row_scales, row, 1));
      }
      const auto sums = multiply<double>(contiguous_view(rows.data(), ACL_FLOAT, in.shape()),
                                         turned(get(launch, w), transposeWeight));
      const Values columns = scales(launch, by);
      const Values shift = values(launch, b);
      Values result(sums.size());
      for (size_t i = 0; i < sums.size(); ++i) {
        const size_t column = i % z(full[1]);
        const double sum = sums[i] + repeated(shift, column, 0);
        result[i] = static_cast<float>(sum) * repeated(columns, column, 1) *
                    repeated(row_scales, i / z(full[1]), 1);
      }
      put(launch, target, result);
    });
  });
}
}
