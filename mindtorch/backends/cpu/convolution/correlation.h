#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

// Convolution, its gradients and its transpose are all sums over a moving window, with the window
// moved and the filters read in different ways. This is the form that they share.
namespace mindtorch::cpu::convolution {

// An element of the window along one dimension: the window that belongs to output i reads element
// i * stride + offset of the input, where there is one, and entry `index` of the filter.
struct Tap {
  int64_t offset;
  int64_t index;
};

struct Axis {
  int64_t in = 1;
  int64_t out = 1;  // outputs that are computed
  int64_t stride = 1;
  std::vector<Tap> taps = {{0, 0}};
  // Output i is element first + i * step of the result, which has `size` elements.
  int64_t first = 0;
  int64_t step = 1;
  int64_t size = 1;
};

// result[n, g * filters + m, o] = bias + the sum over c and taps of
//     filter[g, m, c, tap.index] * input[n, g * channels + c, o * stride + tap.offset].
// Input and result are contiguous, with depth, height and width last.
struct Correlation {
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t channels = 1;
  int64_t filters = 1;
  std::array<Axis, 3> axes;

  int64_t terms() const {
    return channels *
           static_cast<int64_t>(axes[0].taps.size() * axes[1].taps.size() * axes[2].taps.size());
  }
  int64_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }
};

// The filters of a group; element (m, c, d, h, w) is at the sum of the indices times the strides.
struct FilterStrides {
  int64_t group;
  int64_t filter;
  int64_t channel;
  std::array<int64_t, 3> taps;
};

// Whether the elements of a filter that belong to one channel lie beside each other, in the order
// in which the axes list their taps.
inline bool has_taps_in_order(const Correlation& c, const FilterStrides& strides) {
  int64_t expected = 1;
  for (size_t axis = 3; axis-- > 0;) {
    const std::vector<Tap>& taps = c.axes[axis].taps;
    for (size_t i = 0; i < taps.size(); ++i) {
      if (taps[i].index != static_cast<int64_t>(i)) return false;
    }
    if (taps.size() > 1 && strides.taps[axis] != expected) return false;
    expected *= static_cast<int64_t>(taps.size());
  }
  return true;
}

// How the elements of an image lie: depth, height and width last, or channels last.
enum class Order { kChannelsFirst, kChannelsLast };

// `bias` has an element for each filter of each group, or is null.
template <typename T>
void correlate(const Correlation& c,
               const T* input,
               const T* filters,
               const FilterStrides& strides,
               const T* bias,
               T* result);

// The same for input and result of either order, faster where filters fill vectors. Where channels
// are first, all outputs are computed: step is 1. T is float, double or, for bfloat16 where
// has_bfloat16_lines(), uint16_t: where channels are last, their number is even then.
template <typename T>
using SumOf = std::conditional_t<std::is_same_v<T, uint16_t>, float, T>;
template <typename T>
void correlate_lines(const Correlation& c,
                     Order order,
                     const T* input,
                     const T* filters,
                     const FilterStrides& strides,
                     const SumOf<T>* bias,
                     T* result);
// How much of the vectors the filters of a group fill, of T.
template <typename T>
double filled_by_filters(const Correlation& c);

// grad_filters[g, m, c, taps] = the sum over batch and outputs of grad[n, g, m, o] times the input
// that the filter's element was multiplied with. Input and gradient have the same order, of
// integers kChannelsFirst; the result is contiguous, with taps in the order in which the axes list
// them. All outputs are computed: step is 1.
template <typename T>
void correlate_gradient(
    const Correlation& c, Order order, const T* input, const T* grad, T* grad_filters);

// The same for few terms and filters of a group, as in depthwise convolutions, if windows have more
// than one element. T is float, double, Half or BFloat16; W is what it is computed in. All of
// `grad_filters` is written.
bool has_few_terms(int64_t filters, int64_t terms);
template <typename T, typename W>
void correlate_planes(const Correlation& c,
                      const T* input,
                      const W* filters,
                      const FilterStrides& strides,
                      const W* bias,
                      T* result);
template <typename T, typename W>
void correlate_planes_gradient(const Correlation& c,
                               const T* input,
                               const T* grad,
                               W* grad_filters);

// The same for one filter and one channel in each group, where the channels of input and result lie
// beside each other: depth, height and width come first.
template <typename T, typename W>
void correlate_pixels(const Correlation& c,
                      const T* input,
                      const W* filters,
                      const FilterStrides& strides,
                      const W* bias,
                      T* result);
template <typename T, typename W>
void correlate_pixels_gradient(const Correlation& c,
                               const T* input,
                               const T* grad,
                               W* grad_filters);

// The same for bfloat16, where the machine has its products and they are worth while: with few
// filters or terms they are not.
bool multiplies_bfloat16(int64_t filters, int64_t terms);
void correlate_bfloat16(const Correlation& c,
                        const uint16_t* input,
                        const uint16_t* filters,
                        const FilterStrides& strides,
                        const uint16_t* bias,
                        uint16_t* result);
void correlate_gradient_bfloat16(const Correlation& c,
                                 Order order,
                                 const uint16_t* input,
                                 const uint16_t* grad,
                                 uint16_t* grad_filters);

}  // namespace mindtorch::cpu::convolution
