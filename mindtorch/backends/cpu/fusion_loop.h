#pragma once

#include <span>
#include <vector>

#include "mindtorch/ops/fusion.h"

namespace mindtorch::cpu {

// How wide a value is: an element for each of the group, one a row, or one altogether.
enum class Width : uint8_t { kWhole, kRow, kScalar };
inline constexpr int kWidths = 3;

// How rows of the last dim, where a group has any, lie in tiles: whole ones, several where they are
// short, or a tile is part of one.
enum class Rows : uint8_t { kNone, kWhole, kDivided };

// How a tensor lies over a part of the loop: its own dims, merged, innermost first; strides in
// bytes.
struct FusionView {
  Shape sizes;
  Shape strides;
  int64_t element = 0;

  bool is_dense() const { return sizes.size() == 1 && strides[0] == element; }
  bool is_single() const { return sizes.size() == 1 && strides[0] == 0; }
};

// What the actions of a program work on at a time.
struct FusionTile {
  int64_t counts[kWidths];  // elements, by width
  int64_t starts[kWidths];  // of the first one, in its part
  int64_t row;              // elements of a row: all of the tile where it lies in one
};

// Note [Parts and tiles]
// How the elements of a fused group are walked. Dims are ordered so that the first store's
// smallest stride is innermost, and merged where all tensors allow it; only rows, where the group
// has them, stay innermost and unmerged. As many inner dims as a tile needs form a part, and a tile
// is a run of a part's elements, whichever dims it crosses: short lines do not make short tiles.
// What does not lie densely over a part is gathered, tile by tile; a tile is a multiple of all dims
// of the part but the outermost, so that a tensor repeated along that one (a bias) looks the same
// in every tile, and is gathered once.
class FusionLoop {
 public:
  // `tile` in elements, about. Operands are the group's inputs, then its stores.
  FusionLoop(const ops::FusedGroup& group, int64_t tile, Rows rows);
  // One more operand, one element a tile, side by side: rows are in order, tiles of a row as well.
  // Rows must be divided.
  void add_partial(int64_t element_bytes);

  int64_t units() const { return parts_ * tiles_; }
  int64_t tiles_of_row() const { return tiles_; }
  int64_t tile() const { return tile_; }
  int64_t row() const { return row_; }
  int64_t rows_of_tile() const { return row_ == 0 ? 1 : tile_ / row_; }
  size_t operands() const { return operands_.size(); }

  Width width(size_t operand) const { return operands_[operand].width; }
  // Over a part, and for one element a row, over its rows.
  const FusionView& view(size_t operand) const { return operands_[operand].view; }
  // The same elements in every tile of the loop.
  bool is_repeated(size_t operand) const { return operands_[operand].is_repeated; }

  // A whole tile, at the start of a part.
  FusionTile first_tile() const { return tile_at(0); }

  // Calls body(tile) for units [begin, end), with the address of each operand in `at`: of its first
  // element in the tile where it is dense, in the part where it is not.
  template <typename Body>
  void run(std::span<void* const> addresses,
           char** at,
           int64_t begin,
           int64_t end,
           const Body& body) const {
    for (int64_t unit = begin; unit < end;) {
      const int64_t part = parts_ == 1 ? 0 : unit / tiles_;
      const int64_t first = unit - part * tiles_;
      const int64_t stop = std::min(end, (part + 1) * tiles_);
      for (size_t i = 0; i < operands_.size(); ++i) {
        at[i] = static_cast<char*>(addresses[i]) + first * steps_[i];
      }
      if (parts_ > 1) enter_part(part, at);
      while (true) {
        body(tile_at(unit - part * tiles_));
        if (++unit == stop) break;
        for (size_t i = 0; i < operands_.size(); ++i) at[i] += steps_[i];
      }
    }
  }

 private:
  struct Operand {
    Shape strides;  // bytes, innermost dim first
    FusionView view;
    Width width = Width::kWhole;
    bool is_repeated = false;
  };

  void order_dims(const ops::FusedGroup& group);
  void choose_tile(int64_t tile);
  void place(Operand& operand, bool is_store);
  void enter_part(int64_t part, char** at) const;
  FusionTile tile_at(int64_t index) const {
    const int64_t start = index * tile_;
    const int64_t n = std::min(tile_, part_size_ - start);
    if (row_ == 0) return {{n, 1, 1}, {start, 0, 0}, n};
    return {{n, n / row_, 1}, {start, start / row_, 0}, row_};
  }

  Rows rows_;
  Shape sizes_;  // innermost first
  std::vector<Operand> operands_;
  std::vector<int64_t> steps_;  // bytes from tile to tile, by operand
  size_t part_dims_ = 1;
  int64_t part_size_ = 1;
  int64_t parts_ = 1;
  int64_t tile_ = 1;
  int64_t tiles_ = 1;  // of a part
  int64_t row_ = 0;    // elements of a row where a tile holds several; 0: it is in one row
};

}  // namespace mindtorch::cpu
