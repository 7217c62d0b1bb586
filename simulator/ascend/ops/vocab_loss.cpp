// Cross entropy of a vocabulary that several devices share: each has some rows of the weight.
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

constexpr Types kHalf = kF16 | kBF16;

struct Product {
  Operand input, weight;
  int64_t rows = 0, words = 0, hidden = 0;
};

Product product_of(Planner& p, const aclTensor* input, const aclTensor* weight) {
  Product product{p.input(input, "input", kHalf), p.input(weight, "weight", kHalf)};
  p.check_rank(product.input, 2, 2);
  p.check_rank(product.weight, 2, 2);
  p.check(product.input.dtype() == product.weight.dtype(), "weight must have the dtype of input");
  product.rows = product.input.shape()[0];
  product.words = product.weight.shape()[0];
  product.hidden = product.input.shape()[1];
  p.check(product.weight.shape()[1] == product.hidden, "input and weight differ in dim 1");
  p.check(product.words > 0, "weight has no rows");
  return product;
}

Values logits_of(const Launch& launch, const Product& product) {
  const Values input = values(launch, product.input);
  const Values weight = values(launch, product.weight);
  const size_t n = z(product.words);
  const size_t k = z(product.hidden);
  Values logits(z(product.rows) * n);
  for (size_t i = 0; i < logits.size(); ++i) {
    double total = 0;
    for (size_t j = 0; j < k; ++j) {
      total += double{input[i / n * k + j]} * double{weight[i % n * k + j]};
    }
    logits[i] = static_cast<float>(total);
  }
  return logits;
}

// Of eight rows one byte, the first row in its highest bit; rows that are not there count as set.
bool is_masked(const std::vector<int64_t>& bytes, size_t row) {
  return (bytes[row / 8] >> (7 - row % 8) & 1) != 0;
}

Operand of_rows(Planner& p, const aclTensor* tensor, const char* name, int64_t rows) {
  const Operand operand = p.input(tensor, name, kF32);
  p.check_shape(operand, {rows});
  return operand;
}
Operand rows_out(Planner& p, const aclTensor* tensor, const char* name, Types types, int64_t rows) {
  const Operand operand = p.output(tensor, name, types);
  p.check_shape(operand, {rows});
  return operand;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(FusedLinearOnlineMaxSum,
              const aclTensor* input,
              const aclTensor* weight,
              const aclTensor* target,
              int64_t vocabStartIndex,
              int64_t vocabEndIndex,
              aclTensor* logitsMaxLocalOut,
              aclTensor* sumExpLogitsLocalOut,
              aclTensor* predictedLogitsLocalOut,
              aclTensor* targetMaskOut,
              aclTensor* maskedTargetOut,
              aclTensor* vocabParallelLogitsOutOptional) {
  return plan("aclnnFusedLinearOnlineMaxSum", workspaceSize, executor, [&](Planner& p) {
    const Product product = product_of(p, input, weight);
    const Operand words = p.input(target, "target", kIndex);
    p.check_shape(words, {product.rows});
    p.check(vocabStartIndex >= 0 && vocabEndIndex >= vocabStartIndex,
            "vocabStartIndex and vocabEndIndex are no range");
    p.check(vocabEndIndex - vocabStartIndex < product.words,
            "the range of the vocabulary is larger than weight");
    const int64_t rows = product.rows;
    const Operand top = rows_out(p, logitsMaxLocalOut, "logitsMaxLocalOut", kF32, rows);
    const Operand sum = rows_out(p, sumExpLogitsLocalOut, "sumExpLogitsLocalOut", kF32, rows);
    const Operand found =
        rows_out(p, predictedLogitsLocalOut, "predictedLogitsLocalOut", kF32, rows);
    const Operand mask = rows_out(p, targetMaskOut, "targetMaskOut", kU8, (rows + 7) / 8);
    const Operand own = rows_out(p, maskedTargetOut, "maskedTargetOut", kIndex, rows);
    p.check(own.dtype() == words.dtype(), "maskedTargetOut must have the dtype of target");
    const Operand all =
        p.optional_output(vocabParallelLogitsOutOptional, "vocabParallelLogitsOutOptional", kHalf);
    if (all) p.check_shape(all, {rows, product.words});
    if (rows == 0) return;
    p.run([=](Launch& launch) {
      const Values logits = logits_of(launch, product);
      const auto targets = load_all<int64_t>(get(launch, words));
      const auto n = static_cast<std::ptrdiff_t>(product.words);
      Values tops, sums, predicted;
      std::vector<int64_t> places;
      std::vector<int64_t> bytes(z(mask.numel()));
      for (size_t i = 0; i < targets.size(); ++i) {
        const auto line = logits.begin() + static_cast<std::ptrdiff_t>(i) * n;
        tops.push_back(*std::max_element(line, line + n));
        double total = 0;
        std::for_each(line, line + n, [&](float x) { total += std::exp(double{x - tops[i]}); });
        sums.push_back(static_cast<float>(total));
        const bool elsewhere = targets[i] < vocabStartIndex || targets[i] > vocabEndIndex;
        places.push_back(elsewhere ? 0 : targets[i] - vocabStartIndex);
        predicted.push_back(elsewhere ? 0 : line[places[i]] - tops[i]);
        bytes[i / 8] |= int64_t{elsewhere} << (7 - i % 8);
      }
      for (size_t i = targets.size(); i < 8 * bytes.size(); ++i) {
        bytes[i / 8] |= int64_t{1} << (7 - i % 8);
      }
      put(launch, top, tops);
      put(launch, sum, sums);
      put(launch, found, predicted);
      store_all(get(launch, mask), bytes);
      store_all(get(launch, own), places);
      put(launch, all, logits);
    });
  });
}

SIM_SIGNATURE(FusedCrossEntropyLossWithMaxSum,
              const aclTensor* logitsMax,
              const aclTensor* sumExpLogits,
              const aclTensor* predictedLogits,
              float labelSmoothing,
              const aclTensor* inputOptional,
              const aclTensor* weightOptional,
              const aclTensor* vocabParallelLogitsOptional,
              aclTensor* lossOut,
              aclTensor* softMaxOutOptional) {
  return plan("aclnnFusedCrossEntropyLossWithMaxSum", workspaceSize, executor, [&](Planner& p) {
    const Operand top = p.input(logitsMax, "logitsMax", kF32);
    p.check_rank(top, 1, 1);
    const int64_t rows = top.numel();
    const Operand sum = of_rows(p, sumExpLogits, "sumExpLogits", rows);
    const Operand found = of_rows(p, predictedLogits, "predictedLogits", rows);
    p.check(labelSmoothing == 0, "labelSmoothing must be 0");
    refuse(p, inputOptional, "inputOptional");
    refuse(p, weightOptional, "weightOptional");
    const Operand logits =
        p.optional(vocabParallelLogitsOptional, "vocabParallelLogitsOptional", kF);
    const Operand loss = rows_out(p, lossOut, "lossOut", kF32, rows);
    const Operand chances =
        wanted_output(p, bool{logits}, softMaxOutOptional, "softMaxOutOptional", kF32);
    if (logits) {
      p.check_rank(logits, 2, 2);
      p.check(logits.shape()[0] == rows, "vocabParallelLogitsOptional has other rows");
      p.check_shape(chances, logits.shape());
    }
    if (rows == 0) return;
    p.run([=](Launch& launch) {
      const Values tops = values(launch, top);
      const Values sums = values(launch, sum);
      Values result = values(launch, found);
      for (size_t i = 0; i < result.size(); ++i) result[i] = std::log(sums[i]) - result[i];
      put(launch, loss, result);
      Values softmax = values(launch, logits);
      const size_t n = softmax.size() / tops.size();
      for (size_t i = 0; i < softmax.size(); ++i) {
        softmax[i] = std::exp(softmax[i] - tops[i / n]) / sums[i / n];
      }
      put(launch, chances, softmax);
    });
  });
}

// With the softmax of the forward, or with what it is made of again.
SIM_SIGNATURE(FusedLinearCrossEntropyLossGrad,
              const aclTensor* grad,
              const aclTensor* input,
              const aclTensor* weight,
              const aclTensor* targetMask,
              const aclTensor* maskedTarget,
              float labelSmoothing,
              const aclTensor* logitsMaxOptional,
              const aclTensor* sumExpLogitsOptional,
              const aclTensor* softmaxOptional,
              aclTensor* inputGradOut,
              aclTensor* weightGradOut) {
  return plan("aclnnFusedLinearCrossEntropyLossGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "grad", kF32);
    const Product product = product_of(p, input, weight);
    p.check_shape(g, {product.rows});
    const Operand mask = p.input(targetMask, "targetMask", kU8);
    p.check_shape(mask, {(product.rows + 7) / 8});
    const Operand words = p.input(maskedTarget, "maskedTarget", kIndex);
    p.check_shape(words, {product.rows});
    p.check(labelSmoothing == 0, "labelSmoothing must be 0");
    const Operand top = p.optional(logitsMaxOptional, "logitsMaxOptional", kF32);
    const Operand sum = p.optional(sumExpLogitsOptional, "sumExpLogitsOptional", kF32);
    const Operand chances = p.optional(softmaxOptional, "softmaxOptional", kF32);
    p.check(chances || (top && sum),
            "softmaxOptional, or logitsMaxOptional and sumExpLogitsOptional, must be given");
    check_count(p, top, product.rows);
    check_count(p, sum, product.rows);
    check_count(p, chances, product.rows * product.words);
    const Operand input_grad = p.output(inputGradOut, "inputGradOut", kHalf);
    const Operand weight_grad = p.output(weightGradOut, "weightGradOut", kHalf);
    p.check_shape(input_grad, product.input.shape());
    p.check_shape(weight_grad, product.weight.shape());
    if (product.rows == 0) return;
    p.run([=](Launch& launch) {
      const size_t n = z(product.words);
      const size_t k = z(product.hidden);
      Values softmax = chances ? values(launch, chances) : logits_of(launch, product);
      const Values tops = values(launch, top);
      const Values sums = values(launch, sum);
      const Values by = values(launch, g);
      const auto bytes = load_all<int64_t>(get(launch, mask));
      const auto targets = load_all<int64_t>(get(launch, words));
      const Values x = values(launch, product.input);
      const Values w = values(launch, product.weight);
      std::vector<double> dx(x.size()), dw(w.size());
      for (size_t i = 0; i < softmax.size(); ++i) {
        const size_t row = i / n;
        double value = softmax[i];
        if (!chances) value = std::exp(value - double{tops[row]}) / double{sums[row]};
        if (static_cast<int64_t>(i % n) == targets[row] && !is_masked(bytes, row)) value -= 1;
        value *= double{by[row]};
        for (size_t j = 0; j < k; ++j) {
          dx[row * k + j] += value * double{w[i % n * k + j]};
          dw[i % n * k + j] += value * double{x[row * k + j]};
        }
      }
      store_all(get(launch, input_grad), dx);
      store_all(get(launch, weight_grad), dw);
    });
  });
}
}
