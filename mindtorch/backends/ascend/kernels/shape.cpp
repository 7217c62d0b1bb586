#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

void cat(ops::Launch& on, TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  // torch skips empty vectors whatever the shape of the rest.
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() != 0) parts.push_back(on_device(on, tensor, out.dtype()));
  }
  call(on, MT_ACLNN(aclnnCat), TensorList(parts), dim, out);
}
void flip(ops::Launch& on, const Tensor& self, IntList dims, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnFlip), self, dims, out);
}
void tril(ops::Launch& on, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnTril), self, diagonal, out);
}
void triu(ops::Launch& on, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnTriu), self, diagonal, out);
}
void tril_inplace(ops::Launch& on, const Tensor& self, int64_t diagonal) {
  if (self.numel() != 0) call(on, MT_ACLNN(aclnnInplaceTril), self, diagonal);
}
void triu_inplace(ops::Launch& on, const Tensor& self, int64_t diagonal) {
  if (self.numel() != 0) call(on, MT_ACLNN(aclnnInplaceTriu), self, diagonal);
}

}  // namespace

void register_shape(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<cat>(kNpu, "cat");
  registry.kernel<flip>(kNpu, "flip");
  registry.kernel<tril>(kNpu, "tril");
  registry.kernel<triu>(kNpu, "triu");
  registry.kernel<tril_inplace>(kNpu, "tril_");
  registry.kernel<triu_inplace>(kNpu, "triu_");
}

}  // namespace mindtorch::ascend
