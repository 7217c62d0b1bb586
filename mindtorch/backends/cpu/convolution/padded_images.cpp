#include "mindtorch/backends/cpu/convolution/padded_images.h"
#include "mindtorch/backends/cpu/ceil_div.h"

#include <algorithm>
#include <cstring>

namespace mindtorch::cpu::convolution {
namespace {

struct Span {
  int64_t least = 0;
  int64_t length = 1;  // of a window
};

Span span_of(const Axis& axis) {
  if (axis.taps.empty()) return {};
  const auto by_offset = [](const Tap& a, const Tap& b) { return a.offset < b.offset; };
  const auto [least, most] = std::minmax_element(axis.taps.begin(), axis.taps.end(), by_offset);
  return {least->offset, most->offset - least->offset + 1};
}

// A line of few elements, without a call.
template <typename T>
void copy_line(const T* from, int64_t count, T* to) {
  constexpr auto kLong = static_cast<int64_t>(32 / sizeof(T));
  constexpr auto kShort = static_cast<int64_t>(16 / sizeof(T));
  if (count >= kLong) {
    for (int64_t i = 0; i + kLong <= count; i += kLong) std::memcpy(to + i, from + i, 32);
    std::memcpy(to + count - kLong, from + count - kLong, 32);
  } else if (count >= kShort) {
    std::memcpy(to, from, 16);
    std::memcpy(to + count - kShort, from + count - kShort, 16);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

// Which taps are inside, for each output; outputs with the same ones have the same number.
std::vector<int64_t> kinds_of(const Axis& axis, std::vector<std::vector<bool>>& kinds) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < axis.out; ++i) {
    std::vector<bool> inside;
    for (const Tap& tap : axis.taps) {
      const int64_t at = i * axis.stride + tap.offset;
      inside.push_back(at >= 0 && at < axis.in);
    }
    const auto found = std::find(kinds.begin(), kinds.end(), inside);
    numbers.push_back(found - kinds.begin());
    if (found == kinds.end()) kinds.push_back(std::move(inside));
  }
  return numbers;
}

// The taps of a line. Those that read neighbours for all outputs become runs.
std::vector<LineRun> runs_of(const Axis& axis, int64_t pixel, bool has_equal_steps) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < axis.taps.size(); ++i) order.push_back(static_cast<int64_t>(i));
  const auto offset = [&](int64_t i) { return axis.taps[static_cast<size_t>(i)].offset; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return offset(a) < offset(b); });
  const int64_t least = span_of(axis).least;
  std::vector<LineRun> whole;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t term = order[i];
    if (i > 0 && (axis.stride == 1 || !has_equal_steps) &&
        offset(term) == offset(order[i - 1]) + 1) {
      LineRun& last = whole.back();
      if (last.count == 1) last.term_step = term - last.term;
      if (term == last.term + last.count * last.term_step) {
        ++last.count;
        continue;
      }
    }
    whole.push_back({(offset(term) - least) * pixel, 1, term, 0});
  }
  std::vector<LineRun> runs;
  for (LineRun run : whole) {
    for (int64_t left = run.count; left > 0;) {  // of about the same length
      const int64_t pieces = ceil_div(left, kMostTapsOfRun);
      run.count = ceil_div(left, pieces);
      runs.push_back(run);
      run.offset += run.count * pixel;
      run.term += run.count * run.term_step;
      left -= run.count;
    }
  }
  return runs;
}

}  // namespace

PaddedLayout::PaddedLayout(const Correlation& c, Order order, int64_t rows) : c_(c), order_(order) {
  const auto& [d, h, w] = c.axes;
  const Span tall = span_of(h);
  const Span wide = span_of(w);
  top_ = tall.least;
  left_ = wide.least;
  lines_ = (rows - 1) * h.stride + tall.length;
  columns_ = (w.out - 1) * w.stride + wide.length;
  pixel_ = order == Order::kChannelsLast ? c.channels : 1;
  row_ = columns_ * pixel_;
  depth_ = lines_ * row_;
  channel_ = order == Order::kChannelsLast ? 1 : d.in * depth_;
  size_ = c.channels * d.in * lines_ * columns_;
}

PaddedLayout::Part PaddedLayout::part_of(int64_t first, int64_t rows) const {
  const Axis& h = c_.axes[1];
  const int64_t lines = std::min(lines_, (rows - 1) * h.stride + span_of(h).length);
  Part part = {};
  part.top = first * h.stride + top_;
  part.begin = std::clamp<int64_t>(-part.top, 0, lines);
  part.end = std::clamp<int64_t>(h.in - part.top, part.begin, lines);
  part.column = std::clamp<int64_t>(-left_, 0, columns_);
  part.count = std::clamp<int64_t>(c_.axes[2].in - left_, part.column, columns_) - part.column;
  return part;
}

template <typename T>
void PaddedLayout::fill(const T* input, int64_t first, int64_t rows, T* to) const {
  const auto& [d, h, w] = c_.axes;
  const auto [top, begin, end, column, count] = part_of(first, rows);
  if (order_ == Order::kChannelsFirst) {
    for (int64_t plane = 0; plane < c_.channels * d.in; ++plane) {
      const T* from = input + (plane * h.in + top + begin) * w.in + left_ + column;
      T* line = to + plane * depth_ + begin * row_ + column;
      for (int64_t y = begin; y < end; ++y, from += w.in, line += row_) {
        copy_line(from, count, line);
      }
    }
    return;
  }
  const int64_t all = c_.groups * c_.channels;
  for (int64_t z = 0; z < d.in; ++z) {
    for (int64_t y = begin; y < end; ++y) {
      const T* from = input + ((z * h.in + top + y) * w.in + left_ + column) * all;
      T* line = to + z * depth_ + y * row_ + column * pixel_;
      if (c_.groups == 1) {
        std::memcpy(line, from, static_cast<size_t>(count * all) * sizeof(T));
        continue;
      }
      for (int64_t x = 0; x < count; ++x, from += all, line += pixel_) {
        copy_line(from, c_.channels, line);
      }
    }
  }
}

template void PaddedLayout::fill(const float*, int64_t, int64_t, float*) const;
template void PaddedLayout::fill(const double*, int64_t, int64_t, double*) const;
template void PaddedLayout::fill(const uint32_t*, int64_t, int64_t, uint32_t*) const;

void PaddedLayout::fill_pairs(
    const uint16_t* input, int64_t channels, int64_t first, int64_t rows, uint32_t* to) const {
  const auto& [d, h, w] = c_.axes;
  const auto [top, begin, end, column, count] = part_of(first, rows);
  for (int64_t channel = 0; channel < channels; channel += 2) {
    for (int64_t z = 0; z < d.in; ++z) {
      const uint16_t* low =
          input + ((channel * d.in + z) * h.in + top + begin) * w.in + left_ + column;
      const uint16_t* high = channel + 1 < channels ? low + d.in * h.in * w.in : nullptr;
      uint32_t* line = to + (channel / 2 * d.in + z) * depth_ + begin * row_ + column;
      for (int64_t y = begin; y < end; ++y, low += w.in, line += row_) {
        interleave_line(low, high, count, line);
        if (high != nullptr) high += w.in;
      }
    }
  }
}

LineRuns::LineRuns(const Correlation& c, const PaddedLayout& layout, bool has_equal_steps) {
  const auto& [d, h, w] = c.axes;
  std::vector<std::vector<bool>> depths, rows;
  depth_kinds_ = kinds_of(d, depths);
  row_kinds_ = kinds_of(h, rows);
  row_kind_count_ = rows.size();
  const std::vector<LineRun> line = runs_of(w, layout.pixel(), has_equal_steps);
  const int64_t top = span_of(h).least;
  for (const std::vector<bool>& in_depth : depths) {
    for (const std::vector<bool>& in_height : rows) {
      std::vector<LineRun>& runs = runs_.emplace_back();
      for (size_t i = 0; i < d.taps.size(); ++i) {
        for (size_t j = 0; j < h.taps.size(); ++j) {
          if (!in_depth[i] || !in_height[j]) continue;
          for (LineRun run : line) {
            run.offset +=
                d.taps[i].offset * layout.depth() + (h.taps[j].offset - top) * layout.row();
            run.term += static_cast<int64_t>((i * h.taps.size() + j) * w.taps.size());
            runs.push_back(run);
          }
        }
      }
    }
  }
}

}  // namespace mindtorch::cpu::convolution
