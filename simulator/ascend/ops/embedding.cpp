// Rows of an embedding table: gradients, bags.
#include "simulator/ascend/ops/indexing.h"

using namespace sim;

namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

// Which bag each index belongs to; -1: none.
std::vector<int64_t> bags_of(const std::vector<int64_t>& offsets, int64_t bags, int64_t indices) {
  std::vector<int64_t> result(at(indices), -1);
  for (int64_t bag = 0; bag < bags; ++bag) {
    const bool last = bag + 1 == static_cast<int64_t>(offsets.size());
    const int64_t end = last ? indices : offsets[at(bag + 1)];
    if (offsets[at(bag)] < 0 || offsets[at(bag)] > end || end > indices) {
      throw DeviceFault{507015, "offsets are not in order, or out of range"};
    }
    for (int64_t i = offsets[at(bag)]; i < end; ++i) result[at(i)] = bag;
  }
  return result;
}

enum class Bag { kSum, kMean, kMax };

}  // namespace

extern "C" {

SIM_SIGNATURE(EmbeddingDenseBackward,
              const aclTensor* grad,
              const aclTensor* indices,
              uint64_t numWeights,
              uint64_t paddingIdx,
              bool scaleGradByFreq,
              const aclTensor* out) {
  return plan("aclnnEmbeddingDenseBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "grad", kF);
    const Operand place = p.input(indices, "indices", kI | kF);
    const Operand target = p.output(out, "out", kF);
    p.check_rank(g, 1, 8);
    const int64_t width = g.shape().back();
    p.check_shape(target, {static_cast<int64_t>(numWeights), width});
    p.check(g.numel() == count({place.numel(), width}), "grad must have a row for each of indices");
    if (target.numel() == 0) return;
    const uint64_t at = p.workspace(target.numel() * 4);
    p.run([=](Launch& launch) {
      auto* const sums = reinterpret_cast<float*>(launch.workspace(at));
      std::fill(sums, sums + target.numel(), 0.0F);
      const auto where = load_indices(get(launch, place), target.shape()[0]);
      const auto rows = load_all<float>(get(launch, g));
      std::vector<float> times(static_cast<size_t>(numWeights));
      for (const int64_t row : where) ++times[static_cast<size_t>(row)];
      for (size_t i = 0; i < where.size(); ++i) {
        if (static_cast<uint64_t>(where[i]) == paddingIdx) continue;
        const float scale = scaleGradByFreq ? 1 / times[static_cast<size_t>(where[i])] : 1;
        for (int64_t k = 0; k < width; ++k) {
          sums[where[i] * width + k] +=
              scale * rows[i * static_cast<size_t>(width) + static_cast<size_t>(k)];
        }
      }
      store(get(launch, target), 0, target.numel(), sums);
    });
  });
}

SIM_SIGNATURE(EmbeddingBag,
              const aclTensor* weight,
              const aclTensor* indices,
              const aclTensor* offsets,
              bool,
              int64_t mode,
              bool,
              const aclTensor* perSampleWeights,
              bool includeLastOffset,
              int64_t paddingIdx,
              aclTensor* output,
              aclTensor* offset2bag,
              aclTensor* bagSize,
              aclTensor* maxIndices) {
  return plan("aclnnEmbeddingBag", workspaceSize, executor, [&](Planner& p) {
    const Operand table = p.input(weight, "weight", kF);
    const Operand rows = p.input(indices, "indices", kI);
    const Operand starts = p.input(offsets, "offsets", kI);
    const Operand factors = p.optional(perSampleWeights, "perSampleWeights", kF);
    const Operand out = p.output(output, "output", kF);
    const Operand bag_of = p.output(offset2bag, "offset2bag", kIndex);
    const Operand sizes = p.output(bagSize, "bagSize", kIndex);
    const Operand largest = p.output(maxIndices, "maxIndices", kIndex);
    p.check_rank(table, 2, 2);
    p.check_rank(rows, 1, 1);
    p.check_rank(starts, 1, 1);
    p.check(mode >= 0 && mode <= 2, "mode is " + std::to_string(mode) + ", expected is 0, 1 or 2");
    const auto how = static_cast<Bag>(mode);
    p.check(!factors || how == Bag::kSum, "perSampleWeights needs mode 0");
    if (factors) p.check_shape(factors, rows.shape());
    const int64_t bags = starts.numel() - (includeLastOffset ? 1 : 0);
    const int64_t width = table.shape()[1];
    p.check(bags >= 0, "offsets is empty");
    p.check_shape(out, {bags, width});
    p.check(bag_of.numel() == 0 || bag_of.numel() == rows.numel(),
            "offset2bag must have an element for each of indices");
    p.check(sizes.numel() == 0 || sizes.numel() >= bags, "bagSize must have one for each bag");
    if (how == Bag::kMax) p.check_shape(largest, {bags, width});
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto where = load_indices(get(launch, rows), table.shape()[0]);
      const auto values = load_all<float>(get(launch, table));
      const auto by = factors ? load_all<float>(get(launch, factors)) : std::vector<float>{};
      const auto owner = bags_of(load_all<int64_t>(get(launch, starts)), bags, rows.numel());
      std::vector<int64_t> filled(at(std::max(sizes.numel(), bags)));
      std::vector<int64_t> best(at(bags * width), 0);
      std::vector<float> result(at(bags * width));
      for (size_t i = 0; i < where.size(); ++i) {
        if (owner[i] < 0 || where[i] == paddingIdx) continue;
        const bool first = ++filled[at(owner[i])] == 1;
        for (int64_t k = 0; k < width; ++k) {
          const size_t to = at(owner[i] * width + k);
          const float value = values[at(where[i] * width + k)];
          if (how != Bag::kMax) {
            result[to] += factors ? value * by[i] : value;
          } else if (first || value > result[to]) {
            result[to] = value;
            best[to] = where[i];
          }
        }
      }
      for (size_t i = 0; how == Bag::kMean && i < result.size(); ++i) {
        result[i] /= static_cast<float>(std::max<int64_t>(filled[i / at(width)], 1));
      }
      store_all(get(launch, out), result);
      if (bag_of.numel() > 0) store_all(get(launch, bag_of), owner);
      if (sizes.numel() > 0) store_all(get(launch, sizes), filled);
      if (how == Bag::kMax) return store_all(get(launch, largest), best);
      store_all(get(launch, largest), std::vector<int64_t>(at(largest.numel())));
    });
  });
}
}
