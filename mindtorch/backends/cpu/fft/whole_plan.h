#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mindtorch/backends/cpu/gemm_impl.h"

namespace mindtorch::cpu::fft {

// One step of a transform, in Stockham's order, as Pass has it in panel.h. What results are turned
// by begins at `turns` of the plan; each as factors of (re, im) and of (im, re), the second with
// the sign that belongs to the part.
// - The first pass has one group in each lane: for `lanes` groups at a time, and the outputs 1 ..
//   radix - 1, a register of either factors. The last groups of a number that is not a multiple
//   of `lanes` are in two registers.
// - Later ones have a stride that is a multiple of `lanes`: for each group, and the outputs 1 ..
//   radix - 1, both factors of one element, (re, re, -im, im).
// - The last one has one group: nothing is turned.
struct WholePass {
  int64_t radix;
  int64_t groups;
  int64_t stride;
  int64_t turns;
};

template <typename T>
struct WholePlan {
  int64_t length;
  bool inverse;
  std::vector<WholePass> passes;
  Scratch<T> turns;
};

// For registers of `lanes` complex numbers; null if there is none.
template <typename T>
std::shared_ptr<const WholePlan<T>> whole_plan(bool inverse, int64_t length, int64_t lanes);

// For real lines of 2 * half elements: exp(-i pi k / half) times -i, or its conjugate, for k from 1
// to half / 2, a register of either factors at a time. The last ones may be in two registers.
template <typename T>
std::shared_ptr<const Scratch<T>> whole_half_turns(bool inverse, int64_t half, int64_t lanes);

// Passes of a plan.
int64_t whole_pass_count(int64_t length, int64_t lanes);

// Whether there is a plan.
bool has_whole_plan(int64_t length, int64_t lanes);

}  // namespace mindtorch::cpu::fft
