// The largest of each window, where it was, its gradient, and the way back.
#include <limits>

#include "simulator/ascend/ops/windows.h"

using namespace sim;

namespace {

// The largest of a window and its place in the image. Not-a-number is the largest.
template <class C>
std::pair<C, int64_t> largest(const C* image, const std::vector<int64_t>& window) {
  C best = std::numeric_limits<C>::lowest();
  int64_t place = -1;
  for (const int64_t at : window) {
    const C value = image[at];
    if (place < 0 || value > best || value != value) {
      best = value;
      place = at;
    }
  }
  return {best, place};
}

void run_max_pool(Planner& p,
                  const Pooling& pooling,
                  const Operand& in,
                  const Operand& target,
                  const Operand& indices = {}) {
  p.check_shape(target, with_image(in.shape(), pooling.out));
  if (indices) p.check_shape(indices, target.shape());
  if (target.numel() == 0) return;
  p.run([=](Launch& launch) {
    with_real(in.dtype(), [&](auto zero) {
      using C = decltype(zero);
      const auto x = load_all<C>(get(launch, in));
      std::vector<C> result(z(target.numel()));
      std::vector<int64_t> found(result.size());
      pooling.each([&](int64_t n, int64_t i, const std::vector<int64_t>& window) {
        const auto [best, place] = largest(x.data() + n * pooling.area(), window);
        result[z(n * pooling.places() + i)] = best;
        found[z(n * pooling.places() + i)] = place;
      });
      store_all(get(launch, target), result);
      if (indices) store_all(get(launch, indices), found);
    });
  });
}

aclnnStatus max_pool(const char* op,
                     int64_t dims,
                     const aclTensor* self,
                     const WindowArguments& arguments,
                     const aclTensor* out,
                     const aclTensor* indices,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    const Operand places = p.output(indices, "indices", kIndex);
    Pooling pooling = pooling_of(p, in, dims);
    windows_of(p, arguments, &pooling);
    run_max_pool(p, pooling, in, target, places);
  });
}

aclnnStatus adaptive_max_pool(const char* op,
                              int64_t dims,
                              const aclTensor* self,
                              const aclIntArray* output_size,
                              const aclTensor* out,
                              const aclTensor* indices,
                              uint64_t* workspace_size,
                              aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kF64);
    Pooling pooling = pooling_of(p, in, dims);
    adapt(p, p.array(output_size, "outputSize"), &pooling);
    const Operand target = p.output(out, "outputOut", kF | kF64);
    const Operand places = p.output(indices, "indicesOut", kIndex);
    run_max_pool(p, pooling, in, target, places);
  });
}

// Adds (or only puts, where `sums` is false) each value to the place of its image that its index
// names.
void run_scatter(Planner& p,
                 const Operand& from,
                 const Operand& indices,
                 const Operand& target,
                 int64_t images,
                 bool sums) {
  p.check_shape(indices, from.shape());
  if (target.numel() == 0) return;
  p.run([=](Launch& launch) {
    const Values source = values(launch, from);
    const auto found = load_all<int64_t>(get(launch, indices));
    Values result(z(target.numel()));
    const size_t each = source.size() / z(images);
    const int64_t area = target.numel() / images;
    for (size_t i = 0; i < source.size(); ++i) {
      if (found[i] < 0 || found[i] >= area) {
        throw DeviceFault{507015, "indices holds " + std::to_string(found[i]) + ", an image has " +
                                      std::to_string(area) + " elements"};
      }
      float& to = result[i / each * z(area) + z(found[i])];
      to = sums ? to + source[i] : source[i];
    }
    put(launch, target, result);
  });
}

aclnnStatus max_pool_backward(const char* op,
                              int64_t dims,
                              const aclTensor* grad,
                              const aclTensor* self,
                              const aclTensor* indices,
                              const WindowArguments* windows,  // null: adaptive
                              const aclTensor* grad_input,
                              uint64_t* workspace_size,
                              aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "gradOutput", kF | kF64);
    const Operand in = p.input(self, "self", kF | kF64);
    const Operand places = p.input(indices, "indices", kIndex);
    const Operand target = p.output(grad_input, "gradInput", kF | kF64);
    Pooling pooling = pooling_of(p, in, dims);
    if (windows != nullptr) {
      windows_of(p, *windows, &pooling);
      p.check_shape(g, with_image(in.shape(), pooling.out));
    } else {
      image_of(p, g, in, dims);
    }
    p.check_shape(target, in.shape());
    run_scatter(p, g, places, target, pooling.images, true);
  });
}

// Note [Mask of a pooling]: one bit for each tap of the kernel and each window, set where that tap
// gave the maximum: for every image [taps, bytes], bit i % 8 of byte i / 8 belongs to window i.
Shape mask_shape(const Operand& in, const Pooling& pooling, const Windows& w) {
  constexpr int64_t kBits = 16;
  constexpr int64_t kBytes = 32;
  const int64_t blocks = (pooling.places() + kBits - 1) / kBits + 1;
  return with_image(in.shape(), {count(w.kernel), blocks * kBytes});
}

// The place in the image of each tap of window `i`; -1 outside.
std::vector<int64_t> taps_of(const Windows& w, const Pooling& pooling, int64_t i) {
  const Shape start = w.start(unravel(i, pooling.out));
  std::vector<int64_t> places(z(count(w.kernel)), -1);
  for (size_t tap = 0; tap < places.size(); ++tap) {
    Shape at = unravel(static_cast<int64_t>(tap), w.kernel);
    for (size_t d = 0; d < at.size(); ++d) at[d] = start[d] + at[d] * w.dilation[d];
    for_box(pooling.image, at, Shape(at.size(), 1), Shape(at.size(), 1),
            [&](int64_t place) { places[tap] = place; });
  }
  return places;
}

WindowArguments window_arguments(const aclIntArray* kernel,
                                 const aclIntArray* stride,
                                 const aclIntArray* padding,
                                 const aclIntArray* dilation,
                                 bool ceil) {
  return {kernel, "kernelSize", stride, "stride", padding, "padding", dilation, ceil};
}

Shape unpooled_size(Planner& p, const aclIntArray* output_size, size_t dims) {
  const Shape size = p.array(output_size, "outputSize");
  p.check(size.size() == dims, "outputSize must have " + std::to_string(dims) + " values");
  return size;
}

aclnnStatus max_unpool(const char* op,
                       int64_t dims,
                       const aclTensor* self,
                       const aclTensor* indices,
                       const aclIntArray* output_size,
                       const aclTensor* out,
                       const char* out_name,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kI | kF64);
    const Operand places = p.input(indices, "indices", kIndex);
    const Operand target = p.output(out, out_name, kF | kI | kF64);
    const Pooling pooling = pooling_of(p, in, dims);
    p.check_shape(target, with_image(in.shape(), unpooled_size(p, output_size, z(dims))));
    run_scatter(p, in, places, target, pooling.images, false);
  });
}

aclnnStatus max_unpool_backward(const char* op,
                                int64_t dims,
                                const aclTensor* grad,
                                const aclTensor* self,
                                const aclTensor* indices,
                                const aclIntArray* output_size,
                                const aclTensor* out,
                                uint64_t* workspace_size,
                                aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "gradOutput", kF | kI | kF64);
    const Operand in = p.input(self, "self", kF | kI | kF64);
    const Operand places = p.input(indices, "indices", kIndex);
    const Operand target = p.output(out, "out", kF | kI | kF64);
    const Pooling pooling = pooling_of(p, in, dims);
    p.check_shape(g, with_image(in.shape(), unpooled_size(p, output_size, z(dims))));
    p.check_shape(places, in.shape());
    p.check_shape(target, in.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values grads = values(launch, g);
      const auto found = load_all<int64_t>(get(launch, places));
      const size_t large = grads.size() / z(pooling.images);
      const size_t small = z(pooling.area());
      Values result(found.size());
      for (size_t i = 0; i < found.size(); ++i) {
        if (found[i] < 0 || z(found[i]) >= large) {
          throw DeviceFault{507015, "indices holds " + std::to_string(found[i])};
        }
        result[i] = grads[i / small * large + z(found[i])];
      }
      put(launch, target, result);
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(MaxPool2dWithIndices,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool ceilMode,
              aclTensor* out,
              aclTensor* indices) {
  return max_pool("aclnnMaxPool2dWithIndices", 2, self,
                  window_arguments(kernelSize, stride, padding, dilation, ceilMode), out, indices,
                  workspaceSize, executor);
}
SIM_SIGNATURE(MaxPool3dWithArgmax,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool ceilMode,
              aclTensor* out,
              aclTensor* indices) {
  return max_pool("aclnnMaxPool3dWithArgmax", 3, self,
                  window_arguments(kernelSize, stride, padding, dilation, ceilMode), out, indices,
                  workspaceSize, executor);
}
SIM_SIGNATURE(MaxPool2dWithIndicesBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* indices,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool ceilMode,
              aclTensor* gradInput) {
  const auto windows = window_arguments(kernelSize, stride, padding, dilation, ceilMode);
  return max_pool_backward("aclnnMaxPool2dWithIndicesBackward", 2, gradOutput, self, indices,
                           &windows, gradInput, workspaceSize, executor);
}
SIM_SIGNATURE(MaxPool3dWithArgmaxBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* indices,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool ceilMode,
              aclTensor* gradInput) {
  const auto windows = window_arguments(kernelSize, stride, padding, dilation, ceilMode);
  return max_pool_backward("aclnnMaxPool3dWithArgmaxBackward", 3, gradOutput, self, indices,
                           &windows, gradInput, workspaceSize, executor);
}

SIM_SIGNATURE(MaxPool2dWithMask,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool ceilMode,
              aclTensor* out,
              aclTensor* indices) {
  return plan("aclnnMaxPool2dWithMask", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand target = p.output(out, "out", kF);
    const Operand mask = p.output(indices, "indices", kI8);
    Pooling pooling = pooling_of(p, in, 2);
    const Windows w =
        windows_of(p, window_arguments(kernelSize, stride, padding, dilation, ceilMode), &pooling);
    p.check_shape(target, with_image(in.shape(), pooling.out));
    p.check_shape(mask, mask_shape(in, pooling, w));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values x = values(launch, in);
      Values result(z(target.numel()));
      std::vector<int64_t> bits(z(mask.numel()));
      const int64_t row = mask.shape().back();
      pooling.each([&](int64_t n, int64_t i, const std::vector<int64_t>& window) {
        const auto [best, place] = largest(x.data() + n * pooling.area(), window);
        result[z(n * pooling.places() + i)] = best;
        const auto taps = taps_of(w, pooling, i);
        const auto tap = std::find(taps.begin(), taps.end(), place) - taps.begin();
        const int64_t taps_in_all = count(w.kernel);
        bits[z((n * taps_in_all + tap) * row + i / 8)] |= int64_t{1} << i % 8;
      });
      put(launch, target, result);
      store_all(get(launch, mask), bits);
    });
  });
}
SIM_SIGNATURE(MaxPool2dWithMaskBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* indices,
              const aclIntArray* kernelSize,
              const aclIntArray* stride,
              const aclIntArray* padding,
              const aclIntArray* dilation,
              bool ceilMode,
              aclTensor* gradInput) {
  return plan("aclnnMaxPool2dWithMaskBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOutput, "gradOutput", kF);
    const Operand in = p.input(self, "self", kF);
    const Operand mask = p.input(indices, "indices", kI8);
    const Operand target = p.output(gradInput, "gradInput", kF);
    Pooling pooling = pooling_of(p, in, 2);
    const Windows w =
        windows_of(p, window_arguments(kernelSize, stride, padding, dilation, ceilMode), &pooling);
    p.check_shape(g, with_image(in.shape(), pooling.out));
    p.check_shape(mask, mask_shape(in, pooling, w));
    p.check_shape(target, in.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values grads = values(launch, g);
      const auto bits = load_all<int64_t>(get(launch, mask));
      const int64_t row = mask.shape().back();
      Values result(z(target.numel()));
      pooling.each([&](int64_t n, int64_t i, const std::vector<int64_t>&) {
        const auto taps = taps_of(w, pooling, i);
        for (size_t tap = 0; tap < taps.size(); ++tap) {
          const size_t byte = (z(n) * taps.size() + tap) * z(row) + z(i / 8);
          if (taps[tap] < 0 || (bits[byte] >> i % 8 & 1) == 0) continue;
          result[z(n * pooling.area() + taps[tap])] += grads[z(n * pooling.places() + i)];
        }
      });
      put(launch, target, result);
    });
  });
}

SIM_SIGNATURE(MaxPool,
              const aclTensor* self,
              const aclIntArray* kernelShape,
              const aclIntArray* strides,
              const int64_t autoPad,
              const aclIntArray* pads,
              const aclIntArray* dilations,
              const int64_t ceilMode,
              aclTensor* out) {
  return plan("aclnnMaxPool", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF | kI | only(ACL_UINT16);
    const Operand in = p.input(self, "self", types);
    const Operand target = p.output(out, "out", types);
    p.check_rank(in, 3, 4);
    p.check(autoPad == 0, "autoPad is " + std::to_string(autoPad) + ", simulated is 0");
    p.check(ceilMode == 0 || ceilMode == 1,
            "ceilMode is " + std::to_string(ceilMode) + ", expected is 0 or 1");
    Pooling pooling = pooling_of(p, in, in.rank() - 2);
    const Shape zeros(pooling.image.size(), 0);
    const Shape ones(pooling.image.size(), 1);
    Windows w;
    w.kernel = per_image_dim(p, p.array(kernelShape, "kernelShape"), ones, "kernelShape");
    w.stride = per_image_dim(p, p.array(strides, "strides"), ones, "strides");
    w.dilation = per_image_dim(p, p.array(dilations, "dilations"), ones, "dilations");
    const Shape both = p.array(pads, "pads");
    const auto half = static_cast<int64_t>(pooling.image.size());
    if (both.size() == 2 * zeros.size()) {
      w.padding.assign(both.begin(), both.begin() + half);
      w.trailing.assign(both.begin() + half, both.end());
    } else {
      w.padding = w.trailing = per_image_dim(p, both, zeros, "pads");
    }
    slide(p, w, ceilMode == 1, &pooling);
    run_max_pool(p, pooling, in, target);
  });
}

SIM_SIGNATURE(AdaptiveMaxPool2d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              aclTensor* outputOut,
              aclTensor* indicesOut) {
  return adaptive_max_pool("aclnnAdaptiveMaxPool2d", 2, self, outputSize, outputOut, indicesOut,
                           workspaceSize, executor);
}
SIM_SIGNATURE(AdaptiveMaxPool3d,
              const aclTensor* self,
              const aclIntArray* outputSize,
              aclTensor* outputOut,
              aclTensor* indicesOut) {
  return adaptive_max_pool("aclnnAdaptiveMaxPool3d", 3, self, outputSize, outputOut, indicesOut,
                           workspaceSize, executor);
}
SIM_SIGNATURE(AdaptiveMaxPool2dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* indices,
              aclTensor* gradInput) {
  return max_pool_backward("aclnnAdaptiveMaxPool2dBackward", 2, gradOutput, self, indices, nullptr,
                           gradInput, workspaceSize, executor);
}
SIM_SIGNATURE(AdaptiveMaxPool3dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* indices,
              aclTensor* gradInput) {
  return max_pool_backward("aclnnAdaptiveMaxPool3dBackward", 3, gradOutput, self, indices, nullptr,
                           gradInput, workspaceSize, executor);
}
SIM_SIGNATURE(GlobalMaxPool, const aclTensor* self, aclTensor* out) {
  return plan("aclnnGlobalMaxPool", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kF64);
    const Operand target = p.output(out, "out", kF | kF64);
    p.check_rank(in, 3, 5);
    Pooling pooling = pooling_of(p, in, in.rank() - 2);
    adapt(p, Shape(pooling.image.size(), 1), &pooling);
    run_max_pool(p, pooling, in, target);
  });
}

SIM_SIGNATURE(MaxUnpool2d,
              const aclTensor* self,
              const aclTensor* indices,
              const aclIntArray* outputSize,
              aclTensor* out) {
  return max_unpool("aclnnMaxUnpool2d", 2, self, indices, outputSize, out, "out", workspaceSize,
                    executor);
}
SIM_SIGNATURE(MaxUnpool3d,
              const aclTensor* self,
              const aclTensor* indices,
              const aclIntArray* outputSize,
              const aclIntArray*,
              const aclIntArray*,
              aclTensor* outRef) {
  return max_unpool("aclnnMaxUnpool3d", 3, self, indices, outputSize, outRef, "outRef",
                    workspaceSize, executor);
}
SIM_SIGNATURE(MaxUnpool2dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* indices,
              const aclIntArray* outputSize,
              aclTensor* out) {
  return max_unpool_backward("aclnnMaxUnpool2dBackward", 2, gradOutput, self, indices, outputSize,
                             out, workspaceSize, executor);
}
SIM_SIGNATURE(MaxUnpool3dBackward,
              const aclTensor* gradOutput,
              const aclTensor* self,
              const aclTensor* indices,
              const aclIntArray* outputSize,
              const aclIntArray*,
              const aclIntArray*,
              aclTensor* out) {
  return max_unpool_backward("aclnnMaxUnpool3dBackward", 3, gradOutput, self, indices, outputSize,
                             out, workspaceSize, executor);
}
}
