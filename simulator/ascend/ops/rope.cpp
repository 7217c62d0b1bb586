// Rotary embedding.
#include "simulator/ascend/ops/indexing.h"

using namespace sim;

extern "C" {

SIM_SIGNATURE(ApplyRotaryPosEmb,
              aclTensor* queryRef,
              aclTensor* keyRef,
              const aclTensor* cos,
              const aclTensor* sin,
              int64_t layout) {
  return plan("aclnnApplyRotaryPosEmb", workspaceSize, executor, [&](Planner& p) {
    const Operand query = p.inout(queryRef, "queryRef", kF);
    const Operand key = p.inout(keyRef, "keyRef", kF);
    const Operand c = p.input(cos, "cos", kF);
    const Operand s = p.input(sin, "sin", kF);
    p.check(layout == 1, "layout is " + std::to_string(layout) + ", simulated is 1 (BSND)");
    p.check_rank(query, 4, 4);
    p.check_rank(key, 4, 4);
    p.check(query.shape()[3] % 2 == 0, "queryRef has an odd head size");
    for (const Operand& each : {query, key}) {
      p.check_shape(each, p.broadcast(each.shape(), c.shape(), "queryRef, keyRef and cos"));
      p.check_shape(each, p.broadcast(each.shape(), s.shape(), "queryRef, keyRef and sin"));
    }
    if (query.numel() == 0) return;
    p.run([=](Launch& launch) {
      for (const Operand& each : {query, key}) {
        const View& view = get(launch, each);
        const std::vector<float> x = load_all<float>(view);
        std::vector<float> cosines(x.size());
        std::vector<float> sines(x.size());
        load(get(launch, c).expand(view.shape), 0, view.numel(), cosines.data());
        load(get(launch, s).expand(view.shape), 0, view.numel(), sines.data());
        const size_t size = static_cast<size_t>(view.size(3));
        std::vector<float> result(x.size());
        for (size_t i = 0; i < x.size(); ++i) {
          const bool first = i % size < size / 2;
          const float other = first ? -x[i + size / 2] : x[i - size / 2];
          result[i] = x[i] * cosines[i] + other * sines[i];
        }
        store_all(view, result);
      }
    });
  });
}
}
