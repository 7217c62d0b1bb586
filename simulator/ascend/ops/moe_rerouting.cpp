// Tokens that came from several ranks, put in the order of the experts.
#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/values.h"

using namespace sim;

extern "C" {

SIM_SIGNATURE(MoeReRouting,
              const aclTensor* tokens,
              const aclTensor* expertTokenNumPerRank,
              const aclTensor* perTokenScalesOptional,
              int64_t expertTokenNumType,
              int64_t idxType,
              const aclTensor* permuteTokensOut,
              const aclTensor* permutePerTokenScalesOut,
              const aclTensor* permuteTokenIdxOut,
              const aclTensor* expertTokenNumOut) {
  return plan("aclnnMoeReRouting", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(tokens, "tokens", kF16 | kBF16 | kI8);
    const Operand counts = p.input(expertTokenNumPerRank, "expertTokenNumPerRank", kIndex);
    const Operand scales = p.optional(perTokenScalesOptional, "perTokenScalesOptional", kF32);
    p.check(expertTokenNumType == 1, "expertTokenNumType must be 1");
    p.check(idxType == 0, "idxType must be 0");
    const Operand out = p.output(permuteTokensOut, "permuteTokensOut", kF16 | kBF16 | kI8);
    const Operand moved_scales =
        p.output(permutePerTokenScalesOut, "permutePerTokenScalesOut", kF32);
    const Operand places = p.output(permuteTokenIdxOut, "permuteTokenIdxOut", kI32);
    const Operand totals = p.output(expertTokenNumOut, "expertTokenNumOut", kIndex);
    p.check_rank(in, 2, 2);
    p.check_rank(counts, 2, 2);
    const int64_t n = in.shape()[0];
    const size_t ranks = z(counts.shape()[0]);
    const size_t experts = z(counts.shape()[1]);
    check_same_dtype(p, out, in);
    check_same_dtype(p, totals, counts);
    p.check_shape(out, in.shape());
    p.check_shape(places, {n});
    p.check_shape(totals, {counts.shape()[1]});
    check_count(p, scales, n);
    check_count(p, moved_scales, n);
    if (in.numel() == 0 || experts == 0) return;
    p.run([=](Launch& launch) {
      const auto each = load_all<int64_t>(get(launch, counts));
      std::vector<int64_t> first(each.size());  // token of each rank and expert
      for (size_t k = 1; k < each.size(); ++k) first[k] = first[k - 1] + each[k - 1];
      std::vector<int64_t> order;
      std::vector<int64_t> sums(experts);
      for (size_t expert = 0; expert < experts; ++expert) {
        for (size_t rank = 0; rank < ranks; ++rank) {
          const size_t k = rank * experts + expert;
          sums[expert] += each[k];
          for (int64_t i = 0; i < each[k]; ++i) order.push_back(wrap(first[k] + i, n));
        }
      }
      const Values factors = values(launch, scales);
      Values moved;
      for (size_t i = 0; i < order.size() && static_cast<int64_t>(i) < n; ++i) {
        const auto row = static_cast<int64_t>(i);
        copy_elements(get(launch, out).select(0, row), get(launch, in).select(0, order[i]));
        if (scales) moved.push_back(factors[z(order[i])]);
      }
      order.resize(z(n));
      store_all(get(launch, places), order);
      store_all(get(launch, totals), sums);
      if (scales) {
        moved.resize(z(n));
        put(launch, moved_scales, moved);
      }
    });
  });
}
}
