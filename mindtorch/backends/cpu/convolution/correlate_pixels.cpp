#include <algorithm>
#include <utility>
#include <vector>

#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/convolution/pixel_rows.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/tensor/float16.h"

// Depthwise correlations of images whose channels lie beside each other: a vector holds channels.
namespace mindtorch::cpu::convolution {
namespace {

constexpr int64_t kPixelGrain = int64_t{1} << 16;  // multiplications that are worth a thread
constexpr int64_t kMostPieces = 16;                // of a gradient's sum

int64_t work_of_row(const Correlation& c) { return c.groups * c.axes[2].out * (c.terms() + 1); }

// The taps that output row `row` at `depth` of an image can see, by lines of the input.
template <typename T, typename W>
void find_taps(const Correlation& c,
               const T* image,
               int64_t depth,
               int64_t row,
               W* weights,
               std::vector<PixelTap<T, W>>& taps) {
  const auto& [d, h, w] = c.axes;
  taps.clear();
  W* of_tap = weights;
  for (const Tap& z : d.taps) {
    const int64_t at_depth = depth * d.stride + z.offset;
    for (const Tap& y : h.taps) {
      const int64_t at_row = row * h.stride + y.offset;
      const bool is_inside = at_depth >= 0 && at_depth < d.in && at_row >= 0 && at_row < h.in;
      for (const Tap& x : w.taps) {
        if (is_inside) {
          taps.push_back({image + (at_depth * h.in + at_row) * w.in * c.groups, x.offset, of_tap});
        }
        of_tap += c.groups;
      }
    }
  }
}

// The taps of a line as runs; `weights` are those of the line's first tap, a row for each.
template <typename T, typename W>
std::vector<PixelRun<T, W>> runs_of(const Axis& axis, int64_t channels) {
  std::vector<PixelRun<T, W>> runs;
  for (size_t i = 0; i < axis.taps.size(); ++i) {
    const int64_t offset = axis.taps[i].offset;
    if (!runs.empty() && axis.stride == 1 && runs.back().count < kMostTapsOfPixels) {
      PixelRun<T, W>& last = runs.back();
      if (offset == last.offset + last.count && last.step >= 0) {
        last.step = channels;
        ++last.count;
        continue;
      }
      if (offset == last.offset - 1 && (last.count == 1 || last.step < 0)) {
        last.step = -channels;
        --last.offset;
        ++last.count;
        continue;
      }
    }
    runs.push_back({nullptr, offset, 1, nullptr, 0});
  }
  return runs;
}

// The runs that output row `row` at `depth` of an image can see.
template <typename T, typename W>
void find_runs(const Correlation& c,
               const T* image,
               int64_t depth,
               int64_t row,
               const W* weights,
               const std::vector<PixelRun<T, W>>& line,
               std::vector<PixelRun<T, W>>& runs) {
  const auto& [d, h, w] = c.axes;
  runs.clear();
  for (const Tap& z : d.taps) {
    const int64_t at_depth = depth * d.stride + z.offset;
    for (const Tap& y : h.taps) {
      const int64_t at_row = row * h.stride + y.offset;
      const bool is_inside = at_depth >= 0 && at_depth < d.in && at_row >= 0 && at_row < h.in;
      for (PixelRun<T, W> run : line) {
        run.line = image + (at_depth * h.in + at_row) * w.in * c.groups;
        run.weights = run.step < 0 ? weights - (run.count - 1) * run.step : weights;
        weights += run.count * c.groups;
        if (is_inside) runs.push_back(run);
      }
    }
  }
}

// The outputs of a row whose windows do not look beyond a line.
std::pair<int64_t, int64_t> inside_of(const Axis& axis) {
  int64_t begin = 0;
  int64_t end = axis.out;
  for (const Tap& tap : axis.taps) {
    while (begin < axis.out && begin * axis.stride + tap.offset < 0) ++begin;
    while (end > begin && (end - 1) * axis.stride + tap.offset >= axis.in) --end;
  }
  return {begin, end};
}

PixelRow row_of(const Correlation& c) {
  return {c.groups, c.axes[2].in, c.axes[2].out, c.axes[2].stride};
}

}  // namespace

template <typename T, typename W>
void correlate_pixels(const Correlation& c,
                      const T* input,
                      const W* filters,
                      const FilterStrides& strides,
                      const W* bias,
                      T* result) {
  if (c.batch * c.groups * c.outputs() == 0) return;
  const auto& [d, h, w] = c.axes;
  const Scratch<W> weights(c.terms() * c.groups);
  const Scratch<W> initial(c.groups);
  W* to = weights.get();
  for (const Tap& z : d.taps) {
    for (const Tap& y : h.taps) {
      for (const Tap& x : w.taps) {
        const W* const from = filters + z.index * strides.taps[0] + y.index * strides.taps[1] +
                              x.index * strides.taps[2];
        for (int64_t group = 0; group < c.groups; ++group) *to++ = from[group * strides.group];
      }
    }
  }
  for (int64_t group = 0; group < c.groups; ++group) {
    initial.get()[group] = bias == nullptr ? W{0} : bias[group];
  }
  const PixelRows<T, W> rows = pixel_rows<T, W>();
  const std::vector<PixelRun<T, W>> of_line = runs_of<T, W>(w, c.groups);
  const std::pair<int64_t, int64_t> inside = inside_of(w);
  const int64_t lines = d.out * h.out;
  const int64_t in = d.in * h.in * w.in * c.groups;
  parallel_for(
      0, c.batch * lines, ceil_div(kPixelGrain, work_of_row(c)), [&](int64_t begin, int64_t end) {
        std::vector<PixelRun<T, W>> runs;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t depth = i % lines / h.out;
          const int64_t row = i % h.out;
          const int64_t image = i / lines;
          find_runs(c, input + image * in, depth, row, weights.get(), of_line, runs);
          T* const line =
              result +
              (((image * d.size + d.first + depth * d.step) * h.size + h.first + row * h.step) *
                   w.size +
               w.first) *
                  c.groups;
          rows.multiply(row_of(c), runs.data(), static_cast<int64_t>(runs.size()), inside.first,
                        inside.second, initial.get(), line, w.step * c.groups);
        }
      });
}

template <typename T, typename W>
void correlate_pixels_gradient(const Correlation& c,
                               const T* input,
                               const T* grad,
                               W* grad_filters) {
  std::fill_n(grad_filters, c.groups * c.terms(), W{0});
  if (c.batch * c.groups * c.terms() * c.outputs() == 0) return;
  const auto& [d, h, w] = c.axes;
  // Pieces of the same size for any number of threads, as the sums of a piece are rounded.
  const int64_t lines = d.out * h.out;
  const int64_t count = c.batch * lines;
  const int64_t wanted =
      std::clamp<int64_t>(count * work_of_row(c) / kPixelGrain, 1, std::min(kMostPieces, count));
  const int64_t length = ceil_div(count, wanted);
  const int64_t pieces = ceil_div(count, length);
  const int64_t size = c.terms() * c.groups;
  const ScratchArray<W> sums(pieces * size);
  const PixelRows<T, W> rows = pixel_rows<T, W>();
  const int64_t in = d.in * h.in * w.in * c.groups;
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    std::vector<PixelTap<T, W>> taps;
    for (int64_t piece = begin; piece < end; ++piece) {
      W* const own = sums.get() + piece * size;
      std::fill_n(own, size, W{0});
      for (int64_t i = piece * length; i < std::min((piece + 1) * length, count); ++i) {
        find_taps(c, input + i / lines * in, i % lines / h.out, i % h.out, own, taps);
        rows.add_products(row_of(c), taps.data(), static_cast<int64_t>(taps.size()),
                          grad + i * w.out * c.groups);
      }
    }
  });
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const W* from = sums.get() + piece * size;
    for (int64_t term = 0; term < c.terms(); ++term) {
      for (int64_t group = 0; group < c.groups; ++group) {
        grad_filters[group * c.terms() + term] += *from++;
      }
    }
  }
}

#define MT_INSTANTIATE(T, W)                                                                   \
  template void correlate_pixels(const Correlation&, const T*, const W*, const FilterStrides&, \
                                 const W*, T*);                                                \
  template void correlate_pixels_gradient(const Correlation&, const T*, const T*, W*);
MT_INSTANTIATE(float, float)
MT_INSTANTIATE(double, double)
MT_INSTANTIATE(Half, float)
MT_INSTANTIATE(BFloat16, float)
#undef MT_INSTANTIATE

}  // namespace mindtorch::cpu::convolution
