// Activations and their gradients that releases after CANN 8.1 brought, and other ops on single
// elements.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr double kPi = 3.14159265358979323846;

template <class C>
C fast_sigmoid(C x) {
  return C(1) / (C(1) + std::exp(C(-1.702) * x));
}
struct FastGelu {
  template <class C>
  C operator()(C x) const {
    return x * fast_sigmoid(x);
  }
};
struct FastGeluBackward {
  template <class C>
  C operator()(C grad, C x) const {
    const C s = fast_sigmoid(x);
    return grad * (s + C(1.702) * x * s * (C(1) - s));
  }
};
struct HardswishBackwardV2 {
  template <class C>
  C operator()(C grad, C x) const {
    if (x <= C(-3)) return C(0);
    return x < C(3) ? grad * (x / C(3) + C(0.5)) : grad;
  }
};
struct AngleV2 {
  template <class C>
  C operator()(C x) const {
    if constexpr (std::is_floating_point_v<C>) {
      if (std::isnan(x)) return x;
      return x < C(0) ? C(kPi) : C(0);
    } else {
      return C(std::arg(x));
    }
  }
};
struct AddV3 {
  template <class C>
  C operator()(C other, C self, C alpha) const {
    return add(self, mul(alpha, other));
  }
};
struct MaskedScale {
  float scale;
  template <class C>
  C operator()(C x, C mask) const {
    return x * mask * C(scale);
  }
};
struct KlDivTargetBackward {
  bool log;
  template <class C>
  C operator()(C grad, C x, C target) const {
    if (log) return grad * std::exp(target) * (target - x + C(1));
    return target > C(0) ? grad * (std::log(target) - x + C(1)) : C(0);
  }
};

}  // namespace

extern "C" {

SIM_SIGNATURE(FastGelu, const aclTensor* self, aclTensor* result) {
  SIM_RUN(FastGelu, Floats, kF, Result::kSame, FastGelu{}, out("out", result), arg("self", self));
}
SIM_SIGNATURE(FastGeluBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              aclTensor* gradInput) {
  SIM_RUN(FastGeluBackward, Floats, kF, Result::kSame, FastGeluBackward{},
          out("gradInput", gradInput), arg("gradOutput", gradOutput), arg("self", self));
}
SIM_SIGNATURE(HardswishBackwardV2,
              const aclTensor* gradOutput,
              const aclTensor* self,
              aclTensor* result) {
  SIM_RUN(HardswishBackwardV2, Floats, kF, Result::kSame, HardswishBackwardV2{}, out("out", result),
          arg("gradOutput", gradOutput), arg("self", self));
}
SIM_SIGNATURE(AngleV2, const aclTensor* x, const aclTensor* result) {
  const Types types = kF32 | kF16 | kI | kBool | only(ACL_COMPLEX64);
  return plan("aclnnAngleV2", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", types);
    const Operand target = p.output(result, "out", kF32 | kF16);
    p.check_shape(target, in.shape());
    p.check((in.dtype() == ACL_FLOAT16) == (target.dtype() == ACL_FLOAT16),
            "out must be FLOAT16 where x is, and FLOAT elsewhere");
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      Fields::with(in.dtype(), [&](auto zero) {
        map_elements<decltype(zero)>(get(launch, target), AngleV2{}, get(launch, in));
      });
    });
  });
}
SIM_SIGNATURE(AddV3,
              const aclScalar* self,
              const aclTensor* other,
              const aclScalar* alpha,
              aclTensor* result) {
  SIM_RUN(AddV3, Numbers, kF | kI | kF64 | kC | kBool, Result::kSame, AddV3{}, out("out", result),
          arg("other", other), arg("self", self), factor("alpha", alpha));
}
SIM_SIGNATURE(
    MaskedScale, const aclTensor* self, const aclTensor* by, float scale, aclTensor* result) {
  return plan("aclnnMaskedScale", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand factors = p.input(by, "mask", kF | kI8 | kU8);
    const Operand target = p.output(result, "y", kF);
    p.check_shape(factors, in.shape());
    p.check_shape(target, in.shape());
    p.check(target.dtype() == in.dtype(), "y must have the dtype of self");
    run_elementwise(p, target, in.dtype(), in.dtype(), {{in, {}}, {factors, {}}},
                    over_elements<Floats, 2>(MaskedScale{scale}));
  });
}
SIM_SIGNATURE(KlDivTargetBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* target,
              int64_t reduction,
              bool logTarget,
              aclTensor* gradTarget) {
  return plan("aclnnKlDivTargetBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(gradOutput, "gradOutput", kF);
    const Operand in = p.input(self, "self", kF);
    const Operand goal = p.input(target, "target", kF);
    const Operand result = p.output(gradTarget, "gradTarget", kF);
    p.check(reduction >= 0 && reduction <= 3, "reduction is not one of 0 to 3");
    const Shape shape = p.broadcast(in.shape(), goal.shape(), "self and target");
    p.check_shape(result, shape);
    p.broadcast(grad.shape(), shape, "gradOutput and the loss");
    // 1 is the mean over all elements, 3 the one over the batch.
    const auto count = static_cast<double>(result.numel());
    const auto batch = static_cast<double>(shape.empty() ? 1 : shape[0]);
    const double scale = reduction == 1 ? 1 / count : reduction == 3 ? 1 / batch : 1;
    const KlDivTargetBackward f{logTarget};
    run_elementwise(p, result, in.dtype(), in.dtype(), {{grad, {}}, {in, {}}, {goal, {}}},
                    over_elements<Floats, 3>([f, scale](auto g, auto x, auto y) {
                      return f(static_cast<decltype(g)>(g * scale), x, y);
                    }));
  });
}
}
