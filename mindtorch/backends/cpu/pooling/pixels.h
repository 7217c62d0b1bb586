#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/pooling/plane.h"

// Pooling of images whose channels lie beside each other: all channels of a window at a time. T is
// float, double, Half or BFloat16. Planes are counted over batch and channels, as elsewhere.
namespace mindtorch::cpu::pooling {

template <typename T>
void max_pixels(const Plane& plane, int64_t channels, const T* input, T* values, int64_t* indices);
// Of an image of `in` pixels, from one of `out`. Throws RuntimeError for an index that is none.
template <typename T>
void max_pixels_backward(int64_t images,
                         int64_t in,
                         int64_t out,
                         int64_t channels,
                         const T* grad,
                         const int64_t* indices,
                         T* to);

template <typename T>
void mean_pixels(
    const Plane& plane, const Divisor& divisor, int64_t channels, const T* input, T* values);

template <typename T>
void mean_pixels_backward(
    const Plane& plane, const Divisor& divisor, int64_t channels, const T* grad, T* out);

}  // namespace mindtorch::cpu::pooling
