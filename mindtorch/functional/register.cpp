#include "mindtorch/functional/composites.h"

namespace mindtorch::functional {

void register_composites(ops::Registry& registry) {
  compose_activation(registry);
  compose_attention(registry);
  compose_channel_norm(registry);
  compose_complex(registry);
  compose_convolution(registry);
  compose_copy(registry);
  compose_creation(registry);
  compose_ctc(registry);
  compose_einsum(registry);
  compose_embedding(registry);
  compose_fft(registry);
  compose_foreach(registry);
  compose_indexing(registry);
  compose_inplace_views(registry);
  compose_joining(registry);
  compose_linalg(registry);
  compose_linalg_decompose(registry);
  compose_linalg_norm(registry);
  compose_loss(registry);
  compose_matmul(registry);
  compose_norm(registry);
  compose_optimizer(registry);
  compose_padding(registry);
  compose_pairs(registry);
  compose_pooling(registry);
  compose_random(registry);
  compose_recurrent(registry);
  compose_reduce(registry);
  compose_resizing(registry);
  compose_sampling(registry);
  compose_shape(registry);
  compose_shuffle(registry);
  compose_sort(registry);
  compose_stft(registry);
  compose_value_losses(registry);
  compose_views(registry);
  compose_windows(registry);
}

}  // namespace mindtorch::functional
