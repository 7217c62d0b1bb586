#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/convolution/bfloat16_lines.h"
#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/convolution/patch.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"

// The outputs of a correlation of bfloat16 in the parts that are computed at a time.
namespace mindtorch::cpu::convolution {

inline constexpr int64_t kBFloat16Grain = int64_t{1}
                                          << 18;  // multiplications that are worth a thread

inline int64_t padded_to(int64_t size, int64_t unit) { return ceil_div(size, unit) * unit; }

// Some output rows of one group: of one plane, which is a depth of an image, or of several.
struct Slice {
  int64_t group;
  int64_t plane;
  int64_t planes;
  int64_t row;
  int64_t rows;
};

// The outputs of a correlation by slices of `height` rows.
class Slices {
 public:
  Slices(const Correlation& c, int64_t most_outputs, int64_t wanted) : c_(c) {
    const int64_t all = c.axes[1].out;
    const int64_t most_rows = std::max<int64_t>(most_outputs / c.axes[2].out, 1);
    const int64_t others = planes() * c.groups;
    blocks_ = std::min(all, std::max(ceil_div(all, most_rows), ceil_div(wanted, others)));
    height_ = ceil_div(all, blocks_);
    blocks_ = ceil_div(all, height_);
  }

  // Takes up to `most` planes together where they fill panels better.
  void join_planes(int64_t most) {
    if (blocks_ > 1) return;
    const int64_t outputs = c_.axes[1].out * c_.axes[2].out;
    const auto wasted = [&](int64_t count) {
      const int64_t size = count * outputs;
      return static_cast<double>(padded_to(size, kPanelCols) - size) / static_cast<double>(size);
    };
    constexpr double kEnough = 0.03;
    for (int64_t i = 2; i <= std::min(most, planes()) && wasted(together_) > kEnough; ++i) {
      if (wasted(i) < wasted(together_)) together_ = i;
    }
  }

  int64_t height() const { return height_; }
  int64_t together() const { return together_; }
  int64_t of_group() const { return ceil_div(planes(), together_) * blocks_; }
  int64_t count() const { return of_group() * c_.groups; }
  Slice at(int64_t i) const {
    Slice slice = {};
    slice.row = i % blocks_ * height_;
    slice.rows = std::min(height_, c_.axes[1].out - slice.row);
    slice.plane = i / blocks_ * together_ % (of_group() / blocks_ * together_);
    slice.planes = std::min(together_, planes() - slice.plane);
    slice.group = i / of_group();
    return slice;
  }

 private:
  int64_t planes() const { return c_.batch * c_.axes[0].out; }

  const Correlation& c_;
  int64_t blocks_;
  int64_t height_;
  int64_t together_ = 1;
};

inline int64_t wanted_tasks(const Correlation& c) {
  const int64_t work = c.batch * c.groups * c.outputs() * c.terms() * c.filters;
  return in_parallel_region() ? 1 : std::clamp<int64_t>(work / kBFloat16Grain, 1, num_threads());
}

// The patches of some channels of a slice, one for each plane, and how its product reads them.
class Patch {
 public:
  Patch(const Correlation& c, const PatchLayout& layout, int64_t channels, const Slices& slices)
      : c_(c), layout_(layout), channels_(channels), room_(room(layout, channels, slices)) {}

  // Elements that it holds.
  static int64_t room(const PatchLayout& layout, int64_t channels, const Slices& slices) {
    if (layout.is_input()) return 0;
    return slices.together() * layout.channel_size(slices.height()) * channels;
  }

  void read(const uint16_t* input, const Slice& slice, int64_t first_channel) {
    const int64_t depth = c_.axes[0].out;
    const auto from = [&](int64_t plane) {
      return input + layout_.input_at(plane / depth, slice.group, first_channel);
    };
    if (slice.rows != rows_ || slice.planes != planes_) set(slice);
    if (layout_.is_input()) {
      data_ =
          from(slice.plane) + (slice.plane % depth * c_.axes[1].out + slice.row) * c_.axes[2].out;
      return;
    }
    for (int64_t i = 0; i < planes_; ++i) {
      const int64_t plane = slice.plane + i;
      layout_.fill(from(plane), channels_, plane % depth, slice.row, rows_,
                   room_.get() + i * size(rows_));
    }
    data_ = room_.get();
  }
  const uint16_t* data() const { return data_; }
  std::span<const int64_t> offsets() const { return offsets_; }
  const OutputLines& lines() const { return lines_; }

 private:
  int64_t size(int64_t rows) const { return layout_.channel_size(rows) * channels_; }

  void set(const Slice& slice) {
    rows_ = slice.rows;
    planes_ = slice.planes;
    layout_.offsets(layout_.is_input() ? c_.axes[1].out : rows_, channels_, offsets_);
    std::vector<int64_t> of_plane, outputs;
    layout_.outputs(rows_, of_plane);
    for (int64_t i = 0; i < planes_; ++i) {
      for (const int64_t output : of_plane) outputs.push_back(i * size(rows_) + output);
    }
    lines_.set(outputs);
  }

  const Correlation& c_;
  const PatchLayout& layout_;
  int64_t channels_;
  int64_t rows_ = 0;
  int64_t planes_ = 0;
  ScratchArray<uint16_t> room_;
  const uint16_t* data_ = nullptr;
  std::vector<int64_t> offsets_;
  OutputLines lines_;
};

}  // namespace mindtorch::cpu::convolution
