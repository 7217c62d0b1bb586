#pragma once

#include "simulator/ascend/ops/fractal.h"

namespace sim {

// Note [Eight in a word]: INT32 matrices of quantised ops hold eight 4-bit numbers in each element,
// the first in the lowest bits, along the dimension that lies without gaps.
inline constexpr int64_t kNibbles = 8;

// The matrices of numbers that `words` hold; dim `packed` has eight times as many.
inline std::vector<int8_t> unpack_words(const View& words, int64_t packed) {
  Shape shape = words.shape;
  shape[z(packed)] *= kNibbles;
  std::vector<int8_t> numbers(z(count(shape)));
  const View all = contiguous_view(numbers.data(), ACL_INT8, shape);
  const auto values = load_all<int64_t>(words);
  for (int64_t k = 0; k < kNibbles; ++k) {
    std::vector<int64_t> part(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t nibble = values[i] >> 4 * k & 15;
      part[i] = nibble > 7 ? nibble - 16 : nibble;
    }
    store_all(all.slice(packed, k, words.size(packed), kNibbles), part);
  }
  return numbers;
}

// Matrices of INT8, INT4 or packed INT32 numbers, in blocks or not.
struct SmallNumbers {
  FractalMatrix matrix;
  int64_t packed = -1;  // the dim of which each element holds eight numbers

  Shape shape() const {
    Shape shape = matrix.operand.shape();
    if (packed >= 0) shape[z(packed)] *= kNibbles;
    return shape;
  }
  // `copies` keep what does not lie as the view says.
  struct Copies {
    std::vector<char> plain;
    std::vector<int8_t> numbers;
  };
  View view(const Launch& launch, Copies* copies) const {
    const View own = matrix.view(launch, &copies->plain);
    if (packed < 0) return own;
    copies->numbers = unpack_words(own, packed);
    return contiguous_view(copies->numbers.data(), ACL_INT8, shape());
  }
};

inline SmallNumbers small_numbers(Planner& p,
                                  const aclTensor* tensor,
                                  const char* name,
                                  Types types) {
  SmallNumbers numbers{fractal_input(p, tensor, name, types)};
  const Operand& operand = numbers.matrix.operand;
  p.check_rank(operand, 2, 6);
  // The dim that lies without gaps.
  const int64_t inner = operand.rank() - (is_turned(*operand.view) ? 2 : 1);
  if (operand.dtype() == ACL_INT32) numbers.packed = inner;
  p.check(operand.dtype() != ACL_INT4 || operand.shape()[z(inner)] % 2 == 0,
          std::string(name) + " of INT4 must have an even size along the dim that lies whole");
  return numbers;
}

}  // namespace sim
