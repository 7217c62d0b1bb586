#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/sampling/taps.h"
#include "mindtorch/backends/cpu/tiles/row.h"

namespace mindtorch::cpu {
namespace {

using sampling::AxisTaps;
using sampling::kBlock;
using sampling::Settings;
using sampling::Taps;

Tensor wide(const Tensor& self) {
  const DType dtype = accumulate_dtype(self.dtype());
  if (self.dtype() == dtype && self.is_contiguous()) return self;
  const Tensor result = Tensor::make(self.sizes(), dtype);
  copy(self, result);
  return result;
}

// Images, contiguous, and the points of a grid on them, a block at a time.
template <typename T>
class Sampler {
 public:
  Sampler(const Tensor& input, const Tensor& grid, const Settings& settings)
      : grid_(grid.data<T>()), dims_(input.dim() - 2), settings_(settings) {
    for (int64_t i = 0; i < dims_; ++i) {
      sizes_[i] = input.size(i + 2);
      elements_ *= sizes_[i];
      points_ *= grid.size(i + 1);
    }
    MT_CHECK(elements_ <= std::numeric_limits<sampling::Offset<T>>::max(), RuntimeError,
             "grid_sampler(): images of more than ", std::numeric_limits<int32_t>::max(),
             " elements are not supported");
  }

  int64_t elements() const { return elements_; }
  int64_t points() const { return points_; }
  int64_t blocks() const { return ceil_div(points_, kBlock); }
  int64_t dims() const { return dims_; }
  // Points of a block; only the last one has fewer.
  int count(int64_t block) const {
    return static_cast<int>(std::min<int64_t>(kBlock, points_ - block * kBlock));
  }

  // The taps along each dimension. The last dimension of the image comes first in the grid.
  void locate(int64_t image, int64_t block, AxisTaps<T>* axes) const {
    const T* const first = grid_ + (image * points_ + block * kBlock) * dims_;
    for (int64_t i = 0; i < dims_; ++i) {
      sampling::sampling_tiles<T>().locate(first + (dims_ - 1 - i), dims_, count(block), sizes_[i],
                                           settings_, axes[i]);
    }
  }
  // All combinations of them. `slope_of`: the dimension whose slopes stand for its weights; -1:
  // none.
  void combine(const AxisTaps<T>* axes, int64_t slope_of, Taps<T>& taps) const {
    taps.count = 1;
    for (int64_t i = 0; i < dims_; ++i) {
      const AxisTaps<T>& axis = axes[i];
      const auto& weights = slope_of == i ? axis.slopes : axis.weights;
      // From the last one on, so that none is overwritten before it is used.
      for (int before = taps.count; before-- > 0;) {
        for (int own = axis.count; own-- > 0;) {
          const int to = before * axis.count + own;
          for (int p = 0; p < kBlock; ++p) {
            const auto offset = i == 0 ? 0 : taps.offsets[before][p];
            const T weight = i == 0 ? T(1) : taps.weights[before][p];
            taps.offsets[to][p] =
                offset * static_cast<sampling::Offset<T>>(sizes_[i]) + axis.places[own][p];
            taps.weights[to][p] = weight * weights[own][p];
          }
        }
      }
      taps.count *= axis.count;
    }
  }

 private:
  const T* grid_;
  int64_t dims_;
  Settings settings_;
  int64_t sizes_[3] = {};
  int64_t elements_ = 1;
  int64_t points_ = 1;
};

template <typename T>
void sample(const Tensor& images, const Tensor& grid, const Settings& settings, const Tensor& out) {
  const Sampler<T> sampler(images, grid, settings);
  const int64_t channels = images.size(1);
  parallel_for(0, images.size(0) * sampler.blocks(), 4, [&](int64_t begin, int64_t end) {
    const auto axes = std::make_unique<AxisTaps<T>[]>(3);
    const auto taps = std::make_unique<Taps<T>>();
    alignas(64) T found[kBlock];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / sampler.blocks();
      const int64_t block = i % sampler.blocks();
      sampler.locate(image, block, axes.get());
      sampler.combine(axes.get(), -1, *taps);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t plane = image * channels + c;
        sampling::sampling_tiles<T>().sample(*taps, images.data<T>() + plane * sampler.elements(),
                                             found);
        std::memcpy(out.data<T>() + plane * sampler.points() + block * kBlock, found,
                    static_cast<size_t>(sampler.count(block)) * sizeof(T));
      }
    }
  });
}

// What a thread computes of a gradient: neither images nor blocks of points share memory.
struct GradientPart {
  int64_t image;
  int64_t first_block;
  int64_t last_block;
  int64_t first_channel;
  int64_t last_channel;
};

// Undefined gradients are not wanted. That of the images is made of all blocks of the points, that
// of the grid of all channels.
template <typename T>
class SampleBackward {
 public:
  SampleBackward(const Tensor& grad,
                 const Tensor& images,
                 const Tensor& grid,
                 const Settings& settings)
      : sampler_(images, grid, settings),
        grad_(grad.data<T>()),
        images_(images.data<T>()),
        channels_(images.size(1)) {}

  void run(const GradientPart& part, const Tensor& grad_images, const Tensor& grad_grid) const {
    const int64_t dims = sampler_.dims();
    const auto axes = std::make_unique<AxisTaps<T>[]>(3);
    const auto taps = std::make_unique<Taps<T>[]>(4);
    alignas(64) T found[kBlock];
    alignas(64) T sums[3][kBlock];
    for (int64_t block = part.first_block; block < part.last_block; ++block) {
      const int count = sampler_.count(block);
      sampler_.locate(part.image, block, axes.get());
      if (grad_images.defined()) sampler_.combine(axes.get(), -1, taps[3]);
      for (int64_t i = 0; i < dims && grad_grid.defined(); ++i) {
        sampler_.combine(axes.get(), i, taps[i]);
        std::fill_n(sums[i], kBlock, T(0));
      }
      for (int64_t c = part.first_channel; c < part.last_channel; ++c) {
        const int64_t plane = part.image * channels_ + c;
        const T* const from = grad_ + plane * sampler_.points() + block * kBlock;
        if (grad_images.defined()) {
          T* const to = grad_images.data<T>() + plane * sampler_.elements();
          for (int tap = 0; tap < taps[3].count; ++tap) {
            for (int p = 0; p < count; ++p) {
              to[taps[3].offsets[tap][p]] += taps[3].weights[tap][p] * from[p];
            }
          }
        }
        for (int64_t i = 0; i < dims && grad_grid.defined(); ++i) {
          sampling::sampling_tiles<T>().sample(taps[i], images_ + plane * sampler_.elements(),
                                               found);
          for (int p = 0; p < count; ++p) sums[i][p] += found[p] * from[p];
        }
      }
      if (!grad_grid.defined()) continue;
      T* const to = grad_grid.data<T>() + (part.image * sampler_.points() + block * kBlock) * dims;
      for (int p = 0; p < count; ++p) {
        for (int64_t i = 0; i < dims; ++i) to[p * dims + (dims - 1 - i)] = sums[i][p];
      }
    }
  }

  void run_all(int64_t images, const Tensor& grad_images, const Tensor& grad_grid) const {
    const int64_t blocks = sampler_.blocks();
    if (images >= num_threads()) {
      parallel_for(0, images, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          run({i, 0, blocks, 0, channels_}, grad_images, grad_grid);
        }
      });
      return;
    }
    // Too few images: their channels apart for one gradient, their points for the other.
    if (grad_images.defined()) {
      parallel_for(0, images * channels_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end;) {
          const int64_t image = i / channels_;
          const int64_t last = std::min(end, (image + 1) * channels_);
          const int64_t first = i - image * channels_;
          run({image, 0, blocks, first, last - image * channels_}, grad_images, {});
          i = last;
        }
      });
    }
    if (grad_grid.defined()) {
      parallel_for(0, images * blocks, 4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end;) {
          const int64_t image = i / blocks;
          const int64_t last = std::min(end, (image + 1) * blocks);
          const int64_t first = i - image * blocks;
          run({image, first, last - image * blocks, 0, channels_}, {}, grad_grid);
          i = last;
        }
      });
    }
  }

 private:
  Sampler<T> sampler_;
  const T* grad_;
  const T* images_;
  int64_t channels_;
};

template <typename T>
void sample_backward(const Tensor& grad,
                     const Tensor& images,
                     const Tensor& grid,
                     const Settings& settings,
                     const Tensor& grad_images,
                     const Tensor& grad_grid) {
  if (grad_images.defined()) std::fill_n(grad_images.data<T>(), grad_images.numel(), T(0));
  SampleBackward<T>(grad, images, grid, settings).run_all(images.size(0), grad_images, grad_grid);
}

void grid_sampler(ops::Launch&,
                  const Tensor& input,
                  const Tensor& grid,
                  int64_t interpolation_mode,
                  int64_t padding_mode,
                  bool align_corners,
                  Tensor& out) {
  if (out.numel() == 0) return;
  const Settings settings = {interpolation_mode, padding_mode, align_corners};
  const DType dtype = accumulate_dtype(out.dtype());
  const Tensor result = out.dtype() == dtype ? out : Tensor::make(out.sizes(), dtype);
  if (dtype == DType::kFloat64) {
    sample<double>(wide(input), wide(grid), settings, result);
  } else {
    sample<float>(wide(input), wide(grid), settings, result);
  }
  if (!result.is_same(out)) copy(result, out);
}

void grid_sampler_backward(ops::Launch&,
                           const Tensor& grad_output,
                           const Tensor& input,
                           const Tensor& grid,
                           int64_t interpolation_mode,
                           int64_t padding_mode,
                           bool align_corners,
                           bool needs_input,
                           bool needs_grid,
                           Tensor& grad_input,
                           Tensor& grad_grid) {
  const Settings settings = {interpolation_mode, padding_mode, align_corners};
  const DType dtype = accumulate_dtype(input.dtype());
  const auto target = [&](const Tensor& out, bool needed) {
    if (!needed) return Tensor();
    return out.dtype() == dtype ? out : Tensor::make(out.sizes(), dtype);
  };
  const Tensor of_input = target(grad_input, needs_input);
  const Tensor of_grid = target(grad_grid, needs_grid);
  if (dtype == DType::kFloat64) {
    sample_backward<double>(wide(grad_output), wide(input), wide(grid), settings, of_input,
                            of_grid);
  } else {
    sample_backward<float>(wide(grad_output), wide(input), wide(grid), settings, of_input, of_grid);
  }
  if (needs_input && !of_input.is_same(grad_input)) copy(of_input, grad_input);
  if (needs_grid && !of_grid.is_same(grad_grid)) copy(of_grid, grad_grid);
}

}  // namespace

void register_sampling(ops::Registry& registry) {
  registry.kernel<grid_sampler>(DeviceType::kCpu, "grid_sampler_2d");
  registry.kernel<grid_sampler>(DeviceType::kCpu, "grid_sampler_3d");
  registry.kernel<grid_sampler_backward>(DeviceType::kCpu, "grid_sampler_2d_backward");
  registry.kernel<grid_sampler_backward>(DeviceType::kCpu, "grid_sampler_3d_backward");
}

}  // namespace mindtorch::cpu
