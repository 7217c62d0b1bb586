#include <algorithm>
#include <vector>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/convolution/bfloat16_slices.h"
#include "mindtorch/backends/cpu/convolution/lines.h"
#include "mindtorch/backends/cpu/half_conversion.h"

// Correlations as products of bfloat16: of filters, by rows, with panels of outputs; and of
// gradients, by rows, with panels of terms. Panels are packed from a patch: Note [Patches].
namespace mindtorch::cpu::convolution {
namespace {

constexpr int64_t kPanelBytes = int64_t{640} << 10;    // packed at a time
constexpr int64_t kPatchesBytes = int64_t{640} << 10;  // of planes that are taken together
constexpr int64_t kPackGrain = int64_t{1} << 15;       // elements of filters that are worth one
constexpr int64_t kLeastFilters = 4;
constexpr int64_t kLeastTerms = 8;

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

// Where the outputs of slices go.
class ResultPlaces {
 public:
  ResultPlaces(const Correlation& c, uint16_t* result) : c_(c), result_(result) {}

  int64_t channel() const { return c_.axes[0].size * c_.axes[1].size * c_.axes[2].size; }

  // Outputs [first, first + cols) of a slice for one filter, where they lie beside each other in
  // the result; null otherwise.
  uint16_t* in_place(const Slice& slice, int64_t filter, int64_t first, int64_t cols) const {
    const int64_t outputs = slice.rows * c_.axes[2].out;
    if (!is_whole_ || first / outputs != (first + cols - 1) / outputs) return nullptr;
    return plane(slice, filter, first / outputs) + slice.row * c_.axes[2].out + first % outputs;
  }

  // The same for `count` filters, from rows of `from`.
  void store(const Slice& slice,
             int64_t filter,
             int64_t count,
             int64_t first,
             int64_t cols,
             const uint16_t* from,
             int64_t stride) const {
    const auto& [d, h, w] = c_.axes;
    const int64_t outputs = slice.rows * w.out;
    for (int64_t i = 0; i < count; ++i, from += stride) {
      for (int64_t at = first; at < first + cols;) {
        // To the end of the plane, or of the line.
        const int64_t unit = is_whole_ ? outputs : w.out;
        const int64_t size = std::min(unit - at % unit, first + cols - at);
        uint16_t* const to = plane(slice, filter + i, at / outputs);
        const uint16_t* const line = from + at - first;
        if (is_whole_) {
          std::copy_n(line, size, to + slice.row * w.out + at % outputs);
        } else {
          const int64_t row = slice.row + at % outputs / w.out;
          uint16_t* const target = to + (h.first + row * h.step) * w.size + w.first;
          for (int64_t k = 0; k < size; ++k) target[(at % w.out + k) * w.step] = line[k];
        }
        at += size;
      }
    }
  }

 private:
  uint16_t* plane(const Slice& slice, int64_t filter, int64_t i) const {
    const Axis& d = c_.axes[0];
    const int64_t image = (slice.plane + i) / d.out * c_.groups + slice.group;
    return result_ + (image * c_.filters + filter) * channel() +
           (d.first + (slice.plane + i) % d.out * d.step) * c_.axes[1].size * c_.axes[2].size;
  }

  const Correlation& c_;
  uint16_t* result_;
  bool is_whole_ = std::all_of(c_.axes.begin(), c_.axes.end(), [](const Axis& axis) {
    return axis.step == 1 && axis.size == axis.out;
  });
};

// Products by lines compute no more than they need where the filters fill vectors, and pack nothing
// more than once.
bool is_better_by_lines(const Correlation& c) {
  constexpr double kLeastFilled = 0.5;
  constexpr int64_t kLeastWidth = 4;
  return has_bfloat16_lines() && is_whole(c) && c.axes[2].out >= kLeastWidth &&
         filled_by_filters<uint16_t>(c) >= kLeastFilled;
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
  if (!layout.is_input() && is_better_by_lines(c)) {
    const Scratch<float> sums(bias == nullptr ? 0 : c.groups * c.filters);
    if (bias != nullptr) {
      HalfConversion(DType::kBFloat16).widen(bias, sums.get(), c.groups * c.filters);
    }
    return correlate_lines(c, Order::kChannelsFirst, input, filters, strides,
                           bias == nullptr ? nullptr : sums.get(), result);
  }
  const FilterStrips strips(c, filters, strides, bias);
  const int64_t padded = strips.padded_terms();
  const int64_t words = padded / 2 * kPanelCols;
  const int64_t wanted = wanted_tasks(c);
  const int64_t most_panels = std::max<int64_t>(kPanelBytes / (4 * words), 1);
  Slices slices(c, most_panels * kPanelCols, wanted);
  const int64_t width = c.axes[2].out;
  const int64_t patch_bytes = 2 * layout.channel_size(slices.height()) * c.channels;
  if (!layout.is_input()) {
    slices.join_planes(
        std::min(kPatchesBytes / std::max<int64_t>(patch_bytes, 1), slices.count() / wanted));
  }
  const int64_t outputs = slices.together() * slices.height() * width;
  const int64_t chunk = std::min(ceil_div(outputs, kPanelCols), most_panels) * kPanelCols;
  const ResultPlaces places(c, result);
  const int64_t work = outputs * c.terms() * c.filters + 1;
  // Where slices are fewer than threads, strips are divided, too.
  const int64_t parts = std::clamp<int64_t>(wanted / slices.count(), 1, strips.strips());
  const int64_t grain = ceil_div(kBFloat16Grain, ceil_div(work, parts));
  parallel_for(0, slices.count() * parts, grain, [&](int64_t begin, int64_t end) {
    const int64_t rows = bfloat16_tiles()->rows;
    Patch patch(c, layout, c.channels, slices);
    const ScratchArray<uint32_t> panels(chunk / kPanelCols * words);
    const ScratchArray<float> sums(rows * chunk);
    const ScratchArray<uint16_t> scattered(rows * chunk);
    for (int64_t i = begin; i < end; ++i) {
      const Slice slice = slices.at(i / parts);
      const int64_t part = i % parts;
      const int64_t last = strips.strips() * (part + 1) / parts;
      patch.read(input, slice, 0);
      const int64_t all = slice.planes * slice.rows * width;
      for (int64_t first = 0; first < all; first += chunk) {
        const int64_t cols = std::min(chunk, all - first);
        for (int64_t col = 0; col < cols; col += kPanelCols) {
          pack_outputs(patch.data(), patch.offsets(), strips.has_bias(), padded,
                       patch.lines().line((first + col) / kPanelCols),
                       panels.get() + col / kPanelCols * words);
        }
        for (int64_t strip = strips.strips() * part / parts; strip < last; ++strip) {
          const int64_t filter = strips.first(strip);
          if (uint16_t* const to = places.in_place(slice, filter, first, cols)) {
            strips.multiply(slice.group, strip, panels.get(), cols, sums.get(), to,
                            places.channel());
            continue;
          }
          strips.multiply(slice.group, strip, panels.get(), cols, sums.get(), scattered.get(),
                          chunk);
          places.store(slice, filter, strips.rows(strip), first, cols, scattered.get(), chunk);
        }
      }
    }
  });
}

}  // namespace mindtorch::cpu::convolution
