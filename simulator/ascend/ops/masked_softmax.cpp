// Softmax of scaled and masked scores.
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

constexpr float kHidden = -10000;

// The mask of each row: given, or the triangle above the diagonal.
struct Mask {
  Operand operand;
  bool triangle = false;
  Shape shape;  // of the scores

  std::vector<float> row(const Launch& launch, int64_t number) const {
    std::vector<float> hidden(static_cast<size_t>(shape.back()));
    if (triangle) {
      const int64_t position = number % shape[shape.size() - 2];
      for (size_t j = 0; j < hidden.size(); ++j) hidden[j] = static_cast<int64_t>(j) > position;
    } else if (operand) {
      load(get(launch, operand).expand(shape), number * shape.back(), shape.back(), hidden.data());
    }
    return hidden;
  }
};

Mask check_mask(Planner& p, const aclTensor* tensor, bool triangle, const Operand& scores) {
  const Operand mask = p.optional(tensor, "mask", kBool);
  p.check_rank(scores, 4, 4);
  if (mask && !triangle) {
    p.check_rank(mask, 4, 4);
    p.check_shape(scores, p.broadcast(scores.shape(), mask.shape(), "x and mask"));
  }
  return {mask, triangle, scores.shape()};
}

}  // namespace

extern "C" {

SIM_SIGNATURE(ScaledMaskedSoftmax,
              const aclTensor* x,
              const aclTensor* mask,
              double scale,
              bool fixedTriuMask,
              aclTensor* y) {
  return plan("aclnnScaledMaskedSoftmax", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Mask hidden = check_mask(p, mask, fixedTriuMask, in);
    const Operand out = p.output(y, "y", kF);
    p.check_shape(out, in.shape());
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      for_rows<float>(get(launch, in), 3, [&](int64_t row, std::vector<float>& line) {
        const auto masked = hidden.row(launch, row);
        for (size_t j = 0; j < line.size(); ++j) {
          line[j] = masked[j] != 0 ? kHidden : line[j] * static_cast<float>(scale);
        }
        softmax(line);
        store_row(get(launch, out), 3, row, line);
      });
    });
  });
}

SIM_SIGNATURE(ScaledMaskedSoftmaxBackward,
              const aclTensor* gradOutput,
              const aclTensor* y,
              const aclTensor* mask,
              double scale,
              bool fixTriuMask,
              aclTensor* out) {
  return plan("aclnnScaledMaskedSoftmaxBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(gradOutput, "gradOutput", kF);
    const Operand soft = p.input(y, "y", kF);
    const Mask hidden = check_mask(p, mask, fixTriuMask, soft);
    const Operand target = p.output(out, "out", kF);
    p.check_shape(grad, soft.shape());
    p.check_shape(target, soft.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      for_rows<float>(get(launch, soft), 3, [&](int64_t row, std::vector<float>& line) {
        const auto masked = hidden.row(launch, row);
        std::vector<float> slopes(line.size());
        const auto n = static_cast<int64_t>(line.size());
        load(get(launch, grad), row * n, n, slopes.data());
        float dot = 0;
        for (size_t j = 0; j < line.size(); ++j) dot += slopes[j] * line[j];
        for (size_t j = 0; j < line.size(); ++j) {
          line[j] = masked[j] != 0 ? 0 : line[j] * (slopes[j] - dot) * static_cast<float>(scale);
        }
        store_row(get(launch, target), 3, row, line);
      });
    });
  });
}

// x[batch, windows, heads, rows, columns], or with the first two as one; mask[windows, rows,
// columns] and bias[heads, rows, columns], both with dims of 1 between.
SIM_SIGNATURE(MaskedSoftmaxWithRelPosBias,
              const aclTensor* x,
              const aclTensor* attenMaskOptional,
              const aclTensor* relativePosBias,
              double scaleValue,
              int64_t,
              const aclTensor* out) {
  return plan("aclnnMaskedSoftmaxWithRelPosBias", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Operand mask = p.optional(attenMaskOptional, "attenMaskOptional", kF);
    const Operand bias = p.input(relativePosBias, "relativePosBias", kF);
    const Operand target = p.output(out, "out", kF);
    p.check_rank(in, 4, 5);
    p.check_shape(target, in.shape());
    const size_t rank = in.shape().size();
    const int64_t heads = in.shape()[rank - 3];
    if (in.numel() == 0) return;
    const int64_t area = in.shape()[rank - 2] * in.shape()[rank - 1];
    p.check(bias.numel() == heads * area, "relativePosBias must have a matrix for each head");
    const int64_t windows = mask ? mask.numel() / area : 1;
    const int64_t images = in.numel() / (heads * area);
    p.check(!mask || (mask.numel() % area == 0 && windows > 0 && images % windows == 0 &&
                      (rank == 4 || windows == in.shape()[1])),
            "attenMaskOptional must have a matrix for each window");
    p.run([=](Launch& launch) {
      const int64_t at = static_cast<int64_t>(rank) - 1;
      const int64_t columns = in.shape().back();
      const int64_t rows = area / columns;
      for_rows<float>(get(launch, in), at, [&](int64_t row, std::vector<float>& line) {
        const int64_t own = row % rows;
        const int64_t head = row / rows % heads;
        const int64_t window = row / (rows * heads) % windows;
        std::vector<float> more(line.size());
        std::vector<float> masked(line.size());
        load(get(launch, bias), (head * rows + own) * columns, columns, more.data());
        if (mask) load(get(launch, mask), (window * rows + own) * columns, columns, masked.data());
        for (size_t j = 0; j < line.size(); ++j) {
          line[j] = line[j] * static_cast<float>(scaleValue) + masked[j] + more[j];
        }
        softmax(line);
        store_row(get(launch, target), at, row, line);
      });
    });
  });
}
}
