#include "mindtorch/backends/cpu/convolution/lines.h"
#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/kernels/convolution.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/kernels/wide.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

using convolution::Correlation;
using convolution::Order;
using Geometry = ConvolutionGeometry;

bool has_pixels(const Tensor& tensor) {
  return is_floating_point(tensor.dtype()) && is_channels_last(tensor.sizes(), tensor.strides());
}
// One of the two has no other reading.
bool have_pixels(const Tensor& a, const Tensor& b) {
  return has_pixels(a) && has_pixels(b) && !(a.is_contiguous() && b.is_contiguous());
}

// Windows of one element, and none outside (output_padding): a product of matrices, with a row for
// each pixel.
bool is_product(const Geometry& g) {
  const auto is = [](const std::array<int64_t, 3>& list, int64_t number) {
    return std::all_of(list.begin(), list.end(), [&](int64_t each) { return each == number; });
  };
  return g.groups == 1 && g.window() == 1 && g.small == g.large && is(g.stride, 1) &&
         is(g.padding, 0);
}

// One filter for each channel.
bool is_depthwise(const Geometry& g) {
  constexpr int64_t kLeast = 4;  // channels: fewer do not fill a vector
  return g.groups >= kLeast && g.small_channels == 1 && g.large_channels == 1;
}

// The weight of windows of one element: a row for each channel of the small side.
ConstMatrix matrix_of(const Tensor& weight) {
  return {weight.data_ptr(), weight.strides()[0], weight.strides()[1]};
}

void multiply_pixels(const Tensor& from,
                     ConstMatrix weight,
                     const Tensor& bias,
                     const Tensor& out) {
  const int64_t k = from.size(1);
  const int64_t n = out.size(1);
  const int64_t pixels = out.numel() / n;
  const ConstMatrix x = {from.data_ptr(), k, 1};
  const Matrix to = {out.mutable_data_ptr(), n, 1};
  if (!bias.defined()) return gemm(out.dtype(), pixels, n, k, x, weight, to);
  const ConstMatrix added = {bias.data_ptr(), 0, bias.strides()[0]};
  if (gemm_with_addend(out.dtype(), pixels, n, k, x, weight, added, to)) return;
  Shape strides(out.sizes().size(), 0);
  strides[1] = bias.strides()[0];
  copy(bias.alias(out.sizes(), std::move(strides), bias.storage_offset()), out);
  gemm(out.dtype(), pixels, n, k, x, weight, to, kOneFactor, kOneFactor);
}

// By lines of outputs, where the filters of a group fill most of their vectors. `filters` is
// contiguous, `shift` too and in the dtype of sums.
template <typename T>
bool convolve_lines_of(const Geometry& g,
                       bool is_to_large,
                       const Tensor& from,
                       const Tensor& filters,
                       const Tensor& shift,
                       const Tensor& out) {
  const auto run = [&](const Correlation& c) {
    const auto* const bias =
        shift.defined() ? static_cast<const convolution::SumOf<T>*>(shift.data_ptr()) : nullptr;
    correlate_lines(c, Order::kChannelsLast, static_cast<const T*>(from.data_ptr()),
                    static_cast<const T*>(filters.data_ptr()),
                    is_to_large ? g.to_large_filters() : g.to_small_filters(), bias,
                    static_cast<T*>(out.mutable_data_ptr()));
  };
  is_to_large ? g.each_to_large(run) : run(g.to_small());
  return true;
}

template <typename T>
bool has_full_vectors(int64_t filters) {
  constexpr double kLeastFilled = 0.6;
  Correlation c;
  c.filters = filters;
  return convolution::filled_by_filters<T>(c) >= kLeastFilled;
}

// Channels of bfloat16 are read by two.
bool has_pairs(const Tensor& tensor, int64_t channels) {
  return channels % 2 == 0 && reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 4 == 0;
}

bool convolve_lines(const Geometry& g,
                    bool is_to_large,
                    const Tensor& from,
                    const Tensor& weight,
                    const Tensor& bias,
                    const Tensor& out) {
  const int64_t filters = is_to_large ? g.large_channels : g.small_channels;
  const int64_t channels = is_to_large ? g.small_channels : g.large_channels;
  const Tensor shift = bias.defined() ? as_wide(bias) : bias;
  switch (out.dtype()) {
    case DType::kFloat32:
      return has_full_vectors<float>(filters) &&
             convolve_lines_of<float>(g, is_to_large, from, as_wide(weight), shift, out);
    case DType::kFloat64:
      return has_full_vectors<double>(filters) &&
             convolve_lines_of<double>(g, is_to_large, from, as_wide(weight), shift, out);
    case DType::kBFloat16:
      return convolution::has_bfloat16_lines() && has_full_vectors<uint16_t>(filters) &&
             has_pairs(from, channels) &&
             convolve_lines_of<uint16_t>(g, is_to_large, from, as_contiguous(weight), shift, out);
    default:
      return false;
  }
}

// Written in the order of a contiguous tensor, which `grad_weight` need not be.
template <typename T>
void filter_gradient_of(const Geometry& g,
                        const Tensor& large,
                        const Tensor& small,
                        const Tensor& grad_weight) {
  const bool in_place = grad_weight.is_contiguous();
  const Tensor to = in_place ? grad_weight : Tensor::make(grad_weight.sizes(), small.dtype());
  const auto* const input = static_cast<const T*>(large.data_ptr());
  const auto* const grad = static_cast<const T*>(small.data_ptr());
  auto* const filters = static_cast<T*>(to.mutable_data_ptr());
  if constexpr (std::is_same_v<T, uint16_t>) {
    correlate_gradient_bfloat16(g.to_small(), Order::kChannelsLast, input, grad, filters);
  } else {
    correlate_gradient(g.to_small(), Order::kChannelsLast, input, grad, filters);
  }
  if (!in_place) copy(to, grad_weight);
}

// Of windows of several elements and channels.
bool filter_gradient_of_windows(const Geometry& g,
                                const Tensor& large,
                                const Tensor& small,
                                const Tensor& grad_weight) {
  if (g.has_few_terms_to_small()) return false;
  if (small.dtype() == DType::kFloat32) {
    filter_gradient_of<float>(g, large, small, grad_weight);
  } else if (small.dtype() == DType::kFloat64) {
    filter_gradient_of<double>(g, large, small, grad_weight);
  } else if (g.is_bfloat16_to_small(small.dtype())) {
    filter_gradient_of<uint16_t>(g, large, small, grad_weight);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool convolve_pixels(const Geometry& g,
                     bool is_to_large,
                     const Tensor& from,
                     const Tensor& weight,
                     const Tensor& bias,
                     const Tensor& out) {
  if (!have_pixels(from, out)) return false;
  if (is_product(g)) {
    const ConstMatrix filters = matrix_of(weight);
    multiply_pixels(from, is_to_large ? filters : transposed(filters), bias, out);
    return true;
  }
  if (!is_depthwise(g)) return convolve_lines(g, is_to_large, from, weight, bias, out);
  const Tensor filters = as_wide(weight);
  const Tensor shift = bias.defined() ? as_wide(bias) : bias;
  in_float_dtype(out.dtype(), [&]<typename T, typename W>(T, W) {
    const auto run = [&](const Correlation& c) {
      correlate_pixels(c, from.data<T>(), filters.data<W>(),
                       is_to_large ? g.to_large_filters() : g.to_small_filters(),
                       shift.defined() ? shift.data<W>() : nullptr, out.data<T>());
    };
    is_to_large ? g.each_to_large(run) : run(g.to_small());
  });
  return true;
}

bool filter_gradient_of_pixels(const Geometry& g,
                               const Tensor& large,
                               const Tensor& small,
                               const Tensor& grad_weight) {
  if (!have_pixels(large, small)) return false;
  if (is_product(g)) {
    const int64_t m = small.size(1);
    const int64_t n = large.size(1);
    gemm(small.dtype(), m, n, small.numel() / m, {small.data_ptr(), 1, m}, {large.data_ptr(), n, 1},
         {grad_weight.mutable_data_ptr(), grad_weight.strides()[0], grad_weight.strides()[1]});
    return true;
  }
  if (!is_depthwise(g)) return filter_gradient_of_windows(g, large, small, grad_weight);
  fill_wide(grad_weight, [&](const Tensor& to) {
    in_float_dtype(large.dtype(), [&]<typename T, typename W>(T, W) {
      correlate_pixels_gradient(g.to_small(), large.data<T>(), small.data<T>(), to.data<W>());
    });
  });
  return true;
}

bool bias_gradient_of_pixels(const Tensor& grad, const Tensor& grad_bias) {
  if (grad.is_contiguous() || !has_pixels(grad)) return false;
  constexpr int64_t kPiece = 1 << 14;  // elements: as many for any number of threads
  const int64_t channels = grad.size(1);
  const int64_t pixels = grad.numel() / channels;
  const int64_t length = std::max<int64_t>(kPiece / channels, 1);
  const int64_t pieces = ceil_div(pixels, length);
  const AccumulateFn add = find_accumulate(Row::kSum, grad.dtype());
  const int64_t row = channels * size_bytes(grad.dtype());
  const auto* const first = static_cast<const std::byte*>(grad.data_ptr());
  fill_wide(grad_bias, [&](const Tensor& to) {
    in_wide_dtype(grad.dtype(), [&]<typename W>(W) {
      std::vector<W> sums(static_cast<size_t>(pieces * channels));
      parallel_for(0, pieces, 2, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          add.rows(first + i * length * row, row, std::min(length, pixels - i * length),
                   sums.data() + i * channels, channels);
        }
      });
      W* const totals = to.data<W>();
      std::fill_n(totals, channels, W{0});
      for (size_t i = 0; i < sums.size(); ++i) {
        totals[static_cast<int64_t>(i) % channels] += sums[i];
      }
    });
  });
  return true;
}

}  // namespace mindtorch::cpu
