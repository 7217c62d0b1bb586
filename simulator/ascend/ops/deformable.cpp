// Attention to sampled places of images of several sizes, and its gradient.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

using Values = std::vector<float>;

// value[batch, positions, heads, size], location[batch, queries, heads, levels, points, 2 (x, y)].
struct Sizes {
  int64_t batch, positions, heads, size, queries, levels, points;
};

struct Inputs {
  Operand value, shapes, starts, location, weight;
  Sizes n;
};

Inputs check(Planner& p,
             const aclTensor* value,
             const aclTensor* shapes,
             const aclTensor* starts,
             const aclTensor* location,
             const aclTensor* weight,
             Types types) {
  Inputs in;
  in.value = p.input(value, "value", types);
  in.shapes = p.input(shapes, "spatialShape", kIndex);
  in.starts = p.input(starts, "levelStartIndex", kIndex);
  in.location = p.input(location, "location", types);
  in.weight = p.input(weight, "attnWeight", types);
  p.check_rank(in.value, 4, 4);
  p.check_rank(in.location, 6, 6);
  const Shape& v = in.value.shape();
  const Shape& l = in.location.shape();
  in.n = {v[0], v[1], v[2], v[3], l[1], l[3], l[4]};
  p.check_shape(in.location, {v[0], l[1], v[2], l[3], l[4], 2});
  p.check_shape(in.weight, {v[0], l[1], v[2], l[3], l[4]});
  p.check_shape(in.shapes, {l[3], 2});
  p.check_shape(in.starts, {l[3]});
  return in;
}

// One of the four positions around a place, and how much of it counts.
struct Corner {
  int64_t position;  // -1: outside
  float share;
  float by_x, by_y;  // how the share changes with the place
};

std::array<Corner, 4> corners(float x, float y, int64_t height, int64_t width, int64_t start) {
  const float left = std::floor(x);
  const float top = std::floor(y);
  std::array<Corner, 4> found;
  for (int k = 0; k < 4; ++k) {
    const bool right = (k & 1) != 0;
    const bool bottom = (k & 2) != 0;
    const auto column = static_cast<int64_t>(left) + (right ? 1 : 0);
    const auto row = static_cast<int64_t>(top) + (bottom ? 1 : 0);
    const float a = right ? x - left : left + 1 - x;
    const float b = bottom ? y - top : top + 1 - y;
    const bool inside = column >= 0 && column < width && row >= 0 && row < height;
    found[z(k)] = {inside ? start + row * width + column : -1, a * b, right ? b : -b,
                   bottom ? a : -a};
  }
  return found;
}

// Calls f(weight's place, location's place, first place of the values of a corner, corner, width,
// height, place of the result) for every corner inside.
template <class F>
void for_corners(const Launch& launch, const Inputs& in, F f) {
  const Sizes& n = in.n;
  const auto shapes = load_all<int64_t>(get(launch, in.shapes));
  const auto starts = load_all<int64_t>(get(launch, in.starts));
  const auto places = load_all<float>(get(launch, in.location));
  for (int64_t level = 0; level < n.levels; ++level) {
    const int64_t height = shapes[z(2 * level)];
    const int64_t width = shapes[z(2 * level + 1)];
    const int64_t start = starts[z(level)];
    if (height < 0 || width < 0 || start < 0 || start > n.positions ||
        count({height, width}) > n.positions - start) {
      throw DeviceFault{507015, "value has fewer positions than spatialShape says"};
    }
  }
  const int64_t samples = n.batch * n.queries * n.heads * n.levels * n.points;
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t level = i / n.points % n.levels;
    const int64_t result = i / (n.points * n.levels);  // (batch, query, head)
    const int64_t head = result % n.heads;
    const int64_t batch = result / (n.heads * n.queries);
    const int64_t height = shapes[z(2 * level)];
    const int64_t width = shapes[z(2 * level + 1)];
    const float x = places[z(2 * i)] * static_cast<float>(width) - 0.5F;
    const float y = places[z(2 * i + 1)] * static_cast<float>(height) - 0.5F;
    // Far outside, or no number, no corner counts.
    if (!(x > -1 && x < static_cast<float>(width) && y > -1 && y < static_cast<float>(height))) {
      continue;
    }
    for (const Corner& corner : corners(x, y, height, width, starts[z(level)])) {
      if (corner.position < 0) continue;
      const int64_t from = ((batch * n.positions + corner.position) * n.heads + head) * n.size;
      f(i, from, corner, static_cast<float>(width), static_cast<float>(height), result * n.size);
    }
  }
}

}  // namespace

extern "C" {

SIM_SIGNATURE(MultiScaleDeformableAttnFunction,
              const aclTensor* value,
              const aclTensor* spatialShape,
              const aclTensor* levelStartIndex,
              const aclTensor* location,
              const aclTensor* attnWeight,
              aclTensor* output) {
  return plan("aclnnMultiScaleDeformableAttnFunction", workspaceSize, executor, [&](Planner& p) {
    const Inputs in =
        check(p, value, spatialShape, levelStartIndex, location, attnWeight, kF32 | kF16);
    const Operand out = p.output(output, "output", kF32 | kF16);
    p.check_shape(out, {in.n.batch, in.n.queries, count({in.n.heads, in.n.size})});
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto values = load_all<float>(get(launch, in.value));
      const auto weights = load_all<float>(get(launch, in.weight));
      Values result(z(out.numel()));
      for_corners(launch, in,
                  [&](int64_t i, int64_t from, const Corner& corner, float, float, int64_t to) {
                    for (int64_t c = 0; c < in.n.size; ++c) {
                      result[z(to + c)] += weights[z(i)] * corner.share * values[z(from + c)];
                    }
                  });
      store_all(get(launch, out), result);
    });
  });
}

SIM_SIGNATURE(MultiScaleDeformableAttentionGrad,
              const aclTensor* value,
              const aclTensor* spatialShape,
              const aclTensor* levelStartIndex,
              const aclTensor* location,
              const aclTensor* attnWeight,
              const aclTensor* gradOutput,
              aclTensor* gradValue,
              aclTensor* gradLocation,
              aclTensor* gradAttnWeight) {
  return plan("aclnnMultiScaleDeformableAttentionGrad", workspaceSize, executor, [&](Planner& p) {
    const Inputs in = check(p, value, spatialShape, levelStartIndex, location, attnWeight, kF);
    const Operand grad = p.input(gradOutput, "gradOutput", kF);
    const Operand of_value = p.output(gradValue, "gradValue", kF);
    const Operand of_location = p.output(gradLocation, "gradLocation", kF);
    const Operand of_weight = p.output(gradAttnWeight, "gradAttnWeight", kF);
    p.check_shape(grad, {in.n.batch, in.n.queries, count({in.n.heads, in.n.size})});
    p.check_shape(of_value, in.value.shape());
    p.check_shape(of_location, in.location.shape());
    p.check_shape(of_weight, in.weight.shape());
    p.run([=](Launch& launch) {
      const auto values = load_all<float>(get(launch, in.value));
      const auto weights = load_all<float>(get(launch, in.weight));
      const auto grads = load_all<float>(get(launch, grad));
      Values values_out(values.size());
      Values places_out(z(of_location.numel()));
      Values weights_out(weights.size());
      for_corners(launch, in,
                  [&](int64_t i, int64_t from, const Corner& corner, float width, float height,
                      int64_t to) {
                    float dot = 0;
                    for (int64_t c = 0; c < in.n.size; ++c) {
                      const float g = grads[z(to + c)];
                      values_out[z(from + c)] += weights[z(i)] * corner.share * g;
                      dot += g * values[z(from + c)];
                    }
                    weights_out[z(i)] += corner.share * dot;
                    places_out[z(2 * i)] += weights[z(i)] * corner.by_x * dot * width;
                    places_out[z(2 * i + 1)] += weights[z(i)] * corner.by_y * dot * height;
                  });
      store_all(get(launch, of_value), values_out);
      store_all(get(launch, of_location), places_out);
      store_all(get(launch, of_weight), weights_out);
    });
  });
}
}
