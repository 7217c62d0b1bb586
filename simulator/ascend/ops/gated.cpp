// Activations that gate: two halves of a tensor, one of which goes through the activation.
#include "simulator/ascend/ops/activation.h"

using namespace sim;

namespace {

// The tensor of both halves, and the dim along which they lie.
struct Whole {
  Operand operand;
  int64_t dim;

  View half(const Launch& launch, bool second) const { return half(get(launch, operand), second); }
  View half(const View& view, bool second) const {
    const int64_t n = view.size(dim) / 2;
    return view.slice(dim, second ? n : 0, n);
  }
};

Whole check_whole(Planner& p, const aclTensor* tensor, const char* name, int64_t dim, Types types) {
  const Operand in = p.input(tensor, name, types);
  p.check_rank(in, 1, 8);
  const Whole whole{in, p.dim(dim, in.rank(), "dim")};
  p.check(in.shape()[static_cast<size_t>(whole.dim)] % 2 == 0,
          p.name(in) + " has an odd size at dim " + std::to_string(whole.dim));
  return whole;
}

void check_half(Planner& p, const Whole& whole, const Operand& half) {
  Shape expected = whole.operand.shape();
  expected[static_cast<size_t>(whole.dim)] /= 2;
  p.check_shape(half, expected);
}

// out = f(first, second)
template <class F>
void run_gate(Planner& p, const Whole& whole, const Operand& out, F f) {
  check_half(p, whole, out);
  if (out.numel() == 0) return;
  p.run([=](Launch& launch) {
    with_floating(whole.operand.dtype(), [&](auto zero) {
      map_elements<decltype(zero)>(get(launch, out), f, whole.half(launch, false),
                                   whole.half(launch, true));
    });
  });
}

template <class F>
aclnnStatus gate(const char* op,
                 const aclTensor* self,
                 const char* name,
                 int64_t dim,
                 const aclTensor* out,
                 Types types,
                 F f,
                 uint64_t* workspace_size,
                 aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Whole whole = check_whole(p, self, name, dim, types);
    run_gate(p, whole, p.output(out, "out", types), f);
  });
}

// The gradients of the halves: f(grad, first, second) and g(grad, first, second).
template <class F, class G>
void run_gate_grad(
    Planner& p, const Operand& grad, const Whole& whole, const Operand& out, F f, G g) {
  check_half(p, whole, grad);
  p.check_shape(out, whole.operand.shape());
  if (out.numel() == 0) return;
  p.run([=](Launch& launch) {
    const View a = whole.half(launch, false);
    const View b = whole.half(launch, true);
    const View& to = get(launch, out);
    with_floating(whole.operand.dtype(), [&](auto zero) {
      using C = decltype(zero);
      map_elements<C>(whole.half(to, false), f, get(launch, grad), a, b);
      map_elements<C>(whole.half(to, true), g, get(launch, grad), a, b);
    });
  });
}

struct SwiGlu {
  template <class C>
  C operator()(C a, C b) const {
    return a * sigmoid(a) * b;
  }
};
struct Glu {
  template <class C>
  C operator()(C a, C b) const {
    return a * sigmoid(b);
  }
};
struct GeluTimes {
  GeluMode gelu;
  template <class C>
  C operator()(C a, C b) const {
    return gelu(a) * b;
  }
};

// The gate is the second half, or the first with activateLeft.
aclnnStatus ge_glu(const char* op,
                   const aclTensor* self,
                   int64_t dim,
                   int64_t approximate,
                   bool left,
                   const aclTensor* out,
                   const aclTensor* out_gelu,
                   uint64_t* workspace_size,
                   aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Whole whole = check_whole(p, self, "self", dim, kF);
    const Operand target = p.output(out, "out", kF);
    const Operand gelu = p.output(out_gelu, "outGelu", kF);
    check_half(p, whole, target);
    check_half(p, whole, gelu);
    if (target.numel() == 0) return;
    const GeluMode f{approximate == 1};
    p.run([=](Launch& launch) {
      const View gate = whole.half(launch, !left);
      map_elements<float>(get(launch, gelu), f, gate);
      map_elements<float>(
          get(launch, target), [f](float a, float b) { return a * f(b); }, whole.half(launch, left),
          gate);
    });
  });
}

aclnnStatus ge_glu_grad(const char* op,
                        const aclTensor* grad,
                        const aclTensor* self,
                        const aclTensor* gelu,
                        int64_t dim,
                        int64_t approximate,
                        bool left,
                        const aclTensor* out,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "gradOutput", kF);
    const Whole whole = check_whole(p, self, "self", dim, kF);
    const Operand active = p.input(gelu, "gelu", kF);
    const Operand target = p.output(out, "gradInput", kF);
    check_half(p, whole, g);
    check_half(p, whole, active);
    p.check_shape(target, whole.operand.shape());
    if (target.numel() == 0) return;
    const GeluModeBackward slope{approximate == 1};
    p.run([=](Launch& launch) {
      const View& to = get(launch, target);
      map_elements<float>(
          whole.half(to, left), [](float y, float gated) { return y * gated; }, get(launch, g),
          get(launch, active));
      map_elements<float>(
          whole.half(to, !left),
          [slope](float y, float x, float gate) { return slope(y * x, gate); }, get(launch, g),
          whole.half(launch, left), whole.half(launch, !left));
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(SwiGlu, const aclTensor* x, int64_t dim, const aclTensor* out) {
  return gate("aclnnSwiGlu", x, "x", dim, out, kF, SwiGlu{}, workspaceSize, executor);
}
SIM_SIGNATURE(
    SwiGluGrad, const aclTensor* yGrad, const aclTensor* x, int64_t dim, const aclTensor* out) {
  return plan("aclnnSwiGluGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(yGrad, "yGrad", kF);
    const Whole whole = check_whole(p, x, "x", dim, kF);
    run_gate_grad(
        p, grad, whole, p.output(out, "out", kF),
        [](auto g, auto a, auto b) {
          const auto s = sigmoid(a);
          return g * b * s * (1 + a * (1 - s));
        },
        [](auto g, auto a, auto) { return g * a * sigmoid(a); });
  });
}
SIM_SIGNATURE(Glu, const aclTensor* self, int64_t dim, const aclTensor* out) {
  return gate("aclnnGlu", self, "self", dim, out, kF | kF64, Glu{}, workspaceSize, executor);
}
SIM_SIGNATURE(GluBackward,
              const aclTensor* gradOut,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* out) {
  return plan("aclnnGluBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand grad = p.input(gradOut, "gradOut", kF | kF64);
    const Whole whole = check_whole(p, self, "self", dim, kF | kF64);
    run_gate_grad(
        p, grad, whole, p.output(out, "out", kF | kF64),
        [](auto g, auto, auto b) { return g * sigmoid(b); },
        [](auto g, auto a, auto b) { return g * a * sigmoid(b) * (1 - sigmoid(b)); });
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
SIM_SIGNATURE(GeGluBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* gelu,
              int64_t dim,
              int64_t approximate,
              aclTensor* gradInput) {
  return ge_glu_grad("aclnnGeGluBackward", gradOutput, self, gelu, dim, approximate, false,
                     gradInput, workspaceSize, executor);
}
SIM_SIGNATURE(GeGluV3Backward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* gelu,
              int64_t dim,
              int64_t approximate,
              bool activateLeft,
              aclTensor* gradInput) {
  return ge_glu_grad("aclnnGeGluV3Backward", gradOutput, self, gelu, dim, approximate, activateLeft,
                     gradInput, workspaceSize, executor);
}
// Without a mode the activation is exact.
SIM_SIGNATURE(GeluMul, const aclTensor* input, char* approximateOptional, const aclTensor* out) {
  const bool tanh = approximateOptional != nullptr && std::string(approximateOptional) == "tanh";
  return gate("aclnnGeluMul", input, "input", -1, out, kF, GeluTimes{{tanh}}, workspaceSize,
              executor);
}
SIM_SIGNATURE(FatreluMul,
              const aclTensor* input,
              const aclTensor* threshold,
              const aclTensor* out) {
  return plan("aclnnFatreluMul", workspaceSize, executor, [&](Planner& p) {
    const Whole whole = check_whole(p, input, "input", -1, kF);
    const Operand limit = p.input(threshold, "threshold", kF);
    const Operand target = p.output(out, "out", kF);
    p.check(limit.numel() == 1, "threshold must have one element");
    check_half(p, whole, target);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      map_elements<float>(
          get(launch, target), [](float a, float b, float t) { return a > t ? a * b : 0; },
          whole.half(launch, false), whole.half(launch, true), get(launch, limit).reshape({}));
    });
  });
}
}
