#pragma once

#include "mindtorch/ops/registry.h"

namespace mindtorch::ascend {

void register_ascend(ops::Registry& registry);

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
void register_linalg(ops::Registry& registry);
void register_loss(ops::Registry& registry);
void register_matmul(ops::Registry& registry);
void register_norm(ops::Registry& registry);
void register_optimizer(ops::Registry& registry);
void register_pooling(ops::Registry& registry);
void register_random(ops::Registry& registry);
void register_reduce(ops::Registry& registry);
void register_sampling(ops::Registry& registry);
void register_scan(ops::Registry& registry);
void register_scatter(ops::Registry& registry);
void register_search(ops::Registry& registry);
void register_shape(ops::Registry& registry);
void register_sort(ops::Registry& registry);
void register_unique(ops::Registry& registry);
void register_var_softmax(ops::Registry& registry);

// A new tensor on the launch's device.
Tensor make_like(const ops::Launch& on, IntList sizes, DType dtype);
// `tensor` as this dtype on the launch's device: itself if it is, else a converted copy. A 0-dim
// CPU tensor becomes a device tensor of its value without a wait.
Tensor on_device(ops::Launch& on, const Tensor& tensor, DType dtype);
// The one element of `self`, on the host. Waits for it.
Scalar item(ops::Launch& on, const Tensor& self);

}  // namespace mindtorch::ascend
