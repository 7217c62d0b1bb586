// Softmax and log-softmax with their gradients.
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

struct Softmax {
  template <class C>
  void operator()(std::vector<C>& line) const {
    C top = line[0];
    for (const C value : line) top = larger(top, value);
    C sum{};
    for (C& value : line) sum += value = std::exp(value - top);
    for (C& value : line) value /= sum;
  }
};
struct LogSoftmax {
  template <class C>
  void operator()(std::vector<C>& line) const {
    C top = line[0];
    for (const C value : line) top = larger(top, value);
    C sum{};
    for (const C value : line) sum += std::exp(value - top);
    for (C& value : line) value = value - top - std::log(sum);
  }
};

template <class F>
aclnnStatus forward(const char* op,
                    const aclTensor* self,
                    int64_t dim,
                    const aclTensor* out,
                    F f,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kF64);
    const Operand target = p.output(out, "out", kF | kF64);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check_shape(target, in.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_floating(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        for_rows<C>(get(launch, in), at, [&](int64_t row, std::vector<C>& line) {
          f(line);
          store_row(get(launch, target), at, row, line);
        });
      });
    });
  });
}

aclnnStatus backward(const char* op,
                     const aclTensor* grad,
                     const aclTensor* output,
                     int64_t dim,
                     const aclTensor* out,
                     bool log,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "gradOutput", kF | kF64);
    const Operand y = p.input(output, "output", kF | kF64);
    const Operand target = p.output(out, "out", kF | kF64);
    const int64_t at = p.dim(dim, y.rank(), "dim");
    p.check_shape(g, y.shape());
    p.check_shape(target, y.shape());
    if (y.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_floating(y.dtype(), [&](auto zero) {
        using C = decltype(zero);
        const View grads = get(launch, g).with_last(at);
        for_rows<C>(get(launch, y), at, [&](int64_t row, std::vector<C>& line) {
          const auto length = static_cast<int64_t>(line.size());
          std::vector<C> each(line.size());
          load(grads, row * length, length, each.data());
          C sum{};
          for (size_t i = 0; i < line.size(); ++i) sum += log ? each[i] : each[i] * line[i];
          for (size_t i = 0; i < line.size(); ++i) {
            line[i] = log ? each[i] - std::exp(line[i]) * sum : line[i] * (each[i] - sum);
          }
          store_row(get(launch, target), at, row, line);
        });
      });
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Softmax, const aclTensor* self, int64_t dim, aclTensor* out) {
  return forward("aclnnSoftmax", self, dim, out, Softmax{}, workspaceSize, executor);
}
SIM_SIGNATURE(LogSoftmax, const aclTensor* self, int64_t dim, aclTensor* out) {
  return forward("aclnnLogSoftmax", self, dim, out, LogSoftmax{}, workspaceSize, executor);
}
SIM_SIGNATURE(SoftmaxBackward,
              const aclTensor* gradOutput,
              const aclTensor* output,
              int64_t dim,
              aclTensor* out) {
  return backward("aclnnSoftmaxBackward", gradOutput, output, dim, out, false, workspaceSize,
                  executor);
}
SIM_SIGNATURE(LogSoftmaxBackward,
              const aclTensor* gradOutput,
              const aclTensor* output,
              int64_t dim,
              aclTensor* out) {
  return backward("aclnnLogSoftmaxBackward", gradOutput, output, dim, out, true, workspaceSize,
                  executor);
}
}
