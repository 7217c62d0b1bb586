// Rotary embedding.
#include "simulator/ascend/ops/indexing.h"

using namespace sim;

namespace {

// Which elements of a head turn together, as aclnnRotaryPositionEmbedding numbers them: those of
// two halves; neighbours; those of the two halves of each half; neighbours, written as two halves.
enum Mode : int64_t { kHalf = 0, kInterleave = 1, kQuarter = 2, kInterleaveHalf = 3 };

struct Pair {
  size_t own;    // the element that the cosine multiplies
  size_t other;  // the one that the sine multiplies
  bool first;    // of the two: the other one counts negative
};

// Of element `i` of a result with `size` elements.
Pair pair_of(int64_t mode, size_t i, size_t size) {
  if (mode == kInterleave) return {i, i ^ 1, i % 2 == 0};
  if (mode == kInterleaveHalf) {
    const bool first = i < size / 2;
    const size_t even = 2 * (first ? i : i - size / 2);
    return {first ? even : even + 1, first ? even + 1 : even, first};
  }
  const size_t half = mode == kQuarter ? size / 4 : size / 2;
  const bool first = i / half % 2 == 0;
  return {i, first ? i + half : i - half, first};
}

}  // namespace

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

aclnnStatus aclnnRotaryPositionEmbeddingGetWorkspaceSize(const aclTensor* x,
                                                         const aclTensor* cos,
                                                         const aclTensor* sin,
                                                         int64_t mode,
                                                         const aclTensor* yOut,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor) {
  return plan("aclnnRotaryPositionEmbedding", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Operand c = p.input(cos, "cos", kF);
    const Operand s = p.input(sin, "sin", kF);
    const Operand out = p.output(yOut, "yOut", kF);
    p.check(mode >= kHalf && mode <= kInterleaveHalf,
            "mode is " + std::to_string(mode) + ", expected is a value in [0, 3]");
    p.check_rank(in, 4, 4);
    p.check_shape(out, in.shape());
    for (const Operand& each : {c, s, out}) {
      p.check(each.dtype() == in.dtype(), p.name(each) + " must have the dtype of x");
    }
    if (in.numel() == 0) return;
    const int64_t size = in.shape()[3];
    const int64_t parts = mode == kQuarter ? 4 : 2;
    p.check(size % parts == 0, "the last size of x must be a multiple of " + std::to_string(parts));
    p.check_rank(c, 4, 4);
    p.check_shape(s, c.shape());
    p.check(c.shape()[3] == size, "cos must have the last size of x");
    p.check_shape(in, p.broadcast(in.shape(), c.shape(), "x and cos"));
    p.run([=](Launch& launch) {
      const View& view = get(launch, in);
      const std::vector<float> from = load_all<float>(view);
      std::vector<float> cosines(from.size());
      std::vector<float> sines(from.size());
      load(get(launch, c).expand(view.shape), 0, view.numel(), cosines.data());
      load(get(launch, s).expand(view.shape), 0, view.numel(), sines.data());
      std::vector<float> result(from.size());
      const auto width = static_cast<size_t>(size);
      for (size_t i = 0; i < result.size(); ++i) {
        const Pair pair = pair_of(mode, i % width, width);
        const float* const line = from.data() + i / width * width;
        const float other = pair.first ? -line[pair.other] : line[pair.other];
        result[i] = line[pair.own] * cosines[i] + other * sines[i];
      }
      store_all(get(launch, out), result);
    });
  });
}

// cosSinCache[position] holds the cosines, then the sines, of the first elements of each head; the
// others stay. With mropeSection the elements of a section have a position of their own.
SIM_SIGNATURE(RopeWithSinCosCache,
              const aclTensor* positions,
              const aclTensor* queryIn,
              const aclTensor* keyIn,
              const aclTensor* cosSinCache,
              const aclIntArray* mropeSection,
              int64_t headSize,
              bool isNeoxStyle,
              aclTensor* queryOut,
              aclTensor* keyOut) {
  return plan("aclnnRopeWithSinCosCache", workspaceSize, executor, [&](Planner& p) {
    const Operand places = p.input(positions, "positions", kIndex);
    const Operand query = p.input(queryIn, "queryIn", kF);
    const Operand key = p.input(keyIn, "keyIn", kF);
    const Operand cache = p.input(cosSinCache, "cosSinCache", kF);
    std::vector<int64_t> sections;
    if (mropeSection != nullptr) sections = p.array(mropeSection, "mropeSection");
    const Operand new_query = p.output(queryOut, "queryOut", kF);
    const Operand new_key = p.output(keyOut, "keyOut", kF);
    p.check_rank(query, 2, 2);
    p.check_rank(key, 2, 2);
    p.check_rank(cache, 2, 2);
    const int64_t tokens = query.shape()[0];
    const int64_t half = cache.shape()[1] / 2;
    p.check(headSize > 0 && query.shape()[1] % headSize == 0 && key.shape()[1] % headSize == 0,
            "headSize must divide the sizes of queryIn and keyIn");
    p.check(cache.shape()[1] % 2 == 0 && 2 * half <= headSize,
            "cosSinCache must have an even size up to headSize");
    p.check_shape(key, {tokens, key.shape()[1]});
    p.check_shape(new_query, query.shape());
    p.check_shape(new_key, key.shape());
    int64_t sum = 0;
    for (const int64_t section : sections) sum += section;
    p.check(sections.empty() || sum == half, "mropeSection must sum up to half the rotated size");
    const auto parts = static_cast<int64_t>(sections.size());
    p.check_shape(places, sections.empty() ? Shape{tokens} : Shape{parts, tokens});
    if (tokens == 0) return;
    p.run([=](Launch& launch) {
      const auto at = load_indices(get(launch, places), cache.shape()[0]);
      const auto table = load_all<float>(get(launch, cache));
      const auto section_of = [&](int64_t i) {
        int64_t number = 0;
        for (int64_t end = 0;
             number < parts && i >= (end += sections[static_cast<size_t>(number)]);) {
          ++number;
        }
        return number;
      };
      for (const auto& [from, to] : {std::pair(query, new_query), std::pair(key, new_key)}) {
        auto x = load_all<float>(get(launch, from));
        for (int64_t head = 0; head < from.numel() / headSize; ++head) {
          const int64_t token = head / (from.shape()[1] / headSize);
          for (int64_t i = 0; i < half; ++i) {
            const int64_t row = at[static_cast<size_t>(section_of(i) * tokens + token)];
            const float c = table[static_cast<size_t>(row * 2 * half + i)];
            const float s = table[static_cast<size_t>(row * 2 * half + half + i)];
            float& a = x[static_cast<size_t>(head * headSize + (isNeoxStyle ? i : 2 * i))];
            float& b =
                x[static_cast<size_t>(head * headSize + (isNeoxStyle ? i + half : 2 * i + 1))];
            const float old = a;
            a = a * c - b * s;
            b = b * c + old * s;
          }
        }
        store_all(get(launch, to), x);
      }
    });
  });
}
}
