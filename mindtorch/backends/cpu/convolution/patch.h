#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mindtorch/backends/cpu/convolution/correlation.h"

namespace mindtorch::cpu::convolution {

// Note [Patches]
// A patch is the input of a block of outputs (rows of one depth of one image), with zeros around it
// where the window looks beyond the edge. The elements that one tap reads for all outputs of the
// block then lie one after another, with the gap of a row's end between rows: outputs are computed
// there too, and never looked at. With a stride, elements are sorted by their place modulo the
// stride, and the same holds in each of the classes. So no element is held more than once for each
// tap of depth, and a tap is no more than an offset: Note [Rows by offset].
class PatchLayout {
 public:
  // One dimension, sorted by place modulo the stride.
  struct Side {
    const Axis* axis;
    std::vector<int64_t> classes;  // those in use
    int64_t least = 0;             // the first element of a class that is read, for output 0
    int64_t reach = 0;             // elements beyond the first that a window spans, in its class

    explicit Side(const Axis& axis);
    int64_t phases() const { return static_cast<int64_t>(classes.size()); }
    int64_t length(int64_t outputs) const { return outputs + reach; }
    // Which class a tap reads, and how far from its first element.
    int64_t phase(const Tap& tap) const;
    int64_t shift(const Tap& tap) const;
  };

  // `order` is that of the input.
  explicit PatchLayout(const Correlation& c, Order order = Order::kChannelsFirst);

  // The input as it lies is a patch, and so is the result: windows of one element.
  bool is_input() const { return is_input_; }
  const Side& height() const { return h_; }
  const Side& width() const { return w_; }
  // Elements from one output row to the next.
  int64_t pitch() const { return pitch_; }
  // Outputs in `rows` rows, with the gaps between them.
  int64_t positions(int64_t rows) const { return (rows - 1) * pitch_ + w_.axis->out; }
  // Elements of a patch of one channel.
  int64_t channel_size(int64_t rows) const {
    return is_input_ ? c_.axes[0].in * h_.axis->in * w_.axis->in
                     : static_cast<int64_t>(c_.axes[0].taps.size()) * h_.phases() * w_.phases() *
                           plane_size(rows);
  }
  // Elements of one class of one channel: the classes of both dimensions follow each other.
  int64_t plane_size(int64_t rows) const { return h_.length(rows) * pitch_; }
  // Where the rows of the product begin, channel after channel, for patches of `rows` rows.
  void offsets(int64_t rows, int64_t channels, std::vector<int64_t>& into) const;

  // Where the outputs of `rows` rows are, from the first one: no gaps.
  void outputs(int64_t rows, std::vector<int64_t>& into) const;

  // Where an image begins in the input, for the channels of a group from `channel` on.
  int64_t input_at(int64_t image, int64_t group, int64_t channel) const;

  // Fills the patch of `channels` channels for output rows [row, row + rows) at `depth`. `input` is
  // the first of these channels. T is float, double or, where bfloat16_tiles() are, uint16_t.
  template <typename T>
  void fill(
      const T* input, int64_t channels, int64_t depth, int64_t row, int64_t rows, T* patch) const;
  // Elements that it takes from the thread's working memory meanwhile.
  int64_t working_size(int64_t channels, int64_t rows) const;

 private:
  // Lines of some planes, from line `first` of each on. Those of all depths follow each other.
  template <typename T>
  struct Lines {
    const T* data;
    int64_t plane;  // from one to the next
    int64_t first;
  };
  template <typename T>
  void fill_from(const Lines<T>& lines,
                 int64_t channels,
                 int64_t depth,
                 int64_t row,
                 int64_t rows,
                 T* patch) const;
  const Correlation& c_;
  Order order_;
  int64_t first_depth_ = 0;  // that windows read, for output 0
  int64_t depths_ = 1;
  Side h_;
  Side w_;
  int64_t pitch_;
  bool is_input_;
};

// Rows of `from`, `pitch` apart, to their places in a channel of the result.
template <typename T>
void place(const Correlation& c, int64_t row, int64_t rows, const T* from, int64_t pitch, T* to) {
  const Axis& h = c.axes[1];
  const Axis& w = c.axes[2];
  for (int64_t i = 0; i < rows; ++i, from += pitch) {
    T* const line = to + (h.first + (row + i) * h.step) * w.size + w.first;
    if (w.step == 1) {
      std::memcpy(line, from, static_cast<size_t>(w.out) * sizeof(T));
    } else {
      for (int64_t j = 0; j < w.out; ++j) line[j * w.step] = from[j];
    }
  }
}

}  // namespace mindtorch::cpu::convolution
