#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mindtorch/backends/cpu/fft/panel.h"
#include "mindtorch/backends/cpu/gemm_impl.h"

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

// What a line is transformed to: spectra of complex lines, and back; the first half of the spectra
// of real lines, length / 2 + 1 elements, and back.
enum class Transform { kForward, kInverse, kRealToHalf, kHalfToReal };

// Real numbers of a line of `length` elements, and of what it is transformed to.
int64_t input_width(Transform kind, int64_t length);
int64_t output_width(Transform kind, int64_t length);

// Lines of up to this length have a matrix: Note [Short lines].
inline constexpr int64_t kMostShortLength = 32;

// Rows of numbers that are padded with zeros to whole cache lines, and begin at one.
template <typename T>
struct TransformTable {
  static constexpr auto kLineNumbers = static_cast<int64_t>(64 / sizeof(T));

  TransformTable(int64_t rows, int64_t columns);
  T* row_at(int64_t row) const { return numbers.get() + row * stride; }

  int64_t stride;
  Scratch<T> numbers;
};

// A row for each number of a line, (re, im) of complex elements: what it adds to each number of the
// result.
template <typename T>
std::shared_ptr<const TransformTable<T>> transform_matrix(Transform kind, int64_t length);

// Lines of up to this length have what is below: folded_lines.h.
inline constexpr int64_t kMostFoldedLength = 32;

// Rows of the cosines, then of the sines, that elements 0 .. length / 2 meet in results 0 .. length
// / 2: each for the real and for the imaginary part, the sines with the sign that the part they are
// added to asks for. Of real lines, rows of both in turn.
template <typename T>
std::shared_ptr<const TransformTable<T>> folded_table(Transform kind, int64_t length);

// For a line as a matrix with rows of 32 bytes, Note [Lines in registers]: for each row, by what
// its elements are turned, as factors of a register and of one with its parts exchanged, 64 bytes
// each.
template <typename T>
std::shared_ptr<const TransformTable<T>> register_turns(bool inverse, int64_t length);

// exp(-i pi k / half), (re, im) for 0 <= k <= half / 2, of real lines of 2 * half numbers.
template <typename T>
std::shared_ptr<const std::vector<T>> half_turns(int64_t half);

}  // namespace mindtorch::cpu::fft
