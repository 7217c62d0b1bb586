#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

template <auto Gradient>
void nll_loss(Backward& b,
              const Tensor& self,
              const Tensor& target,
              const Tensor& weight,
              int64_t reduction,
              int64_t ignore_index,
              const TensorMeta&,
              const Tensor& total_weight) {
  if (!b.grad().defined()) return;
  b.set(0, Gradient(b.grad(), self, target, weight, reduction, ignore_index, total_weight));
}

// The gradient is linear in that of the loss, with the factors of the loss itself.
template <auto Forward>
void nll_loss_gradient(Backward& b,
                       const TensorMeta&,
                       const TensorMeta&,
                       const Tensor& target,
                       const Tensor& weight,
                       int64_t reduction,
                       int64_t ignore_index,
                       const TensorMeta&) {
  if (!b.needs(0)) return;
  b.set(0, std::get<0>(Forward(b.grad(), target, weight, reduction, ignore_index)));
}

}  // namespace

void define_loss(Derivatives& derivatives) {
  derivatives.define<nll_loss<nll_loss_backward>>("nll_loss_forward").named("NllLossBackward0");
  derivatives.define<nll_loss<nll_loss2d_backward>>("nll_loss2d_forward")
      .named("NllLoss2DBackward0");
  derivatives.define<nll_loss_gradient<nll_loss_forward>>("nll_loss_backward");
  derivatives.define<nll_loss_gradient<nll_loss2d_forward>>("nll_loss2d_backward");
}

}  // namespace mindtorch::autograd
