// Tokens to experts: gating, and tokens in the order of their experts and back.
#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/order.h"
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

// The experts of each row: the k largest probabilities. A finished row gets the number of experts,
// which none of them has.
struct Gating {
  const aclTensor* x;
  const aclTensor* finished;
  int64_t k;
  bool of_chosen;  // softmax over the chosen ones, not over all
  const aclTensor* y;
  const aclTensor* experts;
};

template <class More>
void gate(Planner& p, const Gating& g, const More& more) {
  const Operand in = p.input(g.x, "x", kF);
  const Operand done = p.optional(g.finished, "finishedOptional", kBool);
  const Operand y = p.output(g.y, "yOut", kF);
  const Operand experts = p.output(g.experts, "expertIdxOut", kI32);
  p.check_rank(in, 2, 3);
  const int64_t last = in.rank() - 1;
  const int64_t count_of_experts = in.shape().back();
  p.check(g.k > 0 && g.k <= count_of_experts, "k is " + std::to_string(g.k) + ", x has " +
                                                  std::to_string(count_of_experts) + " experts");
  const Shape lead(in.shape().begin(), in.shape().end() - 1);
  const Shape shape = with_size(in.shape(), last, g.k);
  if (done) p.check_shape(done, lead);
  p.check_shape(y, shape);
  p.check_shape(experts, shape);
  const auto also = more(p, in, shape);
  if (in.numel() == 0) return;
  const bool of_chosen = g.of_chosen;
  const int64_t k = g.k;
  p.run([=](Launch& launch) {
    const auto ended = done ? load_all<int64_t>(get(launch, done)) : std::vector<int64_t>{};
    for_rows<float>(get(launch, in), last, [&](int64_t row, Values& line) {
      if (!of_chosen) softmax(line);
      std::vector<int64_t> best = order_of(line, true);
      best.resize(z(k));
      Values chosen;
      for (const int64_t expert : best) chosen.push_back(line[z(expert)]);
      if (of_chosen) softmax(chosen);
      also(launch, row, line);
      if (done && ended[z(row)] != 0) best.assign(z(k), count_of_experts);
      store_row(get(launch, y), last, row, chosen);
      store_row(get(launch, experts), last, row, best);
    });
  });
}

void check_unpadded(Planner& p, bool padded) { p.check(!padded, "paddedMode is not simulated"); }

// The place of each element once they are sorted.
std::vector<int64_t> places_in_order(const std::vector<int64_t>& values) {
  const auto order = order_of(values, false);
  std::vector<int64_t> places(order.size());
  for (size_t i = 0; i < order.size(); ++i) places[z(order[i])] = static_cast<int64_t>(i);
  return places;
}

// to[row] += factor * from[other]
void add_row(
    Values& to, int64_t row, const Values& from, int64_t other, int64_t width, float factor) {
  for (int64_t c = 0; c < width; ++c) to[z(row * width + c)] += factor * from[z(other * width + c)];
}

// permuted[places, width] with k places for each of the tokens[., width].
struct Permuted {
  Operand permuted, places, probs;
  int64_t tokens = 0;
  int64_t k = 1;
  int64_t width = 0;
};

Permuted check_permuted(Planner& p,
                        const Operand& permuted,
                        const Operand& places,
                        const Operand& probs,
                        const Operand& tokens) {
  p.check_rank(permuted, 2, 2);
  p.check_rank(tokens, 2, 2);
  p.check_rank(places, 1, 1);
  Permuted result{permuted, places, probs, tokens.shape()[0], 1, tokens.shape()[1]};
  if (probs) {
    p.check_rank(probs, 2, 2);
    result.k = probs.shape()[1];
    p.check_shape(probs, {result.tokens, result.k});
  }
  p.check_shape(places, {count({result.tokens, result.k})});
  p.check_shape(permuted, {permuted.shape()[0], result.width});
  return result;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(MoeGatingTopKSoftmax,
              const aclTensor* x,
              const aclTensor* finishedOptional,
              int64_t k,
              const aclTensor* yOut,
              const aclTensor* expertIdxOut,
              const aclTensor* rowIdxOut) {
  return plan("aclnnMoeGatingTopKSoftmax", workspaceSize, executor, [&](Planner& p) {
    gate(p, {x, finishedOptional, k, false, yOut, expertIdxOut},
         [&](Planner& planner, const Operand& in, const Shape& shape) {
           const Operand rows = planner.output(rowIdxOut, "rowIdxOut", kI32);
           planner.check_shape(rows, shape);
           const int64_t n = in.numel() / in.shape().back();
           // Numbered as if the choices came one after the other, each for all rows.
           return [=](const Launch& launch, int64_t row, const Values&) {
             std::vector<int64_t> numbers;
             for (int64_t j = 0; j < shape.back(); ++j) numbers.push_back(j * n + row);
             store_row(get(launch, rows), in.rank() - 1, row, numbers);
           };
         });
  });
}
SIM_SIGNATURE(MoeGatingTopKSoftmaxV2,
              const aclTensor* x,
              const aclTensor* finishedOptional,
              int64_t k,
              int64_t renorm,
              bool outputSoftmaxResultFlag,
              const aclTensor* yOut,
              const aclTensor* expertIdxOut,
              const aclTensor* softmaxResultOutOptional) {
  return plan("aclnnMoeGatingTopKSoftmaxV2", workspaceSize, executor, [&](Planner& p) {
    p.check(renorm == 0 || renorm == 1, "renorm must be 0 or 1");
    gate(p, {x, finishedOptional, k, renorm == 1, yOut, expertIdxOut},
         [&](Planner& planner, const Operand& in, const Shape&) {
           const bool wanted = outputSoftmaxResultFlag && renorm == 0;
           const Operand all =
               wanted ? planner.output(softmaxResultOutOptional, "softmaxResultOutOptional", kF32)
                      : Operand{};
           if (wanted) planner.check_shape(all, in.shape());
           return [=](const Launch& launch, int64_t row, const Values& line) {
             if (wanted) store_row(get(launch, all), in.rank() - 1, row, line);
           };
         });
  });
}

SIM_SIGNATURE(MoeComputeExpertTokens,
              const aclTensor* sortedExperts,
              int64_t numExperts,
              const aclTensor* out) {
  return plan("aclnnMoeComputeExpertTokens", workspaceSize, executor, [&](Planner& p) {
    const Operand experts = p.input(sortedExperts, "sortedExperts", kI32);
    const Operand target = p.output(out, "out", kI32);
    p.check_rank(experts, 1, 1);
    p.check(numExperts > 0, "numExperts must be positive");
    p.check_shape(target, {numExperts});
    p.run([=](Launch& launch) {
      const auto all = load_all<int64_t>(get(launch, experts));
      std::vector<int64_t> ends;
      for (int64_t expert = 0; expert < numExperts; ++expert) {
        ends.push_back(std::upper_bound(all.begin(), all.end(), expert) - all.begin());
      }
      store_all(get(launch, target), ends);
    });
  });
}

SIM_SIGNATURE(MoeTokenPermute,
              const aclTensor* tokens,
              const aclTensor* indices,
              int64_t numOutTokens,
              bool paddedMode,
              const aclTensor* permuteTokensOut,
              const aclTensor* sortedIndicesOut) {
  return plan("aclnnMoeTokenPermute", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(tokens, "tokens", kF);
    const Operand experts = p.input(indices, "indices", kIndex);
    const Operand permuted = p.output(permuteTokensOut, "permuteTokensOut", kF);
    const Operand places = p.output(sortedIndicesOut, "sortedIndicesOut", kI32);
    check_unpadded(p, paddedMode);
    p.check_rank(in, 2, 2);
    p.check_rank(experts, 1, 2);
    p.check(experts.shape()[0] == in.shape()[0], "indices must have a row for each token");
    const int64_t all = experts.numel();
    const int64_t k = experts.rank() == 2 ? experts.shape()[1] : 1;
    const int64_t kept =
        numOutTokens > 0 ? std::min(numOutTokens, all) : std::max<int64_t>(all + numOutTokens, 0);
    check_same_dtype(p, permuted, in);
    p.check_shape(permuted, {kept, in.shape()[1]});
    p.check_shape(places, {all});
    if (all == 0) return;
    p.run([=](Launch& launch) {
      const auto found = places_in_order(load_all<int64_t>(get(launch, experts)));
      for (size_t i = 0; i < found.size(); ++i) {
        if (found[i] >= kept) continue;
        copy_elements(get(launch, permuted).select(0, found[i]),
                      get(launch, in).select(0, static_cast<int64_t>(i) / k));
      }
      store_all(get(launch, places), found);
    });
  });
}
SIM_SIGNATURE(MoeTokenPermuteGrad,
              const aclTensor* permutedOutputGrad,
              const aclTensor* sortedIndices,
              int64_t numTopk,
              bool paddedMode,
              const aclTensor* out) {
  return plan("aclnnMoeTokenPermuteGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(permutedOutputGrad, "permutedOutputGrad", kF);
    const Operand places = p.input(sortedIndices, "sortedIndices", kI32);
    const Operand target = p.output(out, "out", kF);
    check_unpadded(p, paddedMode);
    p.check_rank(grad, 2, 2);
    p.check_rank(target, 2, 2);
    p.check(numTopk > 0, "numTopk must be positive");
    p.check_shape(places, {count({target.shape()[0], numTopk})});
    p.check_shape(grad, {grad.shape()[0], target.shape()[1]});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto found = load_all<int64_t>(get(launch, places));
      const Values grads = load_all<float>(get(launch, grad));
      Values sums(z(target.numel()));
      for (size_t i = 0; i < found.size(); ++i) {
        if (found[i] >= grad.shape()[0]) continue;  // was dropped
        add_row(sums, static_cast<int64_t>(i) / numTopk, grads, wrap(found[i], grad.shape()[0]),
                target.shape()[1], 1);
      }
      store_all(get(launch, target), sums);
    });
  });
}

SIM_SIGNATURE(MoeTokenUnpermute,
              const aclTensor* permutedTokens,
              const aclTensor* sortedIndices,
              const aclTensor* probsOptional,
              bool paddedMode,
              const aclIntArray*,
              const aclTensor* out) {
  return plan("aclnnMoeTokenUnpermute", workspaceSize, executor, [&](Planner& p) {
    const Operand permuted = p.input(permutedTokens, "permutedTokens", kF);
    const Operand places = p.input(sortedIndices, "sortedIndices", kI32);
    const Operand probs = p.optional(probsOptional, "probsOptional", kF);
    const Operand target = p.output(out, "out", kF);
    check_unpadded(p, paddedMode);
    const Permuted s = check_permuted(p, permuted, places, probs, target);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto found = load_all<int64_t>(get(launch, s.places));
      const Values rows = load_all<float>(get(launch, s.permuted));
      const Values by = s.probs ? load_all<float>(get(launch, s.probs)) : Values(found.size(), 1);
      Values sums(z(target.numel()));
      for (size_t i = 0; i < found.size(); ++i) {
        if (found[i] >= s.permuted.shape()[0]) continue;  // was dropped
        add_row(sums, static_cast<int64_t>(i) / s.k, rows, wrap(found[i], s.permuted.shape()[0]),
                s.width, by[i]);
      }
      store_all(get(launch, target), sums);
    });
  });
}
SIM_SIGNATURE(MoeTokenUnpermuteGrad,
              const aclTensor* permutedTokens,
              const aclTensor* unpermutedTokensGrad,
              const aclTensor* sortedIndices,
              const aclTensor* probsOptional,
              bool paddedMode,
              const aclIntArray*,
              const aclTensor* permutedTokensGradOut,
              const aclTensor* probsGradOut) {
  return plan("aclnnMoeTokenUnpermuteGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand permuted = p.input(permutedTokens, "permutedTokens", kF);
    const Operand grad = p.input(unpermutedTokensGrad, "unpermutedTokensGrad", kF);
    const Operand places = p.input(sortedIndices, "sortedIndices", kI32);
    const Operand probs = p.optional(probsOptional, "probsOptional", kF);
    const Operand of_tokens = p.output(permutedTokensGradOut, "permutedTokensGradOut", kF);
    const Operand of_probs = probs ? p.output(probsGradOut, "probsGradOut", kF) : Operand{};
    check_unpadded(p, paddedMode);
    const Permuted s = check_permuted(p, permuted, places, probs, grad);
    p.check_shape(of_tokens, permuted.shape());
    if (probs) p.check_shape(of_probs, probs.shape());
    if (of_tokens.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto found = load_all<int64_t>(get(launch, s.places));
      const Values rows = load_all<float>(get(launch, s.permuted));
      const Values grads = load_all<float>(get(launch, grad));
      const Values by = s.probs ? load_all<float>(get(launch, s.probs)) : Values(found.size(), 1);
      Values tokens_out(rows.size());
      Values probs_out(found.size());
      for (size_t i = 0; i < found.size(); ++i) {
        if (found[i] >= s.permuted.shape()[0]) continue;  // was dropped
        const int64_t place = wrap(found[i], s.permuted.shape()[0]);
        const int64_t token = static_cast<int64_t>(i) / s.k;
        add_row(tokens_out, place, grads, token, s.width, by[i]);
        for (int64_t c = 0; c < s.width; ++c) {
          probs_out[i] += rows[z(place * s.width + c)] * grads[z(token * s.width + c)];
        }
      }
      store_all(get(launch, of_tokens), tokens_out);
      if (of_probs) store_all(get(launch, of_probs), probs_out);
    });
  });
}
}
