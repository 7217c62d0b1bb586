#pragma once

#include "simulator/ascend/nnopbase/nibbles.h"
#include "simulator/ascend/ops/values.h"

namespace sim {

// Note [Fractal layout]: in FRACTAL_NZ a matrix lies as blocks of 16 rows and 32 bytes, block
// column after block column: [columns / block, rows / 16, 16, block]. The last blocks are whole,
// whatever the matrix needs of them. Matrices of a batch follow each other.
inline constexpr int64_t kBlockRows = 16;
inline constexpr int64_t kBlockBytes = 32;

inline int64_t block_width(DType dtype) {
  return dtype == ACL_INT4 ? 2 * kBlockBytes
                           : kBlockBytes / static_cast<int64_t>(item_bytes(dtype));
}

inline int64_t quotient_up(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

inline Shape blocks_of(const Shape& matrices, DType dtype) {
  const size_t lead = matrices.size() - 2;
  const int64_t width = block_width(dtype);
  Shape blocks(matrices.begin(), matrices.end() - 2);
  blocks.insert(blocks.end(), {quotient_up(matrices[lead + 1], width),
                               quotient_up(matrices[lead], kBlockRows), kBlockRows, width});
  return blocks;
}

inline int64_t block_bytes(const Shape& matrices, DType dtype) {
  const int64_t n = count(blocks_of(matrices, dtype));
  return dtype == ACL_INT4 ? n / 2 : n * static_cast<int64_t>(item_bytes(dtype));
}

// Copies matrices out of their blocks of `width` columns, or into them.
inline void copy_blocks(const View& plain, char* data, int64_t width, bool into) {
  const int64_t rows = plain.size(-2 + plain.rank());
  const int64_t columns = plain.shape.back();
  const int64_t column_blocks = quotient_up(columns, width);
  const int64_t block_column = quotient_up(rows, kBlockRows) * kBlockRows * width;
  const Shape batch(plain.shape.begin(), plain.shape.end() - 2);
  for (int64_t i = 0; i < count(batch) * column_blocks; ++i) {
    const int64_t first = i % column_blocks * width;
    View part = plain;
    for (int64_t number = i / column_blocks, dim = plain.rank() - 2; dim-- > 0;) {
      const int64_t size = batch[z(dim)];
      part = part.select(dim, number % size);
      number /= size;
    }
    part = part.slice(1, first, std::min(width, columns - first));
    const View block{data + i * block_column * plain.item(), plain.dtype, part.shape, {width, 1}};
    copy_elements(into ? block : part, into ? part : block);
  }
}

// A matrix, or a batch of them, that may lie in blocks; a transposed view counts as what lies
// there, turned.
struct FractalMatrix {
  Operand operand;
  bool blocked = false;
  bool turned = false;

  Shape stored() const {
    Shape shape = operand.shape();
    if (turned) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
  }
  // The plain matrices, INT4 as INT8; `copy` keeps them where they lie in blocks.
  View view(const Launch& launch, std::vector<char>* copy) const {
    const View& own = get(launch, operand);
    if (!blocked) return own;
    const Shape shape = stored();
    const bool nibbles = own.dtype == ACL_INT4;
    const DType dtype = nibbles ? ACL_INT8 : own.dtype;
    std::vector<int8_t> bytes;
    char* data = own.data;
    if (nibbles) {
      const int64_t n = count(blocks_of(shape, own.dtype));
      bytes.resize(z(n));
      unpack_nibbles(contiguous_view(data, ACL_INT4, {n}), 0, bytes.data());
      data = reinterpret_cast<char*>(bytes.data());
    }
    copy->resize(z(count(shape)) * item_bytes(dtype));
    const View plain = contiguous_view(copy->data(), dtype, shape);
    copy_blocks(plain, data, block_width(own.dtype), false);
    if (!turned) return plain;
    std::vector<int64_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return plain.permute(order);
  }
};

inline bool is_fractal(const aclTensor* tensor) {
  return tensor != nullptr && object_id(tensor) != 0 && tensor->format == ACL_FORMAT_FRACTAL_NZ;
}

// Whether a view of matrices is the transposed one of matrices that lie without gaps.
inline bool is_turned(const View& view) {
  const size_t last = view.shape.size() - 1;
  if (view.strides[last] == 1 && view.strides[last - 1] == view.shape[last]) return false;
  return view.strides[last - 1] == 1 && view.strides[last] == view.shape[last - 1];
}

// Says how a tensor of matrices lies; `p` refuses what is not whole.
inline FractalMatrix matrices_of(Planner& p, const Operand& operand) {
  p.check_rank(operand, 2, 6);
  FractalMatrix m{operand, false, is_turned(*operand.view)};
  View stored = *operand.view;
  if (m.turned) {
    std::swap(stored.shape[stored.shape.size() - 1], stored.shape[stored.shape.size() - 2]);
    std::swap(stored.strides[stored.shape.size() - 1], stored.strides[stored.shape.size() - 2]);
  }
  p.check(stored.contiguous(), p.name(operand) + " must be whole matrices, one after the other");
  return m;
}

// A description may name the blocks, or only how many elements there are, as CANN's own samples do.
inline void check_storage(Planner& p, const FractalMatrix& m, const aclTensor* tensor) {
  const Shape& storage = tensor->storage_shape;
  const Shape blocks = blocks_of(m.stored(), m.operand.dtype());
  const bool flat = storage.size() == 1 && storage[0] >= m.operand.numel();
  p.check(flat || storage == blocks, p.name(m.operand) + " has the storage shape " +
                                         shape_text(storage) + ", expected is " +
                                         shape_text(blocks) + " or the number of elements");
}

// Ordinary tensors pass as Planner::input lets them.
inline FractalMatrix fractal_input(Planner& p,
                                   const aclTensor* tensor,
                                   const char* name,
                                   Types types) {
  if (!is_fractal(tensor)) return {p.input(tensor, name, types)};
  FractalMatrix m = matrices_of(p, p.fractal_input(tensor, name, types));
  m.blocked = true;
  check_storage(p, m, tensor);
  p.reads_bytes(m.operand, block_bytes(m.stored(), m.operand.dtype()));
  return m;
}

}  // namespace sim
