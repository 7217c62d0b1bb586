#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

// CANN wants a weight for each class.
Tensor weight_of_classes(ops::Launch& on, const Tensor& self, const Tensor& weight) {
  if (weight.defined()) return weight;
  const int64_t classes = self.size(self.dim() == 1 ? 0 : 1);
  const Tensor ones = make_like(on, {classes}, self.dtype());
  call(on, MT_ACLNN(aclnnInplaceOne), ones);
  return ones;
}

// CANN's images are [N, C, H, W]; other inputs and targets are seen as images of one row.
Tensor as_image(ops::Launch& on, const Tensor& tensor, size_t leading) {
  const IntList sizes = tensor.sizes();
  if (sizes.size() == leading + 2) return tensor;
  Shape image(sizes.first(leading));
  image.push_back(1);
  image.push_back(numel(sizes.subspan(leading)));
  const Tensor flat = flattened(on, tensor);
  return flat.alias(image, contiguous_strides(image), flat.storage_offset());
}

void nll_loss(ops::Launch& on,
              const Tensor& self,
              const Tensor& target,
              const Tensor& weight,
              int64_t reduction,
              int64_t ignore_index,
              Tensor& out,
              Tensor& total_weight) {
  const Tensor weights = weight_of_classes(on, self, weight);
  call(on, MT_ACLNN(aclnnNLLLoss), self, target, weights, reduction, ignore_index, out,
       total_weight);
}
void nll_loss2d(ops::Launch& on,
                const Tensor& self,
                const Tensor& target,
                const Tensor& weight,
                int64_t reduction,
                int64_t ignore_index,
                Tensor& out,
                Tensor& total_weight) {
  const Tensor weights = weight_of_classes(on, self, weight);
  const Tensor result = out.dim() == 0 ? out : as_image(on, out, 1);
  call(on, MT_ACLNN(aclnnNLLLoss2d), as_image(on, self, 2), as_image(on, target, 1), weights,
       reduction, ignore_index, result, total_weight);
}

void nll_loss_backward(ops::Launch& on,
                       const Tensor& grad_output,
                       const Tensor& self,
                       const Tensor& target,
                       const Tensor& weight,
                       int64_t reduction,
                       int64_t ignore_index,
                       const Tensor& total_weight,
                       Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor weights = weight_of_classes(on, self, weight);
  call(on, MT_ACLNN(aclnnNLLLossBackward), grad_output, self, target, weights, reduction,
       ignore_index, total_weight, out);
}
void nll_loss2d_backward(ops::Launch& on,
                         const Tensor& grad_output,
                         const Tensor& self,
                         const Tensor& target,
                         const Tensor& weight,
                         int64_t reduction,
                         int64_t ignore_index,
                         const Tensor& total_weight,
                         Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor weights = weight_of_classes(on, self, weight);
  const Tensor grad = grad_output.dim() == 0 ? grad_output : as_image(on, grad_output, 1);
  call(on, MT_ACLNN(aclnnNLLLoss2dBackward), grad, as_image(on, self, 2), as_image(on, target, 1),
       weights, reduction, ignore_index, total_weight, as_image(on, out, 2));
}

}  // namespace

void register_loss(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<nll_loss>(kNpu, "nll_loss_forward").takes(kFloats);
  registry.kernel<nll_loss2d>(kNpu, "nll_loss2d_forward").takes(kFloats);
  registry.kernel<nll_loss_backward>(kNpu, "nll_loss_backward").takes(kFloats);
  registry.kernel<nll_loss2d_backward>(kNpu, "nll_loss2d_backward").takes(kFloats);
}

}  // namespace mindtorch::ascend
