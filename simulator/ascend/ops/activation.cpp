// Activations and their gradients.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr double kSeluAlpha = 1.6732632423543772;
constexpr double kSeluScale = 1.0507009873554805;

template <class C>
C sigmoid(C x) {
  return C(1) / (C(1) + std::exp(-x));
}
template <class C>
C softplus(C x) {
  return x > C(20) ? x : std::log1p(std::exp(x));
}
template <class C>
C gelu_erf(C x) {
  return C(0.5) * x * (C(1) + std::erf(x * C(0.70710678118654752)));
}
template <class C>
C gelu_tanh(C x) {
  const C inner = C(0.79788456080286536) * (x + C(0.044715) * x * x * x);
  return C(0.5) * x * (C(1) + std::tanh(inner));
}
template <class C>
C gelu_erf_slope(C x) {
  const C density = std::exp(C(-0.5) * x * x) * C(0.39894228040143268);
  return C(0.5) * (C(1) + std::erf(x * C(0.70710678118654752))) + x * density;
}
template <class C>
C gelu_tanh_slope(C x) {
  const C t = std::tanh(C(0.79788456080286536) * (x + C(0.044715) * x * x * x));
  const C inner = C(0.79788456080286536) * (C(1) + C(3 * 0.044715) * x * x);
  return C(0.5) * (C(1) + t) + C(0.5) * x * (C(1) - t * t) * inner;
}

struct GeluMode {
  bool tanh;
  template <class C>
  C operator()(C x) const {
    return tanh ? gelu_tanh(x) : gelu_erf(x);
  }
};
struct GeluModeBackward {
  bool tanh;
  template <class C>
  C operator()(C grad, C x) const {
    return grad * (tanh ? gelu_tanh_slope(x) : gelu_erf_slope(x));
  }
};
struct Relu {
  template <class C>
  C operator()(C x) const {
    return larger(x, C{});
  }
};
struct Sigmoid {
  template <class C>
  C operator()(C x) const {
    return C(1) / (C(1) + std::exp(-x));
  }
};
struct Silu {
  template <class C>
  C operator()(C x) const {
    return x * sigmoid(x);
  }
};
struct Elu {
  template <class C>
  C operator()(C x, C alpha, C scale, C input_scale) const {
    return x > 0 ? scale * x : scale * alpha * std::expm1(input_scale * x);
  }
};
struct Celu {
  template <class C>
  C operator()(C x, C alpha) const {
    return x > 0 ? x : alpha * std::expm1(x / alpha);
  }
};
struct Selu {
  template <class C>
  C operator()(C x) const {
    return C(kSeluScale) * (x > 0 ? x : C(kSeluAlpha) * std::expm1(x));
  }
};
struct LeakyRelu {
  template <class C>
  C operator()(C x, C slope) const {
    return x > 0 ? x : x * slope;
  }
};
struct Hardswish {
  template <class C>
  C operator()(C x) const {
    return x * smaller(larger(x + C(3), C(0)), C(6)) / C(6);
  }
};
struct Hardsigmoid {
  template <class C>
  C operator()(C x) const {
    return smaller(larger(x + C(3), C(0)), C(6)) / C(6);
  }
};
struct Softplus {
  template <class C>
  C operator()(C x, C beta, C threshold) const {
    return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
  }
};
struct Threshold {
  template <class C>
  C operator()(C x, C threshold, C value) const {
    return x <= threshold ? value : x;
  }
};
struct Mish {
  template <class C>
  C operator()(C x) const {
    return x * std::tanh(softplus(x));
  }
};
struct LogSigmoid {
  template <class C>
  C operator()(C x) const {
    return smaller(x, C(0)) - std::log1p(std::exp(-std::abs(x)));
  }
};
struct Hardshrink {
  template <class C>
  C operator()(C x, C lambda) const {
    return std::abs(x) <= lambda ? C(0) : x;
  }
};
struct Softshrink {
  template <class C>
  C operator()(C x, C lambda) const {
    return x > lambda ? x - lambda : (x < -lambda ? x + lambda : C(0));
  }
};
struct Shrink {
  template <class C>
  C operator()(C x, C lambda, C bias) const {
    return x > lambda ? x - bias : (x < -lambda ? x + bias : C(0));
  }
};
struct Swish {
  template <class C>
  C operator()(C x, C beta) const {
    return x * sigmoid(beta * x);
  }
};

// `eps` keeps x away from 0 and 1; negative: it does not.
struct Logit {
  double eps;
  template <class C>
  C operator()(C x) const {
    if (eps >= 0) x = smaller(larger(x, static_cast<C>(eps)), C(1) - static_cast<C>(eps));
    return std::log(x / (C(1) - x));
  }
};
struct LogitGrad {
  double eps;
  template <class C>
  C operator()(C x, C grad) const {
    const C low = static_cast<C>(eps);
    if (eps >= 0 && (x < low || x > C(1) - low)) return C(0);
    return grad / (x * (C(1) - x));
  }
};

struct ThresholdBackward {
  template <class C>
  C operator()(C grad, C x, C threshold) const {
    return x > threshold ? grad : C(0);
  }
};
struct SigmoidBackward {
  template <class C>
  C operator()(C grad, C y) const {
    return grad * y * (C(1) - y);
  }
};
struct TanhBackward {
  template <class C>
  C operator()(C grad, C y) const {
    return grad * (C(1) - y * y);
  }
};
struct SiluBackward {
  template <class C>
  C operator()(C grad, C x) const {
    const C s = sigmoid(x);
    return grad * s * (C(1) + x * (C(1) - s));
  }
};
struct LeakyReluBackward {
  template <class C>
  C operator()(C grad, C x, C slope) const {
    return x > 0 ? grad : grad * slope;
  }
};
struct EluBackward {
  bool is_result;
  template <class C>
  C operator()(C grad, C alpha, C scale, C input_scale, C x) const {
    if (x > 0) return grad * scale;
    if (is_result) return grad * input_scale * (x + alpha * scale);
    return grad * input_scale * alpha * scale * std::exp(x * input_scale);
  }
};
struct SeluBackward {
  template <class C>
  C operator()(C grad, C y) const {
    return grad * (y > 0 ? C(kSeluScale) : y + C(kSeluScale * kSeluAlpha));
  }
};
struct HardtanhBackward {
  template <class C>
  C operator()(C grad, C x, C min, C max) const {
    return x > min && x < max ? grad : C(0);
  }
};
struct HardswishBackward {
  template <class C>
  C operator()(C grad, C x) const {
    if (x <= C(-3)) return C(0);
    return x < C(3) ? grad * (x / C(3) + C(0.5)) : grad;
  }
};
struct HardsigmoidBackward {
  template <class C>
  C operator()(C grad, C x) const {
    return x > C(-3) && x < C(3) ? grad / C(6) : C(0);
  }
};
struct SoftplusBackward {
  template <class C>
  C operator()(C grad, C x, C beta, C threshold) const {
    return x * beta > threshold ? grad : grad * sigmoid(x * beta);
  }
};
struct LogSigmoidBackward {
  template <class C>
  C operator()(C grad, C x) const {
    return grad * sigmoid(-x);
  }
};
struct MishBackward {
  template <class C>
  C operator()(C grad, C x) const {
    const C t = std::tanh(softplus(x));
    return grad * (t + x * sigmoid(x) * (C(1) - t * t));
  }
};
struct HardshrinkBackward {
  template <class C>
  C operator()(C grad, C x, C lambda) const {
    return std::abs(x) <= lambda ? C(0) : grad;
  }
};
struct SwishBackward {
  template <class C>
  C operator()(C grad, C x, C beta) const {
    const C s = sigmoid(beta * x);
    return grad * (s + beta * x * s * (C(1) - s));
  }
};

// The weight of Prelu, one for each channel, as it broadcasts over `self`.
View channels(const View& weight, const View& self) {
  if (weight.numel() == 1) return weight.reshape({});
  Shape shape(static_cast<size_t>(std::max<int64_t>(self.rank() - 1, 1)), 1);
  shape[0] = weight.numel();
  return weight.reshape(shape);
}

void check_channels(Planner& p, const Operand& self, const Operand& weight) {
  p.check(weight.numel() == 1 || (self.rank() >= 2 && weight.numel() == self.shape()[1]),
          "weight must have one element, or one for each channel of self");
}

// Two halves along `dim`: out = act(first) * second, or the other way round.
void check_halves(Planner& p, const Operand& whole, int64_t dim, const Operand& half) {
  Shape expected = whole.shape();
  p.check(expected[static_cast<size_t>(dim)] % 2 == 0,
          p.name(whole) + " has an odd size at dim " + std::to_string(dim));
  expected[static_cast<size_t>(dim)] /= 2;
  p.check_shape(half, expected);
}
View half(const View& whole, int64_t dim, bool second) {
  const int64_t n = whole.size(dim) / 2;
  return whole.slice(dim, second ? n : 0, n);
}

}  // namespace

#define SIM_UNARY(Name, Target, With, types, f)                                            \
  SIM_SIGNATURE(Name, const aclTensor* self, Target* out) {                                \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out("out", out), arg("self", self)); \
  }
#define SIM_UNARY_IN_PLACE(Name, name, Self, With, types, f)                    \
  SIM_SIGNATURE(Name, Self* name) {                                             \
    SIM_RUN(Name, With, types, Result::kSame, f, in_place(), arg(#name, name)); \
  }
#define SIM_GRAD(Name, x, target, Target, With, types, f)                                \
  SIM_SIGNATURE(Name, const aclTensor* gradOutput, const aclTensor* x, Target* target) { \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out(#target, target),              \
            arg("gradOutput", gradOutput), arg(#x, x));                                  \
  }
// With one scalar.
#define SIM_UNARY_1(Name, a, types, With, f)                                              \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclScalar* a, aclTensor* out) {        \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out("out", out), arg("self", self), \
            factor(#a, a));                                                               \
  }
#define SIM_UNARY_IN_PLACE_1(Name, a, types, With, f)                                 \
  SIM_SIGNATURE(Name, aclTensor* selfRef, const aclScalar* a) {                       \
    SIM_RUN(Name, With, types, Result::kSame, f, in_place(), arg("selfRef", selfRef), \
            factor(#a, a));                                                           \
  }
#define SIM_GRAD_1(Name, a, target, types, With, f)                                           \
  SIM_SIGNATURE(Name, const aclTensor* gradOutput, const aclTensor* self, const aclScalar* a, \
                aclTensor* target) {                                                          \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out(#target, target),                   \
            arg("gradOutput", gradOutput), arg("self", self), factor(#a, a));                 \
  }
// With two.
#define SIM_UNARY_2(Name, a, b, types, With, f)                                           \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclScalar* a, const aclScalar* b,      \
                aclTensor* out) {                                                         \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out("out", out), arg("self", self), \
            factor(#a, a), factor(#b, b));                                                \
  }
#define SIM_GRAD_2(Name, a, b, target, types, With, f)                                        \
  SIM_SIGNATURE(Name, const aclTensor* gradOutput, const aclTensor* self, const aclScalar* a, \
                const aclScalar* b, aclTensor* target) {                                      \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out(#target, target),                   \
            arg("gradOutput", gradOutput), arg("self", self), factor(#a, a), factor(#b, b));  \
  }

extern "C" {

SIM_UNARY(Relu, const aclTensor, Reals, kF | kI8 | kI32 | kI64, Relu{})
SIM_UNARY_IN_PLACE(InplaceRelu, selfRef, aclTensor, Reals, kF | kI8 | kU8 | kI32 | kI64, Relu{})
SIM_UNARY(Sigmoid, aclTensor, Fields, kF | kF64 | kC, Sigmoid{})
SIM_UNARY_IN_PLACE(InplaceSigmoid, selfRef, aclTensor, Floats, kF | kF64, Sigmoid{})
SIM_UNARY(Gelu, aclTensor, Floats, kF, GeluMode{true})
SIM_UNARY(Silu, aclTensor, Floats, kF, Silu{})
SIM_UNARY(Hardswish, const aclTensor, Floats, kF, Hardswish{})
SIM_UNARY_IN_PLACE(InplaceHardswish, self, const aclTensor, Floats, kF, Hardswish{})
SIM_UNARY(Hardsigmoid, aclTensor, Floats, kF | kI32, Hardsigmoid{})
SIM_UNARY_IN_PLACE(InplaceHardsigmoid, self, const aclTensor, Floats, kF | kI32, Hardsigmoid{})
SIM_UNARY(Mish, aclTensor, Floats, kF, Mish{})
SIM_UNARY_IN_PLACE(InplaceMish, selfRef, aclTensor, Floats, kF, Mish{})
SIM_UNARY(Selu, aclTensor, Floats, kF | kI8 | kI32, Selu{})
SIM_UNARY_IN_PLACE(InplaceSelu, selfRef, aclTensor, Floats, kF | kI8 | kI32, Selu{})
SIM_UNARY(LogSigmoid, aclTensor, Floats, kF, LogSigmoid{})

SIM_UNARY_1(LeakyRelu, negativeSlope, kF | kF64, Floats, LeakyRelu{})
SIM_UNARY_IN_PLACE_1(InplaceLeakyRelu, negativeSlope, kF | kF64, Floats, LeakyRelu{})
SIM_UNARY_1(Celu, alpha, kF, Floats, Celu{})
SIM_UNARY_IN_PLACE_1(InplaceCelu, alpha, kF, Floats, Celu{})
SIM_UNARY_1(Hardshrink, lambd, kF, Floats, Hardshrink{})
SIM_UNARY_1(Softshrink, lambd, kF, Floats, Softshrink{})
SIM_UNARY_2(Softplus, beta, threshold, kF, Floats, Softplus{})
SIM_UNARY_2(Threshold, threshold, value, kF | kI, Reals, Threshold{})
SIM_UNARY_2(Shrink, lambd, bias, kF, Floats, Shrink{})

SIM_SIGNATURE(InplaceThreshold,
              aclTensor* selfRef,
              const aclScalar* threshold,
              const aclScalar* value) {
  SIM_RUN(InplaceThreshold, Reals, kF | kI, Result::kSame, Threshold{}, in_place(),
          arg("selfRef", selfRef), factor("threshold", threshold), factor("value", value));
}
SIM_SIGNATURE(GeluV2, const aclTensor* x, int64_t approximate, aclTensor* y) {
  SIM_RUN(GeluV2, Floats, kF, Result::kSame, GeluMode{approximate == 1}, sim::out("y", y),
          arg("x", x));
}
SIM_SIGNATURE(Elu,
              const aclTensor* self,
              const aclScalar* alpha,
              const aclScalar* scale,
              const aclScalar* inputScale,
              aclTensor* out) {
  SIM_RUN(Elu, Floats, kF, Result::kSame, Elu{}, sim::out("out", out), arg("self", self),
          factor("alpha", alpha), factor("scale", scale), factor("inputScale", inputScale));
}
SIM_SIGNATURE(InplaceElu,
              aclTensor* selfRef,
              const aclScalar* alpha,
              const aclScalar* scale,
              const aclScalar* inputScale) {
  SIM_RUN(InplaceElu, Floats, kF, Result::kSame, Elu{}, in_place(), arg("selfRef", selfRef),
          factor("alpha", alpha), factor("scale", scale), factor("inputScale", inputScale));
}
SIM_SIGNATURE(Swish, const aclTensor* self, const aclScalar* betaOptional, aclTensor* out) {
  if (betaOptional == nullptr) {
    SIM_RUN(Swish, Floats, kF, Result::kSame, Silu{}, sim::out("out", out), arg("self", self));
  }
  SIM_RUN(Swish, Floats, kF, Result::kSame, Swish{}, sim::out("out", out), arg("self", self),
          factor("betaOptional", betaOptional));
}
SIM_SIGNATURE(LogSigmoidForward, const aclTensor* self, aclTensor* out, aclTensor* buffer) {
  return plan("aclnnLogSigmoidForward", workspaceSize, executor, [&](Planner& p) {
    std::array<Source, 1> sources;
    sources[0].operand = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    p.check_shape(target, sources[0].operand.shape());
    p.optional_output(buffer, "buffer", kF);
    run_elementwise<Floats>(p, target, sources[0].operand.dtype(), target.dtype(), sources,
                            LogSigmoid{});
  });
}
SIM_SIGNATURE(Prelu, const aclTensor* self, const aclTensor* weight, aclTensor* out) {
  return plan("aclnnPrelu", workspaceSize, executor, [&](Planner& p) {
    const Operand x = p.input(self, "self", kF);
    const Operand w = p.input(weight, "weight", kF);
    const Operand target = p.output(out, "out", kF);
    p.check_shape(target, x.shape());
    check_channels(p, x, w);
    if (x.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& in = get(launch, x);
      map_elements<float>(get(launch, target), LeakyRelu{}, in, channels(get(launch, w), in));
    });
  });
}
SIM_SIGNATURE(PreluBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* weight,
              aclTensor* gradInput,
              aclTensor* gradWeight) {
  return plan("aclnnPreluBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOutput, "gradOutput", kF);
    const Operand x = p.input(self, "self", kF);
    const Operand w = p.input(weight, "weight", kF);
    const Operand dx = p.output(gradInput, "gradInput", kF);
    const Operand dw = p.output(gradWeight, "gradWeight", kF);
    p.check_shape(g, x.shape());
    p.check_shape(dx, x.shape());
    p.check_shape(dw, w.shape());
    check_channels(p, x, w);
    if (x.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& in = get(launch, x);
      map_elements<float>(get(launch, dx), LeakyReluBackward{}, get(launch, g), in,
                          channels(get(launch, w), in));
      std::vector<float> sums(static_cast<size_t>(w.numel()));
      const auto xs = load_all<float>(in);
      const auto gs = load_all<float>(get(launch, g));
      const size_t inner = in.rank() >= 2 ? xs.size() / static_cast<size_t>(in.size(0)) /
                                                static_cast<size_t>(in.size(1))
                                          : 1;
      for (size_t i = 0; i < xs.size(); ++i) {
        if (xs[i] <= 0) sums[i / inner % sums.size()] += gs[i] * xs[i];
      }
      store_all(get(launch, dw), sums);
    });
  });
}

SIM_GRAD_1(
    ThresholdBackward, threshold, out, kF | kI8 | kU8 | kI32 | kI64, Reals, ThresholdBackward{})
SIM_GRAD(SigmoidBackward, output, gradInput, aclTensor, Fields, kF | kC | kF64, SigmoidBackward{})
SIM_GRAD(TanhBackward, output, gradInput, aclTensor, Floats, kF | kF64, TanhBackward{})
SIM_GRAD(SiluBackward, self, gradInput, aclTensor, Floats, kF, SiluBackward{})
SIM_GRAD(GeluBackward, self, gradInput, const aclTensor, Floats, kF, GeluModeBackward{true})
SIM_GRAD(HardswishBackward, self, out, aclTensor, Floats, kF, HardswishBackward{})
SIM_GRAD(HardsigmoidBackward, self, out, aclTensor, Floats, kF, HardsigmoidBackward{})
SIM_GRAD(MishBackward, self, gradInput, aclTensor, Floats, kF, MishBackward{})
SIM_GRAD(SeluBackward, result, gradInput, aclTensor, Floats, kF, SeluBackward{})
SIM_GRAD_1(HardshrinkBackward, lambd, gradInput, kF, Floats, HardshrinkBackward{})
SIM_GRAD_1(SoftshrinkBackward, lambda, gradInput, kF, Floats, HardshrinkBackward{})
SIM_GRAD_2(HardtanhBackward, min, max, out, kF, Floats, HardtanhBackward{})
SIM_GRAD_2(SoftplusBackward, beta, threshold, gradInput, kF | kF64, Floats, SoftplusBackward{})

SIM_SIGNATURE(GeluBackwardV2,
              const aclTensor* gradOutput,
              const aclTensor* self,
              char* approximate,
              aclTensor* gradInput) {
  if (approximate == nullptr) {
    return plan("aclnnGeluBackwardV2", workspaceSize, executor,
                [&](Planner& p) { p.text(approximate, "approximate"); });
  }
  const bool tanh = std::string(approximate) == "tanh";
  SIM_RUN(GeluBackwardV2, Floats, kF, Result::kSame, GeluModeBackward{tanh},
          sim::out("gradInput", gradInput), arg("gradOutput", gradOutput), arg("self", self));
}
SIM_SIGNATURE(LeakyReluBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclScalar* negativeSlope,
              bool,
              aclTensor* out) {
  SIM_RUN(LeakyReluBackward, Floats, kF | kF64, Result::kSame, LeakyReluBackward{},
          sim::out("out", out), arg("gradOutput", gradOutput), arg("self", self),
          factor("negativeSlope", negativeSlope));
}
SIM_SIGNATURE(EluBackward,
              const aclTensor* gradOutput,
              const aclScalar* alpha,
              const aclScalar* scale,
              const aclScalar* inputScale,
              bool isResult,
              const aclTensor* selfOrResult,
              aclTensor* gradInput) {
  SIM_RUN(EluBackward, Floats, kF, Result::kSame, EluBackward{isResult},
          sim::out("gradInput", gradInput), arg("gradOutput", gradOutput), factor("alpha", alpha),
          factor("scale", scale), factor("inputScale", inputScale),
          arg("selfOrResult", selfOrResult));
}
SIM_SIGNATURE(LogSigmoidBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor*,
              aclTensor* gradInput) {
  SIM_RUN(LogSigmoidBackward, Floats, kF, Result::kSame, LogSigmoidBackward{},
          sim::out("gradInput", gradInput), arg("gradOutput", gradOutput), arg("self", self));
}
SIM_SIGNATURE(SwishBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclScalar* betaOptional,
              aclTensor* gradInput) {
  if (betaOptional == nullptr) {
    SIM_RUN(SwishBackward, Floats, kF, Result::kSame, SiluBackward{},
            sim::out("gradInput", gradInput), arg("gradOutput", gradOutput), arg("self", self));
  }
  SIM_RUN(SwishBackward, Floats, kF, Result::kSame, SwishBackward{},
          sim::out("gradInput", gradInput), arg("gradOutput", gradOutput), arg("self", self),
          factor("betaOptional", betaOptional));
}

SIM_SIGNATURE(Logit, const aclTensor* input, double eps, const aclTensor* out) {
  SIM_RUN(Logit, Floats, kF, Result::kSame, Logit{eps}, sim::out("out", out), arg("input", input));
}
SIM_SIGNATURE(
    LogitGrad, const aclTensor* x, const aclTensor* dy, double eps, const aclTensor* out) {
  SIM_RUN(LogitGrad, Floats, kF, Result::kSame, LogitGrad{eps}, sim::out("out", out), arg("x", x),
          arg("dy", dy));
}

SIM_SIGNATURE(SwiGlu, const aclTensor* x, int64_t dim, const aclTensor* out) {
  return plan("aclnnSwiGlu", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Operand target = p.output(out, "out", kF);
    p.check_rank(in, 1, 8);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    check_halves(p, in, at, target);
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& whole = get(launch, in);
      map_elements<float>(
          get(launch, target), [](float a, float b) { return a * sigmoid(a) * b; },
          half(whole, at, false), half(whole, at, true));
    });
  });
}
SIM_SIGNATURE(
    SwiGluGrad, const aclTensor* yGrad, const aclTensor* x, int64_t dim, const aclTensor* out) {
  return plan("aclnnSwiGluGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(yGrad, "yGrad", kF);
    const Operand in = p.input(x, "x", kF);
    const Operand target = p.output(out, "out", kF);
    p.check_rank(in, 1, 8);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    check_halves(p, in, at, grad);
    p.check_shape(target, in.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& whole = get(launch, in);
      const View a = half(whole, at, false);
      const View b = half(whole, at, true);
      map_elements<float>(
          half(get(launch, target), at, false),
          [](float g, float x1, float x2) { return SiluBackward{}(g * x2, x1); }, get(launch, grad),
          a, b);
      map_elements<float>(
          half(get(launch, target), at, true),
          [](float g, float x1) { return g * x1 * sigmoid(x1); }, get(launch, grad), a);
    });
  });
}
SIM_SIGNATURE(Glu, const aclTensor* self, int64_t dim, const aclTensor* out) {
  return plan("aclnnGlu", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kF64);
    const Operand target = p.output(out, "out", kF | kF64);
    p.check_rank(in, 1, 8);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    check_halves(p, in, at, target);
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& whole = get(launch, in);
      map_elements<float>(
          get(launch, target), [](float a, float b) { return a * sigmoid(b); },
          half(whole, at, false), half(whole, at, true));
    });
  });
}
// The gate is the second half, or the first with activateLeft.
static aclnnStatus ge_glu(const char* op,
                          const aclTensor* self,
                          int64_t dim,
                          int64_t approximate,
                          bool left,
                          aclTensor* out,
                          aclTensor* outGelu,
                          uint64_t* workspaceSize,
                          aclOpExecutor** executor) {
  return plan(op, workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    const Operand gelu = p.output(outGelu, "outGelu", kF);
    p.check_rank(in, 1, 8);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    check_halves(p, in, at, target);
    check_halves(p, in, at, gelu);
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& whole = get(launch, in);
      const View gate = half(whole, at, !left);
      map_elements<float>(get(launch, gelu), GeluMode{approximate == 1}, gate);
      const GeluMode f{approximate == 1};
      map_elements<float>(
          get(launch, target), [f](float a, float b) { return a * f(b); }, half(whole, at, left),
          gate);
    });
  });
}
SIM_SIGNATURE(GeGlu,
              const aclTensor* self,
              int64_t dim,
              int64_t approximate,
              aclTensor* out,
              aclTensor* outGelu) {
  return ge_glu("aclnnGeGlu", self, dim, approximate, false, out, outGelu, workspaceSize, executor);
}
SIM_SIGNATURE(GeGluV3,
              const aclTensor* self,
              int64_t dim,
              int64_t approximate,
              bool activateLeft,
              aclTensor* out,
              aclTensor* outGelu) {
  return ge_glu("aclnnGeGluV3", self, dim, approximate, activateLeft, out, outGelu, workspaceSize,
                executor);
}
}
