#include "mindtorch/backends/cpu/fft/lines.h"

#include <algorithm>
#include <cstring>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/fft/folded_lines.h"
#include "mindtorch/backends/cpu/fft/register_lines.h"
#include "mindtorch/backends/cpu/fft/short_lines.h"
#include "mindtorch/backends/cpu/fft/spectrum.h"
#include "mindtorch/backends/cpu/fft/whole_lines.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/backends/cpu/transpose_plane.h"

namespace mindtorch::cpu::fft {
namespace {

constexpr double kOperationsPerThread = 1 << 13;  // vector operations that pay for a thread
// Fewer panels leave threads without work. How many threads there are must not count: the ways of a
// transform round differently.
constexpr int64_t kEnoughPanels = 16;
constexpr int64_t kLeastLength = 512;     // of lines that are better off alone then,
constexpr double kGainOfFewPanels = 1.7;  // unless panels gain as much
constexpr double kLongLine = 1 << 18;     // vector operations that are worth all threads

int64_t grain_of(double cost) {
  return std::max<int64_t>(1, static_cast<int64_t>(kOperationsPerThread / std::max(cost, 1.0)));
}

// --- one line ---

template <typename T>
void as_matrix(const LinePlan<T>& plan, const T* from, T* to, bool inverse, T scale) {
  const int64_t rows = plan.of_columns->length;
  const int64_t columns = plan.of_rows->length;
  const int64_t lines = panel_lines<T>();
  const ScratchArray<T> middle(2 * plan.length);
  const auto panels = [&](int64_t of) { return ceil_div(of, lines); };
  // The last panel reaches back over lines that another one has, too.
  const auto transform_columns = [&](int64_t begin, int64_t end) {
    const ScratchArray<T> work(4 * lines * rows);
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = std::min(panel * lines, columns - lines);
      const PanelInput<T> input = {from + 2 * column, 2 * columns, inverse ? T(-1) : T(1)};
      const PanelOutput<T> output = {middle.get() + 2 * column, 2 * columns, 1, 1,
                                     plan.turns.data() + panel * rows * 2 * lines};
      transform_panel(*plan.of_columns, input, output, work.get());
    }
  };
  parallel_for(0, panels(columns), grain_of(panel_cost(rows)), transform_columns);
  const auto transform_rows = [&](int64_t begin, int64_t end) {
    const ScratchArray<T> work(6 * lines * columns);
    T* const turned = work.get() + 4 * lines * columns;
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t row = std::min(panel * lines, rows - lines);
      copy_lines<T>(columns, lines, 2, {middle.get() + 2 * row * columns, 2, 2 * columns},
                    {turned, 2 * lines, 2});
      const PanelOutput<T> output = {to + 2 * row, 2 * rows, scale, inverse ? -scale : scale,
                                     nullptr};
      transform_panel(*plan.of_rows, {turned, 2 * lines, 1}, output, work.get());
    }
  };
  parallel_for(0, panels(rows), grain_of(panel_cost(columns)), transform_rows);
}

template <typename T>
void by_chirp(const LinePlan<T>& plan, const T* from, T* to, bool inverse, T scale) {
  const int64_t n = plan.length;
  const int64_t size = plan.convolution->length;
  const ScratchArray<T> line(2 * size);
  T* const x = line.get();
  const auto multiply = spectrum_functions<T>().multiply;
  multiply(n, from, (inverse ? plan.conjugate : plan.chirp).data(), x, inverse);
  std::fill(x + 2 * n, x + 2 * size, T(0));
  transform_line(*plan.convolution, x, x, false, T(1));
  // The inverse transform is the conjugate of the transform of the conjugate.
  multiply(size, x, plan.filter.data(), x, true);
  transform_line(*plan.convolution, x, x, false, scale);
  multiply(n, x, plan.conjugate.data(), to, !inverse);
}

// Up to panel_lines() lines in the lanes of one panel. `work` has room for 6 * panel_lines() *
// length numbers.
template <typename T>
void as_panel(const PanelPlan<T>& plan,
              int64_t count,
              Lines<const T> from,
              Lines<T> to,
              bool inverse,
              T scale,
              T* work) {
  const int64_t lines = panel_lines<T>();
  const int64_t length = plan.length;
  T* const copied = work + 4 * lines * length;
  PanelInput<T> input = {from.data, from.step, inverse ? T(-1) : T(1)};
  if (count < lines || from.next != 2) {
    if (count < lines) std::fill_n(copied, 2 * lines * length, T(0));
    copy_lines<T>(length, count, 2, from, {copied, 2 * lines, 2});
    input.data = copied;
    input.stride = 2 * lines;
  }
  PanelOutput<T> output = {to.data, to.step, scale, inverse ? -scale : scale, nullptr};
  const bool is_direct = count == lines && to.next == 2;
  if (!is_direct) {
    output.data = copied;
    output.stride = 2 * lines;
  }
  transform_panel(plan, input, output, work);
  if (!is_direct) copy_lines<T>(length, count, 2, {copied, 2 * lines, 2}, to);
}

}  // namespace

template <typename T>
void copy_lines(int64_t length, int64_t count, int64_t width, Lines<const T> from, Lines<T> to) {
  const auto unit = static_cast<int64_t>(sizeof(T)) * width;
  const auto bytes = [](int64_t stride) { return stride * static_cast<int64_t>(sizeof(T)); };
  const auto* source = reinterpret_cast<const uint8_t*>(from.data);
  auto* target = reinterpret_cast<uint8_t*>(to.data);
  if (from.step == width && to.step == width) {
    for (int64_t j = 0; j < count; ++j) {
      std::memcpy(target + j * bytes(to.next), source + j * bytes(from.next),
                  static_cast<size_t>(length * unit));
    }
  } else if (from.next == width && to.next == width) {
    for (int64_t i = 0; i < length; ++i) {
      std::memcpy(target + i * bytes(to.step), source + i * bytes(from.step),
                  static_cast<size_t>(count * unit));
    }
  } else if (from.step == width && to.next == width) {
    transpose_plane(unit, {source, bytes(from.next), target, bytes(to.step)}, count, length);
  } else if (from.next == width && to.step == width) {
    transpose_plane(unit, {source, bytes(from.step), target, bytes(to.next)}, length, count);
  } else {
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t i = 0; i < length; ++i) {
        std::memcpy(target + i * bytes(to.step) + j * bytes(to.next),
                    source + i * bytes(from.step) + j * bytes(from.next),
                    static_cast<size_t>(unit));
      }
    }
  }
}

template <typename T>
void transform_line(const LinePlan<T>& plan, const T* from, T* to, bool inverse, T scale) {
  const Transform kind = inverse ? Transform::kInverse : Transform::kForward;
  if (transform_whole_lines<T>(kind, plan.length, 1, {from, 2, 0}, {to, 2, 0}, scale)) return;
  switch (plan.method) {
    case Method::kPanel: {
      const ScratchArray<T> work(6 * panel_lines<T>() * plan.length);
      return as_panel<T>(*plan.panel, 1, {from, 2, 0}, {to, 2, 0}, inverse, scale, work.get());
    }
    case Method::kMatrix:
      return as_matrix(plan, from, to, inverse, scale);
    case Method::kChirp:
      return by_chirp(plan, from, to, inverse, scale);
  }
}

template <typename T>
void transform_lines(
    int64_t length, int64_t count, Lines<const T> from, Lines<T> to, bool inverse, T scale) {
  const Transform kind = inverse ? Transform::kInverse : Transform::kForward;
  if (transform_whole_lines(kind, length, count, from, to, scale)) return;
  if (transform_register_lines(inverse, length, count, from, to, scale)) return;
  if (transform_folded_lines(kind, length, count, from, to, scale)) return;
  if (transform_short_lines(kind, length, count, from, to, scale)) return;
  const auto plan = line_plan<T>(length);
  const int64_t lines = panel_lines<T>();
  const int64_t panels = ceil_div(count, lines);
  const bool are_enough = panels >= kEnoughPanels || length < kLeastLength || count == 1;
  const double gain = are_enough ? 1 : kGainOfFewPanels;
  if (plan->panel != nullptr && gain * static_cast<double>(panels) * plan->cost_of_panel <=
                                    static_cast<double>(count) * plan->cost) {
    parallel_for(0, panels, grain_of(plan->cost_of_panel), [&](int64_t begin, int64_t end) {
      const ScratchArray<T> work(6 * lines * length);
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t line = panel * lines;
        as_panel(*plan->panel, std::min(lines, count - line), from.from_line(line),
                 to.from_line(line), inverse, scale, work.get());
      }
    });
    return;
  }
  // Lines that do not lie one beside the other are copied some at a time, as they share the lines
  // of caches.
  const bool reads = from.step == 2;
  const bool writes = to.step == 2;
  const int64_t block = reads && writes ? 1 : 8;
  const int64_t blocks = ceil_div(count, block);
  const auto run = [&](int64_t begin, int64_t end) {
    const ScratchArray<T> copied(reads && writes ? 0 : 2 * block * length);
    const Lines<T> rows = {copied.get(), 2, 2 * length};
    for (int64_t first = begin * block; first < std::min(end * block, count); first += block) {
      const int64_t some = std::min(block, count - first);
      const auto source = from.from_line(first);
      const auto target = to.from_line(first);
      if (!reads) copy_lines(length, some, 2, source, rows);
      for (int64_t i = 0; i < some; ++i) {
        transform_line(*plan, reads ? source.from_line(i).data : rows.from_line(i).data,
                       writes ? target.from_line(i).data : rows.from_line(i).data, inverse, scale);
      }
      if (!writes) copy_lines(length, some, 2, rows.as_source(), target);
    }
  };
  // A few long lines are divided among the threads themselves.
  if (blocks < num_threads() && plan->cost >= kLongLine) return run(0, blocks);
  parallel_for(0, blocks, grain_of(plan->cost * static_cast<double>(block)), run);
}

template void copy_lines(int64_t, int64_t, int64_t, Lines<const float>, Lines<float>);
template void copy_lines(int64_t, int64_t, int64_t, Lines<const double>, Lines<double>);
template void transform_line(const LinePlan<float>&, const float*, float*, bool, float);
template void transform_line(const LinePlan<double>&, const double*, double*, bool, double);
template void transform_lines(int64_t, int64_t, Lines<const float>, Lines<float>, bool, float);
template void transform_lines(int64_t, int64_t, Lines<const double>, Lines<double>, bool, double);

}  // namespace mindtorch::cpu::fft
