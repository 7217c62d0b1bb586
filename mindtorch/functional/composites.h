#pragma once

#include "mindtorch/ops/registry.h"

namespace mindtorch::functional {

// Ops written in terms of other ops: one function per family, called by register_composites.
void compose_activation(ops::Registry& registry);
void compose_attention(ops::Registry& registry);
void compose_channel_norm(ops::Registry& registry);
void compose_complex(ops::Registry& registry);
void compose_convolution(ops::Registry& registry);
void compose_copy(ops::Registry& registry);
void compose_creation(ops::Registry& registry);
void compose_ctc(ops::Registry& registry);
void compose_einsum(ops::Registry& registry);
void compose_embedding(ops::Registry& registry);
void compose_fft(ops::Registry& registry);
void compose_foreach(ops::Registry& registry);
void compose_indexing(ops::Registry& registry);
void compose_inplace_views(ops::Registry& registry);
void compose_joining(ops::Registry& registry);
void compose_linalg(ops::Registry& registry);
void compose_linalg_decompose(ops::Registry& registry);
void compose_linalg_norm(ops::Registry& registry);
void compose_loss(ops::Registry& registry);
void compose_matmul(ops::Registry& registry);
void compose_norm(ops::Registry& registry);
void compose_optimizer(ops::Registry& registry);
void compose_padding(ops::Registry& registry);
void compose_pairs(ops::Registry& registry);
void compose_pooling(ops::Registry& registry);
void compose_random(ops::Registry& registry);
void compose_recurrent(ops::Registry& registry);
void compose_reduce(ops::Registry& registry);
void compose_resizing(ops::Registry& registry);
void compose_sampling(ops::Registry& registry);
void compose_shape(ops::Registry& registry);
void compose_shuffle(ops::Registry& registry);
void compose_sort(ops::Registry& registry);
void compose_stft(ops::Registry& registry);
void compose_value_losses(ops::Registry& registry);
void compose_views(ops::Registry& registry);
void compose_windows(ops::Registry& registry);

void register_composites(ops::Registry& registry);

}  // namespace mindtorch::functional
