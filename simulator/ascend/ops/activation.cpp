// Activations.
#include "simulator/ascend/ops/activation.h"

using namespace sim;

namespace {

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
    if (std::isnan(x)) return x;
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

}  // namespace

#define SIM_UNARY(Name, Target, With, types, f)                                            \
  SIM_SIGNATURE(Name, const aclTensor* self, Target* out) {                                \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out("out", out), arg("self", self)); \
  }
#define SIM_UNARY_IN_PLACE(Name, name, Self, With, types, f)                    \
  SIM_SIGNATURE(Name, Self* name) {                                             \
    SIM_RUN(Name, With, types, Result::kSame, f, in_place(), arg(#name, name)); \
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
// With two.
#define SIM_UNARY_2(Name, a, b, types, With, f)                                           \
  SIM_SIGNATURE(Name, const aclTensor* self, const aclScalar* a, const aclScalar* b,      \
                aclTensor* out) {                                                         \
    SIM_RUN(Name, With, types, Result::kSame, f, sim::out("out", out), arg("self", self), \
            factor(#a, a), factor(#b, b));                                                \
  }

extern "C" {

SIM_UNARY(Relu, const aclTensor, Reals, kF | kI8 | kI32 | kI64, Relu{})
SIM_UNARY_IN_PLACE(InplaceRelu, selfRef, aclTensor, Reals, kF | kI8 | kU8 | kI32 | kI64, Relu{})
SIM_SIGNATURE(Sigmoid, const aclTensor* self, aclTensor* out) {
  SIM_RUN(Sigmoid, Fields, kF | kF64 | kC | kI | kBool, Result::kFloat, Sigmoid{},
          sim::out("out", out), arg("self", self));
}
SIM_UNARY_IN_PLACE(InplaceSigmoid, selfRef, aclTensor, Fields, kF | kF64 | kC, Sigmoid{})
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
SIM_UNARY_2(Softplus, beta, threshold, kF, Floats, Softplus{})
SIM_UNARY_2(Threshold, threshold, value, kF | kI, Reals, Threshold{})
SIM_UNARY_2(Shrink, lambd, bias, kF, Floats, Shrink{})

SIM_SIGNATURE(Softshrink, const aclTensor* self, const aclScalar* lambd, aclTensor* result) {
  if (lambd != nullptr && lambd->real() < 0) {
    return plan("aclnnSoftshrink", workspaceSize, executor,
                [](Planner& p) { p.check(false, "lambd is negative"); });
  }
  SIM_RUN(Softshrink, Floats, kF, Result::kSame, Softshrink{}, out("out", result),
          arg("self", self), factor("lambd", lambd));
}
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
  SIM_RUN(Elu, Floats, kF | kF64, Result::kSame, Elu{}, sim::out("out", out), arg("self", self),
          factor("alpha", alpha), factor("scale", scale), factor("inputScale", inputScale));
}
SIM_SIGNATURE(InplaceElu,
              aclTensor* selfRef,
              const aclScalar* alpha,
              const aclScalar* scale,
              const aclScalar* inputScale) {
  SIM_RUN(InplaceElu, Floats, kF | kF64, Result::kSame, Elu{}, in_place(), arg("selfRef", selfRef),
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
    std::vector<Source> sources(1);
    sources[0].operand = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    p.check_shape(target, sources[0].operand.shape());
    p.optional_output(buffer, "buffer", kF);
    run_elementwise(p, target, sources[0].operand.dtype(), target.dtype(), sources,
                    over_elements<Floats, 1>(LogSigmoid{}));
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
SIM_SIGNATURE(Logit, const aclTensor* input, double eps, const aclTensor* out) {
  SIM_RUN(Logit, Floats, kF, Result::kSame, Logit{eps}, sim::out("out", out), arg("input", input));
}
}
