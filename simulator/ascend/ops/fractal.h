#pragma once

#include "simulator/ascend/ops/values.h"

namespace sim {

// Note [Fractal layout]: in FRACTAL_NZ a matrix lies as blocks of 16 rows and 32 bytes, block
// column after block column: [columns / block, rows / 16, 16, block].
inline constexpr int64_t kBlockRows = 16;
inline constexpr int64_t kBlockBytes = 32;

inline Shape blocks_of(const Shape& matrix, int64_t item) {
  const int64_t width = kBlockBytes / item;
  return {(matrix[1] + width - 1) / width, (matrix[0] + kBlockRows - 1) / kBlockRows, kBlockRows,
          width};
}

// The blocks of a matrix as a view of its rows and (padded) columns in blocks: [rows, blocks,
// width].
inline View block_rows(void* data, DType dtype, const Shape& matrix) {
  const Shape blocks = blocks_of(matrix, static_cast<int64_t>(item_bytes(dtype)));
  const int64_t width = blocks[3];
  return {static_cast<char*>(data),
          dtype,
          {matrix[0], blocks[0], width},
          {width, blocks[1] * kBlockRows * width, 1}};
}

// Copies a matrix out of its blocks, or into them.
inline void copy_blocks(const View& plain, const View& blocks, bool into) {
  const int64_t width = blocks.size(2);
  for (int64_t k = 0; k < blocks.size(1); ++k) {
    const int64_t used = std::min(width, plain.size(1) - k * width);
    const View part = plain.slice(1, k * width, used);
    const View block = blocks.select(1, k).slice(1, 0, used);
    copy_elements(into ? block : part, into ? part : block);
  }
}

// A matrix that may lie in blocks; a transposed view of one counts as that matrix, turned.
struct FractalMatrix {
  Operand operand;
  bool blocked = false;
  bool turned = false;

  Shape stored() const {
    Shape shape = operand.shape();
    if (turned) std::swap(shape[0], shape[1]);
    return shape;
  }
  // The plain matrix; `copy` keeps it where it lies in blocks.
  View view(const Launch& launch, std::vector<char>* copy) const {
    const View& own = get(launch, operand);
    if (!blocked) return own;
    const Shape shape = stored();
    copy->resize(z(count(shape) * own.item()));
    const View plain = contiguous_view(copy->data(), own.dtype, shape);
    copy_blocks(plain, block_rows(own.data, own.dtype, shape), false);
    return turned ? plain.permute({1, 0}) : plain;
  }
};

inline bool is_fractal(const aclTensor* tensor) {
  return tensor != nullptr && object_id(tensor) != 0 && tensor->format == ACL_FORMAT_FRACTAL_NZ;
}

// Ordinary tensors pass as Planner::input lets them.
inline FractalMatrix fractal_input(Planner& p,
                                   const aclTensor* tensor,
                                   const char* name,
                                   Types types) {
  if (!is_fractal(tensor)) return {p.input(tensor, name, types)};
  FractalMatrix m{p.fractal_input(tensor, name, types), true};
  p.check_rank(m.operand, 2, 2);
  m.turned = tensor->strides[0] == 1 && tensor->strides[1] == m.operand.shape()[0] &&
             !m.operand.view->contiguous();
  p.check(m.turned || m.operand.view->contiguous(),
          std::string(name) + " in blocks must be a whole matrix");
  const Shape blocks = blocks_of(m.stored(), m.operand.view->item());
  p.check(tensor->storage_shape == blocks, std::string(name) + " has the storage shape " +
                                               shape_text(tensor->storage_shape) +
                                               ", expected is " + shape_text(blocks));
  return m;
}

}  // namespace sim
