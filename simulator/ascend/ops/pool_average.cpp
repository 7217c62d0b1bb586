// The mean of each window, and its gradient.
#include "simulator/ascend/ops/windows.h"

using namespace sim;

namespace {

// What the sum of window `i` with this many places inside the image is multiplied by.
using Share = std::function<double(int64_t i, size_t inside)>;

double even_share(int64_t, size_t inside) { return 1 / static_cast<double>(inside); }

// Forward and backward are the same weights, read in two directions.
void run_average(Planner& p,
                 const Pooling& pooling,
                 const Share& share,
                 bool backward,
                 const Operand& from,
                 const Operand& to) {
  if (to.numel() == 0) return;
  p.run([=](Launch& launch) {
    const auto source = load_all<double>(get(launch, from));
    std::vector<double> result(z(to.numel()));
    pooling.each([&](int64_t n, int64_t i, const std::vector<int64_t>& window) {
      const double weight = share(i, window.size());
      const size_t small = z(n * pooling.places() + i);
      double sum = 0;
      for (const int64_t place : window) {
        const size_t large = z(n * pooling.area() + place);
        if (backward) {
          result[large] += source[small] * weight;
        } else {
          sum += source[large];
        }
      }
      if (!backward) result[small] = sum * weight;
    });
    store_all(get(launch, to), result);
  });
}

struct Divisor {
  bool include_pad;
  int64_t fixed;  // 0: counted
};

Share share_of(const Windows& w, const Pooling& pooling, const Divisor& divisor) {
  if (divisor.fixed != 0) {
    return [by = 1 / static_cast<double>(divisor.fixed)](int64_t, size_t) { return by; };
  }
  if (!divisor.include_pad) return even_share;
  return [w, image = pooling.image, out = pooling.out](int64_t i, size_t) {
    const Shape start = w.start(unravel(i, out));
    int64_t size = 1;
    for (size_t d = 0; d < start.size(); ++d) {
      size *= std::min(start[d] + w.kernel[d], image[d] + w.padding[d]) - start[d];
    }
    return 1 / static_cast<double>(size);
  };
}

aclnnStatus average_pool(const char* op,
                         int64_t dims,
                         const aclTensor* self,
                         const WindowArguments& arguments,
                         const Divisor& divisor,
                         const aclTensor* out,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    Pooling pooling = pooling_of(p, in, dims);
    const Windows w = windows_of(p, arguments, &pooling);
    p.check_shape(target, with_image(in.shape(), pooling.out));
    run_average(p, pooling, share_of(w, pooling, divisor), false, in, target);
  });
}

aclnnStatus average_pool_backward(const char* op,
                                  int64_t dims,
                                  const aclTensor* grad,
                                  const char* grad_name,
                                  const aclTensor* self,
                                  const WindowArguments& arguments,
                                  const Divisor& divisor,
                                  const aclTensor* out,
                                  const char* out_name,
                                  uint64_t* workspace_size,
                                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, grad_name, kF);
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, out_name, kF);
    Pooling pooling = pooling_of(p, in, dims);
    const Windows w = windows_of(p, arguments, &pooling);
    p.check_shape(g, with_image(in.shape(), pooling.out));
    p.check_shape(target, in.shape());
    run_average(p, pooling, share_of(w, pooling, divisor), true, g, target);
  });
}

aclnnStatus adaptive_average(const char* op,
                             int64_t dims,
                             const aclTensor* self,
                             const aclIntArray* output_size,
                             const aclTensor* out,
                             uint64_t* workspace_size,
                             aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    Pooling pooling = pooling_of(p, in, dims);
    adapt(p, p.array(output_size, "outputSize"), &pooling);
    const Operand target = p.output(out, "out", kF);
    p.check_shape(target, with_image(in.shape(), pooling.out));
    run_average(p, pooling, even_share, false, in, target);
  });
}

aclnnStatus adaptive_average_backward(const char* op,
                                      int64_t dims,
                                      const aclTensor* grad,
                                      const aclTensor* self,
                                      const aclTensor* out,
                                      uint64_t* workspace_size,
                                      aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "gradOutput", kF);
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    Pooling pooling = pooling_of(p, in, dims);
    adapt(p, image_of(p, g, in, dims), &pooling);
    p.check_shape(target, in.shape());
    run_average(p, pooling, even_share, true, g, target);
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(AvgPool2d,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* strides,
              const aclIntArray* paddings,
              const bool ceilMode,
              const bool countIncludePad,
              const int64_t divisorOverride,
              const int8_t,
              aclTensor* out) {
  return average_pool(
      "aclnnAvgPool2d", 2, self,
      {kernelSize, "kernelSize", strides, "strides", paddings, "paddings", nullptr, ceilMode},
      {countIncludePad, divisorOverride}, out, workspaceSize, executor);
}
SIM_SIGNATURE(AvgPool3d,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              bool ceilMode,
              bool countIncludePad,
              int64_t divisorOverride,
              aclTensor* out) {
  return average_pool(
      "aclnnAvgPool3d", 3, self,
      {kernelSize, "kernelSize", stride, "stride", padding, "padding", nullptr, ceilMode},
      {countIncludePad, divisorOverride}, out, workspaceSize, executor);
}
SIM_SIGNATURE(AvgPool2dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              bool ceilMode,
              bool countIncludePad,
              int64_t divisorOverride,
              int8_t,
              aclTensor* gradInput) {
  return average_pool_backward(
      "aclnnAvgPool2dBackward", 2, gradOutput, "gradOutput", self,
      {kernelSize, "kernelSize", stride, "stride", padding, "padding", nullptr, ceilMode},
      {countIncludePad, divisorOverride}, gradInput, "gradInput", workspaceSize, executor);
}
SIM_SIGNATURE(AvgPool3dBackward,
              const aclTensor* gradOuput,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              bool ceilMode,
              bool countIncludePad,
              int64_t divisorOverride,
              aclTensor* output) {
  return average_pool_backward(
      "aclnnAvgPool3dBackward", 3, gradOuput, "gradOuput", self,
      {kernelSize, "kernelSize", stride, "stride", padding, "padding", nullptr, ceilMode},
      {countIncludePad, divisorOverride}, output, "output", workspaceSize, executor);
}

SIM_SIGNATURE(AdaptiveAvgPool2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              aclTensor* out) {
  return adaptive_average("aclnnAdaptiveAvgPool2d", 2, self, outputSize, out, workspaceSize,
                          executor);
}
SIM_SIGNATURE(AdaptiveAvgPool3d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              aclTensor* out) {
  return adaptive_average("aclnnAdaptiveAvgPool3d", 3, self, outputSize, out, workspaceSize,
                          executor);
}
SIM_SIGNATURE(AdaptiveAvgPool2dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              aclTensor* out) {
  return adaptive_average_backward("aclnnAdaptiveAvgPool2dBackward", 2, gradOutput, self, out,
                                   workspaceSize, executor);
}
SIM_SIGNATURE(AdaptiveAvgPool3dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              aclTensor* out) {
  return adaptive_average_backward("aclnnAdaptiveAvgPool3dBackward", 3, gradOutput, self, out,
                                   workspaceSize, executor);
}
SIM_SIGNATURE(GlobalAveragePool, const aclTensor* self, aclTensor* out) {
  return plan("aclnnGlobalAveragePool", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kF64);
    const Operand target = p.output(out, "out", kF | kF64);
    p.check_rank(in, 3, 5);
    Pooling pooling = pooling_of(p, in, in.rank() - 2);
    adapt(p, Shape(pooling.image.size(), 1), &pooling);
    p.check_shape(target, with_image(in.shape(), pooling.out));
    run_average(p, pooling, even_share, false, in, target);
  });
}
}
