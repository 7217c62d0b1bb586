#include <cstring>

#include "mindtorch/backends/cpu/convolution/patch.h"
#include "mindtorch/backends/cpu/convolution/tiles.h"
#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu::convolution {
namespace {

// Bytes of the rows that are multiplied with one another: they should stay in the second cache.
constexpr int64_t kBlockBytes = int64_t{640} << 10;
constexpr int64_t kPanelBytes = int64_t{320} << 10;
constexpr int64_t kLeastFilters = 4;
constexpr int64_t kLeastChannels = 48;  // fewer do not pay for a transposed gradient

// The part of the filters that one task computes.
struct Part {
  int64_t group;
  int64_t filter, filters;
  int64_t channel, channels;
};

template <typename T>
class Gradient {
 public:
  Gradient(const Correlation& c, const T* input, const T* grad, T* grad_filters)
      : c_(c), layout_(c), input_(input), grad_(grad), grad_filters_(grad_filters) {}

  void run() {
    const int64_t work = c_.batch * c_.outputs() * c_.terms() * c_.filters;
    const int64_t wanted = std::max<int64_t>(1, std::min<int64_t>(num_threads(), work >> 18));
    const int64_t of_group = ceil_div(wanted, c_.groups);
    const int64_t by_channel = std::min(c_.channels, of_group);
    const int64_t by_filter =
        std::clamp<int64_t>(ceil_div(of_group, by_channel), 1, ceil_div(c_.filters, kLeastFilters));
    const int64_t channels = ceil_div(c_.channels, by_channel);
    const int64_t filters =
        ceil_div(ceil_div(c_.filters, by_filter), kLeastFilters) * kLeastFilters;
    const int64_t parts = by_channel * by_filter;
    const int64_t grain = wanted > 1 ? 1 : c_.groups * parts;
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
  }

 private:
  void compute(const Part& part) const {
    const int64_t taps = c_.terms() / c_.channels;
    T* const to = grad_filters_ +
                  ((part.group * c_.filters + part.filter) * c_.channels + part.channel) * taps;
    for (int64_t i = 0; i < part.filters; ++i) {
      std::fill_n(to + i * c_.terms(), part.channels * taps, T{0});
    }
    const bool by_filters = 4 * part.filters >= 3 * padded(part.filters);
    if (layout_.is_input() && (!by_filters || part.channels < kLeastChannels)) {
      multiply_in_place(part, to);
    } else if (by_filters) {
      multiply_by_filters(part, to);
    } else {
      multiply_patches(part, to);
    }
  }

  const T* input_of(int64_t image, const Part& part) const {
    const int64_t channel = c_.axes[0].in * c_.axes[1].in * c_.axes[2].in;
    return input_ + ((image * c_.groups + part.group) * c_.channels + part.channel) * channel;
  }
  const T* grad_of(int64_t image, const Part& part) const {
    return grad_ + ((image * c_.groups + part.group) * c_.filters + part.filter) * c_.outputs();
  }

  void multiply_in_place(const Part& part, T* to) const {
    const int64_t size = c_.outputs();
    std::vector<int64_t> offsets;
    layout_.offsets(c_.axes[1].out, part.channels, offsets);
    const int64_t bytes = static_cast<int64_t>(sizeof(T)) * (part.filters + part.channels);
    const int64_t length = std::max<int64_t>(kBlockBytes / bytes / 64 * 64, 64);
    const int64_t images = std::max<int64_t>(length / size, 1);
    for (int64_t image = 0; image < c_.batch; image += images) {
      for (int64_t at = 0; at < size; at += length) {
        const Pieces pieces = {std::min(images, c_.batch - image), std::min(length, size - at),
                               c_.groups * c_.filters * size, size, c_.groups * c_.channels * size};
        tiles<T>().add_dots(grad_of(image, part) + at, part.filters, input_of(image, part) + at,
                            offsets.data(), part.channels, pieces, to, c_.terms());
      }
    }
  }

  static int64_t padded(int64_t filters) {
    const int64_t lanes = tiles<T>().panel_columns / 2;
    return ceil_div(filters, lanes) * lanes;
  }

  // A vector holds filters, see Note [Outputs or filters]: the sums of a panel of filters are a
  // product of the input as its taps see it with the gradient, output by output.
  void multiply_by_filters(const Part& part, T* to) const {
    const Axis& depth = c_.axes[0];
    const int64_t all = c_.axes[1].out;
    const int64_t width = c_.axes[2].out;
    const int64_t of_row =
        layout_.is_input() ? width : layout_.channel_size(2) - layout_.channel_size(1);
    const int64_t columns = padded(part.filters);
    const int64_t bytes =
        static_cast<int64_t>(sizeof(T)) * (columns * width + part.channels * of_row);
    const int64_t most_rows = std::max<int64_t>(kPanelBytes / bytes, 1);
    const int64_t height = ceil_div(all, ceil_div(all, most_rows));
    const int64_t slices = c_.batch * depth.out;
    const int64_t together =
        layout_.is_input() ? 1 : std::clamp<int64_t>(most_rows / all, 1, slices);
    const int64_t taps = part.channels * (c_.terms() / c_.channels);
    const Scratch<T> patches(
        layout_.is_input() ? 0 : together * layout_.channel_size(height) * part.channels);
    const Scratch<T> grads(together * height * width * columns);
    const Scratch<T> sums(taps * columns);
    std::fill_n(sums.get(), taps * columns, T{0});
    std::vector<int64_t> offsets, outputs, terms;
    for (int64_t row = 0; row < all; row += height) {
      const int64_t rows = std::min(height, all - row);
      const int64_t patch = part.channels * layout_.channel_size(rows);
      layout_.offsets(rows, part.channels, offsets);
      layout_.outputs(rows, outputs);
      terms.clear();
      for (int64_t i = 0; i < together; ++i) {
        for (const int64_t output : outputs) terms.push_back(i * patch + output);
      }
      for (int64_t first = 0; first < slices; first += together) {
        const int64_t count = std::min(together, slices - first);
        const int64_t size = count * rows * width;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t image = (first + i) / depth.out;
          const int64_t z = (first + i) % depth.out;
          if (!layout_.is_input()) {
            layout_.fill(input_of(image, part), part.channels, z, row, rows,
                         patches.get() + i * patch);
          }
          const T* const grad = grad_of(image, part) + (z * all + row) * width;
          each_panel(columns, [&](int64_t m, int64_t panel) {
            transpose_grad(grad + m * c_.outputs(), std::min(panel, part.filters - m), rows * width,
                           grads.get() + m * size + i * rows * width * panel, panel);
          });
        }
        each_panel(columns, [&](int64_t m, int64_t panel) {
          const T* const seen = layout_.is_input() ? input_of(first / depth.out, part) +
                                                         (first % depth.out * all + row) * width
                                                   : patches.get();
          tiles<T>().multiply_panel(seen, offsets.data(), taps, terms.data(), size,
                                    grads.get() + m * size, panel, nullptr, sums.get() + m * taps);
        });
      }
    }
    each_panel(columns, [&](int64_t m, int64_t panel) {
      copy_matrix<T>(std::min(panel, part.filters - m), taps, {sums.get() + m * taps, 1, panel},
                     {to + m * c_.terms(), c_.terms(), 1});
    });
  }

  template <typename Visit>
  static void each_panel(int64_t columns, const Visit& visit) {
    const int64_t most = tiles<T>().panel_columns;
    for (int64_t m = 0; m < columns; m += most) visit(m, std::min(most, columns - m));
  }

  // A panel of the gradient, output by output, with zeros behind the last filter.
  void transpose_grad(const T* grad, int64_t filters, int64_t size, T* to, int64_t columns) const {
    copy_matrix<T>(size, filters, {grad, 1, c_.outputs()}, {to, columns, 1});
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
    const T* from = grad_of(image, part) + (z * c_.axes[1].out + row) * width;
    for (int64_t i = 0; i < part.filters; ++i, from += c_.outputs()) {
      for (int64_t line = 0; line < rows; ++line) {
        std::memcpy(to, from + line * width, static_cast<size_t>(width) * sizeof(T));
        to += width;
        if (line + 1 == rows) break;
        std::fill_n(to, pitch - width, T{0});
        to += pitch - width;
      }
    }
  }

  // A block is some rows of one slice (a depth of an image), or several slices.
  void multiply_patches(const Part& part, T* to) const {
    const Axis& depth = c_.axes[0];
    const int64_t all = c_.axes[1].out;
    const int64_t of_row = layout_.channel_size(2) - layout_.channel_size(1);
    const int64_t bytes =
        static_cast<int64_t>(sizeof(T)) * (part.filters * layout_.pitch() + part.channels * of_row);
    const int64_t most_rows = std::max<int64_t>(kBlockBytes / bytes, 1);
    const int64_t height = ceil_div(all, ceil_div(all, most_rows));
    const int64_t slices = c_.batch * depth.out;
    const int64_t together = std::clamp<int64_t>(most_rows / all, 1, slices);
    const Scratch<T> patches(together * layout_.channel_size(height) * part.channels);
    const Scratch<T> grads(together * layout_.positions(height) * part.filters);
    std::vector<int64_t> offsets;
    for (int64_t row = 0; row < all; row += height) {
      const int64_t rows = std::min(height, all - row);
      const int64_t positions = layout_.positions(rows);
      layout_.offsets(rows, part.channels, offsets);
      Pieces pieces = {0, positions, part.filters * positions, positions,
                       part.channels * layout_.channel_size(rows)};
      for (int64_t first = 0; first < slices; first += together) {
        pieces.count = std::min(together, slices - first);
        for (int64_t i = 0; i < pieces.count; ++i) {
          const int64_t image = (first + i) / depth.out;
          const int64_t z = (first + i) % depth.out;
          layout_.fill(input_of(image, part), part.channels, z, row, rows,
                       patches.get() + i * pieces.b_piece);
          fill_grad(image, z, row, rows, part, grads.get() + i * pieces.a_piece);
        }
        tiles<T>().add_dots(grads.get(), part.filters, patches.get(), offsets.data(),
                            static_cast<int64_t>(offsets.size()), pieces, to, c_.terms());
      }
    }
  }

  const Correlation& c_;
  PatchLayout layout_;
  const T* input_;
  const T* grad_;
  T* grad_filters_;
};

}  // namespace

template <typename T>
void correlate_gradient(const Correlation& c, const T* input, const T* grad, T* grad_filters) {
  if (c.groups * c.filters * c.terms() == 0) return;
  if (c.batch * c.outputs() == 0) {
    std::fill_n(grad_filters, c.groups * c.filters * c.terms(), T{0});
    return;
  }
  Gradient<T>(c, input, grad, grad_filters).run();
}

template void correlate_gradient(const Correlation&, const float*, const float*, float*);
template void correlate_gradient(const Correlation&, const double*, const double*, double*);

}  // namespace mindtorch::cpu::convolution
