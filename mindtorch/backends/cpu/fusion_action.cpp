#include "mindtorch/backends/cpu/fusion_action.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mindtorch/backends/cpu/runs.h"

namespace mindtorch::cpu {
namespace {

constexpr size_t kMaxRank = 64;
constexpr int64_t kLongRow = 1024;  // bytes

// Calls body(offset, lines, n) for the lines of `view` that hold elements [start, start + n): each
// time for as many whole ones as lie along its second dim, or for a part of one.
template <typename Body>
void for_lines(const FusionView& view, int64_t start, int64_t n, const Body& body) {
  int64_t index[kMaxRank];
  int64_t offset = 0;
  int64_t rest = start;
  const size_t rank = view.sizes.size();
  for (size_t d = 0; d < rank; ++d) {
    index[d] = d + 1 == rank ? rest : rest % view.sizes[d];
    rest /= view.sizes[d];
    offset += index[d] * view.strides[d];
  }
  while (true) {
    const int64_t line = view.sizes[0];
    int64_t lines = 1;
    int64_t count = std::min(n, line - index[0]);
    if (rank > 1 && count == line) lines = std::min(n / line, view.sizes[1] - index[1]);
    body(offset, lines, count);
    n -= lines * count;
    if (n == 0) return;
    offset -= index[0] * view.strides[0];
    index[0] = 0;
    index[1] += lines - 1;
    offset += (lines - 1) * view.strides[1];
    for (size_t d = 1; d < rank; ++d) {
      offset += view.strides[d];
      if (++index[d] < view.sizes[d]) break;
      offset -= view.sizes[d] * view.strides[d];
      index[d] = 0;
    }
  }
}

// Rows that are too short for fill_runs. Writes by lines, also beyond the end of a row: there comes
// the next one, or what a buffer has more than it needs.
template <typename T>
void spread(const char* from, char* to, int64_t rows, int64_t row) {
  using Line [[gnu::vector_size(kBufferLine)]] = T;
  constexpr auto kElements = kBufferLine / static_cast<int64_t>(sizeof(T));
  auto* out = reinterpret_cast<T*>(to);
  for (int64_t r = 0; r < rows; ++r, out += row) {
    T element;
    std::memcpy(&element, from + r * static_cast<int64_t>(sizeof(T)), sizeof(T));
    const Line line = Line{} + element;
    for (int64_t i = 0; i < row; i += kElements) std::memcpy(out + i, &line, sizeof(line));
  }
}

const uint8_t* bytes(const char* address) { return reinterpret_cast<const uint8_t*>(address); }
uint8_t* bytes(char* address) { return reinterpret_cast<uint8_t*>(address); }

}  // namespace

void run_tile(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  const void* const inputs[] = {slots[action.in[0]], slots[action.in[1]], slots[action.in[2]],
                                slots[action.in[3]]};
  action.tile(inputs, slots[action.out], tile.counts[static_cast<int>(action.width)],
              *action.params);
}

void run_tile_rows(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  int64_t steps[2];
  const char* from[2];
  for (int i = 0; i < 2; ++i) {
    steps[i] = i == action.single ? action.in_sizes[i] : action.in_sizes[i] * tile.row;
    from[i] = slots[action.in[i]];
  }
  char* out = slots[action.out];
  const int64_t rows = tile.counts[static_cast<int>(Width::kRow)];
  for (int64_t r = 0; r < rows; ++r) {
    const void* const inputs[3] = {from[0], from[1], nullptr};
    action.tile(inputs, out, tile.row, *action.params);
    from[0] += steps[0];
    from[1] += steps[1];
    out += action.out_size * tile.row;
  }
}

void run_cast(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  action.cast(slots[action.in[0]], slots[action.out], tile.counts[static_cast<int>(action.width)]);
}

void run_spread(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  const char* const from = slots[action.in[0]];
  char* const to = slots[action.out];
  const bool is_row = action.single >= 0;
  const int64_t rows = is_row ? tile.counts[static_cast<int>(Width::kRow)] : 1;
  const int64_t row = is_row ? tile.row : tile.counts[static_cast<int>(action.width)];
  const int64_t size = row * action.out_size;
  if (size >= kLongRow && action.out_size > 1) {
    fill_runs({bytes(from), action.out_size, bytes(to), size, rows}, action.out_size, size);
    return;
  }
  switch (action.out_size) {
    case 1:
      return spread<uint8_t>(from, to, rows, row);
    case 2:
      return spread<uint16_t>(from, to, rows, row);
    case 4:
      return spread<uint32_t>(from, to, rows, row);
    default:
      return spread<uint64_t>(from, to, rows, row);
  }
}

void run_gather(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  const int width = static_cast<int>(action.width);
  const FusionView& view = *action.view;
  const char* const from = slots[action.in[0]];
  char* to = slots[action.out];
  const int64_t step = view.strides.size() > 1 ? view.strides[1] : 0;
  for_lines(view, tile.starts[width], tile.counts[width],
            [&](int64_t offset, int64_t lines, int64_t n) {
              const int64_t size = n * view.element;
              const Runs runs = {bytes(from + offset), step, bytes(to), size, lines};
              if (view.strides[0] == view.element) {
                copy_runs(runs, size);
              } else if (view.strides[0] == 0) {
                fill_runs(runs, view.element, size);
              } else {
                for (int64_t i = 0; i < lines; ++i) {
                  action.gather(from + offset + i * step, view.strides[0], to + i * size, n);
                }
              }
              to += lines * size;
            });
}

void run_scatter(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  const int width = static_cast<int>(action.width);
  const FusionView& view = *action.view;
  const char* from = slots[action.in[0]];
  char* const to = slots[action.out];
  const int64_t step = view.strides.size() > 1 ? view.strides[1] : 0;
  // A dense tensor's slot is at the tile already.
  const int64_t start = view.is_dense() ? 0 : tile.starts[width];
  for_lines(view, start, tile.counts[width], [&](int64_t offset, int64_t lines, int64_t n) {
    const int64_t size = n * view.element;
    if (view.strides[0] == view.element) {
      copy_runs({bytes(from), size, bytes(to + offset), step, lines}, size);
    } else {
      for (int64_t i = 0; i < lines; ++i) {
        action.scatter(from + i * size, to + offset + i * step, view.strides[0], n);
      }
    }
    from += lines * size;
  });
}

void run_row(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  const char* from = slots[action.in[0]];
  char* to = slots[action.out];
  const int64_t in_step = action.in_sizes[0] * tile.row;
  const int64_t out_step = action.width == Width::kRow ? action.out_size : in_step;
  const int64_t rows = tile.counts[static_cast<int>(Width::kRow)];
  for (int64_t r = 0; r < rows; ++r, from += in_step, to += out_step) {
    action.row(from, to, tile.row);
  }
}

void run_lines(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  LineRun run;
  for (int i = 0; i < 2; ++i) {
    run.inputs[i] = slots[action.in[i]];
    run.input_strides[i] = i == action.single ? action.in_sizes[i] : action.in_sizes[i] * tile.row;
  }
  run.out = slots[action.out];
  run.out_stride = action.out_size * tile.row;
  run.lines = tile.counts[static_cast<int>(Width::kRow)];
  run.n = tile.row;
  action.lines(run);
}

double variance(const Moments& moments, double correction, bool takes_root) {
  const double degrees = std::max(0.0, static_cast<double>(moments.count) - correction);
  const double square =
      moments.count == 0 ? std::numeric_limits<double>::quiet_NaN() : moments.m2 / degrees;
  return takes_root ? std::sqrt(square) : square;
}

template <typename T>
void run_variance(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  const char* from = slots[action.in[0]];
  auto* to = reinterpret_cast<T*>(slots[action.out]);
  const int64_t rows = tile.counts[static_cast<int>(Width::kRow)];
  for (int64_t r = 0; r < rows; ++r, from += action.in_sizes[0] * tile.row) {
    Moments moments;
    action.row(from, &moments, tile.row);
    to[r] = static_cast<T>(variance(moments, action.params->f[0], action.takes_root));
  }
}
template void run_variance<float>(const FusionAction&, char* const*, const FusionTile&);
template void run_variance<double>(const FusionAction&, char* const*, const FusionTile&);

template <typename T>
void run_mean(const FusionAction& action, char* const* slots, const FusionTile& tile) {
  const auto* sums = reinterpret_cast<const T*>(slots[action.in[0]]);
  auto* means = reinterpret_cast<T*>(slots[action.out]);
  const auto count = static_cast<T>(tile.row);
  const int64_t rows = tile.counts[static_cast<int>(Width::kRow)];
  for (int64_t r = 0; r < rows; ++r) means[r] = sums[r] / count;
}
template void run_mean<float>(const FusionAction&, char* const*, const FusionTile&);
template void run_mean<double>(const FusionAction&, char* const*, const FusionTile&);

}  // namespace mindtorch::cpu
