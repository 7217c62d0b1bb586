#include <array>
#include <cmath>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/kernels/wide.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pooling/pixels.h"
#include "mindtorch/backends/cpu/pooling/plane.h"
#include "mindtorch/backends/cpu/pooling/windows.h"

namespace mindtorch::cpu {
namespace {

using pooling::Cover;
using pooling::Divisor;
using pooling::Plane;
using pooling::Run;
using pooling::WindowRows;
using pooling::Windows;

constexpr int64_t kPoolingGrain = int64_t{1} << 14;  // elements that are worth a thread

// What T is added up in.
template <typename T>
using WideOf = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// Calls visit(plane, row, first output) for each row of windows of all planes.
template <typename Visit>
void each_row(const Plane& plane, const Visit& visit) {
  const int64_t rows = plane.axes[0].out() * plane.axes[1].out();
  const int64_t work = std::max<int64_t>({plane.out(), plane.in(), 1}) / std::max<int64_t>(rows, 1);
  parallel_for(0, plane.count * rows, kPoolingGrain / (work + 1) + 1,
               [&](int64_t from, int64_t to) {
                 int64_t p = from / rows;
                 int64_t row = from % rows;
                 for (int64_t i = from; i < to; ++i) {
                   visit(p, row, i * plane.axes[2].out());
                   if (++row == rows) row = 0, ++p;
                 }
               });
}

// The largest element of a plane that is one window, and where it is.
template <typename T>
void max_of_plane(RowFn argmax, const T* from, int64_t n, T* value, int64_t* place) {
  argmax(from, place, n);
  *value = from[*place];
  if constexpr (!std::is_integral_v<T>) {
    if (!std::isnan(static_cast<double>(*value))) return;
    for (int64_t i = n - 1; i > *place; --i) {  // the last NaN is the one that counts
      if (std::isnan(static_cast<double>(from[i]))) *place = i;
    }
  }
}

template <typename T>
void max_pool(Plane plane, const T* input, T* values, int64_t* indices) {
  pooling::merge_whole(plane);
  const RowFn argmax = find_row(Row::kArgmax, DTypeOf<T>::value);
  const auto& [depth, height, width] = plane.axes;
  const bool is_whole = plane.out() == 1 && width.inside(0) == plane.in() && width.step == 1 &&
                        depth.inside(0) == 1 && height.inside(0) == 1;
  const pooling::PoolingTiles& tiles = pooling::pooling_tiles(DTypeOf<T>::value);
  const WindowRows windows(plane, {});
  const int64_t in = plane.in();
  each_row(plane, [&](int64_t p, int64_t row, int64_t at) {
    const T* const from = input + p * in;
    if (is_whole) return max_of_plane(argmax, from, in, values + at, indices + at);
    const pooling::PlaneData data = {from, (plane.count - p) * in};
    for (const Run& run : windows.runs(row)) {
      T* const largest = values + at + run.first;
      int64_t* const places = indices + at + run.first;
      if (run.windows.row_count == 0 || run.windows.taps <= 0) {
        std::fill_n(largest, run.windows.count, pooling::least_element<T>());
        std::fill_n(places, run.windows.count, 0);
      } else {
        tiles.max(data, run.windows, largest, places);
      }
    }
  });
}

template <typename T>
T quotient(WideOf<T> sum, int64_t divisor) {
  return divisor == 0
             ? T{}
             : static_cast<T>(static_cast<WideOf<T>>(sum / static_cast<WideOf<T>>(divisor)));
}

// The means of whole planes.
template <typename T>
void mean_of_planes(int64_t planes, int64_t n, int64_t divisor, const T* input, T* values) {
  const RowFn sum = find_row(Row::kSum, DTypeOf<T>::value);
  parallel_for(0, planes, kPoolingGrain / (n + 1) + 1, [&](int64_t from, int64_t to) {
    constexpr int64_t kChunk = 64;
    constexpr int64_t kAheadBytes = 8192;
    constexpr int64_t kLineBytes = 64;
    const auto bytes = n * static_cast<int64_t>(sizeof(T));
    WideOf<T> sums[kChunk];
    for (int64_t first = from; first < to; first += kChunk) {
      const int64_t count = std::min(kChunk, to - first);
      for (int64_t i = 0; i < count; ++i) {
        const T* const plane = input + (first + i) * n;
        // Planes are read faster than the processor asks for what follows them.
        const auto* const ahead = reinterpret_cast<const char*>(plane) + kAheadBytes;
        for (int64_t at = 0; at < std::min(bytes, kAheadBytes); at += kLineBytes) {
          __builtin_prefetch(ahead + at);
        }
        sum(plane, sums + i, n);
      }
      for (int64_t i = 0; i < count; ++i) values[first + i] = quotient<T>(sums[i], divisor);
    }
  });
}

template <typename T>
void avg_pool(Plane plane, const Divisor& divisor, const T* input, T* values) {
  pooling::merge_whole(plane);
  const DType dtype = DTypeOf<T>::value;
  if (plane.out() == 1 && plane.axes[2].inside(0) == plane.in()) {
    return mean_of_planes(plane.count, plane.in(), divisor.of(plane, 0, 0, 0), input, values);
  }
  const pooling::PoolingTiles& tiles = pooling::pooling_tiles(dtype);
  const WindowRows windows(plane, divisor);
  const int64_t in = plane.in();
  const int64_t width = plane.axes[2].in;
  each_row(plane, [&](int64_t p, int64_t row, int64_t at) {
    const T* const from = input + p * in;
    const std::span<const Run> runs = windows.runs(row);
    if (windows.is_irregular()) {
      // The rows first, together, and then the windows of their sum.
      thread_local std::vector<WideOf<T>> sums;
      sums.resize(static_cast<size_t>(width + pooling::kPadding));
      tiles.add_rows(from, runs[0].windows, width, sums.data());
      for (const Run& run : runs) {
        for (int64_t w = 0; w < run.windows.count; ++w) {
          const WideOf<T>* const first = sums.data() + run.windows.first + w * run.windows.stride;
          WideOf<T> total{0};
          for (int64_t k = 0; k < run.windows.taps; ++k) total += first[k];
          values[at + static_cast<int64_t>(run.first) + w] = quotient<T>(total, run.divisor);
        }
      }
      return;
    }
    const pooling::PlaneData data = {from, (plane.count - p) * in};
    for (const Run& run : runs) {
      T* const to = values + at + run.first;
      if (run.divisor == 0) {
        std::fill_n(to, run.windows.count, T{});
      } else {
        tiles.mean(data, run.windows, run.divisor, to);
      }
    }
  });
}

// Their gradients: each element of a plane gets the same share.
template <typename T>
void share_of_planes(int64_t planes, int64_t n, int64_t divisor, const T* grad, T* out) {
  parallel_for(0, planes, kPoolingGrain / (n + 1) + 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      std::fill_n(out + i * n, n, quotient<T>(static_cast<WideOf<T>>(grad[i]), divisor));
    }
  });
}

// Each row of the result is one thread's: the shares of the windows that cover it are added to it.
template <typename T>
void avg_pool_backward(Plane plane, const Divisor& divisor, const T* grad, T* out) {
  pooling::merge_whole(plane);
  if (plane.out() == 1 && plane.axes[2].inside(0) == plane.in()) {
    return share_of_planes(plane.count, plane.in(), divisor.of(plane, 0, 0, 0), grad, out);
  }
  const auto& [depth, height, width] = plane.axes;
  const pooling::PoolingTiles& tiles = pooling::pooling_tiles(DTypeOf<T>::value);
  const WindowRows windows(plane, divisor);
  const Cover depths(depth);
  const Cover heights(height);
  const int64_t rows = depth.in * height.in;
  parallel_for(0, plane.count * rows, kPoolingGrain / (width.in + 1) + 1,
               [&](int64_t from, int64_t to) {
                 std::vector<WideOf<T>> line(static_cast<size_t>(width.in));
                 std::vector<WideOf<T>> shares(static_cast<size_t>(width.out()));
                 for (int64_t i = from; i < to; ++i) {
                   const auto z = static_cast<size_t>(i % rows / height.in);
                   const auto y = static_cast<size_t>(i % height.in);
                   // Neighbours often lie in the same windows.
                   if (i == from || y == 0 || !heights.is_same(y, y - 1)) {
                     std::fill(line.begin(), line.end(), WideOf<T>{0});
                     for (size_t d = depths.first[z]; d < depths.last[z]; ++d) {
                       for (size_t h = heights.first[y]; h < heights.last[y]; ++h) {
                         const int64_t own =
                             static_cast<int64_t>(d) * height.out() + static_cast<int64_t>(h);
                         const T* const grads = grad + i / rows * plane.out() + own * width.out();
                         for (const Run& run : windows.runs(own)) {
                           if (run.divisor == 0) continue;
                           tiles.spread(grads + run.first, run.windows, run.divisor, shares.data(),
                                        line.data());
                         }
                       }
                     }
                   }
                   tiles.store(line.data(), width.in, out + i * width.in);
                 }
               });
}

// Halves are added up in float32, a plane at a time.
template <typename T>
void add_at(int64_t planes, int64_t in, int64_t out, const T* grad, const int64_t* indices, T* to) {
  constexpr bool kIsRounded = !std::is_same_v<T, WideOf<T>>;
  const auto add = [&](int64_t p, int64_t begin, int64_t end, WideOf<T>* sums) {
    std::fill_n(sums, end - begin, WideOf<T>{0});
    for (int64_t i = p * out; i < (p + 1) * out; ++i) {
      const int64_t at = indices[i];
      MT_CHECK(at >= 0 && at < in, RuntimeError, "Found an invalid max index: ", at,
               " (input planes have ", in, " elements)");
      if (at >= begin && at < end) sums[at - begin] += static_cast<WideOf<T>>(grad[i]);
    }
  };
  const auto fill = [&](int64_t p, int64_t begin, int64_t end) {
    T* const target = to + p * in + begin;
    if constexpr (kIsRounded) {
      std::vector<WideOf<T>> sums(static_cast<size_t>(end - begin));
      add(p, begin, end, sums.data());
      pooling::pooling_tiles(DTypeOf<T>::value).store(sums.data(), end - begin, target);
    } else {
      add(p, begin, end, target);
    }
  };
  if (planes < num_threads() && out < in) {
    // Too few planes: each thread has a part of every one, and reads all indices.
    for (int64_t p = 0; p < planes; ++p) {
      parallel_for(0, in, kPoolingGrain, [&](int64_t begin, int64_t end) { fill(p, begin, end); });
    }
    return;
  }
  parallel_for(0, planes, (kPoolingGrain + in) / (in + 1), [&](int64_t from, int64_t end) {
    for (int64_t p = from; p < end; ++p) fill(p, 0, in);
  });
}

// Calls compute(T{}) with the dtype's own type: halves too, which the tiles widen themselves. Other
// integers are computed in int64.
template <typename Compute>
void in_pooled_dtype(DType dtype, const Compute& compute) {
  switch (dtype) {
    case DType::kFloat64:
      return compute(double{});
    case DType::kFloat32:
      return compute(float{});
    case DType::kFloat16:
      return compute(Half{});
    case DType::kBFloat16:
      return compute(BFloat16{});
    default:
      return compute(int64_t{});
  }
}
Tensor as_pooled(const Tensor& self) {
  return is_floating_point(self.dtype()) ? as_contiguous(self) : as_wide(self);
}
template <typename Fill>
void fill_pooled(const Tensor& out, const Fill& fill) {
  if (!is_floating_point(out.dtype())) return fill_wide(out, fill);
  if (out.is_contiguous()) return fill(out);
  const Tensor result = Tensor::make(out.sizes(), out.dtype());
  fill(result);
  copy(result, out);
}

// How many channels lie beside each other in the pixels of all of these tensors, which have so many
// planes; 0: none, or not in all.
int64_t channels_beside(int64_t planes, std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  constexpr int64_t kLeast = 4;  // fewer do not fill a vector
  if (first.is_contiguous() || first.dim() < 4 || first.size(1) < kLeast ||
      planes != first.size(0) * first.size(1) || !is_floating_point(first.dtype())) {
    return 0;
  }
  const auto is_so = [](const Tensor* tensor) {
    return is_channels_last(tensor->sizes(), tensor->strides());
  };
  return std::all_of(tensors.begin(), tensors.end(), is_so) ? first.size(1) : 0;
}

// in_pooled_dtype() for floats.
template <typename Compute>
void in_pooled_float(DType dtype, const Compute& compute) {
  in_pooled_dtype(dtype, [&]<typename T>(T number) {
    if constexpr (!std::is_integral_v<T>) compute(number);
  });
}

void run_max_pool(const Plane& plane, const Tensor& self, Tensor& values, Tensor& indices) {
  if (values.numel() == 0) return;
  if (const int64_t channels = channels_beside(plane.count, {&self, &values, &indices})) {
    return in_pooled_float(self.dtype(), [&]<typename T>(T) {
      pooling::max_pixels(plane, channels, self.data<T>(), values.data<T>(),
                          indices.data<int64_t>());
    });
  }
  const Tensor input = as_pooled(self);
  in_pooled_dtype(self.dtype(), [&]<typename T>(T) {
    fill_pooled(values, [&](const Tensor& to) {
      fill_wide(indices, [&](const Tensor& where) {
        max_pool(plane, input.data<T>(), to.data<T>(), where.data<int64_t>());
      });
    });
  });
}
void run_avg_pool(const Plane& plane, const Divisor& divisor, const Tensor& self, Tensor& out) {
  if (out.numel() == 0) return;
  if (const int64_t channels = channels_beside(plane.count, {&self, &out})) {
    return in_pooled_float(self.dtype(), [&]<typename T>(T) {
      pooling::mean_pixels(plane, divisor, channels, self.data<T>(), out.data<T>());
    });
  }
  const Tensor input = as_pooled(self);
  in_pooled_dtype(self.dtype(), [&]<typename T>(T) {
    fill_pooled(out,
                [&](const Tensor& to) { avg_pool(plane, divisor, input.data<T>(), to.data<T>()); });
  });
}
void run_avg_pool_backward(const Plane& plane,
                           const Divisor& divisor,
                           const Tensor& grad_output,
                           Tensor& out) {
  if (out.numel() == 0) return;
  if (const int64_t channels = channels_beside(plane.count, {&out, &grad_output})) {
    return in_pooled_float(out.dtype(), [&]<typename T>(T) {
      pooling::mean_pixels_backward(plane, divisor, channels, grad_output.data<T>(), out.data<T>());
    });
  }
  const Tensor grad = as_pooled(grad_output);
  in_pooled_dtype(grad.dtype(), [&]<typename T>(T) {
    fill_pooled(out, [&](const Tensor& to) {
      avg_pool_backward(plane, divisor, grad.data<T>(), to.data<T>());
    });
  });
}
template <size_t kN>
void run_max_pool_backward(const Tensor& grad_output, const Tensor& indices, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t in = numel(IntList(out.sizes()).last(kN));
  const int64_t planes = out.numel() / in;
  if (const int64_t channels = channels_beside(planes, {&out, &grad_output, &indices})) {
    return in_pooled_float(out.dtype(), [&]<typename T>(T) {
      pooling::max_pixels_backward(planes / channels, in, grad_output.numel() / planes, channels,
                                   grad_output.data<T>(), indices.data<int64_t>(), out.data<T>());
    });
  }
  const Tensor grad = as_pooled(grad_output);
  const Tensor where = as_wide(indices);
  in_pooled_dtype(grad.dtype(), [&]<typename T>(T) {
    fill_pooled(out, [&](const Tensor& to) {
      add_at(planes, in, grad.numel() / planes, grad.data<T>(), where.data<int64_t>(),
             to.data<T>());
    });
  });
}

template <size_t kN>
void max_pool_op(ops::Launch&,
                 const Tensor& self,
                 IntList kernel,
                 IntList stride,
                 IntList padding,
                 IntList dilation,
                 bool,
                 Tensor& values,
                 Tensor& indices) {
  run_max_pool(
      pooling::max_windows(self.sizes(), values.sizes(), kN, kernel, stride, padding, dilation),
      self, values, indices);
}
template <size_t kN>
void max_pool_backward_op(ops::Launch&,
                          const Tensor& grad_output,
                          const Tensor&,
                          IntList,
                          IntList,
                          IntList,
                          IntList,
                          bool,
                          const Tensor& indices,
                          Tensor& out) {
  run_max_pool_backward<kN>(grad_output, indices, out);
}
template <size_t kN>
void avg_pool_op(ops::Launch&,
                 const Tensor& self,
                 IntList kernel,
                 IntList stride,
                 IntList padding,
                 bool,
                 bool count_include_pad,
                 std::optional<int64_t> divisor,
                 Tensor& out) {
  run_avg_pool(pooling::avg_windows(self.sizes(), out.sizes(), kN, kernel, stride, padding),
               {count_include_pad, divisor}, self, out);
}
template <size_t kN>
void avg_pool_backward_op(ops::Launch&,
                          const Tensor& grad_output,
                          const Tensor& self,
                          IntList kernel,
                          IntList stride,
                          IntList padding,
                          bool,
                          bool count_include_pad,
                          std::optional<int64_t> divisor,
                          Tensor& out) {
  run_avg_pool_backward(
      pooling::avg_windows(self.sizes(), grad_output.sizes(), kN, kernel, stride, padding),
      {count_include_pad, divisor}, grad_output, out);
}
template <size_t kN>
void adaptive_avg_pool_op(ops::Launch&, const Tensor& self, IntList, Tensor& out) {
  run_avg_pool(pooling::adaptive_windows(self.sizes(), out.sizes(), kN), {false, {}}, self, out);
}
template <size_t kN>
void adaptive_avg_pool_backward_op(ops::Launch&,
                                   const Tensor& grad_output,
                                   const Tensor& self,
                                   Tensor& out) {
  run_avg_pool_backward(pooling::adaptive_windows(self.sizes(), grad_output.sizes(), kN),
                        {false, {}}, grad_output, out);
}
template <size_t kN>
void adaptive_max_pool_op(
    ops::Launch&, const Tensor& self, IntList, Tensor& values, Tensor& indices) {
  run_max_pool(pooling::adaptive_windows(self.sizes(), values.sizes(), kN), self, values, indices);
}
template <size_t kN>
void adaptive_max_pool_backward_op(
    ops::Launch&, const Tensor& grad_output, const Tensor&, const Tensor& indices, Tensor& out) {
  run_max_pool_backward<kN>(grad_output, indices, out);
}

}  // namespace

void register_pooling(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<max_pool_op<2>>(kCpu, "max_pool2d_with_indices");
  registry.kernel<max_pool_op<3>>(kCpu, "max_pool3d_with_indices");
  registry.kernel<max_pool_backward_op<2>>(kCpu, "max_pool2d_with_indices_backward");
  registry.kernel<max_pool_backward_op<3>>(kCpu, "max_pool3d_with_indices_backward");
  registry.kernel<avg_pool_op<2>>(kCpu, "avg_pool2d");
  registry.kernel<avg_pool_op<3>>(kCpu, "avg_pool3d");
  registry.kernel<avg_pool_backward_op<2>>(kCpu, "avg_pool2d_backward");
  registry.kernel<avg_pool_backward_op<3>>(kCpu, "avg_pool3d_backward");
  registry.kernel<adaptive_avg_pool_op<2>>(kCpu, "_adaptive_avg_pool2d");
  registry.kernel<adaptive_avg_pool_op<3>>(kCpu, "_adaptive_avg_pool3d");
  registry.kernel<adaptive_avg_pool_backward_op<2>>(kCpu, "_adaptive_avg_pool2d_backward");
  registry.kernel<adaptive_avg_pool_backward_op<3>>(kCpu, "_adaptive_avg_pool3d_backward");
  registry.kernel<adaptive_max_pool_op<2>>(kCpu, "adaptive_max_pool2d");
  registry.kernel<adaptive_max_pool_op<3>>(kCpu, "adaptive_max_pool3d");
  registry.kernel<adaptive_max_pool_backward_op<2>>(kCpu, "adaptive_max_pool2d_backward");
  registry.kernel<adaptive_max_pool_backward_op<3>>(kCpu, "adaptive_max_pool3d_backward");
}

}  // namespace mindtorch::cpu
