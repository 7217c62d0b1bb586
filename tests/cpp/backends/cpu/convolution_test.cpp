// Sums over moving windows on every instruction set, against those of integers, which are computed
// as they are defined.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <limits>
#include <random>

#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu::convolution {
namespace {

struct Numbers {
  std::mt19937 random{7};
  std::vector<int64_t> make(int64_t count) {
    std::vector<int64_t> values(static_cast<size_t>(count));
    for (int64_t& value : values) value = static_cast<int64_t>(random() % 9) - 4;
    return values;
  }
};

template <typename T>
std::vector<T> as(const std::vector<int64_t>& values) {
  return std::vector<T>(values.begin(), values.end());
}

Axis axis(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  Axis axis;
  axis.in = in;
  axis.out = axis.size = (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  axis.stride = stride;
  axis.taps.clear();
  for (int64_t k = 0; k < kernel; ++k) axis.taps.push_back({k * dilation - padding, k});
  return axis;
}

std::vector<Correlation> geometries() {
  std::vector<Correlation> all;
  for (const int64_t channels : {1, 3, 20}) {
    for (const int64_t filters : {1, 13, 32}) {
      for (const int64_t width : {5, 34}) {
        for (const int64_t kernel : {1, 3}) {
          for (const int64_t stride : {1, 2}) {
            Correlation c;
            c.batch = 2;
            c.groups = channels == 3 ? 2 : 1;
            c.channels = channels;
            c.filters = filters;
            c.axes = {axis(kernel, kernel, 1, kernel / 2, 1),
                      axis(4, kernel, stride, kernel / 2, 1),
                      axis(width, kernel, stride, kernel - 1, kernel - 1 == 0 ? 1 : 2)};
            if (c.axes[2].out > 0) all.push_back(c);
          }
        }
      }
    }
  }
  return all;
}

// Windows of few terms, and of many lines, over outputs of many shapes.
std::vector<Correlation> planes() {
  std::vector<Correlation> all;
  for (const int64_t height : {1, 2, 6, 7, 8, 13, 15}) {
    for (const int64_t width : {3, 15, 21, 40}) {
      for (const int64_t kernel : {2, 5, 7}) {
        for (const int64_t stride : {1, 2, 3}) {
          Correlation c;
          c.groups = 2;
          c.axes = {axis(1, 1, 1, 0, 1), axis(height, kernel, stride, kernel / 2, 1),
                    axis(width, kernel, stride, kernel / 2, 1)};
          all.push_back(c);
        }
      }
    }
  }
  return all;
}

// Images of `channels` planes, with the channels beside each other.
std::vector<int64_t> channels_last(const std::vector<int64_t>& from,
                                   int64_t images,
                                   int64_t channels) {
  std::vector<int64_t> to(from.size());
  const auto pixels = static_cast<int64_t>(from.size()) / (images * channels);
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
    const int64_t image = i / (channels * pixels);
    const int64_t channel = i / pixels % channels;
    to[static_cast<size_t>((image * pixels + i % pixels) * channels + channel)] =
        from[static_cast<size_t>(i)];
  }
  return to;
}

template <typename T>
void check(const Correlation& c) {
  Numbers numbers;
  int64_t in = 1;
  int64_t window = 1;
  for (const Axis& each : c.axes) {
    in *= each.in;
    window *= static_cast<int64_t>(each.taps.size());
  }
  const auto input = numbers.make(c.batch * c.groups * c.channels * in);
  const auto filters = numbers.make(c.groups * c.filters * c.terms());
  const auto bias = numbers.make(c.groups * c.filters);
  const auto grad = numbers.make(c.batch * c.groups * c.filters * c.outputs());
  const auto h = static_cast<int64_t>(c.axes[1].taps.size());
  const auto w = static_cast<int64_t>(c.axes[2].taps.size());
  const FilterStrides strides = {c.filters * c.terms(), c.terms(), window, {h * w, w, 1}};

  std::vector<int64_t> expected(grad.size());
  correlate(c, input.data(), filters.data(), strides, bias.data(), expected.data());
  std::vector<T> result(grad.size());
  correlate(c, as<T>(input).data(), as<T>(filters).data(), strides, as<T>(bias).data(),
            result.data());
  ASSERT_EQ(result, as<T>(expected));

  correlate_lines(c, Order::kChannelsFirst, as<T>(input).data(), as<T>(filters).data(), strides,
                  as<T>(bias).data(), result.data());
  ASSERT_EQ(result, as<T>(expected));
  const auto last = channels_last(input, c.batch, c.groups * c.channels);
  correlate_lines(c, Order::kChannelsLast, as<T>(last).data(), as<T>(filters).data(), strides,
                  as<T>(bias).data(), result.data());
  ASSERT_EQ(result, as<T>(channels_last(expected, c.batch, c.groups * c.filters)));
  if (window > 1 && has_few_terms(c.filters, c.terms())) {
    correlate_planes<T, T>(c, as<T>(input).data(), as<T>(filters).data(), strides,
                           as<T>(bias).data(), result.data());
    ASSERT_EQ(result, as<T>(expected));
  }

  std::vector<int64_t> expected_gradient(filters.size());
  correlate_gradient(c, Order::kChannelsFirst, input.data(), grad.data(), expected_gradient.data());
  std::vector<T> gradient(filters.size());
  correlate_gradient(c, Order::kChannelsFirst, as<T>(input).data(), as<T>(grad).data(),
                     gradient.data());
  ASSERT_EQ(gradient, as<T>(expected_gradient));
  std::fill(gradient.begin(), gradient.end(), T{-1});
  correlate_gradient(c, Order::kChannelsLast, as<T>(last).data(),
                     as<T>(channels_last(grad, c.batch, c.groups * c.filters)).data(),
                     gradient.data());
  ASSERT_EQ(gradient, as<T>(expected_gradient));
}

TEST(Convolution, IsTheSameOnEveryInstructionSet) {
  on_every_target([] {
    std::vector<Correlation> all = geometries();
    for (const Correlation& c : planes()) all.push_back(c);
    for (const Correlation& c : all) {
      SCOPED_TRACE(::testing::Message()
                   << c.channels << " channels, " << c.filters << " filters, width " << c.axes[2].in
                   << ", height " << c.axes[1].in << ", kernel " << c.axes[1].taps.size()
                   << ", stride " << c.axes[1].stride);
      check<float>(c);
      check<double>(c);
      if (HasFatalFailure()) break;
    }
  });
}

// Windows of 3 x 3 with enough work for several threads: by filters, with a last panel that is full
// or not, by patches, and with windows of one element.
std::vector<Correlation> large_geometries() {
  std::vector<Correlation> all;
  for (const int64_t kernel : {1, 3}) {
    for (const auto& [channels, filters] :
         {std::pair<int64_t, int64_t>{64, 48}, {3, 70}, {24, 5}, {5, 32}}) {
      Correlation c;
      c.batch = 5;
      c.groups = filters == 5 ? 2 : 1;
      c.channels = channels;
      c.filters = filters;
      c.axes = {axis(1, 1, 1, 0, 1), axis(41, kernel, 1, kernel / 2, 1),
                axis(43, kernel, 1, kernel / 2, 1)};
      all.push_back(c);
    }
  }
  return all;
}

// Numbers whose sums are rounded.
std::vector<float> fractions(int64_t count) {
  std::mt19937 random{11};
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<uint16_t> halves(const std::vector<float>& values) {
  std::vector<uint16_t> upper;
  for (const float value : values) {
    upper.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  }
  return upper;
}

template <typename T, typename Run>
void check_threads(const Correlation& c, const Run& run) {
  const int before = num_threads();
  const auto gradient = [&](int threads) {
    set_num_threads(threads);
    std::vector<T> result(static_cast<size_t>(c.groups * c.filters * c.terms()));
    run(result.data());
    return result;
  };
  const std::vector<T> alone = gradient(1);
  for (const int threads : {2, 5, 16}) EXPECT_EQ(gradient(threads), alone) << threads << " threads";
  set_num_threads(before);
}

TEST(Convolution, GradientsDoNotDependOnTheNumberOfThreads) {
  for (const Correlation& c : large_geometries()) {
    const auto input = fractions(c.batch * c.groups * c.channels * c.axes[1].in * c.axes[2].in);
    const auto grad = fractions(c.batch * c.groups * c.filters * c.outputs());
    for (const Order order : {Order::kChannelsFirst, Order::kChannelsLast}) {
      SCOPED_TRACE(::testing::Message()
                   << c.channels << " channels, " << c.filters << " filters, kernel "
                   << c.axes[1].taps.size() << ", order " << static_cast<int>(order));
      check_threads<float>(c, [&](float* result) {
        correlate_gradient(c, order, input.data(), grad.data(), result);
      });
      if (!multiplies_bfloat16(c.filters, c.terms())) continue;
      check_threads<uint16_t>(c, [&](uint16_t* result) {
        correlate_gradient_bfloat16(c, order, halves(input).data(), halves(grad).data(), result);
      });
    }
  }
}

// What lies in the gaps between the rows of a patch reaches no sum.
TEST(Convolution, GradientsTakeNothingFromOtherRows) {
  Correlation c;
  c.filters = 2;
  c.channels = 2;
  c.axes = {axis(1, 1, 1, 0, 1), axis(6, 3, 1, 1, 1), axis(6, 3, 1, 1, 1)};
  std::vector<float> input(72, 1), grad(72, 1), gradient(36);
  input[12] = std::numeric_limits<float>::infinity();  // the first of a line: never under tap 2
  correlate_gradient(c, Order::kChannelsFirst, input.data(), grad.data(), gradient.data());
  for (size_t i = 0; i < gradient.size(); ++i) {
    const bool sees = i % 18 < 9 && i % 3 != 2;
    const auto side = [](size_t tap) { return tap == 1 ? 6.0F : 5.0F; };
    EXPECT_EQ(gradient[i], sees ? input[12] : side(i % 3) * side(i / 3 % 3)) << i;
  }
}

}  // namespace
}  // namespace mindtorch::cpu::convolution
