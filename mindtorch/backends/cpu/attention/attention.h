#pragma once

#include "mindtorch/tensor/tensor.h"

// Note [Attention by tiles]
// The scores of a block of queries and a block of keys are computed, made weights and multiplied
// with the values while they are in the caches; more of them is never held. The weights of a row
// need its largest score and the sum of all exponentials, which are known at its end only: what is
// summed up on the way is relative to the largest score so far, and is rescaled when a larger one
// comes. The backward pass computes the scores again; with the logarithm of the sum of exponentials
// of each row they become weights at once.
namespace mindtorch::cpu::attention {

// What forward and backward share. Query is [..., heads, queries, size]; the batch dims of key and
// value are the same, save that fewer heads of theirs may serve several of query's.
struct Settings {
  // Added to the scores, T, of all their sizes by strides; undefined: nothing.
  Tensor bias;
  bool is_causal;  // query i sees keys up to i
  double scale;
};

// `logsumexp` holds T; a row that sees nothing gives 0, and has -infinity there.
template <typename T>
void forward(const Tensor& query,
             const Tensor& key,
             const Tensor& value,
             const Settings& settings,
             const Tensor& out,
             const Tensor& logsumexp);

// The same where all tensors are of bfloat16 and the machine has its products: bfloat16_tiles().
void forward_bfloat16(const Tensor& query,
                      const Tensor& key,
                      const Tensor& value,
                      const Settings& settings,
                      const Tensor& out,
                      const Tensor& logsumexp);

template <typename T>
void backward(const Tensor& grad_out,
              const Tensor& query,
              const Tensor& key,
              const Tensor& value,
              const Tensor& out,
              const Tensor& logsumexp,
              const Settings& settings,
              const Tensor& grad_query,
              const Tensor& grad_key,
              const Tensor& grad_value);

}  // namespace mindtorch::cpu::attention
