#pragma once

#include "mindtorch/ops/op.h"
#include "mindtorch/tensor/overlap.h"

namespace mindtorch::dispatch {

// What must hold before an op writes into a tensor that the user gave. The checks throw torch's
// texts and change nothing.

void check_inplace_shape(IntList result, const Tensor& self);
void check_same_device(Device result, const Tensor& target);
// Refuses an input that shares some but not all memory with the target.
void check_no_partial_overlap(const Tensor& target, const Tensor& input);
// Refuses lists (cat, stack) with a tensor that shares memory with the target, once that has the
// result's shape.
void check_no_list_overlap(const Tensor& target, IntList result, ops::Args args);
bool shares_storage_with_any(const Tensor& target, ops::Args args);
bool has_layout(const Tensor& target, const ops::TensorSpec& spec);

// Gives out= tensors the shapes they need, and takes them back if the op is refused.
class OutputShapes {
 public:
  OutputShapes() = default;
  OutputShapes(const OutputShapes&) = delete;
  OutputShapes& operator=(const OutputShapes&) = delete;
  ~OutputShapes();

  // Warns, as torch does, when a non-empty tensor has another size.
  void resize(const Tensor& target, const ops::TensorSpec& spec);
  // The op was accepted.
  void keep() noexcept { before_.clear(); }

 private:
  struct Before {
    Tensor target;
    Shape sizes;
    Shape strides;
  };
  SmallVector<Before, 1> before_;
};

}  // namespace mindtorch::dispatch
