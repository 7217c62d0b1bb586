#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mindtorch/backends/cpu/fft/panel.h"

namespace mindtorch::cpu::fft {

// How a line of `length` complex numbers, one beside the other, is transformed alone.
// - kPanel: in one lane of a panel. For lines that are too short for anything else.
// - kMatrix: as a matrix of `rows` x `columns`: columns are transformed, turned, then rows.
// - kChirp: a length with a large prime factor, as a convolution with a chirp (Bluestein), by
//   transforms of a length with small ones.
enum class Method { kPanel, kMatrix, kChirp };

template <typename T>
struct LinePlan {
  int64_t length;
  Method method;
  double cost;  // in vector operations

  std::shared_ptr<const PanelPlan<T>> panel;  // of lines of this length; null if there is none
  double cost_of_panel;

  // kMatrix
  std::shared_ptr<const PanelPlan<T>> of_columns;
  std::shared_ptr<const PanelPlan<T>> of_rows;
  std::vector<T> turns;  // panel by panel of the columns, as PanelOutput takes them

  // kChirp
  std::shared_ptr<const LinePlan> convolution;
  std::vector<T> chirp;      // exp(-i pi k^2 / length)
  std::vector<T> conjugate;  // of the chirp
  std::vector<T> filter;     // the spectrum of what is convolved with
};

// Plans are kept for later calls; the most recent ones, up to some memory.
template <typename T>
std::shared_ptr<const LinePlan<T>> line_plan(int64_t length);

// exp(-i pi k / half), (re, im) for 0 <= k <= half / 2, of real lines of 2 * half numbers.
template <typename T>
std::shared_ptr<const std::vector<T>> half_turns(int64_t half);

}  // namespace mindtorch::cpu::fft
