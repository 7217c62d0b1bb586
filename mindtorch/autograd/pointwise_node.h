#pragma once

#include "mindtorch/autograd/node.h"
#include "mindtorch/autograd/node_names.h"
#include "mindtorch/autograd/saved_tensor.h"
#include "mindtorch/ops/op.h"
#include "mindtorch/ops/spec.h"

namespace mindtorch::autograd {

// The derivative of a pointwise op: for each operand one fused pass over the derivative's
// expression. Where the gradient itself is to be differentiated, its ops run one by one.
class PointwiseNode final : public Node {
 public:
  // Saves the operands that the wanted derivatives need. `written`: the operand that the op is
  // about to overwrite, or -1.
  PointwiseNode(const ops::Op& op, ops::Args args, const ops::PointwiseCall& call, int written);
  // After the op ran.
  void save_result(const Tensor& result);

  std::string name() const override;
  void apply(Gradients& grads, Gradients& results) override;
  void release_saved(runtime::Stream reader) override;
  std::vector<std::pair<std::string, Tensor>> saved_tensors() override;

 private:
  static constexpr int kResult = 3;  // behind the operands

  const ops::Derivative& derivative(const ops::FunctionInfo& info, size_t operand) const {
    if (MT_UNLIKELY(is_complex(compute_)) && operand < std::size(info.complex_derivatives)) {
      const ops::Derivative& own = info.complex_derivatives[operand];
      if (own.kind != ops::Derivative::Kind::kNone) return own;
    }
    return info.derivatives[operand];
  }

  const ops::Op& op_;
  NumberOperand number_;  // for the name of torch's overload
  ops::Pointwise function_;
  DType compute_;
  bool released_ = false;
  uint8_t needed_ = 0;  // a bit for each of `saved_`
  ops::PointwiseParams params_;
  SavedTensor saved_[kResult + 1];
};

// A function of tensors by its id: how backward runs derivatives.
Tensor apply_pointwise(ops::Pointwise function,
                       std::span<const Tensor> operands,
                       const ops::PointwiseParams& params,
                       DType compute,
                       DType result);

}  // namespace mindtorch::autograd
