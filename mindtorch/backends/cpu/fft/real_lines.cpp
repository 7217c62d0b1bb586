// Real lines. Long ones of even length are complex ones of half the length, as they lie; two short
// ones, or two of odd length, are the parts of a complex one.
#include <algorithm>
#include <memory>

#include "mindtorch/backends/cpu/fft/lines.h"
#include "mindtorch/backends/cpu/fft/spectrum.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/sorting/scratch.h"

namespace mindtorch::cpu::fft {
namespace {

// Lines that are worked on together: enough for some panels, as many as caches hold. Even, as odd
// lengths take two at once.
template <typename T>
int64_t lines_at_once(int64_t length) {
  constexpr int64_t kNumbers = 1 << 14;
  return std::clamp(kNumbers / std::max<int64_t>(length, 1), int64_t{1}, 4 * panel_lines<T>()) * 2;
}

// Calls body(first, some) for lines [first, first + some) that together are all.
template <typename T, typename Body>
void for_blocks(int64_t length, int64_t count, const Body& body) {
  const int64_t block = lines_at_once<T>(length);
  const int64_t blocks = (count + block - 1) / block;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i * block, std::min(block, count - i * block));
  };
  // A few long lines are divided among the threads themselves.
  if (blocks < num_threads()) return run(0, blocks);
  parallel_for(0, blocks, 1, run);
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
  const sorting::ScratchArray<T> joined(2 * length * pairs);
  if (count % 2 != 0) std::fill_n(joined.get() + 2 * length * (pairs - 1), 2 * length, T(0));
  for (int64_t j = 0; j < count; ++j) {
    const T* const line = from.from_line(j).data;
    T* const z = joined.get() + 2 * length * (j / 2) + j % 2;
    for (int64_t i = 0; i < length; ++i) z[2 * i] = line[i];
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
  const sorting::ScratchArray<T> joined(2 * length * pairs);
  const Lines<T> lines = {joined.get(), 2, 2 * length};
  for (int64_t j = 0; j < count; j += 2) {
    spectrum_functions<T>().join(length, from.from_line(j).data,
                                 j + 1 < count ? from.from_line(j + 1).data : nullptr,
                                 lines.from_line(j / 2).data);
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

// Calls body(first, some, panel, row, work, pairs) for `row` lines at a time: with memory for a
// panel of rows of `row` numbers, for its transform, and for pairs of spectra, whose rows are twice
// as long.
template <typename T, typename Body>
void for_pairs_of_lines(const LinePlan<T>& plan, int64_t count, const Body& body) {
  const int64_t at_once = 2 * panel_lines<T>();
  const int64_t panels = (count + at_once - 1) / at_once;
  constexpr double kOperationsPerThread = 1 << 14;
  const auto grain = std::max<int64_t>(
      1, static_cast<int64_t>(kOperationsPerThread / std::max(plan.cost_of_panel, 1.0)));
  parallel_for(0, panels, grain, [&](int64_t begin, int64_t end) {
    const int64_t size = at_once * plan.length;
    const sorting::ScratchArray<T> work(3 * size + 2 * at_once * (plan.length / 2 + 1));
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * at_once;
      body(first, std::min(at_once, count - first), work.get(), at_once, work.get() + size,
           work.get() + 3 * size);
    }
  });
}

template <typename T>
void pairs_to_half(
    const LinePlan<T>& plan, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  const auto run = [&](int64_t first, int64_t some, T* panel, int64_t row, T* work, T* pairs) {
    if (some < row) std::fill_n(panel, row * plan.length, T(0));
    copy_lines<T>(plan.length, some, 1, from.from_line(first), {panel, row, 1});
    transform_panel<T>(*plan.panel, {panel, row, 1}, {panel, row, scale, scale, nullptr}, work);
    spectrum_functions<T>().separate_panel(plan.length, panel, pairs);
    copy_lines<T>(plan.length / 2 + 1, some, 2, {pairs, 2 * row, 2}, to.from_line(first));
  };
  for_pairs_of_lines(plan, count, run);
}

template <typename T>
void half_to_pairs(
    const LinePlan<T>& plan, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  const auto run = [&](int64_t first, int64_t some, T* panel, int64_t row, T* work, T* pairs) {
    if (some < row) std::fill_n(pairs, 2 * row * (plan.length / 2 + 1), T(0));
    copy_lines<T>(plan.length / 2 + 1, some, 2, from.from_line(first), {pairs, 2 * row, 2});
    spectrum_functions<T>().join_panel(plan.length, pairs, panel);
    transform_panel<T>(*plan.panel, {panel, row, -1}, {panel, row, scale, -scale, nullptr}, work);
    copy_lines<T>(plan.length, some, 1, {panel, row, 1}, to.from_line(first));
  };
  for_pairs_of_lines(plan, count, run);
}

}  // namespace

template <typename T>
void real_to_half(int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  if (const auto plan = plan_of_pairs<T>(length, count)) {
    return pairs_to_half(*plan, count, from, to, scale);
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
  if (const auto plan = plan_of_pairs<T>(length, count)) {
    return half_to_pairs(*plan, count, from, to, scale);
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
      const sorting::ScratchArray<T> tangled(length * some);
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
