#pragma once

#include <algorithm>

#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/convolution/lines.h"
#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

// The filters of a correlation, in the order in which products read them.
namespace mindtorch::cpu::convolution {

// Elements of filters that are worth a thread to be packed.
inline constexpr int64_t kPackGrain = int64_t{1} << 15;

// Filters of a group, with as many as fill up the last vector.
template <typename T>
int64_t padded_filters(int64_t filters) {
  const int64_t lanes = line_tiles<T>().lanes;
  return ceil_div(filters, lanes) * lanes;
}

// The terms of `count` filters one after the other: `pitch` elements for each, one of each filter.
template <typename T>
void pack_terms(const Correlation& c,
                const T* filters,
                const FilterStrides& strides,
                int64_t count,
                int64_t pitch,
                T* to) {
  if (has_taps_in_order(c, strides)) {
    const int64_t window = c.terms() / c.channels;
    const bool is_matrix = strides.channel == window;
    const int64_t terms = is_matrix ? c.terms() : window;
    for (int64_t channel = 0; channel < (is_matrix ? 1 : c.channels); ++channel) {
      copy_matrix<T>(terms, count, {filters + channel * strides.channel, 1, strides.filter},
                     {to + channel * terms * pitch, pitch, 1});
    }
    return;
  }
  for (int64_t channel = 0; channel < c.channels; ++channel) {
    for (const Tap& d : c.axes[0].taps) {
      for (const Tap& h : c.axes[1].taps) {
        for (const Tap& w : c.axes[2].taps) {
          const T* const from = filters + channel * strides.channel + d.index * strides.taps[0] +
                                h.index * strides.taps[1] + w.index * strides.taps[2];
          for (int64_t i = 0; i < count; ++i) to[i] = from[i * strides.filter];
          to += pitch;
        }
      }
    }
  }
}

// The taps of one channel of a filter, in the order in which the axes list them.
inline const uint16_t* copy_taps(const Correlation& c,
                                 const uint16_t* filter,
                                 const FilterStrides& strides,
                                 uint16_t* to) {
  uint16_t* at = to;
  for (const Tap& d : c.axes[0].taps) {
    for (const Tap& h : c.axes[1].taps) {
      for (const Tap& w : c.axes[2].taps) {
        *at++ = filter[d.index * strides.taps[0] + h.index * strides.taps[1] +
                       w.index * strides.taps[2]];
      }
    }
  }
  return to;
}

// The same for words of two channels.
inline void pack_terms(const Correlation& c,
                       const uint16_t* filters,
                       const FilterStrides& strides,
                       int64_t count,
                       int64_t pitch,
                       uint32_t* to) {
  const int64_t window = c.terms() / c.channels;
  const bool in_order = has_taps_in_order(c, strides);
  const int64_t terms = ceil_div(c.channels, 2) * window;
  const Scratch<uint32_t> rows(count * terms);
  const Scratch<uint16_t> taps(2 * window);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t channel = 0; channel < c.channels; channel += 2) {
      const uint16_t* low = filters + i * strides.filter + channel * strides.channel;
      const uint16_t* high = channel + 1 < c.channels ? low + strides.channel : nullptr;
      if (!in_order) {
        low = copy_taps(c, low, strides, taps.get());
        if (high != nullptr) high = copy_taps(c, high, strides, taps.get() + window);
      }
      interleave_line(low, high, window, rows.get() + i * terms + channel / 2 * window);
    }
  }
  copy_matrix<uint32_t>(terms, count, {rows.get(), 1, terms}, {to, pitch, 1});
}

// The filters of a group by panels of columns: of each panel row by row, each row a term.
template <typename T>
class FilterPanels {
  using Word = typename LineTypes<T>::Word;
  using Sum = typename LineTypes<T>::Sum;

 public:
  FilterPanels(const Correlation& c,
               const T* filters,
               const FilterStrides& strides,
               const Sum* bias)
      : c_(c),
        filters_(filters),
        strides_(strides),
        terms_(ceil_div(c.terms(), std::max<int64_t>(c.channels, 1)) *
               ceil_div(c.channels, LineTypes<T>::kChannels)),
        padded_(padded_filters<T>(c.filters)),
        initial_(c.groups * padded_) {
    std::fill_n(initial_.get(), c.groups * padded_, Sum{0});
    for (int64_t group = 0; group < c.groups && bias != nullptr; ++group) {
      std::copy_n(bias + group * c.filters, c.filters, initial_.get() + group * padded_);
    }
  }

  // Of a panel; a last one may have half of them.
  static int64_t columns() { return 2 * line_tiles<T>().lanes; }
  // Of a group.
  int64_t count() const { return ceil_div(padded_, columns()); }
  // Words of the largest panel.
  int64_t panel_size() const { return std::min(columns(), padded_) * terms_; }
  // Calls visit(first filter, columns) for panels [first, last).
  template <typename Visit>
  void each(int64_t first, int64_t last, const Visit& visit) const {
    const int64_t most = columns();
    for (int64_t begin = first * most; begin < std::min(last * most, padded_); begin += most) {
      visit(begin, std::min(most, padded_ - begin));
    }
  }

  // Packs all panels, for panel().
  void pack_all() {
    y_.allocate(c_.groups * padded_ * terms_);
    const int64_t grain = ceil_div(kPackGrain, columns() * c_.terms() + 1);
    parallel_for(0, c_.groups * count(), grain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t group = i / count();
        each(i % count(), i % count() + 1, [&](int64_t begin, int64_t columns) {
          pack(group, begin, columns, y_.get() + (group * padded_ + begin) * terms_);
        });
      }
    });
  }
  const Word* panel(int64_t group, int64_t begin) const {
    return y_.get() + (group * padded_ + begin) * terms_;
  }
  // Packs one of them.
  void pack(int64_t group, int64_t begin, int64_t columns, Word* to) const {
    const int64_t real = std::min(columns, c_.filters - begin);
    pack_terms(c_, filters_ + group * strides_.group + begin * strides_.filter, strides_, real,
               columns, to);
    for (int64_t term = 0; term < terms_ && real < columns; ++term) {
      std::fill(to + term * columns + real, to + (term + 1) * columns, Word{0});
    }
  }
  const Sum* initial(int64_t group, int64_t begin) const {
    return initial_.get() + group * padded_ + begin;
  }

 private:
  const Correlation& c_;
  const T* filters_;
  const FilterStrides& strides_;
  int64_t terms_;  // words of a filter
  int64_t padded_;
  Scratch<Word> y_;
  Scratch<Sum> initial_;
};

}  // namespace mindtorch::cpu::convolution
