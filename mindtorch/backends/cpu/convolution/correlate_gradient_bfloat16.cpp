#include "mindtorch/backends/cpu/convolution/bfloat16_slices.h"
#include "mindtorch/backends/cpu/half_conversion.h"

// Gradients of filters as products of bfloat16: of gradients, by rows, with panels of terms, which
// are packed from patches: Note [Patches].
namespace mindtorch::cpu::convolution {
namespace {

constexpr int64_t kMostParts = 16;                     // of the sums over all slices
constexpr int64_t kMostPartBytes = int64_t{64} << 10;  // of those: kept apart, added at the end
constexpr int64_t kMostSumBytes = int64_t{768} << 10;  // of the sums of some channels

// Gradients of the filters: some filters and channels of one group, summed over some of the slices.
// How filters and channels are divided depends on the number of threads; no sum does.
class FilterGradient {
 public:
  FilterGradient(const Correlation& c, Order order, const uint16_t* input, const uint16_t* grad)
      : c_(c),
        order_(order),
        layout_(c, order),
        input_(input),
        grad_(grad),
        slices_(c, tiles_.strip_terms, 1) {
    const int64_t work = c.batch * c.outputs() * c.terms() * c.filters;  // of a group
    const int64_t sum_bytes = 4 * c.groups * c.filters * padded_to(c.terms(), kPanelCols);
    slice_parts_ = std::clamp<int64_t>(
        std::min({kMostParts / c.groups, work / kBFloat16Grain, slices_.of_group()}), 1,
        std::max<int64_t>(kMostPartBytes / sum_bytes, 1));
    const int64_t wanted = ceil_div(wanted_tasks(c), c.groups * slice_parts_);
    channel_parts_ = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(c.terms() / kPanelCols, 1));
    channel_parts_ = std::max(channel_parts_, ceil_div(sum_bytes / c.groups, kMostSumBytes));
    channels_ = ceil_div(c.channels, std::min(channel_parts_, c.channels));
    channel_parts_ = ceil_div(c.channels, channels_);
    stride_ = padded_to(channels_ * (c.terms() / c.channels), kPanelCols);
    size_ = c.filters * stride_;
    height_ = strip_rows(tiles_, c.filters);
    strips_ = ceil_div(c.filters, height_);
    filter_parts_ = std::clamp<int64_t>(wanted / channel_parts_, 1, strips_);
  }

  void run(uint16_t* grad_filters) {
    const int64_t parts = c_.groups * channel_parts_;
    const int64_t tasks = slice_parts_ * filter_parts_;
    const int64_t work =
        c_.batch * c_.outputs() * c_.terms() * c_.filters / channel_parts_ / tasks + 1;
    const int64_t grain = ceil_div(kBFloat16Grain, work);
    if (slice_parts_ == 1) {
      parallel_for(0, parts * tasks, grain, [&](int64_t begin, int64_t end) {
        const Scratch<float> sums(size_);
        for (int64_t i = begin; i < end; ++i) {
          add_up(i / tasks, 0, i % tasks, sums.get());
          narrow(i / tasks, i % tasks, sums.get(), grad_filters);
        }
      });
      return;
    }
    const Scratch<float> sums(parts * slice_parts_ * size_);
    parallel_for(0, parts * tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        add_up(i / tasks, i % slice_parts_, i % tasks / slice_parts_,
               sums.get() + (i / tasks * slice_parts_ + i % slice_parts_) * size_);
      }
    });
    const int64_t sum_grain = ceil_div(kBFloat16Grain, slice_parts_ * size_);
    parallel_for(0, parts * filter_parts_, sum_grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i / filter_parts_;
        narrow(part, i % filter_parts_, sums.get() + part * slice_parts_ * size_, grad_filters);
      }
    });
  }

 private:
  int64_t first_filter(int64_t part) const {
    return std::min(strips_ * part / filter_parts_ * height_, c_.filters);
  }

  // Adds up what the parts of the slices gave for some filters, and rounds it.
  void narrow(int64_t columns, int64_t filters, float* sums, uint16_t* grad_filters) const {
    const HalfConversion convert(DType::kBFloat16);
    const int64_t taps = c_.terms() / c_.channels;
    const int64_t first = columns % channel_parts_ * channels_;
    const int64_t count = std::min(channels_, c_.channels - first) * taps;
    const int64_t group = columns / channel_parts_;
    for (int64_t m = first_filter(filters); m < first_filter(filters + 1); ++m) {
      float* const row = sums + m * stride_;
      for (int64_t i = 1; i < slice_parts_; ++i) {
        for (int64_t t = 0; t < count; ++t) row[t] += row[i * size_ + t];
      }
      convert.narrow(row, grad_filters + (group * c_.filters + m) * c_.terms() + first * taps,
                     count);
    }
  }

  // Part `part` of the slices and `strips` of the filters, for the channels and the group of
  // `columns`.
  void add_up(int64_t columns, int64_t part, int64_t strips, float* sums) const {
    const int64_t group = columns / channel_parts_;
    const int64_t first = columns % channel_parts_ * channels_;
    const int64_t channels = std::min(channels_, c_.channels - first);
    const int64_t width = c_.axes[2].out;
    const int64_t most = padded_to(slices_.height() * width, kPanelCols);
    const int64_t terms = channels * (c_.terms() / c_.channels);
    const int64_t panels = ceil_div(terms, kPanelCols);
    const int64_t words = most / 2 * kPanelCols;
    const int64_t row_room = tiles_.rows * std::min(most, tiles_.strip_terms);
    using Room = KeptScratch;
    const Room together(0,
                        Room::room<uint16_t>(Patch::room(layout_, channels, slices_)) +
                            Room::room<uint32_t>(panels * words) + Room::room<uint16_t>(row_room) +
                            Room::room<uint16_t>(layout_.working_size(channels, slices_.height())));
    Patch patch(c_, layout_, channels, slices_);
    const ScratchArray<uint32_t> packed_b(panels * words);
    const ScratchArray<uint16_t> packed_a(row_room);
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
      const ConstMatrix rows = grad_of(slice);
      const int64_t outputs = slice.rows * width;
      for (int64_t m = first_filter(strips); m < first_filter(strips + 1); m += height_) {
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

  // The gradient of a slice: filters by outputs.
  ConstMatrix grad_of(const Slice& slice) const {
    const int64_t depth = c_.axes[0].out;
    const int64_t image = slice.plane / depth;
    const int64_t all = c_.groups * c_.filters;
    const int64_t filter = slice.group * c_.filters;
    const int64_t at = (slice.plane % depth * c_.axes[1].out + slice.row) * c_.axes[2].out;
    if (order_ == Order::kChannelsLast) {
      return {grad_ + (image * c_.outputs() + at) * all + filter, 1, all};
    }
    return {grad_ + (image * all + filter) * c_.outputs() + at, c_.outputs(), 1};
  }

  const BFloat16Tiles& tiles_ = *bfloat16_tiles();
  const Correlation& c_;
  Order order_;
  PatchLayout layout_;
  const uint16_t* input_;
  const uint16_t* grad_;
  Slices slices_;
  int64_t channel_parts_;
  int64_t channels_;  // of a part
  int64_t slice_parts_;
  int64_t filter_parts_;
  int64_t height_;  // of a strip
  int64_t strips_;
  int64_t stride_;
  int64_t size_;  // of the sums of a part
};

}  // namespace

void correlate_gradient_bfloat16(const Correlation& c,
                                 Order order,
                                 const uint16_t* input,
                                 const uint16_t* grad,
                                 uint16_t* grad_filters) {
  if (c.groups * c.filters * c.terms() == 0) return;
  if (c.batch * c.outputs() == 0) {
    std::fill_n(grad_filters, c.groups * c.filters * c.terms(), uint16_t{0});
    return;
  }
  FilterGradient(c, order, input, grad).run(grad_filters);
}

}  // namespace mindtorch::cpu::convolution
