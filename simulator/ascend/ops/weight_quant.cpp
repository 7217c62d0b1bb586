// Products of plain matrices with quantised weights.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/quant.h"
#include "simulator/ascend/ops/small_numbers.h"

using namespace sim;

namespace {

// The lines of scales for k rows of weights: one, or one for each group of rows.
int64_t scale_lines(Planner& p, int64_t group, int64_t k) {
  constexpr int64_t kStep = 32;
  p.check(group == 0 || (group >= kStep && group % kStep == 0 && group < k),
          "antiquantGroupSize is " + std::to_string(group) +
              ", expected is 0 or a multiple of 32 less than the rows of weight");
  return group == 0 ? 1 : quotient_up(k, group);
}

// y = x @ ((weight + offset) * scale) + bias, with weights of small numbers.
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
    const SmallNumbers w = small_numbers(p, weight, "weight", kI8 | kI4 | kI32);
    const Operand s = p.input(scale, "antiquantScale", kF | kU64 | kI64);
    const Operand o = p.optional(offset, "antiquantOffsetOptional", kF | kI32);
    const Operand qs = p.optional(quant_scale, "quantScaleOptional", kF32 | kU64);
    const Operand qo = p.optional(quant_offset, "quantOffsetOptional", kF32);
    const Operand b = p.optional(bias, "biasOptional", kF);
    const Operand out = p.output(y, "y", kF16 | kBF16 | kI8);
    p.check_rank(in, 2, 2);
    p.check_rank(w.matrix.operand, 2, 2);
    const Shape shape = w.shape();
    const Shape full = product_shape(p, in.shape(), shape, "x and weight");
    const int64_t k = shape[0];
    const int64_t n = shape[1];
    p.check_shape(out, full);
    const int64_t lines = scale_lines(p, group, k);
    p.check(s.numel() == 1 || s.numel() == lines * n,
            "antiquantScale must have 1 element or " + std::to_string(lines) + " x " +
                std::to_string(n) + ", has " + std::to_string(s.numel()));
    if (o) p.check(o.numel() == s.numel(), "antiquantOffsetOptional must be as antiquantScale");
    check_count(p, b, n);
    p.check((out.dtype() == ACL_INT8) == static_cast<bool>(qs),
            "y must be INT8 exactly when quantScaleOptional is given");
    p.check(qs || !qo, "quantOffsetOptional goes with quantScaleOptional only");
    check_one_or(p, qs, n);
    check_one_or(p, qo, n);
    if (out.numel() == 0) return;
    const uint64_t at = p.workspace(k * n * 4);
    p.run([=](Launch& launch) {
      SmallNumbers::Copies copies;
      const View numbers = w.view(launch, &copies);
      const Values by = scales(launch, s);
      const Values offsets = o ? values(launch, o) : Values(by.size());
      auto* const real = reinterpret_cast<float*>(launch.workspace(at));
      load(numbers, 0, k * n, real);
      for (int64_t i = 0; i < k * n; ++i) {
        const int64_t line = group > 0 ? i / n / group : 0;
        const size_t which = by.size() == 1 ? 0 : z(line * n + i % n);
        real[i] = (real[i] + offsets[which]) * by[which];
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
// The result holds 4-bit numbers: as INT4, or as words of eight; in blocks or not.
SIM_SIGNATURE(ConvertWeightToINT4Pack, const aclTensor* weight, aclTensor* weightInt4Pack) {
  return plan("aclnnConvertWeightToINT4Pack", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(weight, "weight", kI32);
    const bool blocked = is_fractal(weightInt4Pack);
    const Types types = kI32 | kI4;
    const Operand out = blocked ? p.fractal_output(weightInt4Pack, "weightInt4Pack", types)
                                : p.output(weightInt4Pack, "weightInt4Pack", types);
    p.check_rank(in, 2, 3);
    Shape shape = in.shape();
    const int64_t each = out.dtype() == ACL_INT32 ? kNibbles : 2;
    p.check(shape.back() % each == 0,
            "the last dim of weight must be a multiple of " + std::to_string(each));
    if (out.dtype() == ACL_INT32) shape.back() /= kNibbles;
    p.check_shape(out, shape);
    FractalMatrix target{out};
    if (blocked) {
      target = matrices_of(p, out);
      p.check(!target.turned, "weightInt4Pack must not be a transposed view");
      check_storage(p, target, weightInt4Pack);
      p.writes_bytes(out, block_bytes(shape, out.dtype()));
    }
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto numbers = load_all<int64_t>(get(launch, in));
      const View& result = get(launch, out);
      if (!blocked) {
        if (out.dtype() == ACL_INT4) return store_all(result, numbers);
        std::vector<int64_t> words(z(out.numel()));
        for (size_t i = 0; i < numbers.size(); ++i) {
          words[i / z(kNibbles)] |= (numbers[i] & 15) << 4 * (i % z(kNibbles));
        }
        return store_all(result, words);
      }
      // Blocks of words and of INT4 are the same bytes; what no number needs of them is zero.
      const int64_t total = count(blocks_of(in.shape(), ACL_INT4));
      std::vector<int8_t> plain(numbers.size());
      for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<int8_t>(numbers[i] & 15);
      std::vector<int8_t> placed(z(total));
      copy_blocks(contiguous_view(plain.data(), ACL_INT8, in.shape()),
                  reinterpret_cast<char*>(placed.data()), block_width(ACL_INT4), true);
      pack_nibbles(contiguous_view(result.data, ACL_INT4, {total}), 0, placed.data());
    });
  });
}
}
