#include <array>
#include <limits>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/wide.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kGrain = int64_t{1} << 14;  // elements that are worth a thread

// The windows along one dimension: [begin, end) in steps, all inside the input.
struct Windows {
  int64_t in = 1;
  int64_t step = 1;
  std::vector<int64_t> begin = {0};
  std::vector<int64_t> end = {1};
  std::vector<int64_t> size = {1};  // padding included

  int64_t out() const { return static_cast<int64_t>(begin.size()); }
  int64_t inside(size_t i) const { return std::max<int64_t>(end[i] - begin[i], 0); }
};

struct Plane {
  std::array<Windows, 3> axes;  // depth, height, width
  int64_t count;                // of planes

  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out() * axes[1].out() * axes[2].out(); }
};

template <typename Fill>
Plane make_plane(IntList in, IntList out, size_t n, const Fill& fill) {
  Plane plane;
  plane.count = numel(in.first(in.size() - n));
  for (size_t i = 0; i < n; ++i) {
    Windows& w = plane.axes[3 - n + i];
    w = {in[in.size() - n + i], 1, {}, {}, {}};
    const int64_t count = out[out.size() - n + i];
    for (int64_t o = 0; o < count; ++o) fill(w, i, o, count);
  }
  return plane;
}

int64_t entry(IntList list, size_t i) { return list[list.size() == 1 ? 0 : i]; }

Plane max_windows(IntList in,
                  IntList out,
                  size_t n,
                  IntList kernel,
                  IntList stride,
                  IntList padding,
                  IntList dilation) {
  return make_plane(in, out, n, [&](Windows& w, size_t i, int64_t o, int64_t) {
    w.step = entry(dilation, i);
    const int64_t first = o * entry(stride.empty() ? kernel : stride, i) - entry(padding, i);
    const int64_t end = std::min(first + (entry(kernel, i) - 1) * w.step + 1, w.in);
    w.begin.push_back(first >= 0 ? first : first + (-first + w.step - 1) / w.step * w.step);
    w.end.push_back(end);
    w.size.push_back(0);
  });
}

Plane avg_windows(
    IntList in, IntList out, size_t n, IntList kernel, IntList stride, IntList padding) {
  return make_plane(in, out, n, [&](Windows& w, size_t i, int64_t o, int64_t) {
    const int64_t pad = entry(padding, i);
    const int64_t first = o * entry(stride.empty() ? kernel : stride, i) - pad;
    const int64_t end = std::min(first + entry(kernel, i), w.in + pad);
    w.begin.push_back(std::max<int64_t>(first, 0));
    w.end.push_back(std::min(end, w.in));
    w.size.push_back(end - first);
  });
}

Plane adaptive_windows(IntList in, IntList out, size_t n) {
  return make_plane(in, out, n, [](Windows& w, size_t, int64_t o, int64_t count) {
    w.begin.push_back(o * w.in / count);
    w.end.push_back(((o + 1) * w.in + count - 1) / count);
    w.size.push_back(w.end.back() - w.begin.back());
  });
}

// Calls visit(plane, first output, d, h) for each row of windows.
template <typename Visit>
void each_row(const Plane& plane, const Visit& visit) {
  const int64_t out = plane.out();
  const int64_t work = std::max<int64_t>({out, plane.in(), 1});
  parallel_for(0, plane.count, (kGrain + work - 1) / work, [&](int64_t from, int64_t to) {
    for (int64_t p = from; p < to; ++p) {
      int64_t at = p * out;
      for (size_t d = 0; d < plane.axes[0].begin.size(); ++d) {
        for (size_t h = 0; h < plane.axes[1].begin.size(); ++h, at += plane.axes[2].out()) {
          visit(p, at, d, h);
        }
      }
    }
  });
}

template <typename T>
void max_pool(const Plane& plane, const T* input, T* values, int64_t* indices) {
  const auto& [depth, height, width] = plane.axes;
  const T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                        : std::numeric_limits<T>::lowest();
  each_row(plane, [&](int64_t p, int64_t at, size_t d, size_t h) {
    const T* const from = input + p * plane.in();
    const int64_t first = (depth.begin[d] * height.in + height.begin[h]) * width.in;
    for (size_t w = 0; w < width.begin.size(); ++w, ++at) {
      T best = lowest;
      int64_t where = first + width.begin[w];
      for (int64_t z = depth.begin[d]; z < depth.end[d]; z += depth.step) {
        for (int64_t y = height.begin[h]; y < height.end[h]; y += height.step) {
          const int64_t row = (z * height.in + y) * width.in;
          for (int64_t x = width.begin[w]; x < width.end[w]; x += width.step) {
            const T value = from[row + x];
            const bool better = (value > best) | (value != value);  // NaN wins
            best = better ? value : best;
            where = better ? row + x : where;
          }
        }
      }
      values[at] = best;
      indices[at] = where;
    }
  });
}

// What the sums of a row of windows are divided by.
class Divisor {
 public:
  Divisor(bool include_pad, std::optional<int64_t> fixed)
      : include_pad_(include_pad), fixed_(fixed) {}

  void start_row(const Plane& plane, size_t d, size_t h) {
    const auto& [depth, height, width] = plane.axes;
    inside_ = depth.inside(d) * height.inside(h);
    all_ = depth.size[d] * height.size[h];
  }
  // 0: the window is empty.
  int64_t of(const Windows& width, size_t w) const {
    const int64_t inside = inside_ * width.inside(w);
    if (inside == 0 || fixed_) return inside == 0 ? 0 : *fixed_;
    return include_pad_ ? all_ * width.size[w] : inside;
  }

 private:
  bool include_pad_;
  std::optional<int64_t> fixed_;
  int64_t inside_ = 0;
  int64_t all_ = 0;
};

// Adds up the rows of a window, or all of it at once where it is the whole plane.
template <typename T>
T sum_window(const Plane& plane, const T* from, size_t d, size_t h, size_t w) {
  const auto& [depth, height, width] = plane.axes;
  T sum{0};
  if (plane.out() == 1 && depth.inside(0) * height.inside(0) * width.inside(0) == plane.in()) {
    sum_row(DTypeOf<T>::value, from, &sum, plane.in());
    return sum;
  }
  for (int64_t z = depth.begin[d]; z < depth.end[d]; ++z) {
    for (int64_t y = height.begin[h]; y < height.end[h]; ++y) {
      const T* const row = from + (z * height.in + y) * width.in;
      for (int64_t x = width.begin[w]; x < width.end[w]; ++x) sum += row[x];
    }
  }
  return sum;
}

template <typename T>
void avg_pool(const Plane& plane, const Divisor& divisor, const T* input, T* values) {
  const Windows& width = plane.axes[2];
  each_row(plane, [&](int64_t p, int64_t at, size_t d, size_t h) {
    Divisor of_row = divisor;
    of_row.start_row(plane, d, h);
    for (size_t w = 0; w < width.begin.size(); ++w, ++at) {
      const int64_t count = of_row.of(width, w);
      const T sum = sum_window(plane, input + p * plane.in(), d, h, w);
      values[at] = count == 0 ? T{0} : static_cast<T>(sum / static_cast<T>(count));
    }
  });
}

// Windows may overlap: the planes are divided among threads, each is one thread's.
template <typename T>
void avg_pool_backward(const Plane& plane, const Divisor& divisor, const T* grad, T* out) {
  const auto& [depth, height, width] = plane.axes;
  each_row(plane, [&](int64_t p, int64_t at, size_t d, size_t h) {
    T* const to = out + p * plane.in();
    if (d == 0 && h == 0) std::fill_n(to, plane.in(), T{0});
    Divisor of_row = divisor;
    of_row.start_row(plane, d, h);
    for (size_t w = 0; w < width.begin.size(); ++w, ++at) {
      const int64_t count = of_row.of(width, w);
      if (count == 0) continue;
      const T share = static_cast<T>(grad[at] / static_cast<T>(count));
      for (int64_t z = depth.begin[d]; z < depth.end[d]; ++z) {
        for (int64_t y = height.begin[h]; y < height.end[h]; ++y) {
          T* const row = to + (z * height.in + y) * width.in;
          for (int64_t x = width.begin[w]; x < width.end[w]; ++x) row[x] += share;
        }
      }
    }
  });
}

template <typename T>
void add_at(int64_t planes, int64_t in, int64_t out, const T* grad, const int64_t* indices, T* to) {
  parallel_for(0, planes, (kGrain + in) / (in + 1), [&](int64_t from, int64_t end) {
    std::fill(to + from * in, to + end * in, T{0});
    for (int64_t p = from; p < end; ++p) {
      for (int64_t i = p * out; i < (p + 1) * out; ++i) {
        const int64_t at = indices[i];
        MT_CHECK(at >= 0 && at < in, RuntimeError, "Found an invalid max index: ", at,
                 " (input planes have ", in, " elements)");
        to[p * in + at] += grad[i];
      }
    }
  });
}

void run_max_pool(const Plane& plane, const Tensor& self, Tensor& values, Tensor& indices) {
  if (values.numel() == 0) return;
  const Tensor input = as_wide(self);
  in_wide_dtype(self.dtype(), [&]<typename T>(T) {
    fill_wide(values, [&](const Tensor& to) {
      fill_wide(indices, [&](const Tensor& where) {
        max_pool(plane, input.data<T>(), to.data<T>(), where.data<int64_t>());
      });
    });
  });
}
void run_avg_pool(const Plane& plane, const Divisor& divisor, const Tensor& self, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor input = as_wide(self);
  in_wide_dtype(self.dtype(), [&]<typename T>(T) {
    fill_wide(out,
              [&](const Tensor& to) { avg_pool(plane, divisor, input.data<T>(), to.data<T>()); });
  });
}
void run_avg_pool_backward(const Plane& plane,
                           const Divisor& divisor,
                           const Tensor& grad_output,
                           Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor grad = as_wide(grad_output);
  in_wide_dtype(grad.dtype(), [&]<typename T>(T) {
    fill_wide(out, [&](const Tensor& to) {
      if (grad.numel() == 0) std::fill_n(to.data<T>(), to.numel(), T{0});
      avg_pool_backward(plane, divisor, grad.data<T>(), to.data<T>());
    });
  });
}
template <size_t kN>
void run_max_pool_backward(const Tensor& grad_output, const Tensor& indices, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor grad = as_wide(grad_output);
  const Tensor where = as_wide(indices);
  const int64_t in = numel(IntList(out.sizes()).last(kN));
  const int64_t planes = out.numel() / in;
  in_wide_dtype(grad.dtype(), [&]<typename T>(T) {
    fill_wide(out, [&](const Tensor& to) {
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
  run_max_pool(max_windows(self.sizes(), values.sizes(), kN, kernel, stride, padding, dilation),
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
  run_avg_pool(avg_windows(self.sizes(), out.sizes(), kN, kernel, stride, padding),
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
  run_avg_pool_backward(avg_windows(self.sizes(), grad_output.sizes(), kN, kernel, stride, padding),
                        {count_include_pad, divisor}, grad_output, out);
}
template <size_t kN>
void adaptive_avg_pool_op(ops::Launch&, const Tensor& self, IntList, Tensor& out) {
  run_avg_pool(adaptive_windows(self.sizes(), out.sizes(), kN), {false, {}}, self, out);
}
template <size_t kN>
void adaptive_avg_pool_backward_op(ops::Launch&,
                                   const Tensor& grad_output,
                                   const Tensor& self,
                                   Tensor& out) {
  run_avg_pool_backward(adaptive_windows(self.sizes(), grad_output.sizes(), kN), {false, {}},
                        grad_output, out);
}
template <size_t kN>
void adaptive_max_pool_op(
    ops::Launch&, const Tensor& self, IntList, Tensor& values, Tensor& indices) {
  run_max_pool(adaptive_windows(self.sizes(), values.sizes(), kN), self, values, indices);
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
