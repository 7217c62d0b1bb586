#pragma once

#include <algorithm>
#include <array>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/tensor/tensor.h"

// convolution and its gradients as correlations. In what follows "small" is the side of a
// convolution with one element for each place of the window (its output, or the input of a
// transposed one), "large" is the other.
namespace mindtorch::cpu {

// The weight has a row for each channel of the small side, of channels of the large one.
struct ConvolutionGeometry {
  int64_t batch;
  int64_t groups;
  int64_t small_channels;  // of a group
  int64_t large_channels;
  std::array<int64_t, 3> small{1, 1, 1};
  std::array<int64_t, 3> large{1, 1, 1};
  std::array<int64_t, 3> kernel{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1};
  std::array<int64_t, 3> padding{0, 0, 0};
  std::array<int64_t, 3> dilation{1, 1, 1};

  ConvolutionGeometry(const Tensor& weight,
                      IntList small_sizes,
                      IntList large_sizes,
                      IntList strides,
                      IntList paddings,
                      IntList dilations,
                      int64_t group_count)
      : batch(small_sizes[0]),
        groups(group_count),
        small_channels(weight.size(0) / group_count),
        large_channels(weight.size(1)) {
    const size_t n = weight.sizes().size() - 2;
    const auto entry = [](IntList list, size_t i) { return list[list.size() == 1 ? 0 : i]; };
    for (size_t i = 0; i < n; ++i) {
      const size_t at = 3 - n + i;
      small[at] = small_sizes[i + 2];
      large[at] = large_sizes[i + 2];
      kernel[at] = weight.sizes()[i + 2];
      stride[at] = entry(strides, i);
      padding[at] = entry(paddings, i);
      dilation[at] = entry(dilations, i);
    }
  }

  int64_t window() const { return kernel[0] * kernel[1] * kernel[2]; }

  // Whether correlations are computed plane by plane: from large to small, or back.
  bool has_few_terms_to_small() const {
    return window() > 1 && convolution::has_few_terms(small_channels, large_channels * window());
  }
  bool has_few_terms_to_large() const {
    return window() > 1 && convolution::has_few_terms(large_channels, small_channels * window());
  }

  // Whether correlations are computed in bfloat16 itself: from large to small, or back.
  bool is_bfloat16_to_small(DType dtype) const {
    return dtype == DType::kBFloat16 &&
           convolution::multiplies_bfloat16(small_channels, large_channels * window());
  }
  bool is_bfloat16_to_large(DType dtype) const {
    return dtype == DType::kBFloat16 &&
           convolution::multiplies_bfloat16(large_channels, small_channels * window());
  }

  // Small from large: the window moves over the large side.
  convolution::Correlation to_small() const {
    convolution::Correlation c;
    c.batch = batch;
    c.groups = groups;
    c.channels = large_channels;
    c.filters = small_channels;
    for (size_t i = 0; i < 3; ++i) {
      convolution::Axis& axis = c.axes[i];
      axis.in = large[i];
      axis.out = axis.size = small[i];
      axis.stride = stride[i];
      axis.taps.clear();
      for (int64_t k = 0; k < kernel[i]; ++k) {
        axis.taps.push_back({k * dilation[i] - padding[i], k});
      }
    }
    return c;
  }
  convolution::FilterStrides to_small_filters() const {
    const int64_t row = large_channels * window();
    return {small_channels * row, row, window(), {kernel[1] * kernel[2], kernel[2], 1}};
  }

  // Large from small. Elements of the large side whose places, padding included, are equal modulo
  // the stride are reached by the same taps: they are one correlation, without a stride.
  convolution::Axis class_of_large(size_t i, int64_t place) const {
    convolution::Axis axis;
    axis.in = small[i];
    axis.size = large[i];
    axis.step = stride[i];
    axis.taps.clear();
    for (int64_t k = 0; k < kernel[i]; ++k) {
      const int64_t from = k * dilation[i];
      if (from % stride[i] != place) continue;
      axis.taps.push_back({-(from / stride[i]), k});
    }
    // Element q * stride + place - padding of the large side, from the first q that is inside.
    const int64_t q = std::max<int64_t>(0, ceil_div(padding[i] - place, stride[i]));
    axis.first = q * stride[i] + place - padding[i];
    axis.out = axis.first >= large[i] ? 0 : (large[i] - 1 - axis.first) / stride[i] + 1;
    for (convolution::Tap& tap : axis.taps) tap.offset += q;
    return axis;
  }
  convolution::FilterStrides to_large_filters() const {
    const int64_t row = large_channels * window();
    return {small_channels * row, window(), row, {kernel[1] * kernel[2], kernel[2], 1}};
  }

  template <typename Run>
  void each_to_large(const Run& run) const {
    convolution::Correlation c;
    c.batch = batch;
    c.groups = groups;
    c.channels = small_channels;
    c.filters = large_channels;
    for (int64_t d = 0; d < stride[0]; ++d) {
      c.axes[0] = class_of_large(0, d);
      for (int64_t h = 0; h < stride[1]; ++h) {
        c.axes[1] = class_of_large(1, h);
        for (int64_t w = 0; w < stride[2]; ++w) {
          c.axes[2] = class_of_large(2, w);
          run(c);
        }
      }
    }
  }
};

// Calls compute(T{}, W{}) with a dtype's own type and the one it is computed in.
template <typename Compute>
void in_float_dtype(DType dtype, const Compute& compute) {
  switch (dtype) {
    case DType::kFloat64:
      return compute(double{}, double{});
    case DType::kFloat16:
      return compute(Half{}, float{});
    case DType::kBFloat16:
      return compute(BFloat16{}, float{});
    default:
      return compute(float{}, float{});
  }
}

// Images whose channels lie beside each other, as they lie. False, and nothing is done, where these
// do not, or where that is no faster than to move them.
//
// To the small or to the large side:
bool convolve_pixels(const ConvolutionGeometry& geometry,
                     bool is_to_large,
                     const Tensor& from,
                     const Tensor& weight,
                     const Tensor& bias,
                     const Tensor& out);
bool filter_gradient_of_pixels(const ConvolutionGeometry& geometry,
                               const Tensor& large,
                               const Tensor& small,
                               const Tensor& grad_weight);
bool bias_gradient_of_pixels(const Tensor& grad, const Tensor& grad_bias);

}  // namespace mindtorch::cpu
