#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/backends/ascend/kernels/pointwise.h"
#include "mindtorch/backends/ascend/patterns/patterns.h"

namespace mindtorch::ascend {

void register_ascend(ops::Registry& registry) {
  for (const char* const chip : {"910A", "310"}) {
    registry.device_dtypes_without(DeviceType::kNpu, chip, bit(DType::kBFloat16));
  }
  registry.pointwise_engine(DeviceType::kNpu, &run_pointwise, &check_pointwise);
  ops::set_call_patterns(DeviceType::kNpu, &call_patterns);
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
  register_linalg(registry);
  register_loss(registry);
  register_matmul(registry);
  register_norm(registry);
  register_optimizer(registry);
  register_pooling(registry);
  register_random(registry);
  register_reduce(registry);
  register_sampling(registry);
  register_scan(registry);
  register_scatter(registry);
  register_search(registry);
  register_shape(registry);
  register_sort(registry);
  register_unique(registry);
  register_var_softmax(registry);
}

}  // namespace mindtorch::ascend
