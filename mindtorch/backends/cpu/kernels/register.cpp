#include "mindtorch/backends/cpu/capability.h"
#include "mindtorch/backends/cpu/fusion.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/pointwise.h"

namespace mindtorch::cpu {

void register_cpu(ops::Registry& registry) {
  allowed_targets();  // before kernels are chosen
  registry.pointwise_engine(DeviceType::kCpu, &run_pointwise);
  registry.fusion_engine(DeviceType::kCpu, &fusion_engine());
  register_attention(registry);
  register_channel_norm(registry);
  register_convolution(registry);
  register_copy(registry);
  register_creation(registry);
  register_ctc(registry);
  register_embedding(registry);
  register_fft(registry);
  register_foreach(registry);
  register_indexing(registry);
  register_linalg_decompose(registry);
  register_linalg_lstsq(registry);
  register_linalg_orthogonal(registry);
  register_linalg_solve(registry);
  register_loss(registry);
  register_matmul(registry);
  register_norm(registry);
  register_optimizer(registry);
  register_padding(registry);
  register_pooling(registry);
  register_random(registry);
  register_recurrent(registry);
  register_recurrent_backward(registry);
  register_reduce(registry);
  register_group_norm(registry);
  register_resize(registry);
  register_sampling(registry);
  register_scan(registry);
  register_scatter(registry);
  register_shape(registry);
  register_softmax(registry);
  register_sort(registry);
  register_sparse(registry);
  register_unique(registry);
  register_windows(registry);
}

}  // namespace mindtorch::cpu
