#pragma once

#include <algorithm>

#include "mindtorch/ops/functions.h"
#include "mindtorch/ops/spec.h"

namespace mindtorch::ops {

// The operands of a function on lists of tensors: as many lists as it takes operands. A list of one
// tensor goes with every tensor of the others.
class ListOperands {
 public:
  ListOperands(Pointwise function, TensorList a, TensorList b, TensorList c)
      : lists_{a, b, c}, arity_(function_info(function).arity) {}

  size_t size() const { return std::max({lists_[0].size(), lists_[1].size(), lists_[2].size()}); }
  size_t arity() const { return arity_; }
  TensorList list(size_t operand) const { return lists_[operand]; }
  const Tensor& at(size_t operand, size_t index) const {
    const TensorList& list = lists_[operand];
    return list[list.size() == 1 ? 0 : index];
  }
  void add_to(PointwiseCall& call, size_t index) const {
    for (size_t k = 0; k < arity_; ++k) call.on(at(k, index));
  }

 private:
  TensorList lists_[3];
  size_t arity_;
};

}  // namespace mindtorch::ops
