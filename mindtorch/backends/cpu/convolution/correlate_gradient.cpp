#include <cmath>
#include <vector>

#include "mindtorch/backends/cpu/convolution/patch.h"
#include "mindtorch/backends/cpu/convolution/tiles.h"
#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"

namespace mindtorch::cpu::convolution {
namespace {

// Bytes of the rows that are multiplied with one another: they should stay in the second cache.
constexpr int64_t kBlockBytes = int64_t{640} << 10;
constexpr int64_t kPanelBytes = int64_t{320} << 10;
constexpr int64_t kLeastFilters = 4;
constexpr int64_t kLeastChannels = 48;            // fewer do not pay for a transposed gradient
constexpr int64_t kCopyGrain = int64_t{1} << 15;  // elements of filters that are worth a thread

// The part of the filters that one task computes.
struct Part {
  int64_t group;
  int64_t filter, filters;
  int64_t channel, channels;
};

// Outputs that are multiplied at a time: rows of one slice (a depth of an image), or slices.
struct Block {
  int64_t rows;
  int64_t slices;
};

// How parts are chosen depends on the number of threads. A sum is the same in any part, because
// blocks and the way of adding them up are those of the whole shape.
template <typename T>
class Gradient {
 public:
  Gradient(const Correlation& c, Order order, const T* input, const T* grad, T* grad_filters)
      : c_(c),
        order_(order),
        layout_(c, order),
        input_(input),
        grad_(grad),
        grad_filters_(grad_filters),
        taps_(c.terms() / c.channels),
        columns_(ceil_div(c.filters, lanes()) * lanes()),
        by_filters_(4 * c.filters >= 3 * columns_ &&
                    !(layout_.is_input() && c.channels < kLeastChannels)) {}

  void run() {
    const int64_t work = c_.batch * c_.outputs() * c_.terms() * c_.filters;
    const int64_t wanted = std::max<int64_t>(1, std::min<int64_t>(num_threads(), work >> 18));
    const int64_t of_group = ceil_div(wanted, c_.groups);
    const int64_t by_channel = std::min(c_.channels, of_group);
    const int64_t for_filters = ceil_div(of_group, by_channel);
    panel_ = ceil_div(columns_, 2 * lanes()) < for_filters ? lanes() : 2 * lanes();
    const int64_t unit = by_filters_ ? panel_ : kLeastFilters;
    const int64_t by_filter = std::clamp<int64_t>(for_filters, 1, ceil_div(c_.filters, unit));
    const int64_t channels = ceil_div(c_.channels, by_channel);
    const int64_t filters = ceil_div(ceil_div(c_.filters, by_filter), unit) * unit;
    const int64_t parts = by_channel * by_filter;
    const int64_t grain = wanted > 1 ? 1 : c_.groups * parts;
    if (by_filters_ && columns_ > c_.filters) last_.allocate(c_.groups * panel_ * c_.terms());
    parallel_for(0, c_.groups * parts, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        Part part = {};
        part.group = task / parts;
        part.filter = task % parts / by_channel * filters;
        part.filters = std::min(filters, c_.filters - part.filter);
        part.channel = task % by_channel * channels;
        part.channels = std::min(channels, c_.channels - part.channel);
        if (part.filters > 0 && part.channels > 0) compute(part);
      }
    });
    if (by_filters_) order_sums();
  }

 private:
  static int64_t lanes() { return tiles<T>().panel_columns / 2; }

  void compute(const Part& part) const {
    if (by_filters_) return multiply_by_filters(part);
    clear(part);
    if (layout_.is_input()) return multiply_in_place(part);
    multiply_patches(part, false);
    if (!is_finite(part)) replace_infinite(part);
  }

  void clear(const Part& part) const {
    for (int64_t i = 0; i < part.filters; ++i) {
      std::fill_n(row_of(part, i), part.channels * taps_, T{0});
    }
  }
  bool is_finite(const Part& part) const {
    for (int64_t i = 0; i < part.filters; ++i) {
      const T* const row = row_of(part, i);
      if (!std::all_of(row, row + part.channels * taps_, [](T x) { return std::isfinite(x); })) {
        return false;
      }
    }
    return true;
  }

  // Infinite and no numbers may have come from the gaps between rows, where input was multiplied
  // with 0. The other sums stay as they are: row by row they would add up in another order, and
  // which of them share a part depends on the number of threads.
  void replace_infinite(const Part& part) const {
    const int64_t size = part.channels * taps_;
    std::vector<T> before(static_cast<size_t>(part.filters * size));
    for (int64_t i = 0; i < part.filters; ++i) {
      std::copy_n(row_of(part, i), size, before.data() + i * size);
    }
    clear(part);
    multiply_patches(part, true);
    for (int64_t i = 0; i < part.filters; ++i) {
      T* const row = row_of(part, i);
      const T* const old = before.data() + i * size;
      for (int64_t j = 0; j < size; ++j) {
        if (std::isfinite(old[j])) row[j] = old[j];
      }
    }
  }

  T* row_of(const Part& part, int64_t i) const {
    return grad_filters_ + (part.group * c_.filters + part.filter + i) * c_.terms() +
           part.channel * taps_;
  }
  const T* input_of(int64_t image, const Part& part) const {
    return input_ + layout_.input_at(image, part.group, part.channel);
  }
  // From output `at` of an image on, for filter `filter` of a part.
  ConstMatrix grad_of(int64_t image, const Part& part, int64_t filter, int64_t at) const {
    const int64_t all = c_.groups * c_.filters;
    const int64_t before = part.group * c_.filters + part.filter + filter;
    if (order_ == Order::kChannelsLast) {
      return {grad_ + (image * c_.outputs() + at) * all + before, 1, all};
    }
    return {grad_ + (image * all + before) * c_.outputs() + at, c_.outputs(), 1};
  }

  // Elements of a patch that one more row takes.
  int64_t row_size() const { return layout_.channel_size(2) - layout_.channel_size(1); }

  Block block_of(int64_t most_rows) const {
    const int64_t all = c_.axes[1].out;
    const int64_t most = std::max<int64_t>(most_rows, 1);
    return {ceil_div(all, ceil_div(all, most)),
            std::clamp<int64_t>(most / all, 1, c_.batch * c_.axes[0].out)};
  }

  // Only where channels are first.
  void multiply_in_place(const Part& part) const {
    const int64_t size = c_.outputs();
    std::vector<int64_t> offsets;
    layout_.offsets(c_.axes[1].out, part.channels, offsets);
    const int64_t bytes = static_cast<int64_t>(sizeof(T)) * (c_.filters + c_.channels);
    const int64_t length = std::max<int64_t>(kBlockBytes / bytes / 64 * 64, 64);
    const int64_t images = std::max<int64_t>(length / size, 1);
    for (int64_t image = 0; image < c_.batch; image += images) {
      for (int64_t at = 0; at < size; at += length) {
        const Pieces pieces = {std::min(images, c_.batch - image), std::min(length, size - at),
                               c_.groups * c_.filters * size, size, c_.groups * c_.channels * size};
        tiles<T>().add_dots(static_cast<const T*>(grad_of(image, part, 0, at).data), part.filters,
                            input_of(image, part) + at, offsets.data(), part.channels, pieces,
                            row_of(part, 0), c_.terms());
      }
    }
  }

  // A vector holds filters, see Note [Outputs or filters]: the sums of a panel of filters are a
  // product of the input as its taps see it with the gradient, output by output.
  void multiply_by_filters(const Part& part) const {
    const Axis& depth = c_.axes[0];
    const int64_t all = c_.axes[1].out;
    const int64_t width = c_.axes[2].out;
    const bool in_place = layout_.is_input();
    const int64_t of_row = in_place ? width : row_size();
    const auto bytes = static_cast<int64_t>(sizeof(T));
    Block block = block_of(kPanelBytes / (bytes * (columns_ * width + c_.channels * of_row)));
    if (in_place) block.slices = 1;
    const int64_t slices = c_.batch * depth.out;
    const int64_t taps = part.channels * taps_;
    const int64_t room =
        in_place ? 0 : block.slices * layout_.channel_size(block.rows) * part.channels;
    const int64_t grad_room =
        block.slices * block.rows * width * ceil_div(part.filters, panel_) * panel_;
    const int64_t working = in_place ? 0 : layout_.working_size(part.channels, block.rows);
    const int64_t most_terms = block.slices * block.rows * width;
    const KeptScratch together(
        0, block_bytes(room, grad_room, working) + KeptScratch::room<int64_t>(most_terms));
    const ScratchArray<int64_t> terms(most_terms);
    const ScratchArray<T> patches(room);
    const ScratchArray<T> grads(grad_room);
    each_panel(part, [&](int64_t m, int64_t panel) {
      std::fill_n(sums_of(part, m, panel), taps * panel, T{0});
    });
    std::vector<int64_t> offsets, outputs;
    for (int64_t row = 0; row < all; row += block.rows) {
      const int64_t rows = std::min(block.rows, all - row);
      const int64_t patch = part.channels * layout_.channel_size(rows);
      layout_.offsets(rows, part.channels, offsets);
      layout_.outputs(rows, outputs);
      int64_t* term = terms.get();
      for (int64_t i = 0; i < block.slices; ++i) {
        for (const int64_t output : outputs) *term++ = i * patch + output;
      }
      for (int64_t first = 0; first < slices; first += block.slices) {
        const int64_t count = std::min(block.slices, slices - first);
        const int64_t size = count * rows * width;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t image = (first + i) / depth.out;
          const int64_t z = (first + i) % depth.out;
          if (!in_place) {
            layout_.fill(input_of(image, part), part.channels, z, row, rows,
                         patches.get() + i * patch);
          }
          each_panel(part, [&](int64_t m, int64_t panel) {
            copy_grad(grad_of(image, part, m, (z * all + row) * width),
                      std::min(panel, part.filters - m), rows * width,
                      grads.get() + m * size + i * rows * width * panel, panel);
          });
        }
        each_panel(part, [&](int64_t m, int64_t panel) {
          const T* const seen =
              in_place ? input_of(first / depth.out, part) + (first % depth.out * all + row) * width
                       : patches.get();
          tiles<T>().multiply_panel(seen, offsets.data(), taps, terms.get(), size,
                                    grads.get() + m * size, panel, nullptr,
                                    sums_of(part, m, panel));
        });
      }
    }
  }

  static size_t block_bytes(int64_t patches, int64_t grads, int64_t working) {
    using Room = KeptScratch;
    return Room::room<T>(patches) + Room::room<T>(grads) + Room::room<T>(working);
  }

  // Calls visit(first filter of the part, columns) for each panel.
  template <typename Visit>
  void each_panel(const Part& part, const Visit& visit) const {
    for (int64_t m = 0; m < part.filters; m += panel_) {
      visit(m, std::min(panel_, columns_ - part.filter - m));
    }
  }

  // The sums of a panel lie where its filters will: a row for each term, of one sum for each
  // column. A last panel with more columns than filters has a place of its own.
  T* panel_of(int64_t group, int64_t filter, int64_t panel) const {
    return filter + panel > c_.filters ? last_.get() + group * panel_ * c_.terms()
                                       : grad_filters_ + (group * c_.filters + filter) * c_.terms();
  }
  T* sums_of(const Part& part, int64_t m, int64_t panel) const {
    return panel_of(part.group, part.filter + m, panel) + part.channel * taps_ * panel;
  }

  void order_sums() const {
    const int64_t panels = ceil_div(c_.filters, panel_);
    const int64_t grain = ceil_div(kCopyGrain, panel_ * c_.terms());
    parallel_for(0, c_.groups * panels, grain, [&](int64_t begin, int64_t end) {
      const ScratchArray<T> copy(panel_ * c_.terms());
      for (int64_t i = begin; i < end; ++i) {
        const int64_t filter = i % panels * panel_;
        const int64_t panel = std::min(panel_, columns_ - filter);
        const int64_t count = std::min(panel, c_.filters - filter);
        const T* from = panel_of(i / panels, filter, panel);
        if (count == panel) {
          std::copy_n(from, panel * c_.terms(), copy.get());
          from = copy.get();
        }
        copy_matrix<T>(
            count, c_.terms(), {from, 1, panel},
            {grad_filters_ + (i / panels * c_.filters + filter) * c_.terms(), c_.terms(), 1});
      }
    });
  }

  // A panel of the gradient, output by output, with zeros behind the last filter.
  static void copy_grad(
      const ConstMatrix& grad, int64_t filters, int64_t size, T* to, int64_t columns) {
    copy_matrix<T>(size, filters, {grad.data, grad.col_stride, grad.row_stride}, {to, columns, 1});
    if (filters == columns) return;
    for (int64_t i = 0; i < size; ++i) {
      std::fill(to + i * columns + filters, to + (i + 1) * columns, T{0});
    }
  }

  // Rows of the gradient of a block, `pitch` apart, with zeros where nobody looks at the outputs.
  void fill_grad(
      int64_t image, int64_t z, int64_t row, int64_t rows, const Part& part, T* to) const {
    const int64_t width = c_.axes[2].out;
    const int64_t pitch = layout_.pitch();
    const int64_t positions = layout_.positions(rows);
    const ConstMatrix from = grad_of(image, part, 0, (z * c_.axes[1].out + row) * width);
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    const int64_t shape[] = {part.filters, rows, width};
    const int64_t from_strides[] = {from.row_stride * kSize, width * from.col_stride * kSize,
                                    from.col_stride * kSize};
    const int64_t to_strides[] = {positions * kSize, pitch * kSize, kSize};
    copy_strided(kSize, shape, 3, from.data, from_strides, to, to_strides);
    for (int64_t i = 0; i < part.filters; ++i, to += positions) {
      for (int64_t line = 1; line < rows; ++line) {
        std::fill(to + (line - 1) * pitch + width, to + line * pitch, T{0});
      }
    }
  }

  // `by_rows`: without the gaps between rows, which takes longer.
  void multiply_patches(const Part& part, bool by_rows) const {
    const Axis& depth = c_.axes[0];
    const int64_t all = c_.axes[1].out;
    const auto bytes = static_cast<int64_t>(sizeof(T));
    const Block block =
        block_of(kBlockBytes / (bytes * (c_.filters * layout_.pitch() + c_.channels * row_size())));
    const int64_t slices = c_.batch * depth.out;
    const int64_t room = block.slices * layout_.channel_size(block.rows) * part.channels;
    const int64_t grad_room = block.slices * layout_.positions(block.rows) * part.filters;
    const KeptScratch together(
        0, block_bytes(room, grad_room, layout_.working_size(part.channels, block.rows)));
    const ScratchArray<T> patches(room);
    const ScratchArray<T> grads(grad_room);
    std::vector<int64_t> offsets;
    for (int64_t row = 0; row < all; row += block.rows) {
      const int64_t rows = std::min(block.rows, all - row);
      const int64_t positions = layout_.positions(rows);
      layout_.offsets(rows, part.channels, offsets);
      Pieces pieces = {0, positions, part.filters * positions, positions,
                       part.channels * layout_.channel_size(rows)};
      for (int64_t first = 0; first < slices; first += block.slices) {
        pieces.count = std::min(block.slices, slices - first);
        for (int64_t i = 0; i < pieces.count; ++i) {
          const int64_t image = (first + i) / depth.out;
          const int64_t z = (first + i) % depth.out;
          layout_.fill(input_of(image, part), part.channels, z, row, rows,
                       patches.get() + i * pieces.b_piece);
          fill_grad(image, z, row, rows, part, grads.get() + i * pieces.a_piece);
        }
        const auto add = [&](int64_t slice, const Pieces& of_slices) {
          tiles<T>().add_dots(grads.get() + slice * pieces.a_piece, part.filters,
                              patches.get() + slice * pieces.b_piece, offsets.data(),
                              static_cast<int64_t>(offsets.size()), of_slices, row_of(part, 0),
                              c_.terms());
        };
        if (!by_rows) {
          add(0, pieces);
          continue;
        }
        const int64_t pitch = layout_.pitch();
        for (int64_t i = 0; i < pieces.count; ++i) {
          add(i, {rows, c_.axes[2].out, pitch, positions, pitch});
        }
      }
    }
  }

  const Correlation& c_;
  Order order_;
  PatchLayout layout_;
  const T* input_;
  const T* grad_;
  T* grad_filters_;
  int64_t taps_;     // of a channel
  int64_t columns_;  // filters, with those that fill up the last vector
  bool by_filters_;
  int64_t panel_ = 0;  // most columns of one
  Scratch<T> last_;
};

}  // namespace

template <typename T>
void correlate_gradient(
    const Correlation& c, Order order, const T* input, const T* grad, T* grad_filters) {
  if (c.groups * c.filters * c.terms() == 0) return;
  if (c.batch * c.outputs() == 0) {
    std::fill_n(grad_filters, c.groups * c.filters * c.terms(), T{0});
    return;
  }
  Gradient<T>(c, order, input, grad, grad_filters).run();
}

template void correlate_gradient(const Correlation&, Order, const float*, const float*, float*);
template void correlate_gradient(const Correlation&, Order, const double*, const double*, double*);

}  // namespace mindtorch::cpu::convolution
