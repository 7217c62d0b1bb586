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

// The filters of a group by panels of columns: of each panel row by row, each row a term.
template <typename T>
class FilterPanels {
 public:
  FilterPanels(const Correlation& c, const T* filters, const FilterStrides& strides, const T* bias)
      : c_(c),
        padded_(padded_filters<T>(c.filters)),
        y_(c.groups * padded_ * c.terms()),
        initial_(c.groups * padded_) {
    std::fill_n(initial_.get(), c.groups * padded_, T{0});
    for (int64_t group = 0; group < c.groups && bias != nullptr; ++group) {
      std::copy_n(bias + group * c.filters, c.filters, initial_.get() + group * padded_);
    }
    const int64_t grain = ceil_div(kPackGrain, columns() * c.terms() + 1);
    parallel_for(0, c.groups * count(), grain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t group = i / count();
        each(i % count(), i % count() + 1, [&](int64_t begin, int64_t columns) {
          fill(filters + group * strides.group, strides, begin, columns,
               y_.get() + (group * padded_ + begin) * c.terms());
        });
      }
    });
  }

  // Of a panel; a last one may have half of them.
  static int64_t columns() { return 2 * line_tiles<T>().lanes; }
  // Of a group.
  int64_t count() const { return ceil_div(padded_, columns()); }
  // Calls visit(first filter, columns) for panels [first, last).
  template <typename Visit>
  void each(int64_t first, int64_t last, const Visit& visit) const {
    const int64_t most = columns();
    for (int64_t begin = first * most; begin < std::min(last * most, padded_); begin += most) {
      visit(begin, std::min(most, padded_ - begin));
    }
  }
  const T* panel(int64_t group, int64_t begin) const {
    return y_.get() + (group * padded_ + begin) * c_.terms();
  }
  const T* initial(int64_t group, int64_t begin) const {
    return initial_.get() + group * padded_ + begin;
  }

 private:
  void fill(const T* filters, const FilterStrides& strides, int64_t begin, int64_t columns, T* to) {
    const int64_t real = std::min(columns, c_.filters - begin);
    pack_terms(c_, filters + begin * strides.filter, strides, real, columns, to);
    for (int64_t term = 0; term < c_.terms() && real < columns; ++term) {
      std::fill(to + term * columns + real, to + (term + 1) * columns, T{0});
    }
  }

  const Correlation& c_;
  int64_t padded_;
  Scratch<T> y_;
  Scratch<T> initial_;
};

}  // namespace mindtorch::cpu::convolution
