#pragma once

#include "mindtorch/backends/cpu/operand_loader.h"
#include "mindtorch/backends/cpu/strided_loop.h"
#include "mindtorch/backends/cpu/tiles/short_lines.h"

namespace mindtorch::cpu {

// What computes a call, and what it reads and writes.
struct ChosenTile {
  TileFn tile;
  DType compute;
  DType native;   // what the tile writes
  int64_t grain;  // elements that are worth a thread
};

// Note [Lines, pieces and planes]
// A call whose operands do not all lie alike is run line by line along the innermost dim of the
// output: a line at a time where the tile can read and write every operand in its place, else in
// pieces that pass through buffers. An operand that lies across the lines, as in a + b.t(), would
// be read one element per cache line; where it is dense along the next dim, several lines are taken
// together, and the plane of its elements is transposed into a buffer first.
class PointwiseLoop {
 public:
  PointwiseLoop(const ops::PointwiseCall& call, const ChosenTile& chosen, const Tensor& out);
  void run() const;

 private:
  void find_planes();
  void make_loaders();
  void find_single();

  void run_lines(LinesFn lines) const;
  void run_pieces() const;
  void run_planes() const;
  // `n` elements of a line. `at` has the address of the output, then of each operand;
  // `filled` says which buffers hold their broadcast operand already.
  void run_piece(char* const* at, int64_t n, TileBuffers& buffers, bool* filled) const;

  const ops::PointwiseCall& call_;
  const ChosenTile& chosen_;
  StridedLoop<ops::kMaxOperands + 1> loop_;
  TileFn tile_;
  bool is_plane_[ops::kMaxOperands] = {};  // the operand lies across the lines
  int64_t plane_lines_ = 0;                // taken together; 0: no operand does
  SmallVector<OperandLoader, ops::kMaxOperands> loaders_;
  ResultStorer storer_;
  int single_ = -1;         // the operand that the tile reads as one element a line
  CastFn widen_ = nullptr;  // what it wants of that element, if it is not as it lies
  bool is_direct_ = true;   // the tile reads and writes everything in its place
};

}  // namespace mindtorch::cpu
