#include "mindtorch/backends/cpu/convolution/patch.h"

#include <cstring>
#include <type_traits>

#include "mindtorch/backends/cpu/convolution/bfloat16_lines.h"
#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/scratch.h"

namespace mindtorch::cpu::convolution {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

bool reads_one_for_one(const Axis& axis) {
  return axis.stride == 1 && axis.in == axis.out && axis.taps.size() == 1 &&
         axis.taps[0].offset == 0 && axis.step == 1 && axis.size == axis.out;
}

// Every other of 2 * kLanes elements: the first, or the second of each two.
template <bool kSecond, typename T>
void copy_half(const T* from, T* to) {
  constexpr size_t kLanes = 16 / sizeof(T);
  using Vector [[gnu::vector_size(16), gnu::aligned(1), gnu::may_alias]] = T;
  const Vector a = *reinterpret_cast<const Vector*>(from);
  const Vector b = *reinterpret_cast<const Vector*>(from + kLanes);
  constexpr int kAt = kSecond ? 1 : 0;
  auto& out = *reinterpret_cast<Vector*>(to);
  if constexpr (kLanes == 8) {
    out = __builtin_shufflevector(a, b, kAt, kAt + 2, kAt + 4, kAt + 6, kAt + 8, kAt + 10, kAt + 12,
                                  kAt + 14);
  } else if constexpr (kLanes == 4) {
    out = __builtin_shufflevector(a, b, kAt, kAt + 2, kAt + 4, kAt + 6);
  } else {
    out = __builtin_shufflevector(a, b, kAt, kAt + 2);
  }
}

// to[i] = from[2 * i]. Reads nothing behind the last of them.
template <typename T>
void copy_every_other(const T* from, int64_t count, T* to) {
  constexpr auto kLanes = static_cast<int64_t>(16 / sizeof(T));
  int64_t i = 0;
  for (; i + kLanes < count; i += kLanes) copy_half<false>(from + 2 * i, to + i);
  if (i > 0) {
    i = count - kLanes;
    return copy_half<true>(from + 2 * i - 1, to + i);
  }
  for (; i < count; ++i) to[i] = from[2 * i];
}

// Elements of a line, from `first` on and `step` apart; 0 where there is none.
struct LineCopy {
  int64_t size;
  int64_t first;
  int64_t step;
  int64_t count;
  int64_t begin;  // [begin, end) are there
  int64_t end;

  LineCopy(int64_t line_size, int64_t first_element, int64_t distance, int64_t elements)
      : size(line_size),
        first(first_element),
        step(distance),
        count(elements),
        begin(std::clamp<int64_t>(-floor_div(first, step), 0, count)),
        end(std::clamp<int64_t>(floor_div(size - 1 - first, step) + 1, begin, count)) {}

  template <typename T>
  void run(const T* line, T* to) const {
    std::fill(to, to + begin, T{0});
    const T* const from = line + first + begin * step;
    if (step == 1) {
      std::memcpy(to + begin, from, static_cast<size_t>(end - begin) * sizeof(T));
    } else if (step == 2) {
      copy_every_other(from, end - begin, to + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = from[(i - begin) * step];
    }
    std::fill(to + end, to + count, T{0});
  }

  // Several lines, `pitch` apart, to lines that follow each other.
  template <typename T>
  void run(const T* line, int64_t pitch, int64_t lines, T* to) const {
    if constexpr (std::is_same_v<T, uint16_t>) {
      if (step <= 2) return copy_lines(line, pitch, lines, size, first, step, count, to);
    }
    for (int64_t i = 0; i < lines; ++i) run(line + i * pitch, to + i * count);
  }
};

}  // namespace

PatchLayout::Side::Side(const Axis& from) : axis(&from) {
  if (from.taps.empty()) return;
  int64_t most = floor_div(from.taps[0].offset, from.stride);
  least = most;
  for (const Tap& tap : from.taps) {
    const int64_t at = floor_div(tap.offset, from.stride);
    least = std::min(least, at);
    most = std::max(most, at);
    const int64_t place = floor_mod(tap.offset, from.stride);
    if (std::find(classes.begin(), classes.end(), place) == classes.end()) classes.push_back(place);
  }
  reach = most - least;
}

int64_t PatchLayout::Side::phase(const Tap& tap) const {
  const int64_t place = floor_mod(tap.offset, axis->stride);
  return std::find(classes.begin(), classes.end(), place) - classes.begin();
}
int64_t PatchLayout::Side::shift(const Tap& tap) const {
  return floor_div(tap.offset, axis->stride) - least;
}

PatchLayout::PatchLayout(const Correlation& c, Order order)
    : c_(c), order_(order), h_(c.axes[1]), w_(c.axes[2]) {
  is_input_ = order == Order::kChannelsFirst &&
              std::all_of(c.axes.begin(), c.axes.end(), reads_one_for_one);
  pitch_ = w_.length(w_.axis->out);
  const std::vector<Tap>& depths = c.axes[0].taps;
  const auto by_offset = [](const Tap& a, const Tap& b) { return a.offset < b.offset; };
  if (depths.empty()) return;
  first_depth_ = std::min_element(depths.begin(), depths.end(), by_offset)->offset;
  const int64_t last = std::max_element(depths.begin(), depths.end(), by_offset)->offset;
  depths_ = last - first_depth_ + 1;
}

void PatchLayout::offsets(int64_t rows, int64_t channels, std::vector<int64_t>& into) const {
  into.clear();
  const int64_t plane = plane_size(rows);
  const int64_t size = channel_size(rows);
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (size_t d = 0; d < c_.axes[0].taps.size(); ++d) {
      for (const Tap& h : h_.axis->taps) {
        for (const Tap& w : w_.axis->taps) {
          const int64_t number =
              (static_cast<int64_t>(d) * h_.phases() + h_.phase(h)) * w_.phases() + w_.phase(w);
          into.push_back(channel * size +
                         (is_input_ ? 0 : number * plane + h_.shift(h) * pitch_ + w_.shift(w)));
        }
      }
    }
  }
}

void PatchLayout::outputs(int64_t rows, std::vector<int64_t>& into) const {
  into.clear();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < w_.axis->out; ++col) into.push_back(row * pitch_ + col);
  }
}

int64_t PatchLayout::input_at(int64_t image, int64_t group, int64_t channel) const {
  const int64_t plane = c_.axes[0].in * c_.axes[1].in * c_.axes[2].in;
  const int64_t before = group * c_.channels + channel;
  return image * c_.groups * c_.channels * plane +
         (order_ == Order::kChannelsFirst ? before * plane : before);
}

int64_t PatchLayout::working_size(int64_t channels, int64_t rows) const {
  if (order_ == Order::kChannelsFirst) return 0;
  const int64_t height = h_.axis->in;
  const int64_t lines = (std::min(depths_, c_.axes[0].in) - 1) * height +
                        std::min(height, h_.length(rows) * h_.axis->stride);
  return channels * lines * w_.axis->in;
}

template <typename T>
void PatchLayout::fill(
    const T* input, int64_t channels, int64_t depth, int64_t row, int64_t rows, T* patch) const {
  const Axis& d = c_.axes[0];
  const int64_t height = h_.axis->in;
  const int64_t width = w_.axis->in;
  if (order_ == Order::kChannelsFirst) {
    return fill_from<T>({input, d.in * height * width, 0}, channels, depth, row, rows, patch);
  }
  // From the first line that is read to the last.
  const int64_t front = depth * d.stride + first_depth_;
  const int64_t top = (row + h_.least) * h_.axis->stride;
  const int64_t bottom = top + h_.length(rows) * h_.axis->stride;
  const int64_t first =
      std::clamp<int64_t>(front, 0, d.in - 1) * height + std::clamp<int64_t>(top, 0, height);
  const int64_t last = std::clamp<int64_t>(front + depths_ - 1, 0, d.in - 1) * height +
                       std::clamp<int64_t>(bottom, 0, height);
  const int64_t size = std::max<int64_t>(last - first, 0) * width;
  const int64_t pixel = c_.groups * c_.channels;
  const ScratchArray<T> planes(channels * size);
  copy_matrix<T>(channels, size, {input + first * width * pixel, 1, pixel},
                 {planes.get(), size, 1});
  fill_from<T>({planes.get(), size, first}, channels, depth, row, rows, patch);
}

template <typename T>
void PatchLayout::fill_from(const Lines<T>& from,
                            int64_t channels,
                            int64_t depth,
                            int64_t row,
                            int64_t rows,
                            T* patch) const {
  const Axis& d = c_.axes[0];
  const int64_t height = h_.axis->in;
  const int64_t width = w_.axis->in;
  const int64_t lines = h_.length(rows);
  const int64_t stride = h_.axis->stride;
  std::vector<LineCopy> copies;
  for (const int64_t w : w_.classes) {
    copies.emplace_back(width, w_.least * w_.axis->stride + w, w_.axis->stride, pitch_);
  }
  const T* plane = from.data;
  for (int64_t channel = 0; channel < channels; ++channel, plane += from.plane) {
    for (const Tap& tap : d.taps) {
      const int64_t z = depth * d.stride + tap.offset;
      const bool is_inside = z >= 0 && z < d.in;
      for (const int64_t h : h_.classes) {
        const int64_t top = (row + h_.least) * stride + h;  // the input line of the first one
        const int64_t begin = std::clamp<int64_t>(-floor_div(top, stride), 0, lines);
        const int64_t last = floor_div(height - 1 - top, stride) + 1;
        const int64_t end = is_inside ? std::clamp<int64_t>(last, begin, lines) : begin;
        for (const LineCopy& copy : copies) {
          std::fill(patch, patch + begin * pitch_, T{0});
          copy.run(plane + (z * height + top + begin * stride - from.first) * width, stride * width,
                   end - begin, patch + begin * pitch_);
          std::fill(patch + end * pitch_, patch + lines * pitch_, T{0});
          patch += lines * pitch_;
        }
      }
    }
  }
}

template void PatchLayout::fill(const float*, int64_t, int64_t, int64_t, int64_t, float*) const;
template void PatchLayout::fill(const double*, int64_t, int64_t, int64_t, int64_t, double*) const;
template void PatchLayout::fill(
    const uint16_t*, int64_t, int64_t, int64_t, int64_t, uint16_t*) const;

}  // namespace mindtorch::cpu::convolution
