#pragma once

#include "mindtorch/ops/registry.h"

namespace mindtorch::cpu {

// One function per family, called by register_cpu.
void register_attention(ops::Registry& registry);
void register_channel_norm(ops::Registry& registry);
void register_convolution(ops::Registry& registry);
void register_copy(ops::Registry& registry);
void register_creation(ops::Registry& registry);
void register_ctc(ops::Registry& registry);
void register_embedding(ops::Registry& registry);
void register_fft(ops::Registry& registry);
void register_foreach(ops::Registry& registry);
void register_indexing(ops::Registry& registry);
void register_linalg_decompose(ops::Registry& registry);
void register_linalg_lstsq(ops::Registry& registry);
void register_linalg_orthogonal(ops::Registry& registry);
void register_linalg_solve(ops::Registry& registry);
void register_loss(ops::Registry& registry);
void register_matmul(ops::Registry& registry);
void register_norm(ops::Registry& registry);
void register_optimizer(ops::Registry& registry);
void register_padding(ops::Registry& registry);
void register_pooling(ops::Registry& registry);
void register_random(ops::Registry& registry);
void register_recurrent(ops::Registry& registry);
void register_recurrent_backward(ops::Registry& registry);
void register_reduce(ops::Registry& registry);
void register_group_norm(ops::Registry& registry);
void register_resize(ops::Registry& registry);
void register_sampling(ops::Registry& registry);
void register_scan(ops::Registry& registry);
void register_scatter(ops::Registry& registry);
void register_shape(ops::Registry& registry);
void register_softmax(ops::Registry& registry);
void register_sort(ops::Registry& registry);
void register_sparse(ops::Registry& registry);
void register_unique(ops::Registry& registry);
void register_windows(ops::Registry& registry);

// All CPU kernels and the pointwise engine.
void register_cpu(ops::Registry& registry);

}  // namespace mindtorch::cpu
