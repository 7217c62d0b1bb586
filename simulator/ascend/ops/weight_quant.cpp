// Products of plain matrices with quantised weights.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/quant.h"

using namespace sim;

namespace {

// Eight signed 4-bit numbers in each int32, the lowest bits first.
constexpr int64_t kNibbles = 8;

Values unpacked(const View& view) {
  Values result;
  for (const int64_t word : load_all<int64_t>(view)) {
    for (int64_t k = 0; k < kNibbles; ++k) {
      const int64_t nibble = word >> 4 * k & 15;
      result.push_back(static_cast<float>(nibble > 7 ? nibble - 16 : nibble));
    }
  }
  return result;
}

// y = x @ ((weight + offset) * scale) + bias, with weights of int8 or of packed int4.
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
    const Operand w = p.input(weight, "weight", kI8 | kI32);
    const Operand s = p.input(scale, "antiquantScale", kF);
    const Operand o = p.optional(offset, "antiquantOffsetOptional", kF);
    const Operand qs = p.optional(quant_scale, "quantScaleOptional", kF32 | kU64);
    const Operand qo = p.optional(quant_offset, "quantOffsetOptional", kF32);
    const Operand b = p.optional(bias, "biasOptional", kF);
    const Operand out = p.output(y, "y", kF16 | kBF16 | kI8);
    p.check_rank(in, 2, 2);
    p.check_rank(w, 2, 2);
    p.check(in.shape()[1] == w.shape()[0], "x and weight do not multiply");
    const int64_t k = w.shape()[0];
    const bool nibbles = w.dtype() == ACL_INT32;
    const int64_t n = nibbles ? w.shape()[1] * kNibbles : w.shape()[1];
    p.check_shape(out, {in.shape()[0], n});
    const int64_t rows = group > 0 ? (k + group - 1) / group : 1;
    p.check(s.numel() == 1 || s.numel() == rows * n, "antiquantScale has a wrong size");
    if (o) p.check(o.numel() == s.numel(), "antiquantOffsetOptional must be as antiquantScale");
    if (b) p.check(b.numel() == n, "biasOptional must have one element for each column");
    p.check((out.dtype() == ACL_INT8) == static_cast<bool>(qs),
            "y must be INT8 exactly when quantScaleOptional is given");
    check_one_or(p, qs, n);
    check_one_or(p, qo, n);
    if (out.numel() == 0) return;
    const uint64_t at = p.workspace(k * n * 4);
    p.run([=](Launch& launch) {
      const Values raw = nibbles ? unpacked(get(launch, w)) : values(launch, w);
      const Values by = values(launch, s);
      const Values offsets = o ? values(launch, o) : Values(by.size());
      auto* const real = reinterpret_cast<float*>(launch.workspace(at));
      for (int64_t i = 0; i < k * n; ++i) {
        const int64_t row = group > 0 ? i / n / group : 0;
        const auto which = static_cast<size_t>(by.size() == 1 ? 0 : row * n + i % n);
        real[i] = (raw[static_cast<size_t>(i)] + offsets[which]) * by[which];
      }
      const View matrix = contiguous_view(real, ACL_FLOAT, {k, n});
      const View* const shift = b ? &get(launch, b) : nullptr;
      Values result = multiply_rows(get(launch, in), matrix, shift);
      if (qs) quantize(scales(launch, qs), offsets_of(launch, qs, qo), &result);
      put(launch, out, result);
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(WeightQuantBatchMatmul,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* diagonalMatrix,
              const aclTensor* deqOffset,
              const aclTensor* deqScale,
              const aclTensor* addOffset,
              const aclTensor* mulScale,
              const aclTensor* bias,
              bool transposeX1,
              bool transposeX2,
              float antiquantScale,
              float antiquantOffset,
              aclTensor* out) {
  return plan("aclnnWeightQuantBatchMatmul", workspaceSize, executor, [&](Planner& p) {
    const Operand a = p.input(x1, "x1", kF16);
    const Operand w = p.input(x2, "x2", kI8);
    p.optional(diagonalMatrix, "diagonalMatrix", kI8);  // the identity, for the device's own use
    const Operand first_offset = p.optional(deqOffset, "deqOffset", kI32);
    const Operand first_scale = p.optional(deqScale, "deqScale", kU64);
    const Operand offset = p.optional(addOffset, "addOffset", kF16);
    const Operand scale = p.optional(mulScale, "mulScale", kF16);
    const Operand b = p.optional(bias, "bias", kF);
    const Operand target = p.output(out, "out", kF16);
    p.check_rank(a, 2, 2);
    p.check_rank(w, 2, 2);
    const Shape right = turned(w.shape(), transposeX2);
    const Shape full = product_shape(p, turned(a.shape(), transposeX1), right, "x1 and x2");
    p.check_shape(target, full);
    for (const Operand& each : {first_offset, first_scale, offset, scale}) {
      check_one_or(p, each, full[1]);
    }
    check_count(p, b, full[1]);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values real = load_all<float>(turned(get(launch, w), transposeX2));
      const auto apply = [&](const Values& shift, const Values& by) {
        for (size_t i = 0; i < real.size(); ++i) {
          const size_t column = i % z(full[1]);
          real[i] = (real[i] + repeated(shift, column, 0)) * repeated(by, column, 1);
        }
      };
      apply(values(launch, first_offset), scales(launch, first_scale));
      apply(values(launch, offset), values(launch, scale));
      apply({antiquantOffset}, {antiquantScale});
      const View* const shift = b ? &get(launch, b) : nullptr;
      put(launch, target,
          multiply_rows(turned(get(launch, a), transposeX1),
                        contiguous_view(real.data(), ACL_FLOAT, right), shift));
    });
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
SIM_SIGNATURE(ConvertWeightToINT4Pack, const aclTensor* weight, aclTensor* weightInt4Pack) {
  return plan("aclnnConvertWeightToINT4Pack", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(weight, "weight", kI32);
    const Operand out = p.output(weightInt4Pack, "weightInt4Pack", kI32);
    p.check_rank(in, 2, 3);
    Shape shape = in.shape();
    p.check(shape.back() % kNibbles == 0, "the last dim of weight must be a multiple of 8");
    shape.back() /= kNibbles;
    p.check_shape(out, shape);
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto numbers = load_all<int64_t>(get(launch, in));
      std::vector<int64_t> words(z(out.numel()));
      for (size_t i = 0; i < numbers.size(); ++i) {
        words[i / z(kNibbles)] |= (numbers[i] & 15) << 4 * (i % z(kNibbles));
      }
      store_all(get(launch, out), words);
    });
  });
}
}
