#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

void embedding(ops::Launch& on,
               const Tensor& weight,
               const Tensor& indices,
               int64_t,
               bool,
               bool,
               Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnEmbedding), weight, indices, out);
}

void embedding_dense_backward(ops::Launch& on,
                              const Tensor& grad_output,
                              const Tensor& indices,
                              int64_t num_weights,
                              int64_t padding_idx,
                              bool scale_grad_by_freq,
                              Tensor& out) {
  if (out.numel() == 0) return;
  if (indices.numel() == 0) return call(on, MT_ACLNN(aclnnInplaceZero), out);
  call(on, MT_ACLNN(aclnnEmbeddingDenseBackward), grad_output, indices,
       static_cast<uint64_t>(num_weights), static_cast<uint64_t>(padding_idx), scale_grad_by_freq,
       out);
}

void embedding_renorm(
    ops::Launch& on, const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  if (max_norm < 0 || norm_type <= 0) {
    refuse(on, "embedding_renorm_", self.dtype(), "CANN wants a positive norm_type and max_norm");
  }
  if (self.numel() == 0 || indices.numel() == 0) return;
  call(on, MT_ACLNN(aclnnEmbeddingRenorm), self, indices, max_norm, norm_type);
}

}  // namespace

void register_embedding(ops::Registry& registry) {
  registry.kernel<embedding>(DeviceType::kNpu, "embedding").takes(kAnyOrComplex);
  registry.kernel<embedding_dense_backward>(DeviceType::kNpu, "embedding_dense_backward")
      .takes(kFloats);
  registry.kernel<embedding_renorm>(DeviceType::kNpu, "embedding_renorm_").takes(kFloats);
}

}  // namespace mindtorch::ascend
