#include "mindtorch/backends/cpu/pointwise_loop.h"

#include <algorithm>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"
#include "mindtorch/backends/cpu/tiles/scalar_operand.h"
#include "mindtorch/backends/cpu/transpose_plane.h"

namespace mindtorch::cpu {
namespace {

// Elements of a line below which a call for each costs too much.
constexpr int64_t kShortLine = 4096;

// A plane is two cache lines of its operand wide, so that what is fetched is used.
constexpr int64_t kPlaneBytes = 128;
constexpr int64_t kPlaneColumns = 128;
constexpr int64_t kLeastPlane = 8;  // lines and columns

}  // namespace

PointwiseLoop::PointwiseLoop(const ops::PointwiseCall& call,
                             const ChosenTile& chosen,
                             const Tensor& out)
    : call_(call),
      chosen_(chosen),
      tile_(chosen.tile),
      storer_(chosen.native, out.dtype(), out.element_size()) {
  loop_.add(out, out.sizes());
  for (int i = 0; i < call.count; ++i) loop_.add(*call.operands[i], out.sizes());
  loop_.prepare(out.sizes());
  storer_ = ResultStorer(chosen.native, out.dtype(), loop_.strides_bytes[0][0]);
  find_planes();
  make_loaders();
  find_single();
}

void PointwiseLoop::find_planes() {
  if (loop_.sizes.size() < 2 || std::min(loop_.sizes[0], loop_.sizes[1]) < kLeastPlane) return;
  for (int i = 0; i < call_.count; ++i) {
    const Shape& strides = loop_.strides_bytes[i + 1];
    const int64_t element = call_.operands[i]->element_size();
    if (strides[0] == element || strides[0] == 0 || strides[1] != element) continue;
    is_plane_[i] = true;
    const int64_t lines = kPlaneBytes / element;
    plane_lines_ = plane_lines_ == 0 ? lines : std::min(plane_lines_, lines);
  }
}

void PointwiseLoop::make_loaders() {
  for (int i = 0; i < call_.count; ++i) {
    const Tensor& operand = *call_.operands[i];
    const int64_t stride = is_plane_[i] ? operand.element_size() : loop_.strides_bytes[i + 1][0];
    if (ops::takes_bool(call_.function, i)) {
      loaders_.emplace_back(operand.dtype(), DType::kBool, stride);
    } else {
      loaders_.emplace_back(call_, i, chosen_.compute, stride);
    }
    is_direct_ &= loaders_.back().direct() && !is_plane_[i];
  }
  is_direct_ &= storer_.direct();
}

// One operand that does not move along the lines, as in a + column.
void PointwiseLoop::find_single() {
  if (call_.count != 2) return;
  const bool is_half = ops::is_half(chosen_.compute);
  for (int i = 0; i < 2 && single_ < 0; ++i) {
    const auto at = static_cast<size_t>(i);
    if (!loaders_[at].broadcast() || loaders_[at].converts()) continue;
    const TileFn found = is_half ? find_half_number_tile(call_.function, chosen_.compute, i)
                                 : find_scalar_operand_tile(call_.function, chosen_.compute, i);
    if (found == nullptr) continue;
    tile_ = found;
    single_ = i;
    if (is_half) widen_ = find_cast(chosen_.compute, DType::kFloat32);
    is_direct_ = loaders_[1 - at].direct() && !is_plane_[1 - i] && storer_.direct();
  }
}

void PointwiseLoop::run() const {
  if (plane_lines_ > 0) return run_planes();
  const int64_t inner = loop_.inner_size();
  const bool has_short_lines =
      is_direct_ && call_.count == 2 && inner <= kShortLine && loop_.sizes.size() > 1;
  const LinesFn lines =
      has_short_lines ? find_lines(call_.function, chosen_.compute, single_) : nullptr;
  // Long lines are divided among threads.
  if (lines != nullptr || (is_direct_ && inner <= chosen_.grain)) return run_lines(lines);
  run_pieces();
}

void PointwiseLoop::run_lines(LinesFn lines) const {
  const int64_t inner = loop_.inner_size();
  const int64_t grain = std::max<int64_t>(1, chosen_.grain / inner);
  parallel_for(0, loop_.outer_size(), grain, [&](int64_t begin, int64_t end) {
    if (lines != nullptr) {
      loop_.for_line_runs(begin, end, [&](char* const* at, int64_t count) {
        lines({{at[1], at[2]},
               {loop_.strides_bytes[1][1], loop_.strides_bytes[2][1]},
               at[0],
               loop_.strides_bytes[0][1],
               count,
               inner});
      });
      return;
    }
    loop_.for_lines(begin, end, [&](char* const* at) {
      alignas(8) char number[8];
      const void* inputs[ops::kMaxOperands];
      for (int i = 0; i < call_.count; ++i) inputs[i] = at[i + 1];
      if (widen_ != nullptr) {
        widen_(inputs[single_], number, 1);
        inputs[single_] = number;
      }
      tile_(inputs, at[0], inner, call_.params);
    });
  });
}

void PointwiseLoop::run_pieces() const {
  const int64_t inner = loop_.inner_size();
  const int64_t piece = is_direct_ ? chosen_.grain : kTile;
  const int64_t pieces = ceil_div(inner, piece);
  const int64_t grain = std::max<int64_t>(1, chosen_.grain / std::min(inner, piece));
  parallel_for(0, loop_.outer_size() * pieces, grain, [&](int64_t begin, int64_t end) {
    TileBuffers buffers;
    int64_t unit = begin;
    while (unit < end) {
      // All pieces of this range that lie on one line, or all lines of one piece each.
      const int64_t line = unit / pieces;
      const int64_t last_line = pieces == 1 ? end : line + 1;
      const int64_t first = unit % pieces;
      const int64_t last = pieces == 1 ? 1 : std::min(pieces, first + end - unit);
      loop_.for_lines(line, last_line, [&](char* const* line_at) {
        bool filled[ops::kMaxOperands] = {};
        for (int64_t p = first; p < last; ++p) {
          const int64_t start = p * piece;
          char* at[ops::kMaxOperands + 1];
          for (int i = 0; i <= call_.count; ++i) {
            at[i] = line_at[i] + start * loop_.strides_bytes[i][0];
          }
          run_piece(at, std::min(piece, inner - start), buffers, filled);
        }
      });
      unit = pieces == 1 ? end : line * pieces + last;
    }
  });
}

void PointwiseLoop::run_planes() const {
  const int64_t inner = loop_.sizes[0];
  const int64_t lines = loop_.sizes[1];
  const int64_t across = ceil_div(inner, kPlaneColumns);
  const int64_t down = ceil_div(lines, plane_lines_);
  const int64_t units = loop_.outer_size() / lines * down * across;
  const int64_t grain = std::max<int64_t>(1, chosen_.grain / (plane_lines_ * kPlaneColumns));
  parallel_for(0, units, grain, [&](int64_t begin, int64_t end) {
    TileBuffers buffers;
    alignas(64) char planes[ops::kMaxOperands][kPlaneBytes * kPlaneColumns];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % across * kPlaneColumns;
      const int64_t line = unit / across % down * plane_lines_;
      const int64_t n = std::min(kPlaneColumns, inner - column);
      const int64_t count = std::min(plane_lines_, lines - line);
      char* at[ops::kMaxOperands + 1];
      int64_t steps[ops::kMaxOperands + 1];  // from line to line
      for (int i = 0; i <= call_.count; ++i) {
        const Shape& strides = loop_.strides_bytes[i];
        at[i] = loop_.data[i] + column * strides[0] + line * strides[1];
        steps[i] = strides[1];
        int64_t rest = unit / across / down;
        for (size_t d = 2; d < loop_.sizes.size(); ++d) {
          at[i] += rest % loop_.sizes[d] * strides[d];
          rest /= loop_.sizes[d];
        }
        if (i == 0 || !is_plane_[i - 1]) continue;
        const int64_t element = call_.operands[i - 1]->element_size();
        steps[i] = kPlaneColumns * element;
        auto* const to = reinterpret_cast<uint8_t*>(planes[i - 1]);
        transpose_plane(
            element, {reinterpret_cast<const uint8_t*>(at[i]), strides[0], to, steps[i]}, n, count);
        at[i] = planes[i - 1];
      }
      for (int64_t l = 0; l < count; ++l) {
        bool filled[ops::kMaxOperands] = {};
        run_piece(at, n, buffers, filled);
        for (int i = 0; i <= call_.count; ++i) at[i] += steps[i];
      }
    }
  });
}

void PointwiseLoop::run_piece(char* const* at,
                              int64_t n,
                              TileBuffers& buffers,
                              bool* filled) const {
  alignas(8) char number[8];
  const void* inputs[ops::kMaxOperands];
  for (int i = 0; i < call_.count; ++i) {
    const OperandLoader& loader = loaders_[static_cast<size_t>(i)];
    if (i == single_) {
      inputs[i] = at[i + 1];
      if (widen_ == nullptr) continue;
      widen_(at[i + 1], number, 1);
      inputs[i] = number;
    } else if (filled[i]) {
      inputs[i] = buffers.inputs[i];
    } else {
      // The first piece of a line is the longest.
      filled[i] = loader.broadcast();
      inputs[i] = loader.load(at[i + 1], n, buffers.inputs[i], buffers.scratch);
    }
  }
  if (storer_.direct()) {
    tile_(inputs, at[0], n, call_.params);
  } else {
    tile_(inputs, buffers.output, n, call_.params);
    storer_.store(buffers.output, at[0], n, buffers.scratch);
  }
}

}  // namespace mindtorch::cpu
