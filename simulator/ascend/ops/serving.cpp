// Helpers of language models: low-rank additions, the next step of decoding, balanced assignment.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/indexing.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

}  // namespace

extern "C" {

// Row i of a slice of y gets scale * x[i] @ A^T @ B^T of the weights that indices[i] names, or
// x[i] @ B^T without A; -1 names none. weightA[n, layers, rank, in], weightB[n, layers, out, rank].
SIM_SIGNATURE(AddLora,
              const aclTensor* y,
              const aclTensor* x,
              const aclTensor* weightB,
              const aclTensor* indices,
              const aclTensor* weightAOptional,
              int64_t layerIdx,
              double scale,
              int64_t yOffset,
              int64_t ySliceSize,
              const aclTensor* out) {
  return plan("aclnnAddLora", workspaceSize, executor, [&](Planner& p) {
    const Operand base = p.input(y, "y", kF16);
    const Operand in = p.input(x, "x", kF16);
    const Operand b = p.input(weightB, "weightB", kF16);
    const Operand names = p.input(indices, "indices", kI32);
    const Operand a = p.optional(weightAOptional, "weightAOptional", kF16);
    const Operand target = p.output(out, "out", kF16);
    p.check_rank(base, 2, 2);
    p.check_rank(in, 2, 2);
    p.check_rank(b, 4, 4);
    p.check_shape(target, base.shape());
    p.check_shape(names, {base.shape()[0]});
    p.check(in.shape()[0] == base.shape()[0], "x must have a row for each of y");
    const int64_t layers = b.shape()[1];
    const int64_t rank = b.shape()[3];
    p.check(layerIdx >= 0 && layerIdx < layers, "layerIdx is out of range");
    p.check(yOffset >= 0 && ySliceSize >= 0 && yOffset + ySliceSize <= base.shape()[1],
            "yOffset and ySliceSize are out of range");
    p.check(b.shape()[2] == ySliceSize, "weightB must have ySliceSize rows");
    if (a) p.check_shape(a, {b.shape()[0], layers, rank, in.shape()[1]});
    p.check(a || in.shape()[1] == rank, "without weightAOptional x must have the rank of weightB");
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      copy_elements(get(launch, target), get(launch, base));
      const auto chosen = load_all<int64_t>(get(launch, names));
      for (size_t i = 0; i < chosen.size(); ++i) {
        if (chosen[i] < 0) continue;
        const int64_t own = wrap(chosen[i], b.shape()[0]);
        const auto number = static_cast<int64_t>(i);
        View row = get(launch, in).slice(0, number, 1);
        Values inner;
        if (a) {
          inner = multiply(row, get(launch, a).select(0, own).select(0, layerIdx).permute({1, 0}));
          row = contiguous_view(inner.data(), ACL_FLOAT, {1, rank});
        }
        const Values more =
            multiply(row, get(launch, b).select(0, own).select(0, layerIdx).permute({1, 0}));
        const View slice = get(launch, target).slice(0, number, 1).slice(1, yOffset, ySliceSize);
        Values sum = load_all<float>(slice);
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += static_cast<float>(scale) * more[k];
        store_all(slice, sum);
      }
    });
  });
}

// After a token was sampled: it is the next input, one position on, in its block of the cache.
SIM_SIGNATURE(AdvanceStep,
              const aclTensor* inputTokens,
              const aclTensor* sampledTokenIds,
              const aclTensor* inputPositions,
              const aclTensor* seqLens,
              const aclTensor* slotMapping,
              const aclTensor* blockTables,
              int64_t numSeqs,
              int64_t numQueries,
              int64_t blockSize) {
  return plan("aclnnAdvanceStep", workspaceSize, executor, [&](Planner& p) {
    const Operand tokens = p.inout(inputTokens, "inputTokens", kI64);
    const Operand sampled = p.input(sampledTokenIds, "sampledTokenIds", kI64);
    const Operand positions = p.inout(inputPositions, "inputPositions", kI64);
    const Operand lengths = p.inout(seqLens, "seqLens", kI64);
    const Operand slots = p.inout(slotMapping, "slotMapping", kI64);
    const Operand blocks = p.input(blockTables, "blockTables", kI64);
    p.check(numQueries >= 0 && numQueries <= numSeqs, "numQueries must be at most numSeqs");
    p.check(blockSize > 0, "blockSize must be positive");
    for (const Operand& each : {tokens, positions, lengths, slots}) p.check_shape(each, {numSeqs});
    p.check(sampled.numel() == numQueries, "sampledTokenIds must have one for each query");
    p.check_rank(blocks, 2, 2);
    p.check(blocks.shape()[0] >= numQueries, "blockTables must have a row for each query");
    if (numQueries == 0) return;
    p.run([=](Launch& launch) {
      const auto next = load_all<int64_t>(get(launch, sampled));
      const auto table = load_all<int64_t>(get(launch, blocks));
      const int64_t width = blocks.shape()[1];
      for (int64_t i = 0; i < numQueries; ++i) {
        int64_t position = 0;
        load(get(launch, lengths), i, 1, &position);
        const int64_t length = position + 1;
        const int64_t block = table[z(i * width + wrap(position / blockSize, width))];
        const int64_t slot = block * blockSize + position % blockSize;
        store(get(launch, tokens), i, 1, &next[z(i)]);
        store(get(launch, positions), i, 1, &position);
        store(get(launch, lengths), i, 1, &length);
        store(get(launch, slots), i, 1, &slot);
      }
    });
  });
}

// Scales rows and columns in turn, until the columns' factors settle.
SIM_SIGNATURE(Sinkhorn, const aclTensor* cost, const aclScalar* tol, aclTensor* p) {
  return plan("aclnnSinkhorn", workspaceSize, executor, [&](Planner& planner) {
    const Operand in = planner.input(cost, "cost", kF);
    const double limit = tol == nullptr ? 1e-4 : planner.scalar(tol, "tol").real();
    const Operand out = planner.output(p, "p", kF);
    planner.check_rank(in, 2, 2);
    planner.check_shape(out, in.shape());
    planner.check(limit > 0, "tol must be positive");
    if (out.numel() == 0) return;
    planner.run([=](Launch& launch) {
      constexpr double kTiny = 1e-8;
      auto costs = load_all<double>(get(launch, in));
      for (double& value : costs) value = std::exp(value);
      const size_t rows = z(in.shape()[0]);
      const size_t columns = z(in.shape()[1]);
      std::vector<double> of_row(rows, 1);
      std::vector<double> of_column(columns, 1);
      for (double error = 1e9; error > limit;) {
        for (size_t i = 0; i < rows; ++i) {
          double sum = 0;
          for (size_t j = 0; j < columns; ++j) sum += of_column[j] * costs[i * columns + j];
          of_row[i] = 1 / (static_cast<double>(rows) * (sum + kTiny));
        }
        error = 0;
        for (size_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (size_t i = 0; i < rows; ++i) sum += of_row[i] * costs[i * columns + j];
          const double next = 1 / (static_cast<double>(columns) * (sum + kTiny));
          error += std::abs(next - of_column[j]) / static_cast<double>(columns);
          of_column[j] = next;
        }
      }
      for (size_t i = 0; i < costs.size(); ++i) {
        costs[i] *= of_row[i / columns] * of_column[i % columns];
      }
      store_all(get(launch, out), costs);
    });
  });
}
}
