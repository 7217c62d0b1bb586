#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/wide.h"
#include "mindtorch/backends/cpu/parallel.h"

// convolution and its gradients as correlations. In what follows "small" is the side of a
// convolution with one element for each place of the window (its output, or the input of a
// transposed one), "large" is the other.
namespace mindtorch::cpu {
namespace {

using convolution::Axis;
using convolution::Correlation;
using convolution::FilterStrides;
using convolution::Tap;

// The weight has a row for each channel of the small side, of channels of the large one.
struct Geometry {
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

  Geometry(const Tensor& weight,
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
  Correlation to_small() const {
    Correlation c;
    c.batch = batch;
    c.groups = groups;
    c.channels = large_channels;
    c.filters = small_channels;
    for (size_t i = 0; i < 3; ++i) {
      Axis& axis = c.axes[i];
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
  FilterStrides to_small_filters() const {
    const int64_t row = large_channels * window();
    return {small_channels * row, row, window(), {kernel[1] * kernel[2], kernel[2], 1}};
  }

  // Large from small. Elements of the large side whose places, padding included, are equal modulo
  // the stride are reached by the same taps: they are one correlation, without a stride.
  Axis class_of_large(size_t i, int64_t place) const {
    Axis axis;
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
    const int64_t q = std::max<int64_t>(0, (padding[i] - place + stride[i] - 1) / stride[i]);
    axis.first = q * stride[i] + place - padding[i];
    axis.out = axis.first >= large[i] ? 0 : (large[i] - 1 - axis.first) / stride[i] + 1;
    for (Tap& tap : axis.taps) tap.offset += q;
    return axis;
  }
  FilterStrides to_large_filters() const {
    const int64_t row = large_channels * window();
    return {small_channels * row, window(), row, {kernel[1] * kernel[2], kernel[2], 1}};
  }

  template <typename Run>
  void each_to_large(const Run& run) const {
    Correlation c;
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

template <typename T>
void to_small(const Geometry& g,
              const Tensor& large,
              const Tensor& weight,
              const Tensor& bias,
              const Tensor& out) {
  correlate(g.to_small(), large.data<T>(), weight.data<T>(), g.to_small_filters(),
            bias.defined() ? bias.data<T>() : nullptr, out.data<T>());
}
template <typename T>
void to_large(const Geometry& g,
              const Tensor& small,
              const Tensor& weight,
              const Tensor& bias,
              const Tensor& out) {
  g.each_to_large([&](const Correlation& c) {
    correlate(c, small.data<T>(), weight.data<T>(), g.to_large_filters(),
              bias.defined() ? bias.data<T>() : nullptr, out.data<T>());
  });
}

// The elements of a tensor, contiguous.
Tensor contiguous(const Tensor& self) {
  if (self.is_contiguous()) return self;
  const Tensor result = Tensor::make(self.sizes(), self.dtype());
  copy(self, result);
  return result;
}
uint16_t* bits(const Tensor& self) { return static_cast<uint16_t*>(self.data_ptr()); }

// `fill` writes a contiguous tensor: `out` itself where it is one.
template <typename Fill>
void fill_contiguous(const Tensor& out, const Fill& fill) {
  if (out.is_contiguous()) return fill(out);
  const Tensor result = Tensor::make(out.sizes(), out.dtype());
  fill(result);
  copy(result, out);
}

// to_small or to_large in bfloat16.
void convolve_bfloat16(const Geometry& g,
                       bool is_to_large,
                       const Tensor& from,
                       const Tensor& weight,
                       const Tensor& bias,
                       const Tensor& out) {
  const Tensor input = contiguous(from);
  const Tensor filters = contiguous(weight);
  const Tensor shift = bias.defined() ? contiguous(bias) : bias;
  const uint16_t* const added = shift.defined() ? bits(shift) : nullptr;
  fill_contiguous(out, [&](const Tensor& to) {
    if (is_to_large) {
      g.each_to_large([&](const Correlation& c) {
        correlate_bfloat16(c, bits(input), bits(filters), g.to_large_filters(), added, bits(to));
      });
    } else {
      correlate_bfloat16(g.to_small(), bits(input), bits(filters), g.to_small_filters(), added,
                         bits(to));
    }
  });
}

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

// to_small or to_large with few terms.
void convolve_planes(const Geometry& g,
                     bool is_to_large,
                     const Tensor& from,
                     const Tensor& weight,
                     const Tensor& bias,
                     const Tensor& out) {
  const Tensor input = contiguous(from);
  const Tensor filters = as_wide(weight);
  const Tensor shift = bias.defined() ? as_wide(bias) : bias;
  fill_contiguous(out, [&](const Tensor& to) {
    in_float_dtype(out.dtype(), [&]<typename T, typename W>(T, W) {
      const auto run = [&](const Correlation& c) {
        correlate_planes(c, input.data<T>(), filters.data<W>(),
                         is_to_large ? g.to_large_filters() : g.to_small_filters(),
                         shift.defined() ? shift.data<W>() : nullptr, to.data<T>());
      };
      is_to_large ? g.each_to_large(run) : run(g.to_small());
    });
  });
}

void convolve(ops::Launch&,
              const Tensor& input,
              const Tensor& weight,
              const Tensor& bias,
              IntList stride,
              IntList padding,
              IntList dilation,
              bool transposed,
              IntList,
              int64_t groups,
              Tensor& out) {
  if (out.numel() == 0) return;
  const Geometry g(weight, transposed ? input.sizes() : out.sizes(),
                   transposed ? out.sizes() : input.sizes(), stride, padding, dilation, groups);
  if (is_floating_point(out.dtype()) &&
      (transposed ? g.has_few_terms_to_large() : g.has_few_terms_to_small())) {
    return convolve_planes(g, transposed, input, weight, bias, out);
  }
  if (transposed ? g.is_bfloat16_to_large(out.dtype()) : g.is_bfloat16_to_small(out.dtype())) {
    return convolve_bfloat16(g, transposed, input, weight, bias, out);
  }
  const Tensor from = as_wide(input);
  const Tensor filters = as_wide(weight);
  const Tensor shift = bias.defined() ? as_wide(bias) : bias;
  in_wide_dtype(input.dtype(), [&]<typename T>(T) {
    fill_wide(out, [&](const Tensor& to) {
      (transposed ? to_large<T> : to_small<T>)(g, from, filters, shift, to);
    });
  });
}

// Sums over batch and places, of a contiguous gradient. Planes are summed in pieces of one size for
// any number of threads.
template <typename W>
void sum_channels(const Tensor& grad, const Tensor& out) {
  constexpr int64_t kLength = 1 << 14;
  const int64_t channels = out.numel();
  const int64_t batch = grad.size(0);
  const int64_t size = batch == 0 ? 0 : grad.numel() / (batch * channels);
  const int64_t pieces = (size + kLength - 1) / kLength;
  std::vector<W> sums(static_cast<size_t>(batch * channels * pieces));
  const RowFn sum = find_row(Row::kSum, grad.dtype());
  const auto* const first = static_cast<const std::byte*>(grad.data_ptr());
  const auto element = size_bytes(grad.dtype());
  const int64_t grain = 2 * kLength / (std::min(size, kLength) + 1);
  parallel_for(0, batch * channels * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i % pieces * kLength;
      sum(first + (i / pieces * size + at) * element, sums.data() + i,
          std::min(kLength, size - at));
    }
  });
  W* const totals = out.data<W>();
  std::fill_n(totals, channels, W{0});
  for (int64_t i = 0; i < batch * channels * pieces; ++i) {
    totals[i / pieces % channels] += sums[static_cast<size_t>(i)];
  }
}

void convolve_backward(ops::Launch&,
                       const Tensor& grad_output,
                       const Tensor& input,
                       const Tensor& weight,
                       IntList stride,
                       IntList padding,
                       IntList dilation,
                       bool transposed,
                       IntList,
                       int64_t groups,
                       bool needs_input,
                       bool needs_weight,
                       bool needs_bias,
                       Tensor& grad_input,
                       Tensor& grad_weight,
                       Tensor& grad_bias) {
  const Geometry g(weight, transposed ? input.sizes() : grad_output.sizes(),
                   transposed ? grad_output.sizes() : input.sizes(), stride, padding, dilation,
                   groups);
  const DType dtype = input.dtype();
  const bool is_float = is_floating_point(dtype);
  if (is_float && needs_input && grad_input.numel() != 0 &&
      (transposed ? g.has_few_terms_to_small() : g.has_few_terms_to_large())) {
    convolve_planes(g, !transposed, grad_output, weight, {}, grad_input);
    needs_input = false;
  }
  if (is_float && needs_weight && grad_weight.numel() != 0 && g.has_few_terms_to_small()) {
    const Tensor small = contiguous(transposed ? input : grad_output);
    const Tensor large = contiguous(transposed ? grad_output : input);
    fill_wide(grad_weight, [&](const Tensor& to) {
      in_float_dtype(dtype, [&]<typename T, typename W>(T, W) {
        correlate_planes_gradient(g.to_small(), large.data<T>(), small.data<T>(), to.data<W>());
      });
    });
    needs_weight = false;
  }
  if (needs_input && grad_input.numel() != 0 &&
      (transposed ? g.is_bfloat16_to_small(dtype) : g.is_bfloat16_to_large(dtype))) {
    convolve_bfloat16(g, !transposed, grad_output, weight, {}, grad_input);
    needs_input = false;
  }
  if (needs_weight && grad_weight.numel() != 0 && g.is_bfloat16_to_small(dtype)) {
    const Tensor small = contiguous(transposed ? input : grad_output);
    const Tensor large = contiguous(transposed ? grad_output : input);
    fill_contiguous(grad_weight, [&](const Tensor& to) {
      correlate_gradient_bfloat16(g.to_small(), bits(large), bits(small), bits(to));
    });
    needs_weight = false;
  }
  if (needs_bias && grad_bias.numel() != 0) {
    const Tensor grad = is_float ? contiguous(grad_output) : as_wide(grad_output);
    in_wide_dtype(dtype, [&]<typename W>(W) {
      fill_wide(grad_bias, [&](const Tensor& to) { sum_channels<W>(grad, to); });
    });
  }
  if (!needs_input && !needs_weight) return;
  const Tensor grad = as_wide(grad_output);
  in_wide_dtype(dtype, [&]<typename T>(T) {
    if (needs_input && grad_input.numel() != 0) {
      const Tensor filters = as_wide(weight);
      fill_wide(grad_input, [&](const Tensor& to) {
        (transposed ? to_small<T> : to_large<T>)(g, grad, filters, {}, to);
      });
    }
    if (needs_weight && grad_weight.numel() != 0) {
      const Tensor from = as_wide(input);
      const Tensor& small = transposed ? from : grad;
      const Tensor& large = transposed ? grad : from;
      fill_wide(grad_weight, [&](const Tensor& to) {
        correlate_gradient(g.to_small(), large.data<T>(), small.data<T>(), to.data<T>());
      });
    }
  });
}

// (time, batch, channels) and (time, in, out) seen as a convolution's operands.
void convolve_time(ops::Launch&,
                   const Tensor& self,
                   const Tensor& weight,
                   const Tensor& bias,
                   int64_t pad,
                   Tensor& out) {
  if (out.numel() == 0) return;
  const auto turned = [](const Tensor& tensor, std::array<size_t, 3> order) {
    Shape sizes, strides;
    for (const size_t dim : order) {
      sizes.push_back(tensor.sizes()[dim]);
      strides.push_back(tensor.strides()[dim]);
    }
    return tensor.alias(std::move(sizes), std::move(strides), tensor.storage_offset());
  };
  ops::Launch launch{self.device()};
  Tensor result = turned(out, {1, 2, 0});
  convolve(launch, turned(self, {1, 2, 0}), turned(weight, {2, 1, 0}), bias, IntList{1},
           IntList(&pad, 1), IntList{1}, false, IntList{0}, 1, result);
}

}  // namespace

void register_convolution(ops::Registry& registry) {
  registry.kernel<convolve>(DeviceType::kCpu, "convolution");
  registry.kernel<convolve_backward>(DeviceType::kCpu, "convolution_backward");
  registry.kernel<convolve_time>(DeviceType::kCpu, "conv_tbc");
}

}  // namespace mindtorch::cpu
