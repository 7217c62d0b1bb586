#pragma once

#include "mindtorch/tensor/tensor.h"

// The formula of attention, made of other ops.
namespace mindtorch::functional {

struct AttentionCall {
  const Tensor& query;
  const Tensor& key;  // key and value: of as many heads, or of fewer that each serve several
  const Tensor& value;
  const Tensor& mask;  // or undefined
  bool is_causal;
  double scale;
  const Tensor& dropped;  // what _dropout_mask says of the weights, or undefined
  double dropout_p;
};

Tensor attention(const AttentionCall& call);

// Which gradients are made; the others stay undefined. In float32, or float64, and the mask's in
// the shape of the scores.
struct AttentionGradients {
  bool of_query = true;
  bool of_key = true;
  bool of_value = true;
  bool of_mask = false;
  Tensor query{};
  Tensor key{};
  Tensor value{};
  Tensor mask{};
};
void attention_backward(const Tensor& grad_out,
                        const AttentionCall& call,
                        AttentionGradients& gradients);

}  // namespace mindtorch::functional
