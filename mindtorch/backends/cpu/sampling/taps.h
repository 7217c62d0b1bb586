#pragma once

#include <cstdint>
#include <type_traits>

// Points of a grid on images of 2 or 3 dimensions, a block at a time, for float and double, chosen
// for this machine's instruction set.
namespace mindtorch::cpu::sampling {

enum Interpolation : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Settings {
  int64_t interpolation;
  int64_t padding;
  bool align_corners;
};

inline constexpr int kBlock = 64;  // points
inline constexpr int kMostTaps = 16;

// The width of an element, so that both fit the same vectors.
template <typename T>
using Offset = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// The elements along one dimension that count at each point: how much, and how that changes with
// the point's coordinate. Outside of the image they count nothing.
template <typename T>
struct AxisTaps {
  int count;
  alignas(64) Offset<T> places[4][kBlock];
  alignas(64) T weights[4][kBlock];
  alignas(64) T slopes[4][kBlock];
};

// The elements of an image that count at each point.
template <typename T>
struct Taps {
  int count;
  alignas(64) Offset<T> offsets[kMostTaps][kBlock];
  alignas(64) T weights[kMostTaps][kBlock];
};

template <typename T>
struct SamplingTiles {
  // Of `points` coordinates from -1 to 1, `stride` apart, along a dimension of `size` elements.
  void (*locate)(const T* coordinates,
                 int64_t stride,
                 int points,
                 int64_t size,
                 const Settings& settings,
                 AxisTaps<T>& taps);
  // out[p] = the sum over taps of weight * image[offset]. All kBlock points are computed.
  void (*sample)(const Taps<T>& taps, const T* image, T* out);
};

template <typename T>
const SamplingTiles<T>& sampling_tiles();

}  // namespace mindtorch::cpu::sampling
