#pragma once

#include <array>
#include <vector>

#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/convolution/lines.h"

namespace mindtorch::cpu::convolution {

// Note [Padded images]
// The part of an image that some output rows read, in the order in which it lies, with zeros to the
// left and right where windows look beyond the edge. All depths are in it. Lines above, below,
// before and behind the image are not: taps that read them are left out.
class PaddedLayout {
 public:
  PaddedLayout(const Correlation& c, Order order, int64_t rows);

  // Elements from one to the next.
  int64_t channel() const { return channel_; }
  int64_t depth() const { return depth_; }
  int64_t row() const { return row_; }
  int64_t pixel() const { return pixel_; }
  int64_t size() const { return size_; }

  // Copies the channels of a group, which are words of LineTypes, for `rows` output rows from
  // `first` on. `input` is the first element of these channels, `to` holds zeros wherever nothing
  // was copied.
  template <typename T>
  void fill(const T* input, int64_t first, int64_t rows, T* to) const;
  // The same where `input` has the planes of `channels` channels of bfloat16, each two of which
  // become one.
  void fill_pairs(
      const uint16_t* input, int64_t channels, int64_t first, int64_t rows, uint32_t* to) const;

 private:
  // The lines and columns of an image that are copied.
  struct Part {
    int64_t top;  // of line 0
    int64_t begin;
    int64_t end;
    int64_t column;
    int64_t count;
  };
  Part part_of(int64_t first, int64_t rows) const;

  const Correlation& c_;
  Order order_;
  int64_t top_;      // of the lines that output row 0 reads
  int64_t lines_;    // below that
  int64_t columns_;  // of a line
  int64_t left_;     // column 0 is this element of a line
  int64_t channel_, depth_, row_, pixel_, size_;
};

// The taps that outputs read, for each place near an edge.
class LineRuns {
 public:
  // `has_equal_steps`: as LineTiles has it.
  LineRuns(const Correlation& c, const PaddedLayout& layout, bool has_equal_steps);

  // For outputs of `row` at `depth`; offsets are from the line and depth that the first row's
  // window of offset 0 begins in.
  const std::vector<LineRun>& at(int64_t depth, int64_t row) const {
    const auto d = static_cast<size_t>(depth_kinds_[static_cast<size_t>(depth)]);
    const auto h = static_cast<size_t>(row_kinds_[static_cast<size_t>(row)]);
    return runs_[d * row_kind_count_ + h];
  }

 private:
  std::vector<int64_t> depth_kinds_, row_kinds_;
  size_t row_kind_count_ = 0;
  std::vector<std::vector<LineRun>> runs_;
};

}  // namespace mindtorch::cpu::convolution
