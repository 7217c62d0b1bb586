// Gradients of activations.
#include "simulator/ascend/ops/activation.h"

using namespace sim;

namespace {

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

}  // namespace

#define SIM_GRAD(Name, x, target, Target, With, types, f)                                \
  SIM_SIGNATURE(Name, const aclTensor* gradOutput, const aclTensor* x, Target* target) { \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out(#target, target),              \
            arg("gradOutput", gradOutput), arg(#x, x));                                  \
  }
// With one scalar.
#define SIM_GRAD_1(Name, a, target, types, With, f)                                           \
  SIM_SIGNATURE(Name, const aclTensor* gradOutput, const aclTensor* self, const aclScalar* a, \
                aclTensor* target) {                                                          \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out(#target, target),                   \
            arg("gradOutput", gradOutput), arg("self", self), factor(#a, a));                 \
  }
// With two.
#define SIM_GRAD_2(Name, a, b, target, types, With, f)                                        \
  SIM_SIGNATURE(Name, const aclTensor* gradOutput, const aclTensor* self, const aclScalar* a, \
                const aclScalar* b, aclTensor* target) {                                      \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out(#target, target),                   \
            arg("gradOutput", gradOutput), arg("self", self), factor(#a, a), factor(#b, b));  \
  }

extern "C" {

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
SIM_GRAD(SeluBackward, result, gradInput, aclTensor, Floats, kF | kI8 | kI32, SeluBackward{})
SIM_GRAD_1(HardshrinkBackward, lambd, gradInput, kF, Floats, HardshrinkBackward{})
SIM_GRAD_1(SoftshrinkBackward, lambda, gradInput, kF, Floats, HardshrinkBackward{})
SIM_GRAD_2(HardtanhBackward, min, max, out, kF, Floats, HardtanhBackward{})

SIM_SIGNATURE(SoftplusBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclScalar* beta,
              const aclScalar* threshold,
              aclTensor* gradInput) {
  const Arg input{"self", self, nullptr, Arg::kTensor, kF | kF64 | kI | kBool};
  SIM_RUN(SoftplusBackward, Floats, kF | kF64, Result::kSame, SoftplusBackward{},
          sim::out("gradInput", gradInput), arg("gradOutput", gradOutput), input,
          factor("beta", beta), factor("threshold", threshold));
}
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
SIM_SIGNATURE(
    LogitGrad, const aclTensor* x, const aclTensor* dy, double eps, const aclTensor* out) {
  SIM_RUN(LogitGrad, Floats, kF, Result::kSame, LogitGrad{eps}, sim::out("out", out), arg("x", x),
          arg("dy", dy));
}
}
