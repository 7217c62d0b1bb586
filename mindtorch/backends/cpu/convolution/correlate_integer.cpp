#include <algorithm>

#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/base/error.h"

// Integers, as they are defined: nobody is in a hurry for them.
namespace mindtorch::cpu::convolution {
namespace {

// Calls visit(offset of the input's element, d, h, w) for each tap that reads an element.
template <typename Visit>
void each_tap(const Correlation& c, const std::array<int64_t, 3>& out, const Visit& visit) {
  const auto& [depth, height, width] = c.axes;
  for (size_t d = 0; d < depth.taps.size(); ++d) {
    const int64_t z = out[0] * depth.stride + depth.taps[d].offset;
    if (z < 0 || z >= depth.in) continue;
    for (size_t h = 0; h < height.taps.size(); ++h) {
      const int64_t y = out[1] * height.stride + height.taps[h].offset;
      if (y < 0 || y >= height.in) continue;
      for (size_t w = 0; w < width.taps.size(); ++w) {
        const int64_t x = out[2] * width.stride + width.taps[w].offset;
        if (x < 0 || x >= width.in) continue;
        visit((z * height.in + y) * width.in + x, d, h, w);
      }
    }
  }
}

template <typename Visit>
void each_output(const Correlation& c, const Visit& visit) {
  for (int64_t z = 0; z < c.axes[0].out; ++z) {
    for (int64_t y = 0; y < c.axes[1].out; ++y) {
      for (int64_t x = 0; x < c.axes[2].out; ++x) visit(std::array<int64_t, 3>{z, y, x});
    }
  }
}

int64_t input_size(const Correlation& c) { return c.axes[0].in * c.axes[1].in * c.axes[2].in; }

}  // namespace

template <>
void correlate(const Correlation& c,
               const int64_t* input,
               const int64_t* filters,
               const FilterStrides& strides,
               const int64_t* bias,
               int64_t* result) {
  const auto& [depth, height, width] = c.axes;
  const int64_t size = depth.size * height.size * width.size;
  parallel_for(0, c.batch * c.groups * c.filters, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t m = row % c.filters;
      const int64_t group = row / c.filters % c.groups;
      const int64_t* const from = input + row / c.filters * c.channels * input_size(c);
      const int64_t* const filter = filters + group * strides.group + m * strides.filter;
      each_output(c, [&](const std::array<int64_t, 3>& out) {
        int64_t sum = bias == nullptr ? 0 : bias[group * c.filters + m];
        each_tap(c, out, [&](int64_t at, size_t d, size_t h, size_t w) {
          const int64_t tap = depth.taps[d].index * strides.taps[0] +
                              height.taps[h].index * strides.taps[1] +
                              width.taps[w].index * strides.taps[2];
          for (int64_t channel = 0; channel < c.channels; ++channel) {
            sum += filter[channel * strides.channel + tap] * from[channel * input_size(c) + at];
          }
        });
        const int64_t z = depth.first + out[0] * depth.step;
        const int64_t y = height.first + out[1] * height.step;
        result[row * size + (z * height.size + y) * width.size + width.first +
               out[2] * width.step] = sum;
      });
    }
  });
}

template <>
void correlate_gradient(const Correlation& c,
                        Order order,
                        const int64_t* input,
                        const int64_t* grad,
                        int64_t* grad_filters) {
  MT_ASSERT(order == Order::kChannelsFirst);
  std::fill_n(grad_filters, c.groups * c.filters * c.terms(), int64_t{0});
  const auto height = c.axes[1].taps.size();
  const auto width = c.axes[2].taps.size();
  const int64_t window = c.terms() / std::max<int64_t>(c.channels, 1);
  for (int64_t row = 0; row < c.batch * c.groups * c.filters; ++row) {
    const int64_t* const from = input + row / c.filters * c.channels * input_size(c);
    int64_t* const to = grad_filters + row % (c.groups * c.filters) * c.terms();
    const int64_t* value = grad + row * c.outputs();
    each_output(c, [&](const std::array<int64_t, 3>& out) {
      each_tap(c, out, [&](int64_t at, size_t d, size_t h, size_t w) {
        const auto tap = static_cast<int64_t>((d * height + h) * width + w);
        for (int64_t channel = 0; channel < c.channels; ++channel) {
          to[channel * window + tap] += *value * from[channel * input_size(c) + at];
        }
      });
      ++value;
    });
  }
}

}  // namespace mindtorch::cpu::convolution
