// Fourier transforms of tensors, dim by dim.
#include <algorithm>
#include <cmath>
#include <vector>

#include "mindtorch/backends/cpu/fft/lines.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/ops/fft_layout.h"

namespace mindtorch::cpu {
namespace {

using fft::Lines;

double scale_of(int64_t normalization, double count) {
  if (normalization == 0) return 1;
  return 1 / (normalization == 1 ? std::sqrt(count) : count);
}
double count_of(const Tensor& tensor, IntList dims) {
  double count = 1;
  for (const int64_t d : dims) count *= static_cast<double>(tensor.size(d));
  return count;
}

// The lines of two tensors along one dim: `count` at a time, by loops over the other dims.
struct Loop {
  int64_t size;
  int64_t from_stride;
  int64_t to_stride;
};

std::vector<Loop> loops_of(const Tensor& from, const Tensor& to, int64_t dim) {
  std::vector<Loop> loops;
  for (int64_t d = 0; d < from.dim(); ++d) {
    if (d != dim && from.size(d) > 1) loops.push_back({from.size(d), from.stride(d), to.stride(d)});
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return a.to_stride > b.to_stride; });
  std::vector<Loop> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty() && merged.back().from_stride == loop.from_stride * loop.size &&
        merged.back().to_stride == loop.to_stride * loop.size) {
      merged.back() = {merged.back().size * loop.size, loop.from_stride, loop.to_stride};
    } else {
      merged.push_back(loop);
    }
  }
  // The lines that are transformed together: the innermost ones, or else the most.
  constexpr int64_t kEnough = 16;
  if (!merged.empty() && merged.back().size < kEnough) {
    const auto most = std::max_element(
        merged.begin(), merged.end(), [](const Loop& a, const Loop& b) { return a.size < b.size; });
    std::swap(*most, merged.back());
  }
  return merged;
}

// Calls run(count, from, to) for all lines of `dim`. T is the type of the parts.
template <typename T, typename Run>
void for_lines(const Tensor& from, const Tensor& to, int64_t dim, const Run& run) {
  const auto width = [](const Tensor& tensor) { return is_complex(tensor.dtype()) ? 2 : 1; };
  std::vector<Loop> loops = loops_of(from, to, dim);
  Loop inner = {1, 0, 0};
  if (!loops.empty()) {
    inner = loops.back();
    loops.pop_back();
  }
  int64_t outer = 1;
  for (const Loop& loop : loops) outer *= loop.size;
  const auto* source = static_cast<const T*>(from.data_ptr());
  auto* target = static_cast<T*>(to.mutable_data_ptr());
  const auto run_some = [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) {
      int64_t rest = number;
      int64_t from_offset = 0;
      int64_t to_offset = 0;
      for (size_t i = loops.size(); i-- > 0; rest /= loops[i].size) {
        from_offset += rest % loops[i].size * loops[i].from_stride;
        to_offset += rest % loops[i].size * loops[i].to_stride;
      }
      run(inner.size,
          Lines<const T>{source + from_offset * width(from), from.stride(dim) * width(from),
                         inner.from_stride * width(from)},
          Lines<T>{target + to_offset * width(to), to.stride(dim) * width(to),
                   inner.to_stride * width(to)});
    }
  };
  // A few are divided among the threads themselves.
  if (outer < num_threads()) return run_some(0, outer);
  parallel_for(0, outer, 1, run_some);
}

template <typename T>
void transform_dim(const Tensor& from, const Tensor& to, int64_t dim, bool forward, double scale) {
  for_lines<T>(from, to, dim, [&](int64_t count, Lines<const T> source, Lines<T> target) {
    fft::transform_lines(from.size(dim), count, source, target, !forward, static_cast<T>(scale));
  });
}

// From `from` to `to`, which may be the same.
template <typename T>
void transform_dims(Tensor from, const Tensor& to, IntList dims, bool forward, double scale) {
  for (size_t i = dims.size(); i-- > 0;) {
    const bool is_done = from.is_same(to) && scale == 1;
    if (from.size(dims[i]) == 1 && (i > 0 || is_done)) continue;  // a number is its own spectrum
    transform_dim<T>(from, to, dims[i], forward, scale);
    from = to;
    scale = 1;
  }
}

// The second half of spectra of real lines, which mirrors the first.
template <typename T>
void mirror(const Tensor& spectra, int64_t dim) {
  const int64_t length = spectra.size(dim);
  for_lines<T>(spectra, spectra, dim, [&](int64_t count, Lines<const T> from, Lines<T> to) {
    for (int64_t j = 0; j < count; ++j) {
      const T* const source = from.from_line(j).data;
      T* const target = to.from_line(j).data;
      for (int64_t k = length / 2 + 1; k < length; ++k) {
        target[k * to.step] = source[(length - k) * from.step];
        target[k * to.step + 1] = -source[(length - k) * from.step + 1];
      }
    }
  });
}

template <typename Body>
void visit_part(DType dtype, const Body& body) {
  if (real_dtype(dtype) == DType::kFloat32) return body.template operator()<float>();
  body.template operator()<double>();
}

void c2c(ops::Launch&,
         const Tensor& self,
         IntList dim,
         int64_t normalization,
         bool forward,
         Tensor& out) {
  if (out.numel() == 0) return;
  if (dim.empty()) return copy(self, out);
  const Shape dims = ops::sorted_fft_dims(self, dim, false);
  const double scale = scale_of(normalization, count_of(self, dims));
  visit_part(out.dtype(),
             [&]<typename T>() { transform_dims<T>(self, out, dims, forward, scale); });
}

void r2c(ops::Launch&,
         const Tensor& self,
         IntList dim,
         int64_t normalization,
         bool onesided,
         Tensor& out) {
  if (out.numel() == 0) return;
  const Shape dims = ops::sorted_fft_dims(self, dim, true);
  const int64_t last = dims.back();
  const int64_t length = self.size(last);
  visit_part(out.dtype(), [&]<typename T>() {
    const auto scale = static_cast<T>(scale_of(normalization, count_of(self, dims)));
    for_lines<T>(self, out, last, [&](int64_t count, Lines<const T> from, Lines<T> to) {
      fft::real_to_half(length, count, from, to, scale);
    });
    if (!onesided) mirror<T>(out, last);
    transform_dims<T>(out, out, IntList(dims).first(dims.size() - 1), true, 1);
  });
}

void c2r(ops::Launch&,
         const Tensor& self,
         IntList dim,
         int64_t normalization,
         int64_t last_dim_size,
         Tensor& out) {
  if (out.numel() == 0) return;
  const IntList others = dim.first(dim.size() - 1);
  const int64_t last = wrap_dim(dim.back(), self.dim());
  visit_part(out.dtype(), [&]<typename T>() {
    const double count = count_of(self, others) * static_cast<double>(last_dim_size);
    const auto scale = static_cast<T>(scale_of(normalization, count));
    Tensor half = self;
    if (!others.empty()) {
      const Shape dims = ops::sorted_fft_dims(self, others, false);
      half = Tensor::make_strided(
          self.sizes(), ops::fft_strides(self.sizes(), self.strides(), dims), self.dtype());
      transform_dims<T>(self, half, dims, false, 1);
    }
    for_lines<T>(half, out, last, [&](int64_t lines, Lines<const T> from, Lines<T> to) {
      fft::half_to_real(last_dim_size, lines, from, to, scale);
    });
  });
}

}  // namespace

void register_fft(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<c2c>(kCpu, "_fft_c2c").takes(kAllOrComplex);
  registry.kernel<r2c>(kCpu, "_fft_r2c").takes(kAllOrComplex);
  registry.kernel<c2r>(kCpu, "_fft_c2r").takes(kAllOrComplex);
}

}  // namespace mindtorch::cpu
