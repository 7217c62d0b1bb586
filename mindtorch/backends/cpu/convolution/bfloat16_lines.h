#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Patches of bfloat16 as panels of Note [Products of bfloat16]. These functions need AVX512_BF16.
namespace mindtorch::cpu::convolution {

// Outputs are taken by lines of kPanelCols. Those of a line that are neighbours in the patch are a
// run: output j of the line lies at `at + j` for every bit j of `members`.
struct Run {
  int64_t at;
  uint32_t members;
};

class OutputLines {
 public:
  // Of `count` outputs that lie at `outputs`.
  void set(std::span<const int64_t> outputs);
  int64_t lines() const { return static_cast<int64_t>(first_.size()) - 1; }
  std::span<const Run> line(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return std::span(runs_).subspan(first_[at], first_[at + 1] - first_[at]);
  }

 private:
  std::vector<Run> runs_;
  std::vector<size_t> first_ = {0};
};

// to[i] = line[first + i * step] for i < count, or 0 where a line of `size` elements has none. The
// step is 1 or 2.
void copy_line(
    const uint16_t* line, int64_t size, int64_t first, int64_t step, int64_t count, uint16_t* to);

// The same for lines `from_pitch` apart, to lines that follow each other.
void copy_lines(const uint16_t* from,
                int64_t from_pitch,
                int64_t lines,
                int64_t size,
                int64_t first,
                int64_t step,
                int64_t count,
                uint16_t* to);

// The panel whose columns are the outputs of one line. Term t begins at patch[offsets[t]]; with
// `has_ones`, the term behind them is 1 everywhere. Terms are filled up with zeros to
// `padded_terms`.
void pack_outputs(const uint16_t* patch,
                  std::span<const int64_t> offsets,
                  bool has_ones,
                  int64_t padded_terms,
                  std::span<const Run> line,
                  uint32_t* panel);

// The panel whose columns are at most kPanelCols terms, and whose lines are pairs of outputs: all
// of `outputs`, in whole lines.
void pack_terms(const uint16_t* patch,
                std::span<const int64_t> offsets,
                const OutputLines& outputs,
                uint32_t* panel);

}  // namespace mindtorch::cpu::convolution
