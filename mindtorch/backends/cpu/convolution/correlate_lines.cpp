#include <algorithm>

#include "mindtorch/backends/cpu/convolution/filter_panels.h"
#include "mindtorch/backends/cpu/convolution/padded_images.h"
#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"

// Correlations by lines of outputs, with the filters of an output in vectors: see Note [Outputs or
// filters] and Note [Padded images].
namespace mindtorch::cpu::convolution {
namespace {

constexpr int64_t kLineGrain = int64_t{1} << 17;     // multiplications that are worth a thread
constexpr int64_t kImageBytes = int64_t{256} << 10;  // that stay in the second cache
constexpr int64_t kLeastOutputs = 192;               // that are worth reading all filters for

// Blocks of output rows: small enough for the cache, and enough of them for the threads.
int64_t choose_line_rows(const Correlation& c, Order order, int64_t element, int64_t threads) {
  const int64_t rows = c.axes[1].out;
  const int64_t of_one =
      (PaddedLayout(c, order, 2).size() - PaddedLayout(c, order, 1).size()) * element;
  const int64_t most = std::max<int64_t>(kImageBytes / std::max<int64_t>(of_one, 1), 1);
  const int64_t wanted = ceil_div(threads, c.batch * c.groups);
  return ceil_div(rows, std::clamp<int64_t>(wanted, ceil_div(rows, most), rows));
}

// With channels by words.
template <typename T>
Correlation words_of(Correlation c) {
  c.channels = ceil_div(c.channels, LineTypes<T>::kChannels);
  return c;
}

template <typename T>
class LineCorrelation {
  using Word = typename LineTypes<T>::Word;

 public:
  LineCorrelation(
      const Correlation& c, Order order, const T* input, FilterPanels<T>& panels, T* result)
      : c_(c),
        words_(words_of<T>(c)),
        order_(order),
        input_(input),
        panels_(panels),
        result_(result),
        work_(c.outputs() * c.terms() * c.filters + 1),
        threads_(
            in_parallel_region()
                ? 1
                : std::clamp<int64_t>(c.batch * c.groups * work_ / kLineGrain, 1, num_threads())),
        height_(choose_line_rows(words_, order, sizeof(Word), threads_)),
        layout_(words_, order, height_),
        runs_(words_, layout_, tiles_.has_equal_steps) {}

  void run() {
    const int64_t blocks = ceil_div(c_.axes[1].out, height_);
    // Small images come together, so that the filters are read less often.
    const int64_t wanted = ceil_div(kLeastOutputs, c_.axes[0].out * height_ * c_.axes[2].out);
    const int64_t shared = ceil_div(c_.batch * c_.groups, threads_);
    const int64_t together = blocks > 1 ? 1 : std::clamp<int64_t>(shared, 1, wanted);
    const int64_t pieces = ceil_div(c_.batch, together);
    const int64_t tasks = pieces * c_.groups * blocks;
    // Where there are fewer tasks than threads, filters are divided, too.
    const int64_t parts = std::clamp<int64_t>(threads_ / tasks, 1, panels_.count());
    const int64_t work = ceil_div(work_ * together, blocks * parts);
    // A panel that one task alone needs is packed by it, and no others beside it.
    const bool is_packed = tasks > 1;
    if (is_packed) panels_.pack_all();
    parallel_for(0, tasks * parts, ceil_div(kLineGrain, work), [&](int64_t begin, int64_t end) {
      const ScratchArray<Word> images(together * layout_.size());
      std::fill_n(images.get(), together * layout_.size(), Word{0});
      const Scratch<T> sums(height_ * c_.axes[2].out * panels_.columns());
      const Scratch<Word> own(is_packed ? 0 : panels_.panel_size());
      int64_t filled = -1;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t task = i / parts;
        const int64_t group = task / blocks % c_.groups;
        const int64_t first = task / blocks / c_.groups * together;
        const int64_t count = std::min(together, c_.batch - first);
        const int64_t row = task % blocks * height_;
        const int64_t rows = std::min(height_, c_.axes[1].out - row);
        if (rows <= 0) continue;
        for (int64_t k = 0; k < count && task != filled; ++k) {
          fill(first + k, group, row, rows, images.get() + k * layout_.size());
        }
        filled = task;
        const int64_t part = i % parts;
        panels_.each(panels_.count() * part / parts, panels_.count() * (part + 1) / parts,
                     [&](int64_t m, int64_t columns) {
                       if (!is_packed) panels_.pack(group, m, columns, own.get());
                       const Word* const y = is_packed ? panels_.panel(group, m) : own.get();
                       for (int64_t k = 0; k < count; ++k) {
                         multiply({first + k, group, row, rows, m, columns},
                                  images.get() + k * layout_.size(), y, sums.get());
                       }
                     });
      }
    });
  }

 private:
  // Some output rows of all depths, and one panel of filters.
  struct Piece {
    int64_t image;
    int64_t group;
    int64_t row;
    int64_t rows;
    int64_t first;
    int64_t columns;
  };

  const T* input_of(int64_t image, int64_t group) const {
    const int64_t channel = c_.axes[0].in * c_.axes[1].in * c_.axes[2].in;
    const int64_t first = image * c_.groups * c_.channels * channel;
    return input_ + first + group * c_.channels * (order_ == Order::kChannelsLast ? 1 : channel);
  }

  void fill(int64_t image, int64_t group, int64_t row, int64_t rows, Word* to) const {
    const T* const from = input_of(image, group);
    if constexpr (LineTypes<T>::kChannels == 2) {
      if (order_ == Order::kChannelsFirst) {
        return layout_.fill_pairs(from, c_.channels, row, rows, to);
      }
      layout_.fill(reinterpret_cast<const Word*>(from), row, rows, to);
    } else {
      layout_.fill(from, row, rows, to);
    }
  }

  void multiply(const Piece& piece, const Word* image, const Word* y, T* sums) const {
    const auto& [d, h, w] = c_.axes;
    const int64_t all = c_.groups * c_.filters;
    const int64_t filter = piece.group * c_.filters + piece.first;
    const int64_t real = std::min(piece.columns, c_.filters - piece.first);
    const bool is_last = order_ == Order::kChannelsLast;
    const bool in_place = is_last && real == piece.columns;
    LineProduct<T> product = {};
    product.step = w.stride * layout_.pixel();
    product.tap_step = layout_.pixel();
    product.channels = words_.channels;
    product.channel_stride = layout_.channel();
    product.y = y;
    product.channel_terms = c_.terms() / std::max<int64_t>(c_.channels, 1);
    product.columns = piece.columns;
    product.initial = panels_.initial(piece.group, piece.first);
    product.outputs = w.out;
    for (int64_t z = 0; z < d.out; ++z) {
      for (int64_t i = 0; i < piece.rows; ++i) {
        const std::vector<LineRun>& runs = runs_.at(z, piece.row + i);
        product.x = image + z * d.stride * layout_.depth() + i * h.stride * layout_.row();
        product.runs = runs.data();
        product.run_count = static_cast<int64_t>(runs.size());
        T* const line = is_last ? pixel_of(piece.image, z, piece.row + i) + filter : nullptr;
        product.c = in_place ? line : sums + i * w.out * piece.columns;
        product.c_stride = in_place ? w.step * all : piece.columns;
        tiles_.multiply(product);
        if (!is_last || in_place) continue;
        for (int64_t x = 0; x < w.out; ++x) {
          std::copy_n(product.c + x * piece.columns, real, line + x * w.step * all);
        }
      }
      if (is_last) continue;
      T* const to =
          result_ + (piece.image * all + filter) * c_.outputs() + (z * h.out + piece.row) * w.out;
      copy_matrix<T>(real, piece.rows * w.out, {sums, 1, piece.columns}, {to, c_.outputs(), 1});
    }
  }

  // Of a result whose channels lie beside each other: the first output of a row.
  T* pixel_of(int64_t image, int64_t depth, int64_t row) const {
    const auto& [d, h, w] = c_.axes;
    const int64_t line =
        (image * d.size + d.first + depth * d.step) * h.size + h.first + row * h.step;
    return result_ + (line * w.size + w.first) * c_.groups * c_.filters;
  }

  const Correlation& c_;
  Correlation words_;
  Order order_;
  const T* input_;
  FilterPanels<T>& panels_;
  T* result_;
  int64_t work_;  // of an image and a group
  int64_t threads_;
  int64_t height_;
  PaddedLayout layout_;
  LineTiles<T> tiles_ = line_tiles<T>();
  LineRuns runs_;
};

}  // namespace

template <typename T>
double filled_by_filters(const Correlation& c) {
  return static_cast<double>(c.filters) / static_cast<double>(padded_filters<T>(c.filters));
}

template <typename T>
void correlate_lines(const Correlation& c,
                     Order order,
                     const T* input,
                     const T* filters,
                     const FilterStrides& strides,
                     const SumOf<T>* bias,
                     T* result) {
  if (c.batch * c.groups * c.filters * c.outputs() == 0) return;
  FilterPanels<T> panels(c, filters, strides, bias);
  LineCorrelation<T>(c, order, input, panels, result).run();
}

template double filled_by_filters<float>(const Correlation&);
template double filled_by_filters<uint16_t>(const Correlation&);
template void correlate_lines(const Correlation&,
                              Order,
                              const uint16_t*,
                              const uint16_t*,
                              const FilterStrides&,
                              const float*,
                              uint16_t*);
template double filled_by_filters<double>(const Correlation&);
template void correlate_lines(const Correlation&,
                              Order,
                              const float*,
                              const float*,
                              const FilterStrides&,
                              const float*,
                              float*);
template void correlate_lines(const Correlation&,
                              Order,
                              const double*,
                              const double*,
                              const FilterStrides&,
                              const double*,
                              double*);

}  // namespace mindtorch::cpu::convolution
