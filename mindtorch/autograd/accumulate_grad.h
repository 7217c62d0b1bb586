#pragma once

#include <mutex>

#include "mindtorch/autograd/autograd_meta.h"

namespace mindtorch::autograd {

// The end of the graph at a leaf.
class MT_API AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor variable);
  // The leaf's node: the one there is, or a new one.
  static NodePtr of(const Tensor& leaf);
  // The leaf becomes another tensor: a new node is made for it when it is next used. Graphs from
  // before keep theirs, which takes gradients of the leaf as it was.
  static void forget(const Tensor& leaf) noexcept;

  std::string name() const override { return "torch::autograd::AccumulateGrad"; }
  void apply(Gradients& grads, Gradients& results) override;
  const Tensor& variable() const { return variable_; }
  // The leaf's, as it is now; other threads may be adding to it.
  Tensor gradient() const;
  // The leaf's gradient becomes its sum with `grad`.
  static void accumulate(const Tensor& variable, Tensor grad);

 private:
  bool revived() noexcept override;

  Tensor variable_;
  mutable std::mutex mutex_;  // several threads may run backward to one leaf
};

}  // namespace mindtorch::autograd
