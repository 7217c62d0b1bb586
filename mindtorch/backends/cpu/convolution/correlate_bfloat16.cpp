#include <algorithm>
#include <span>
#include <vector>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/convolution/bfloat16_lines.h"
#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/convolution/patch.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/sorting/scratch.h"

// Correlations as products of bfloat16: of filters, by rows, with panels of outputs; and of
// gradients, by rows, with panels of terms. Panels are packed from a patch: Note [Patches].
namespace mindtorch::cpu::convolution {
namespace {

using sorting::ScratchArray;  // for what is bounded, and the same for every slice

constexpr int64_t kPanelBytes = int64_t{256} << 10;  // packed at a time
constexpr int64_t kGrain = int64_t{1} << 18;         // multiplications that are worth a thread
constexpr int64_t kPackGrain = int64_t{1} << 15;     // elements of filters that are worth one
constexpr int64_t kLeastFilters = 4;
constexpr int64_t kLeastTerms = 8;
constexpr int64_t kMostSums = int64_t{1} << 22;  // that are kept apart, and added at the end

int64_t padded_to(int64_t size, int64_t unit) { return ceil_div(size, unit) * unit; }

// Some output rows of one depth of one image, and one group.
struct Slice {
  int64_t image;
  int64_t group;
  int64_t depth;
  int64_t row;
  int64_t rows;
};

// The outputs of a correlation by slices of `height` rows.
class Slices {
 public:
  Slices(const Correlation& c, int64_t most_outputs, int64_t wanted) : c_(c) {
    const int64_t all = c.axes[1].out;
    const int64_t most_rows = std::max<int64_t>(most_outputs / c.axes[2].out, 1);
    const int64_t others = c.batch * c.groups * c.axes[0].out;
    blocks_ = std::min(all, std::max(ceil_div(all, most_rows), ceil_div(wanted, others)));
    height_ = ceil_div(all, blocks_);
    blocks_ = ceil_div(all, height_);
  }
  int64_t height() const { return height_; }
  int64_t of_group() const { return c_.batch * c_.axes[0].out * blocks_; }
  int64_t count() const { return of_group() * c_.groups; }
  Slice at(int64_t i) const {
    const int64_t depth = c_.axes[0].out;
    Slice slice = {};
    slice.row = i % blocks_ * height_;
    slice.rows = std::min(height_, c_.axes[1].out - slice.row);
    slice.depth = i / blocks_ % depth;
    slice.image = i / blocks_ / depth % c_.batch;
    slice.group = i / of_group();
    return slice;
  }

 private:
  const Correlation& c_;
  int64_t blocks_;
  int64_t height_;
};

int64_t wanted_tasks(const Correlation& c) {
  const int64_t work = c.batch * c.groups * c.outputs() * c.terms() * c.filters;
  return in_parallel_region() ? 1 : std::clamp<int64_t>(work / kGrain, 1, num_threads());
}

// The patch of some channels of a slice, and how its product reads it.
class Patch {
 public:
  Patch(const Correlation& c, const PatchLayout& layout, int64_t channels, int64_t height)
      : c_(c),
        layout_(layout),
        channels_(channels),
        room_(layout.is_input() ? 0 : layout.channel_size(height) * channels) {}

  void read(const uint16_t* input, const Slice& slice, int64_t first_channel) {
    const int64_t channel = c_.axes[0].in * c_.axes[1].in * c_.axes[2].in;
    const uint16_t* const from =
        input + ((slice.image * c_.groups + slice.group) * c_.channels + first_channel) * channel;
    if (slice.rows != rows_) {
      rows_ = slice.rows;
      layout_.offsets(layout_.is_input() ? c_.axes[1].out : rows_, channels_, offsets_);
      layout_.outputs(rows_, outputs_);
      lines_.set(outputs_);
    }
    if (layout_.is_input()) {
      data_ = from + (slice.depth * c_.axes[1].out + slice.row) * c_.axes[2].out;
    } else {
      layout_.fill(from, channels_, slice.depth, slice.row, rows_, room_.get());
      data_ = room_.get();
    }
  }
  const uint16_t* data() const { return data_; }
  std::span<const int64_t> offsets() const { return offsets_; }
  const OutputLines& lines() const { return lines_; }

 private:
  const Correlation& c_;
  const PatchLayout& layout_;
  int64_t channels_;
  int64_t rows_ = 0;
  ScratchArray<uint16_t> room_;
  const uint16_t* data_ = nullptr;
  std::vector<int64_t> offsets_, outputs_;
  OutputLines lines_;
};

// The filters of all groups as strips of rows of terms; the bias is the last term.
class FilterStrips {
 public:
  FilterStrips(const Correlation& c,
               const uint16_t* filters,
               const FilterStrides& strides,
               const uint16_t* bias)
      : tiles_(*bfloat16_tiles()),
        filters_(c.filters),
        has_bias_(bias != nullptr),
        terms_(c.terms() + (has_bias_ ? 1 : 0)),
        padded_(padded_to(std::max<int64_t>(terms_, 1), tiles_.step_terms)),
        height_(std::min(
            tiles_.rows,
            padded_to(ceil_div(c.filters, ceil_div(c.filters, tiles_.rows)), tiles_.row_unit))),
        strips_(ceil_div(c.filters, height_)),
        blocks_(ceil_div(padded_, tiles_.strip_terms)),
        rows_(c.groups * c.filters * padded_),
        packed_(c.groups * strips_ * tiles_.rows * padded_) {
    const int64_t grain = ceil_div(kPackGrain, height_ * padded_);
    packs_.resize(static_cast<size_t>(c.groups * strips_ * blocks_));
    parallel_for(0, c.groups * strips_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) pack(c, filters, strides, bias, i);
    });
  }

  bool has_bias() const { return has_bias_; }
  int64_t padded_terms() const { return padded_; }
  int64_t strips() const { return strips_; }
  int64_t first(int64_t strip) const { return strip * height_; }
  int64_t rows(int64_t strip) const { return std::min(height_, filters_ - strip * height_); }

  // out(filter, column) of a strip; `sums` has room for a strip and all columns.
  void multiply(int64_t group,
                int64_t strip,
                const uint32_t* panels,
                int64_t cols,
                float* sums,
                uint16_t* out,
                int64_t out_stride) const {
    BFloat16Strip product = {};
    product.rows = rows(strip);
    product.panel_words = padded_ / 2 * kPanelCols;
    product.cols = cols;
    product.sums = sums;
    product.sums_stride = padded_to(cols, kPanelCols);
    product.out_stride = out_stride;
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t term = block * tiles_.strip_terms;
      product.a = packs_[static_cast<size_t>((group * strips_ + strip) * blocks_ + block)];
      product.terms = std::min(tiles_.strip_terms, padded_ - term);
      product.panels = panels + term / 2 * kPanelCols;
      product.add = block > 0;
      product.out = block + 1 == blocks_ ? out : nullptr;
      tiles_.multiply_strip(product);
    }
  }

 private:
  // Strip i of those of all groups.
  void pack(const Correlation& c,
            const uint16_t* filters,
            const FilterStrides& strides,
            const uint16_t* bias,
            int64_t i) {
    const int64_t group = i / strips_;
    const int64_t count = rows(i % strips_);
    const int64_t filter = first(i % strips_);
    uint16_t* const own = rows_.get() + (group * filters_ + filter) * padded_;
    for (int64_t j = 0; j < count; ++j) {
      uint16_t* const row = own + j * padded_;
      uint16_t* const end = copy_row(
          c, filters + group * strides.group + (filter + j) * strides.filter, strides, row);
      std::fill(end, row + padded_, uint16_t{0});
      if (has_bias_) *end = bias[group * filters_ + filter + j];
    }
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t term = block * tiles_.strip_terms;
      packs_[static_cast<size_t>(i * blocks_ + block)] = tiles_.pack_strip(
          {own + term, padded_, 1}, count, std::min(tiles_.strip_terms, padded_ - term), 1 << 20,
          packed_.get() + (i * padded_ + term) * tiles_.rows);
    }
  }

  static uint16_t* copy_row(const Correlation& c,
                            const uint16_t* filter,
                            const FilterStrides& strides,
                            uint16_t* to) {
    if (has_taps_in_order(c, strides)) {
      const int64_t window = c.terms() / c.channels;
      if (strides.channel == window) return std::copy_n(filter, c.terms(), to);
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        to = std::copy_n(filter + channel * strides.channel, window, to);
      }
      return to;
    }
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      for (const Tap& d : c.axes[0].taps) {
        for (const Tap& h : c.axes[1].taps) {
          for (const Tap& w : c.axes[2].taps) {
            *to++ = filter[channel * strides.channel + d.index * strides.taps[0] +
                           h.index * strides.taps[1] + w.index * strides.taps[2]];
          }
        }
      }
    }
    return to;
  }

  const BFloat16Tiles& tiles_;
  int64_t filters_;
  bool has_bias_;
  int64_t terms_;
  int64_t padded_;
  int64_t height_;
  int64_t strips_;
  int64_t blocks_;
  Scratch<uint16_t> rows_;
  Scratch<uint16_t> packed_;
  std::vector<BFloat16Rows> packs_;
};

bool is_whole(const Correlation& c) {
  return std::all_of(c.axes.begin(), c.axes.end(),
                     [](const Axis& axis) { return axis.step == 1 && axis.size == axis.out; });
}

}  // namespace

bool multiplies_bfloat16(int64_t filters, int64_t terms) {
  return bfloat16_tiles() != nullptr && filters >= kLeastFilters && terms >= kLeastTerms;
}

void correlate_bfloat16(const Correlation& c,
                        const uint16_t* input,
                        const uint16_t* filters,
                        const FilterStrides& strides,
                        const uint16_t* bias,
                        uint16_t* result) {
  if (c.batch * c.groups * c.filters * c.outputs() == 0) return;
  const PatchLayout layout(c);
  const FilterStrips strips(c, filters, strides, bias);
  const int64_t padded = strips.padded_terms();
  const int64_t words = padded / 2 * kPanelCols;
  const Slices slices(c, kPanelBytes / (2 * padded), wanted_tasks(c));
  const int64_t width = c.axes[2].out;
  const int64_t most = padded_to(slices.height() * width, kPanelCols);
  const int64_t channel = c.axes[0].size * c.axes[1].size * c.axes[2].size;
  const bool whole = is_whole(c);
  const int64_t work = slices.height() * width * c.terms() * c.filters + 1;
  // Where slices are fewer than threads, strips are divided, too.
  const int64_t parts = std::clamp<int64_t>(wanted_tasks(c) / slices.count(), 1, strips.strips());
  const int64_t grain = ceil_div(kGrain, ceil_div(work, parts));
  parallel_for(0, slices.count() * parts, grain, [&](int64_t begin, int64_t end) {
    const int64_t rows = bfloat16_tiles()->rows;
    Patch patch(c, layout, c.channels, slices.height());
    const ScratchArray<uint32_t> panels(most / kPanelCols * words);
    const ScratchArray<float> sums(rows * most);
    const ScratchArray<uint16_t> scattered(whole ? 0 : rows * most);
    for (int64_t i = begin; i < end; ++i) {
      const Slice slice = slices.at(i / parts);
      const int64_t part = i % parts;
      patch.read(input, slice, 0);
      for (int64_t line = 0; line < patch.lines().lines(); ++line) {
        pack_outputs(patch.data(), patch.offsets(), strips.has_bias(), padded,
                     patch.lines().line(line), panels.get() + line * words);
      }
      const int64_t cols = slice.rows * width;
      for (int64_t strip = strips.strips() * part / parts;
           strip < strips.strips() * (part + 1) / parts; ++strip) {
        uint16_t* const to =
            result +
            ((slice.image * c.groups + slice.group) * c.filters + strips.first(strip)) * channel +
            (c.axes[0].first + slice.depth * c.axes[0].step) * c.axes[1].size * c.axes[2].size;
        if (whole) {
          strips.multiply(slice.group, strip, panels.get(), cols, sums.get(),
                          to + slice.row * width, channel);
          continue;
        }
        strips.multiply(slice.group, strip, panels.get(), cols, sums.get(), scattered.get(), most);
        for (int64_t r = 0; r < strips.rows(strip); ++r) {
          place(c, slice.row, slice.rows, scattered.get() + r * most, width, to + r * channel);
        }
      }
    }
  });
}

namespace {

// Gradients of the filters: some channels of one group, summed over some of the slices.
class FilterGradient {
 public:
  FilterGradient(const Correlation& c, const uint16_t* input, const uint16_t* grad)
      : c_(c), layout_(c), input_(input), grad_(grad), slices_(c, tiles_.strip_terms, 1) {
    const int64_t taps = c.terms() / c.channels;
    const int64_t wanted = ceil_div(wanted_tasks(c), c.groups);
    channel_parts_ = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(c.terms() / kPanelCols, 1));
    channels_ = ceil_div(c.channels, std::min(channel_parts_, c.channels));
    channel_parts_ = ceil_div(c.channels, channels_);
    stride_ = padded_to(channels_ * taps, kPanelCols);
    height_ = strip_rows(tiles_, c.filters);
    size_ = c.filters * stride_;
    const int64_t others = c.groups * channel_parts_;
    slice_parts_ = std::clamp<int64_t>(
        ceil_div(wanted, channel_parts_), 1,
        std::max<int64_t>(1, std::min(slices_.of_group(), kMostSums / (others * size_))));
  }

  void run(uint16_t* grad_filters) {
    const int64_t parts = c_.groups * channel_parts_;
    const Scratch<float> sums(parts * slice_parts_ * size_);
    const int64_t work =
        c_.batch * c_.outputs() * c_.terms() * c_.filters / channel_parts_ / slice_parts_ + 1;
    parallel_for(0, parts * slice_parts_, ceil_div(kGrain, work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        add_up(i / slice_parts_, i % slice_parts_, sums.get() + i * size_);
      }
    });
    const HalfConversion convert(DType::kBFloat16);
    const int64_t taps = c_.terms() / c_.channels;
    parallel_for(0, parts, ceil_div(kGrain, slice_parts_ * size_), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = part % channel_parts_ * channels_;
        const int64_t count = std::min(channels_, c_.channels - first) * taps;
        float* const total = sums.get() + part * slice_parts_ * size_;
        for (int64_t m = 0; m < c_.filters; ++m) {
          float* const row = total + m * stride_;
          for (int64_t i = 1; i < slice_parts_; ++i) {
            for (int64_t t = 0; t < count; ++t) row[t] += row[i * size_ + t];
          }
          convert.narrow(
              row,
              grad_filters + (part / channel_parts_ * c_.filters + m) * c_.terms() + first * taps,
              count);
        }
      }
    });
  }

 private:
  // Part `part` of the slices, for the channels and the group of `columns`.
  void add_up(int64_t columns, int64_t part, float* sums) const {
    const int64_t group = columns / channel_parts_;
    const int64_t first = columns % channel_parts_ * channels_;
    const int64_t channels = std::min(channels_, c_.channels - first);
    const int64_t width = c_.axes[2].out;
    const int64_t most = padded_to(slices_.height() * width, kPanelCols);
    const int64_t terms = channels * (c_.terms() / c_.channels);
    const int64_t panels = ceil_div(terms, kPanelCols);
    const int64_t words = most / 2 * kPanelCols;
    Patch patch(c_, layout_, channels, slices_.height());
    const ScratchArray<uint32_t> packed_b(panels * words);
    const ScratchArray<uint16_t> packed_a(tiles_.rows * std::min(most, tiles_.strip_terms));
    const int64_t begin = slices_.of_group() * part / slice_parts_;
    const int64_t end = slices_.of_group() * (part + 1) / slice_parts_;
    for (int64_t i = begin; i < end; ++i) {
      const Slice slice = slices_.at(group * slices_.of_group() + i);
      patch.read(input_, slice, first);
      for (int64_t panel = 0; panel < panels; ++panel) {
        const auto at = static_cast<size_t>(panel * kPanelCols);
        pack_terms(patch.data(),
                   patch.offsets().subspan(
                       at, std::min<size_t>(kPanelCols, static_cast<size_t>(terms) - at)),
                   patch.lines(), packed_b.get() + panel * words);
      }
      const ConstMatrix rows = {grad_ +
                                    (slice.image * c_.groups + group) * c_.filters * c_.outputs() +
                                    (slice.depth * c_.axes[1].out + slice.row) * width,
                                c_.outputs(), 1};
      const int64_t outputs = slice.rows * width;
      for (int64_t m = 0; m < c_.filters; m += height_) {
        for (int64_t term = 0; term < outputs; term += tiles_.strip_terms) {
          BFloat16Strip strip = {};
          strip.rows = std::min(height_, c_.filters - m);
          strip.terms = std::min(tiles_.strip_terms, outputs - term);
          strip.a = tiles_.pack_strip(offset<uint16_t>(rows, m, term), strip.rows, strip.terms,
                                      panels, packed_a.get());
          strip.panels = packed_b.get() + term / 2 * kPanelCols;
          strip.panel_words = words;
          strip.cols = terms;
          strip.sums = sums + m * stride_;
          strip.sums_stride = stride_;
          strip.add = i > begin || term > 0;
          tiles_.multiply_strip(strip);
        }
      }
    }
  }

  const BFloat16Tiles& tiles_ = *bfloat16_tiles();
  const Correlation& c_;
  PatchLayout layout_;
  const uint16_t* input_;
  const uint16_t* grad_;
  Slices slices_;
  int64_t channel_parts_;
  int64_t channels_;  // of a part
  int64_t slice_parts_;
  int64_t height_;  // of a strip
  int64_t stride_;
  int64_t size_;  // of the sums of a part
};

}  // namespace

void correlate_gradient_bfloat16(const Correlation& c,
                                 const uint16_t* input,
                                 const uint16_t* grad,
                                 uint16_t* grad_filters) {
  if (c.groups * c.filters * c.terms() == 0) return;
  if (c.batch * c.outputs() == 0) {
    std::fill_n(grad_filters, c.groups * c.filters * c.terms(), uint16_t{0});
    return;
  }
  FilterGradient(c, input, grad).run(grad_filters);
}

}  // namespace mindtorch::cpu::convolution
