// Real lines. Long ones of even length are complex ones of half the length, as they lie; two short
// ones, or two of odd length, are the parts of a complex one.
#include <algorithm>
#include <memory>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/fft/folded_lines.h"
#include "mindtorch/backends/cpu/fft/lines.h"
#include "mindtorch/backends/cpu/fft/short_lines.h"
#include "mindtorch/backends/cpu/fft/spectrum.h"
#include "mindtorch/backends/cpu/fft/whole_lines.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"

namespace mindtorch::cpu::fft {
namespace {

// Lines that are worked on together: enough for a panel, as many as caches hold, and else few
// enough for many threads, however many there are: transforms of other numbers of lines round
// differently. Even, as odd lengths take two at once.
template <typename T>
int64_t lines_at_once(int64_t length, int64_t count) {
  constexpr int64_t kNumbers = 1 << 14;
  constexpr int64_t kBlocks = 16;
  const int64_t most =
      std::clamp(kNumbers / std::max<int64_t>(length, 1), int64_t{1}, 4 * panel_lines<T>());
  const int64_t some = std::max(panel_lines<T>() / 2, ceil_div(count, 2 * kBlocks));
  return 2 * std::min(most, some);
}

// Calls body(first, some) for lines [first, first + some) that together are all.
template <typename T, typename Body>
void for_blocks(int64_t length, int64_t count, const Body& body) {
  constexpr int64_t kNumbersPerThread = 1 << 12;
  constexpr int64_t kLongLine = 1 << 16;
  const int64_t block = lines_at_once<T>(length, count);
  const int64_t blocks = ceil_div(count, block);
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i * block, std::min(block, count - i * block));
  };
  // A few long lines are divided among the threads themselves.
  if (blocks < num_threads() && length >= kLongLine) return run(0, blocks);
  parallel_for(0, blocks, std::max<int64_t>(1, kNumbersPerThread / (block * length)), run);
}

// Rows of `width` numbers each, read where they lie if they are so, else copied to `copies`.
template <typename T>
Lines<const T> read_rows(
    int64_t length, int64_t count, int64_t width, Lines<const T> from, Scratch<T>& copies) {
  if (from.step == width) return from;
  copies.allocate(length * count * width);
  const Lines<T> rows = {copies.get(), width, length * width};
  copy_lines(length, count, width, from, rows);
  return rows.as_source();
}

// Where rows are to be written: in place, or in `copies`, which have to be copied then.
template <typename T>
Lines<T> rows_to_write(
    int64_t length, int64_t count, int64_t width, Lines<T> to, Scratch<T>& copies) {
  if (to.step == width) return to;
  copies.allocate(length * count * width);
  return {copies.get(), width, length * width};
}

template <typename T>
void odd_to_half(int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  const int64_t pairs = (count + 1) / 2;
  const ScratchArray<T> joined(2 * length * pairs);
  if (count % 2 != 0) std::fill_n(joined.get() + 2 * length * (pairs - 1), 2 * length, T(0));
  for (int64_t j = 0; j < count; ++j) {
    const T* const line = from.from_line(j).data;
    T* const z = joined.get() + 2 * length * (j / 2) + j % 2;
    for (int64_t i = 0; i < length; ++i) z[2 * i] = line[i];
  }
  if (count > 1 && !spectrum_functions<T>().is_finite(2 * length * pairs, joined.get())) {
    for (int64_t j = 0; j < count; ++j) {
      odd_to_half(length, 1, from.from_line(j), to.from_line(j), scale);
    }
    return;
  }
  const Lines<T> lines = {joined.get(), 2, 2 * length};
  transform_lines(length, pairs, lines.as_source(), lines, false, scale);
  for (int64_t j = 0; j < count; j += 2) {
    spectrum_functions<T>().separate(length, lines.from_line(j / 2).data, to.from_line(j).data,
                                     j + 1 < count ? to.from_line(j + 1).data : nullptr);
  }
}

template <typename T>
void half_to_odd(int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  const int64_t pairs = (count + 1) / 2;
  const ScratchArray<T> joined(2 * length * pairs);
  const Lines<T> lines = {joined.get(), 2, 2 * length};
  for (int64_t j = 0; j < count; j += 2) {
    spectrum_functions<T>().join(length, from.from_line(j).data,
                                 j + 1 < count ? from.from_line(j + 1).data : nullptr,
                                 lines.from_line(j / 2).data);
  }
  if (count > 1 && !spectrum_functions<T>().is_finite(2 * length * pairs, joined.get())) {
    for (int64_t j = 0; j < count; ++j) {
      half_to_odd(length, 1, from.from_line(j), to.from_line(j), scale);
    }
    return;
  }
  transform_lines(length, pairs, lines.as_source(), lines, true, scale);
  for (int64_t j = 0; j < count; ++j) {
    const T* const z = joined.get() + 2 * length * (j / 2) + j % 2;
    T* const line = to.from_line(j).data;
    for (int64_t i = 0; i < length; ++i) line[i] = z[2 * i];
  }
}

// Many short lines: two in each lane of a panel. A row of the numbers of 2 * panel_lines() lines is
// one of complex numbers. Null: not by panels.
template <typename T>
std::shared_ptr<const LinePlan<T>> plan_of_pairs(int64_t length, int64_t count) {
  constexpr int64_t kMostElements = 256;
  if (length > kMostElements || count < panel_lines<T>() / 2) return nullptr;
  auto plan = line_plan<T>(length);
  return plan->panel == nullptr ? nullptr : plan;
}

// Memory for a panel of pairs: its rows of `row` numbers, its transform, and pairs of spectra,
// whose rows are twice as long.
template <typename T>
struct PairsMemory {
  explicit PairsMemory(int64_t length)
      : row(2 * panel_lines<T>()),
        size(row * length),
        pairs_size(2 * row * (length / 2 + 1)),
        memory(3 * size + pairs_size) {}

  int64_t row;
  int64_t size;
  int64_t pairs_size;
  ScratchArray<T> memory;
  T* const panel = memory.get();
  T* const work = panel + size;
  T* const pairs = work + 2 * size;
};

// Calls body(first, some, memory) for as many lines at a time as a panel has.
template <typename T, typename Body>
void for_pairs_of_lines(const LinePlan<T>& plan, int64_t count, const Body& body) {
  const int64_t at_once = 2 * panel_lines<T>();
  const int64_t panels = ceil_div(count, at_once);
  constexpr double kOperationsPerThread = 1 << 13;
  const auto grain = std::max<int64_t>(
      1, static_cast<int64_t>(kOperationsPerThread / std::max(plan.cost_of_panel, 1.0)));
  parallel_for(0, panels, grain, [&](int64_t begin, int64_t end) {
    const PairsMemory<T> memory(plan.length);
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * at_once;
      body(first, std::min(at_once, count - first), memory);
    }
  });
}

template <typename T>
void panel_to_half(const LinePlan<T>& plan,
                   int64_t count,
                   Lines<const T> from,
                   Lines<T> to,
                   T scale,
                   const PairsMemory<T>& memory) {
  T* const panel = memory.panel;
  const int64_t row = memory.row;
  if (count < row) std::fill_n(panel, memory.size, T(0));
  copy_lines<T>(plan.length, count, 1, from, {panel, row, 1});
  if (count > 1 && !spectrum_functions<T>().is_finite(memory.size, panel)) {
    for (int64_t j = 0; j < count; ++j) {
      panel_to_half(plan, 1, from.from_line(j), to.from_line(j), scale, memory);
    }
    return;
  }
  transform_panel<T>(*plan.panel, {panel, row, 1}, {panel, row, scale, scale, nullptr},
                     memory.work);
  spectrum_functions<T>().separate_panel(plan.length, panel, memory.pairs);
  copy_lines<T>(plan.length / 2 + 1, count, 2, {memory.pairs, 2 * row, 2}, to);
}

template <typename T>
void half_to_panel(const LinePlan<T>& plan,
                   int64_t count,
                   Lines<const T> from,
                   Lines<T> to,
                   T scale,
                   const PairsMemory<T>& memory) {
  T* const panel = memory.panel;
  const int64_t row = memory.row;
  if (count < row) std::fill_n(memory.pairs, memory.pairs_size, T(0));
  copy_lines<T>(plan.length / 2 + 1, count, 2, from, {memory.pairs, 2 * row, 2});
  spectrum_functions<T>().join_panel(plan.length, memory.pairs, panel);
  if (count > 1 && !spectrum_functions<T>().is_finite(memory.size, panel)) {
    for (int64_t j = 0; j < count; ++j) {
      half_to_panel(plan, 1, from.from_line(j), to.from_line(j), scale, memory);
    }
    return;
  }
  transform_panel<T>(*plan.panel, {panel, row, -1}, {panel, row, scale, -scale, nullptr},
                     memory.work);
  copy_lines<T>(plan.length, count, 1, {panel, row, 1}, to);
}

}  // namespace

template <typename T>
void real_to_half(int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  if (transform_folded_lines(Transform::kRealToHalf, length, count, from, to, scale)) return;
  if (transform_short_lines(Transform::kRealToHalf, length, count, from, to, scale)) return;
  if (transform_whole_lines(Transform::kRealToHalf, length, count, from, to, scale)) return;
  if (const auto plan = plan_of_pairs<T>(length, count)) {
    const auto run = [&](int64_t first, int64_t some, const PairsMemory<T>& memory) {
      panel_to_half(*plan, some, from.from_line(first), to.from_line(first), scale, memory);
    };
    return for_pairs_of_lines(*plan, count, run);
  }
  const int64_t half = length / 2;
  const auto turns = length % 2 == 0 ? half_turns<T>(half) : nullptr;
  for_blocks<T>(length, count, [&](int64_t first, int64_t some) {
    Scratch<T> read, written;
    const auto source = read_rows(length, some, 1, from.from_line(first), read);
    const auto target = rows_to_write(half + 1, some, 2, to.from_line(first), written);
    if (turns == nullptr) {
      odd_to_half(length, some, source, target, scale);
    } else {
      transform_lines<T>(half, some, {source.data, 2, source.next}, target, false, scale);
      for (int64_t j = 0; j < some; ++j) {
        spectrum_functions<T>().untangle(half, turns->data(), target.from_line(j).data);
      }
    }
    if (to.step != 2) copy_lines(half + 1, some, 2, target.as_source(), to.from_line(first));
  });
}

template <typename T>
void half_to_real(int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  if (transform_short_lines(Transform::kHalfToReal, length, count, from, to, scale)) return;
  if (transform_whole_lines(Transform::kHalfToReal, length, count, from, to, scale)) return;
  if (const auto plan = plan_of_pairs<T>(length, count)) {
    const auto run = [&](int64_t first, int64_t some, const PairsMemory<T>& memory) {
      half_to_panel(*plan, some, from.from_line(first), to.from_line(first), scale, memory);
    };
    return for_pairs_of_lines(*plan, count, run);
  }
  const int64_t half = length / 2;
  const auto turns = length % 2 == 0 ? half_turns<T>(half) : nullptr;
  for_blocks<T>(length, count, [&](int64_t first, int64_t some) {
    Scratch<T> read, written;
    const auto source = read_rows(half + 1, some, 2, from.from_line(first), read);
    const auto target = rows_to_write(length, some, 1, to.from_line(first), written);
    if (turns == nullptr) {
      half_to_odd(length, some, source, target, scale);
    } else {
      const ScratchArray<T> tangled(length * some);
      const Lines<T> lines = {tangled.get(), 2, length};
      for (int64_t j = 0; j < some; ++j) {
        spectrum_functions<T>().tangle(half, turns->data(), source.from_line(j).data,
                                       lines.from_line(j).data);
      }
      transform_lines<T>(half, some, lines.as_source(), {target.data, 2, target.next}, true, scale);
    }
    if (to.step != 1) copy_lines(length, some, 1, target.as_source(), to.from_line(first));
  });
}

template void real_to_half(int64_t, int64_t, Lines<const float>, Lines<float>, float);
template void real_to_half(int64_t, int64_t, Lines<const double>, Lines<double>, double);
template void half_to_real(int64_t, int64_t, Lines<const float>, Lines<float>, float);
template void half_to_real(int64_t, int64_t, Lines<const double>, Lines<double>, double);

}  // namespace mindtorch::cpu::fft
