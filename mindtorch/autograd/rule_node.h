#pragma once

#include "mindtorch/autograd/backward_rule.h"
#include "mindtorch/autograd/saved_tensor.h"
#include "mindtorch/dispatch/trace/argument.h"

namespace mindtorch::autograd {

// The derivative of an op by its BackwardRule.
class RuleNode final : public Node {
 public:
  // `in_place`: the op is about to overwrite its first argument.
  RuleNode(const ops::Op& op, const BackwardRule& rule, ops::Args args, bool in_place);
  // After the op ran.
  void save_outputs(std::span<const Tensor> outputs);

  std::string name() const override;
  void apply(Gradients& grads, Gradients& results) override;
  void release_saved(runtime::Stream reader) override;
  std::vector<std::pair<std::string, Tensor>> saved_tensors() override;

 private:
  struct Kept {
    uint32_t first = 0;  // in `saved_` or `metas_`
    uint32_t count = 0;
  };

  void keep(size_t param, std::span<const Tensor> tensors, bool in_place);

  const ops::Op& op_;
  const BackwardRule& rule_;
  bool released_ = false;
  uint32_t column_major_ = 0;  // a bit for each parameter
  SmallVector<dispatch::Argument, 6> args_;
  dispatch::Payload payload_;
  SmallVector<uint32_t, 6> first_edge_;  // by parameter
  SmallVector<Kept, 6> kept_;            // by parameter, then by output
  SmallVector<SavedTensor, 3> saved_;
  SmallVector<TensorMeta, 2> metas_;
};

// For ops without a derivative: backward throws.
class NotImplementedNode final : public Node {
 public:
  NotImplementedNode(const ops::Op& op, ops::Args args);
  std::string name() const override { return "NotImplemented"; }
  void apply(Gradients&, Gradients&) override {
    MT_THROW(NotImplementedError, "derivative for aten::", op_.schema.full_name(),
             " is not implemented");
  }

 private:
  const ops::Op& op_;
};

}  // namespace mindtorch::autograd
