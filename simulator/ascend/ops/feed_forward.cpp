// Two products with an activation between them, for all rows or for those of each expert.
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/groups.h"
#include "simulator/ascend/ops/quant.h"

using namespace sim;

namespace {

float gelu(float x) { return 0.5F * x * (1 + std::erf(x / std::sqrt(2.0F))); }
float fast_gelu(float x) { return x / (1 + std::exp(-1.702F * x)); }
float relu(float x) { return std::max(x, 0.0F); }

struct Activation {
  float (*apply)(float);
  bool gated;  // the first half of a row is multiplied by the activated second half
};

Activation activation_of(Planner& p, const std::string& name) {
  if (name == "gelu") return {gelu, false};
  if (name == "fastgelu") return {fast_gelu, false};
  if (name == "relu") return {relu, false};
  if (name == "silu") return {silu, false};
  if (name == "geglu") return {gelu, true};
  if (name == "swiglu") return {silu, true};
  p.check(name == "reglu", "activation is " + name +
                               ", expected is gelu, fastgelu, relu, silu, geglu, swiglu or reglu");
  return {relu, true};
}

Values activated(const Values& hidden, size_t width, const Activation& activation) {
  Values result;
  if (!activation.gated) {
    for (const float value : hidden) result.push_back(activation.apply(value));
    return result;
  }
  for (size_t row = 0; row < hidden.size(); row += width) {
    for (size_t i = row; i < row + width / 2; ++i) {
      result.push_back(hidden[i] * activation.apply(hidden[i + width / 2]));
    }
  }
  return result;
}

struct FeedForward {
  const aclTensor* x;
  const aclTensor* weight1;
  const aclTensor* weight2;
  const aclTensor* bias1;
  const aclTensor* bias2;
  std::array<const aclTensor*, 8> quantisation;
  const char* activation;
  const aclTensor* y;
};

// `tokens` reads the groups, in its place among the arguments.
void feed_forward(Planner& p, const FeedForward& f, const std::function<Groups()>& tokens) {
  const Operand in = p.input(f.x, "x", kF16 | kBF16);
  const Operand w1 = p.input(f.weight1, "weight1", kF16 | kBF16);
  const Operand w2 = p.input(f.weight2, "weight2", kF16 | kBF16);
  const Groups groups = tokens();
  const Operand b1 = p.optional(f.bias1, "bias1", kF);
  const Operand b2 = p.optional(f.bias2, "bias2", kF);
  for (const aclTensor* each : f.quantisation) refuse(p, each, "a quantised form");
  const Activation activation = activation_of(p, p.text(f.activation, "activation"));
  const Operand out = p.output(f.y, "y", kF16 | kBF16);
  p.check_rank(in, 2, 8);
  const int64_t rank = groups.given ? 3 : 2;
  p.check_rank(w1, rank, rank);
  const size_t last = z(rank) - 1;
  const int64_t hidden = w1.shape()[last];
  const int64_t inner = activation.gated ? hidden / 2 : hidden;
  p.check(!activation.gated || hidden % 2 == 0, "the last dim of weight1 must be even");
  p.check(w1.shape()[last - 1] == in.shape().back(), "x and weight1 do not multiply");
  const int64_t experts = groups.given ? w1.shape()[0] : 1;
  Shape second = w2.shape();
  p.check_rank(w2, rank, rank);
  second[last - 1] = inner;
  if (groups.given) second[0] = experts;
  p.check_shape(w2, second);
  check_count(p, b1, count({experts, hidden}));
  check_count(p, b2, count({experts, second[last]}));
  Shape shape = in.shape();
  shape.back() = second[last];
  p.check_shape(out, shape);
  if (out.numel() == 0) return;
  p.run([=](Launch& launch) {
    const int64_t width = in.shape().back();
    const int64_t rows = in.numel() / width;
    const View x = get(launch, in).reshape({rows, width});
    const View first_bias = b1 ? get(launch, b1).reshape({experts, hidden}) : View{};
    const View second_bias = b2 ? get(launch, b2).reshape({experts, second[last]}) : View{};
    Values result(z(out.numel()));
    for_groups(launch, groups, rows, [&](size_t group, int64_t begin, int64_t end) {
      if (begin == end) return;
      const auto expert = static_cast<int64_t>(group);
      if (expert >= experts) throw DeviceFault{507015, "expertTokens names too many experts"};
      const auto own = [&](const Operand& weight) {
        return groups.given ? get(launch, weight).select(0, expert) : get(launch, weight);
      };
      const View shift1 = b1 ? first_bias.select(0, expert) : View{};
      const View shift2 = b2 ? second_bias.select(0, expert) : View{};
      const Values before =
          multiply_rows(x.slice(0, begin, end - begin), own(w1), b1 ? &shift1 : nullptr);
      Values after = activated(before, z(hidden), activation);
      const View middle = contiguous_view(after.data(), ACL_FLOAT, {end - begin, inner});
      const Values y = multiply_rows(middle, own(w2), b2 ? &shift2 : nullptr);
      std::copy(y.begin(), y.end(), result.begin() + begin * second[last]);
    });
    put(launch, out, result);
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(FFN,
              const aclTensor* x,
              const aclTensor* weight1,
              const aclTensor* weight2,
              const aclIntArray* expertTokens,
              const aclTensor* bias1,
              const aclTensor* bias2,
              const aclTensor* scale,
              const aclTensor* offset,
              const aclTensor* deqScale1,
              const aclTensor* deqScale2,
              const aclTensor* antiquantScale1,
              const aclTensor* antiquantScale2,
              const aclTensor* antiquantOffset1,
              const aclTensor* antiquantOffset2,
              const char* activation,
              int64_t,
              const aclTensor* y) {
  return plan("aclnnFFN", workspaceSize, executor, [&](Planner& p) {
    feed_forward(p,
                 {x,
                  weight1,
                  weight2,
                  bias1,
                  bias2,
                  {scale, offset, deqScale1, deqScale2, antiquantScale1, antiquantScale2,
                   antiquantOffset1, antiquantOffset2},
                  activation,
                  y},
                 [&] { return host_groups(p, expertTokens, "expertTokens", false); });
  });
}
SIM_SIGNATURE(FFNV2,
              const aclTensor* x,
              const aclTensor* weight1,
              const aclTensor* weight2,
              const aclIntArray* expertTokens,
              const aclTensor* bias1,
              const aclTensor* bias2,
              const aclTensor* scale,
              const aclTensor* offset,
              const aclTensor* deqScale1,
              const aclTensor* deqScale2,
              const aclTensor* antiquantScale1,
              const aclTensor* antiquantScale2,
              const aclTensor* antiquantOffset1,
              const aclTensor* antiquantOffset2,
              const char* activation,
              int64_t,
              bool tokensIndexFlag,
              const aclTensor* y) {
  return plan("aclnnFFNV2", workspaceSize, executor, [&](Planner& p) {
    feed_forward(p,
                 {x,
                  weight1,
                  weight2,
                  bias1,
                  bias2,
                  {scale, offset, deqScale1, deqScale2, antiquantScale1, antiquantScale2,
                   antiquantOffset1, antiquantOffset2},
                  activation,
                  y},
                 [&] { return host_groups(p, expertTokens, "expertTokens", tokensIndexFlag); });
  });
}
SIM_SIGNATURE(FFNV3,
              const aclTensor* x,
              const aclTensor* weight1,
              const aclTensor* weight2,
              const aclTensor* expertTokensOptional,
              const aclTensor* bias1Optional,
              const aclTensor* bias2Optional,
              const aclTensor* scaleOptional,
              const aclTensor* offsetOptional,
              const aclTensor* deqScale1Optional,
              const aclTensor* deqScale2Optional,
              const aclTensor* antiquantScale1Optional,
              const aclTensor* antiquantScale2Optional,
              const aclTensor* antiquantOffset1Optional,
              const aclTensor* antiquantOffset2Optional,
              const char* activation,
              int64_t,
              bool tokensIndexFlag,
              const aclTensor* y) {
  return plan("aclnnFFNV3", workspaceSize, executor, [&](Planner& p) {
    feed_forward(p,
                 {x,
                  weight1,
                  weight2,
                  bias1Optional,
                  bias2Optional,
                  {scaleOptional, offsetOptional, deqScale1Optional, deqScale2Optional,
                   antiquantScale1Optional, antiquantScale2Optional, antiquantOffset1Optional,
                   antiquantOffset2Optional},
                  activation,
                  y},
                 [&] {
                   return groups_of(p, expertTokensOptional, "expertTokensOptional",
                                    !tokensIndexFlag);
                 });
  });
}
}
