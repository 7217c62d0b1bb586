#pragma once

#include <cstdint>

// The inner loops of correlations with few terms, such as depthwise ones, for one plane of an image
// at a time, chosen for this machine's instruction set. T is float, double, Half or BFloat16; W is
// what T is computed in: float or double.
namespace mindtorch::cpu::convolution {

// Elements behind a patch that may be read, as long as they are numbers.
inline constexpr int64_t kPatchSlack = 64;

// Terms below each other: term k of `count` begins at `offset` + k * pitch of a patch. Their sums
// read a line once for all of them.
struct TermRun {
  int64_t offset;
  int64_t count;
};
inline constexpr int64_t kMostTermsOfRun = 4;

template <typename T, typename W>
struct PlaneRows {
  // Elements of the sums of add_products() that belong to one term.
  int64_t lanes;

  // to[line * pitch + i] = from[line * from_pitch + i * step].
  void (*copy)(const T* from,
               int64_t from_pitch,
               int64_t step,
               int64_t lines,
               int64_t count,
               W* to,
               int64_t pitch);

  // out[line * width + i] = bias + the sum over the terms t of all runs of
  //     weights[t] * patch[offset of t + line * pitch + i].
  void (*multiply)(const W* patch,
                   int64_t pitch,
                   const TermRun* runs,
                   int64_t run_count,
                   const W* weights,
                   W bias,
                   int64_t lines,
                   int64_t width,
                   T* out);

  // The `lanes` elements of sums for each term t grow by products that together are the sum over
  // lines and i of grad[line * width + i] * patch[offsets[t] + line * pitch + i].
  void (*add_products)(const W* patch,
                       int64_t pitch,
                       const int64_t* offsets,
                       int64_t terms,
                       int64_t lines,
                       int64_t width,
                       const T* grad,
                       W* sums);
};

template <typename T, typename W>
PlaneRows<T, W> plane_rows();

}  // namespace mindtorch::cpu::convolution
