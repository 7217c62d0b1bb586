#include "mindtorch/backends/cpu/kernels/convolution.h"
#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/wide.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

using convolution::Correlation;
using convolution::Order;

template <typename T>
void to_small(const ConvolutionGeometry& g,
              const Tensor& large,
              const Tensor& weight,
              const Tensor& bias,
              const Tensor& out) {
  correlate(g.to_small(), large.data<T>(), weight.data<T>(), g.to_small_filters(),
            bias.defined() ? bias.data<T>() : nullptr, out.data<T>());
}
template <typename T>
void to_large(const ConvolutionGeometry& g,
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
void convolve_bfloat16(const ConvolutionGeometry& g,
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

// to_small or to_large with few terms.
void convolve_planes(const ConvolutionGeometry& g,
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
  const ConvolutionGeometry g(weight, transposed ? input.sizes() : out.sizes(),
                              transposed ? out.sizes() : input.sizes(), stride, padding, dilation,
                              groups);
  if (convolve_pixels(g, transposed, input, weight, bias, out)) return;
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
  const int64_t pieces = ceil_div(size, kLength);
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
  const ConvolutionGeometry g(weight, transposed ? input.sizes() : grad_output.sizes(),
                              transposed ? grad_output.sizes() : input.sizes(), stride, padding,
                              dilation, groups);
  const DType dtype = input.dtype();
  const bool is_float = is_floating_point(dtype);
  if (needs_input && grad_input.numel() != 0 &&
      convolve_pixels(g, !transposed, grad_output, weight, {}, grad_input)) {
    needs_input = false;
  }
  if (needs_weight && grad_weight.numel() != 0 &&
      filter_gradient_of_pixels(g, transposed ? grad_output : input,
                                transposed ? input : grad_output, grad_weight)) {
    needs_weight = false;
  }
  if (needs_bias && grad_bias.numel() != 0 && bias_gradient_of_pixels(grad_output, grad_bias)) {
    needs_bias = false;
  }
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
      correlate_gradient_bfloat16(g.to_small(), Order::kChannelsFirst, bits(large), bits(small),
                                  bits(to));
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
        correlate_gradient(g.to_small(), Order::kChannelsFirst, large.data<T>(), small.data<T>(),
                           to.data<T>());
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
