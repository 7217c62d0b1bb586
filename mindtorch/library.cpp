// The one list of definitions, backends, composites and hooks. Nothing else knows them all.
#include "mindtorch/autocast/autocast_layer.h"
#include "mindtorch/autograd/autograd_layer.h"
#include "mindtorch/backends/ascend/driver.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/batching/batching_layer.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/registry.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_timeline.h"

namespace mindtorch::runtime {

void install_drivers() {
  register_driver(ascend::make_driver());
  install_device_timeline();
}

}  // namespace mindtorch::runtime

namespace mindtorch::ops {

const Registry& registry() {
  // Never destroyed: tensors with static lifetime may outlive any destructor of ours.
  static const Registry& filled = []() -> const Registry& {
    auto& ops = *new Registry;
    define_activation(ops);
    define_attention(ops);
    define_binary(ops);
    define_channel_norm(ops);
    define_compare(ops);
    define_complex(ops);
    define_convolution(ops);
    define_copy(ops);
    define_creation(ops);
    define_ctc(ops);
    define_embedding(ops);
    define_fft(ops);
    define_foreach(ops);
    define_functions(ops);
    define_indexing(ops);
    define_joining(ops);
    define_linalg(ops);
    define_linalg_decompose(ops);
    define_linalg_kernels(ops);
    define_linalg_norm(ops);
    define_loss(ops);
    define_matmul(ops);
    define_norm(ops);
    define_optimizer(ops);
    define_padding(ops);
    define_pooling(ops);
    define_random(ops);
    define_recurrent(ops);
    define_reduce(ops);
    define_resizing(ops);
    define_rounding(ops);
    define_sampling(ops);
    define_shape(ops);
    define_sort(ops);
    define_sparse(ops);
    define_special(ops);
    define_ternary(ops);
    define_trigonometry(ops);
    define_unary(ops);
    define_views(ops);
    define_windows(ops);
    functional::register_composites(ops);
    cpu::register_cpu(ops);
    ascend::register_ascend(ops);
    autograd::install(ops);
    autocast::install();
    batching::install(ops);
    dispatch::install_hooks();
    return ops;
  }();
  return filled;
}

}  // namespace mindtorch::ops
