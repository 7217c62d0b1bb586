#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/convolution/correlation.h"
#include "mindtorch/backends/cpu/convolution/patch.h"
#include "mindtorch/backends/cpu/convolution/plane_rows.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/tensor/float16.h"

// Correlations with few terms, plane by plane: a patch is small enough for the first cache, and a
// result is as cheap to compute as to move.
namespace mindtorch::cpu::convolution {
namespace {

constexpr int64_t kPlanePatchBytes = int64_t{24} << 10;
constexpr int64_t kPlaneGrain = int64_t{1} << 16;  // multiplications that are worth a thread
constexpr int64_t kMostFilters = 3;
constexpr int64_t kMostTerms = 64;
constexpr int64_t kLeastPieces = 64;  // of a gradient's sum, all groups together

int64_t work_of(const Correlation& c) { return c.outputs() * (c.terms() + 1) * c.filters; }

// Blocks of output rows whose patch stays in the first cache; at least `wanted` in a plane.
int64_t choose_plane_rows(const Correlation& c, const PatchLayout& layout, int64_t wanted) {
  const int64_t rows = c.axes[1].out;
  const int64_t of_row = layout.channel_size(2) - layout.channel_size(1);
  const int64_t most =
      kPlanePatchBytes / (of_row * c.channels * static_cast<int64_t>(sizeof(float)) + 1);
  const int64_t blocks = ceil_div(rows, std::max<int64_t>(most, 1));
  return ceil_div(rows, std::clamp<int64_t>(wanted, blocks, rows));
}

// The patch of a block of `height` output rows, filled again and again: what is 0 beside the lines
// stays so.
template <typename T, typename W>
class PlanePatch {
 public:
  PlanePatch(const Correlation& c, const PatchLayout& layout, int64_t height)
      : c_(c), layout_(layout), height_(height), patch_(size()) {
    std::fill_n(patch_.get(), size(), W{0});
    layout.offsets(height, c.channels, offsets_);
    const PatchLayout::Side& w = layout.width();
    for (const int64_t place : w.classes) {
      const int64_t stride = w.axis->stride;
      const int64_t first = w.least * stride + place;
      const int64_t begin = std::clamp<int64_t>(ceil_div_signed(-first, stride), 0, layout.pitch());
      const int64_t end =
          std::clamp<int64_t>(ceil_div_signed(w.axis->in - first, stride), begin, layout.pitch());
      columns_.push_back({first + begin * stride, begin, end - begin});
    }
  }

  const W* data() const { return patch_.get(); }
  const int64_t* offsets() const { return offsets_.data(); }

  // For output rows from `row` on at `depth` of a group of channels.
  void fill(const T* input, int64_t depth, int64_t row) {
    const Axis& d = c_.axes[0];
    const PatchLayout::Side& h = layout_.height();
    const int64_t lines = h.length(height_);
    const int64_t size = h.axis->in * c_.axes[2].in;
    W* plane = patch_.get();
    for (int64_t channel = 0; channel < c_.channels; ++channel, input += d.in * size) {
      for (const Tap& tap : d.taps) {
        const int64_t z = depth * d.stride + tap.offset;
        const bool is_inside = z >= 0 && z < d.in;
        for (const int64_t place : h.classes) {
          const int64_t first = (row + h.least) * h.axis->stride + place;
          const int64_t begin =
              std::clamp<int64_t>(ceil_div_signed(-first, h.axis->stride), 0, lines);
          const int64_t end =
              is_inside ? std::clamp<int64_t>(ceil_div_signed(h.axis->in - first, h.axis->stride),
                                              begin, lines)
                        : begin;
          const T* const from = input + z * size + (first + begin * h.axis->stride) * c_.axes[2].in;
          for (const Columns& columns : columns_) {
            fill_plane(from, begin, end, lines, columns, plane);
            plane += layout_.plane_size(height_);
          }
        }
      }
    }
  }

 private:
  // The part of a line that is inside: element `from` and those a stride apart go to `begin` on.
  struct Columns {
    int64_t from;
    int64_t begin;
    int64_t count;
  };

  static int64_t ceil_div_signed(int64_t a, int64_t b) {
    return a > 0 ? ceil_div(a, b) : -(-a / b);
  }
  int64_t size() const { return c_.channels * layout_.channel_size(height_) + kPatchSlack; }

  void fill_plane(
      const T* from, int64_t begin, int64_t end, int64_t lines, const Columns& columns, W* plane) {
    const int64_t pitch = layout_.pitch();
    std::fill_n(plane, begin * pitch, W{0});
    std::fill_n(plane + end * pitch, (lines - end) * pitch, W{0});
    if (begin == end) return;
    rows_.copy(from + columns.from, c_.axes[2].in * c_.axes[1].stride, c_.axes[2].stride,
               end - begin, columns.count, plane + begin * pitch + columns.begin, pitch);
  }

  const Correlation& c_;
  const PatchLayout& layout_;
  int64_t height_;
  PlaneRows<T, W> rows_ = plane_rows<T, W>();
  Scratch<W> patch_;
  std::vector<int64_t> offsets_;
  std::vector<Columns> columns_;
};

// The terms of a product as runs, and which term each place in the runs is.
struct TermRuns {
  std::vector<TermRun> runs;
  std::vector<int64_t> order;

  // Of terms that begin at `offsets` of patches whose planes have `plane` elements.
  TermRuns(const std::vector<int64_t>& offsets, int64_t plane, int64_t pitch)
      : order(offsets.size()) {
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto place = [&](int64_t term) {
      const int64_t offset = offsets[static_cast<size_t>(term)];
      return std::array<int64_t, 3>{offset / plane, offset % pitch, offset};
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return place(a) < place(b); });
    size_t begin = 0;
    while (begin < order.size()) {
      size_t end = begin + 1;
      const int64_t first = offsets[static_cast<size_t>(order[begin])];
      while (end < order.size() && place(order[end])[0] == place(order[begin])[0] &&
             offsets[static_cast<size_t>(order[end])] ==
                 first + static_cast<int64_t>(end - begin) * pitch) {
        ++end;
      }
      add(first, static_cast<int64_t>(end - begin), pitch);
      begin = end;
    }
  }

 private:
  // Runs of about the same length.
  void add(int64_t offset, int64_t count, int64_t pitch) {
    for (int64_t pieces = ceil_div(count, kMostTermsOfRun); pieces > 0; --pieces) {
      const int64_t own = ceil_div(count, pieces);
      runs.push_back({offset, own});
      offset += own * pitch;
      count -= own;
    }
  }
};

// The weights of each filter of each group, in the given order of terms.
template <typename W>
Scratch<W> in_order(const Correlation& c,
                    const W* filters,
                    const FilterStrides& strides,
                    const std::vector<int64_t>& order) {
  std::vector<int64_t> places;  // of the terms of a filter
  for (int64_t channel = 0; channel < c.channels; ++channel) {
    for (const Tap& d : c.axes[0].taps) {
      for (const Tap& h : c.axes[1].taps) {
        for (const Tap& w : c.axes[2].taps) {
          places.push_back(channel * strides.channel + d.index * strides.taps[0] +
                           h.index * strides.taps[1] + w.index * strides.taps[2]);
        }
      }
    }
  }
  Scratch<W> weights(c.groups * c.filters * c.terms());
  W* to = weights.get();
  for (int64_t group = 0; group < c.groups; ++group) {
    for (int64_t m = 0; m < c.filters; ++m) {
      const W* const from = filters + group * strides.group + m * strides.filter;
      for (const int64_t term : order) *to++ = from[places[static_cast<size_t>(term)]];
    }
  }
  return weights;
}

}  // namespace

bool has_few_terms(int64_t filters, int64_t terms) {
  return filters <= kMostFilters && terms <= kMostTerms;
}

template <typename T, typename W>
void correlate_planes(const Correlation& c,
                      const T* input,
                      const W* filters,
                      const FilterStrides& strides,
                      const W* bias,
                      T* result) {
  if (c.batch * c.groups * c.filters * c.outputs() == 0) return;
  const PatchLayout layout(c);
  const auto& [depth, tall, wide] = c.axes;
  const int64_t images = c.batch * c.groups;
  const int64_t threads = std::min<int64_t>(num_threads(), images * work_of(c) / kPlaneGrain);
  const int64_t height = choose_plane_rows(c, layout, ceil_div(threads, images * depth.out));
  const int64_t blocks = ceil_div(tall.out, height);
  const bool is_whole = tall.step == 1 && wide.step == 1 && wide.out == wide.size;
  const int64_t in = c.channels * depth.in * tall.in * wide.in;
  std::vector<int64_t> offsets;
  layout.offsets(height, c.channels, offsets);
  const TermRuns terms(offsets, layout.plane_size(height), layout.pitch());
  const Scratch<W> weights = in_order(c, filters, strides, terms.order);
  const int64_t work = work_of(c) / (depth.out * blocks) + 1;
  const PlaneRows<T, W> rows = plane_rows<T, W>();
  const auto run = [&](int64_t begin, int64_t end) {
    PlanePatch<T, W> patch(c, layout, height);
    const Scratch<T> lines(is_whole ? 0 : height * wide.out);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task % blocks * height;
      const int64_t z = task / blocks % depth.out;
      const int64_t image = task / blocks / depth.out;
      const int64_t group = image % c.groups;
      const int64_t count = std::min(height, tall.out - row);
      if (count <= 0) continue;
      patch.fill(input + image * in, z, row);
      for (int64_t m = 0; m < c.filters; ++m) {
        const int64_t filter = group * c.filters + m;
        T* const plane =
            result + ((image * c.filters + m) * depth.size + depth.first + z * depth.step) *
                         tall.size * wide.size;
        T* const to = is_whole ? plane + (tall.first + row) * wide.size : lines.get();
        rows.multiply(patch.data(), layout.pitch(), terms.runs.data(),
                      static_cast<int64_t>(terms.runs.size()), weights.get() + filter * c.terms(),
                      bias == nullptr ? W{0} : bias[filter], count, wide.out, to);
        if (!is_whole) place(c, row, count, lines.get(), wide.out, plane);
      }
    }
  };
  parallel_for(0, images * depth.out * blocks, ceil_div(kPlaneGrain, work), run);
}

template <typename T, typename W>
void correlate_planes_gradient(const Correlation& c,
                               const T* input,
                               const T* grad,
                               W* grad_filters) {
  const int64_t filters = c.groups * c.filters;
  std::fill_n(grad_filters, filters * c.terms(), W{0});
  if (c.batch * filters * c.terms() * c.outputs() == 0) return;
  const PatchLayout layout(c);
  const auto& [depth, tall, wide] = c.axes;
  const int64_t height = choose_plane_rows(c, layout, 1);
  const int64_t blocks = ceil_div(tall.out, height);
  const int64_t in = c.channels * depth.in * tall.in * wide.in;
  // Pieces of the same size for any number of threads, as the sums of a piece are rounded.
  const int64_t units = c.batch * depth.out * blocks;
  const int64_t work = work_of(c) / (depth.out * blocks) + 1;
  const int64_t wanted = std::min(ceil_div(kLeastPieces, c.groups), units * work / kPlaneGrain);
  const int64_t length = ceil_div(units, std::clamp<int64_t>(wanted, 1, units));
  const int64_t pieces = ceil_div(units, length);
  const PlaneRows<T, W> rows = plane_rows<T, W>();
  const int64_t of_group = c.filters * c.terms() * rows.lanes;
  const Scratch<W> parts(c.groups * pieces * of_group);
  const auto run = [&](int64_t begin, int64_t end) {
    PlanePatch<T, W> patch(c, layout, height);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / pieces;
      W* const part = parts.get() + task * of_group;
      std::fill_n(part, of_group, W{0});
      const int64_t first = task % pieces * length;
      for (int64_t unit = first; unit < std::min(first + length, units); ++unit) {
        const int64_t row = unit % blocks * height;
        const int64_t z = unit / blocks % depth.out;
        const int64_t image = unit / blocks / depth.out * c.groups + group;
        const int64_t count = std::min(height, tall.out - row);
        if (count <= 0) continue;
        patch.fill(input + image * in, z, row);
        for (int64_t m = 0; m < c.filters; ++m) {
          const T* const from =
              grad + (((image * c.filters + m) * depth.out + z) * tall.out + row) * wide.out;
          rows.add_products(patch.data(), layout.pitch(), patch.offsets(), c.terms(), count,
                            wide.out, from, part + m * c.terms() * rows.lanes);
        }
      }
    }
  };
  parallel_for(0, c.groups * pieces, ceil_div(kPlaneGrain, length * work), run);
  for (int64_t i = 0; i < filters * c.terms(); ++i) {
    const int64_t group = i / (c.filters * c.terms());
    const W* from = parts.get() + (group * (pieces - 1) * of_group + i * rows.lanes);
    for (int64_t piece = 0; piece < pieces; ++piece, from += of_group) {
      for (int64_t lane = 0; lane < rows.lanes; ++lane) grad_filters[i] += from[lane];
    }
  }
}

#define MT_INSTANTIATE(T, W)                                                                   \
  template void correlate_planes(const Correlation&, const T*, const W*, const FilterStrides&, \
                                 const W*, T*);                                                \
  template void correlate_planes_gradient(const Correlation&, const T*, const T*, W*);
MT_INSTANTIATE(float, float)
MT_INSTANTIATE(double, double)
MT_INSTANTIATE(Half, float)
MT_INSTANTIATE(BFloat16, float)
#undef MT_INSTANTIATE

}  // namespace mindtorch::cpu::convolution
