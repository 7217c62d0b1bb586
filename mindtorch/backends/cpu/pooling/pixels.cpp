#include "mindtorch/backends/cpu/pooling/pixels.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pooling/windows.h"
#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/base/error.h"
#include "mindtorch/tensor/float16.h"

namespace mindtorch::cpu::pooling {
namespace {

constexpr int64_t kGrain = int64_t{1} << 14;  // elements that are worth a thread

// Calls visit(image, number of the first window, run) for each run of the windows of all images.
template <typename Visit>
void each_run(const Plane& plane, const Divisor& divisor, int64_t channels, const Visit& visit) {
  const WindowRows windows(plane, divisor);
  const int64_t rows = plane.axes[0].out() * plane.axes[1].out();
  const int64_t width = plane.axes[2].out();
  const int64_t work =
      channels * std::max(plane.in(), plane.out()) / std::max<int64_t>(rows, 1) + 1;
  const int64_t images = plane.count / channels;
  parallel_for(0, images * rows, ceil_div(kGrain, work), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      for (const Run& run : windows.runs(i % rows)) {
        visit(i / rows, i * width + static_cast<int64_t>(run.first), run);
      }
    }
  });
}

}  // namespace

template <typename T>
void max_pixels(const Plane& plane, int64_t channels, const T* input, T* values, int64_t* indices) {
  const PoolingTiles& tiles = pooling_tiles(DTypeOf<T>::value);
  each_run(plane, {}, channels, [&](int64_t image, int64_t window, const Run& run) {
    T* const largest = values + window * channels;
    int64_t* const places = indices + window * channels;
    if (run.windows.row_count == 0 || run.windows.taps <= 0) {
      const int64_t count = run.windows.count * channels;
      std::fill_n(largest, count, least_element<T>());
      std::fill_n(places, count, 0);
      return;
    }
    tiles.max_pixels(input + image * plane.in() * channels, run.windows, channels, largest, places);
  });
}

template <typename T>
void mean_pixels(
    const Plane& plane, const Divisor& divisor, int64_t channels, const T* input, T* values) {
  const PoolingTiles& tiles = pooling_tiles(DTypeOf<T>::value);
  each_run(plane, divisor, channels, [&](int64_t image, int64_t window, const Run& run) {
    T* const means = values + window * channels;
    if (run.divisor == 0) {
      std::fill_n(means, run.windows.count * channels, T{});
    } else {
      tiles.mean_pixels(input + image * plane.in() * channels, run.windows, channels, run.divisor,
                        means);
    }
  });
}

// Each pixel is one thread's: the shares of the windows that cover it are added to it.
template <typename T>
void mean_pixels_backward(
    const Plane& plane, const Divisor& divisor, int64_t channels, const T* grad, T* out) {
  constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
  using Sum = std::conditional_t<kIsHalf, float, T>;
  const auto& [depth, height, width] = plane.axes;
  const Cover depths(depth), heights(height), widths(width);
  const PoolingTiles& tiles = pooling_tiles(DTypeOf<T>::value);
  const int64_t rows = depth.in * height.in;
  const int64_t images = plane.count / channels;
  const int64_t grain = ceil_div(kGrain, width.in * channels);
  parallel_for(0, images * rows, grain, [&](int64_t from, int64_t to) {
    const Scratch<Sum> sums(channels);
    const Scratch<Sum> shares(channels);
    const int64_t none = 0;
    for (int64_t i = from; i < to; ++i) {
      const auto z = static_cast<size_t>(i % rows / height.in);
      const auto y = static_cast<size_t>(i % height.in);
      const T* const grads = grad + i / rows * plane.out() * channels;
      for (int64_t pixel = 0; pixel < width.in; ++pixel) {
        const auto x = static_cast<size_t>(pixel);
        T* const target = out + (i * width.in + pixel) * channels;
        if (x > 0 && widths.is_same(x, x - 1)) {  // neighbours often lie in the same windows
          std::copy_n(target - channels, channels, target);
          continue;
        }
        std::fill_n(sums.get(), channels, Sum{0});
        for (size_t d = depths.first[z]; d < depths.last[z]; ++d) {
          for (size_t h = heights.first[y]; h < heights.last[y]; ++h) {
            for (size_t w = widths.first[x]; w < widths.last[x]; ++w) {
              const int64_t by = divisor.of(plane, d, h, w);
              if (by == 0) continue;
              const auto window = static_cast<int64_t>((d * static_cast<size_t>(height.out()) + h) *
                                                           static_cast<size_t>(width.out()) +
                                                       w);
              tiles.spread(grads + window * channels, {&none, 1, 0, 1, 1, 1, channels}, by,
                           shares.get(), sums.get());
            }
          }
        }
        tiles.store(sums.get(), channels, target);
      }
    }
  });
}

// Channels are divided, as windows may overlap. Halves are added up in float32, of few channels at
// a time.
template <typename T>
void max_pixels_backward(int64_t images,
                         int64_t in,
                         int64_t out,
                         int64_t channels,
                         const T* grad,
                         const int64_t* indices,
                         T* to) {
  constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
  using Sum = std::conditional_t<kIsHalf, float, T>;
  constexpr int64_t kLeast = 16;  // channels: a line of the cache
  const int64_t wanted = std::max<int64_t>(1, ceil_div(num_threads(), images));
  constexpr int64_t kMost = kIsHalf ? 32 : std::numeric_limits<int64_t>::max();
  const int64_t length =
      std::clamp(ceil_div(ceil_div(channels, wanted), kLeast) * kLeast, kLeast, kMost);
  const int64_t parts = ceil_div(channels, length);
  const int64_t grain = ceil_div(kGrain, in * std::min(length, channels) + 1);
  parallel_for(0, images * parts, grain, [&](int64_t from, int64_t end) {
    const ScratchArray<Sum> room(kIsHalf ? in * length : 0);
    for (int64_t task = from; task < end; ++task) {
      const int64_t image = task / parts;
      const int64_t first = task % parts * length;
      const int64_t count = std::min(length, channels - first);
      T* const target = to + image * in * channels + first;
      Sum* sums = room.get();
      int64_t stride = count;
      if constexpr (!kIsHalf) {
        sums = target;
        stride = channels;
      }
      for (int64_t i = 0; i < in; ++i) std::fill_n(sums + i * stride, count, Sum{0});
      for (int64_t o = 0; o < out; ++o) {
        const int64_t at = (image * out + o) * channels + first;
        for (int64_t c = 0; c < count; ++c) {
          const int64_t pixel = indices[at + c];
          MT_CHECK(pixel >= 0 && pixel < in, RuntimeError, "Found an invalid max index: ", pixel,
                   " (input planes have ", in, " elements)");
          sums[pixel * stride + c] += static_cast<Sum>(grad[at + c]);
        }
      }
      if constexpr (kIsHalf) {
        const PoolingTiles& tiles = pooling_tiles(DTypeOf<T>::value);
        for (int64_t i = 0; i < in; ++i) {
          tiles.store(sums + i * stride, count, target + i * channels);
        }
      }
    }
  });
}

#define MT_INSTANTIATE(T)                                                                         \
  template void max_pixels(const Plane&, int64_t, const T*, T*, int64_t*);                        \
  template void mean_pixels(const Plane&, const Divisor&, int64_t, const T*, T*);                 \
  template void mean_pixels_backward(const Plane&, const Divisor&, int64_t, const T*, T*);        \
  template void max_pixels_backward(int64_t, int64_t, int64_t, int64_t, const T*, const int64_t*, \
                                    T*);
MT_INSTANTIATE(float)
MT_INSTANTIATE(double)
MT_INSTANTIATE(Half)
MT_INSTANTIATE(BFloat16)
#undef MT_INSTANTIATE

}  // namespace mindtorch::cpu::pooling
