#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

// Random numbers take the place of what was there: nothing of it has a gradient.
template <typename... Params>
void redrawn(Backward& b, const TensorMeta&, Params..., Generator*) {
  b.set(0, zeros_like(b.grad()));
}
void drawn_from(Backward& b, const TensorMeta&, const TensorMeta& p, Generator*) {
  if (b.needs(0)) b.set(0, zeros_like(b.grad()));
  if (b.needs(1)) b.set(1, zeros_of(p));
}

// torch's normal() has no derivative by its mean and deviation but 0.
void normal_both(Backward& b, const TensorMeta& mean, const TensorMeta& std, Generator*) {
  if (b.needs(0)) b.set(0, zeros_of(mean));
  if (b.needs(1)) b.set(1, zeros_of(std));
}
void normal_mean(Backward& b, const TensorMeta& mean, double, Generator*) {
  b.set(0, zeros_of(mean));
}
void normal_std(Backward& b, double, const TensorMeta& std, Generator*) { b.set(1, zeros_of(std)); }

// A sample keeps its place in its distribution when the shape moves.
void standard_gamma(Backward& b, const Tensor& self, Generator*, const Tensor& result) {
  b.set(0, b.grad() * _standard_gamma_grad(self, result));
}
void sample_dirichlet(Backward& b, const Tensor& self, Generator*, const Tensor& result) {
  const Tensor grad = b.grad();
  const Tensor total = expand(sum(self, IntList{-1}, true), self.sizes());
  const Tensor along = sub(grad, sum(mul(result, grad), IntList{-1}, true));
  b.set(0, _dirichlet_grad(result, self, total) * along);
}

// The same elements are dropped from the gradient.
void masked_dropout(Backward& b, const TensorMeta&, const Tensor& mask, double p) {
  b.set(0, _masked_dropout(b.grad(), mask, p));
}

void poisson(Backward& b, const TensorMeta& self, Generator*) { b.set(0, zeros_of(self)); }

}  // namespace

void define_random(Derivatives& derivatives) {
  derivatives.define<standard_gamma>("_standard_gamma");
  derivatives.define<sample_dirichlet>("_sample_dirichlet");
  derivatives.define<poisson>("poisson");
  derivatives.define<masked_dropout>("_masked_dropout").named("NativeDropoutBackward0");
  derivatives.define<redrawn<double, double>>("normal_");
  derivatives.define<redrawn<double, double>>("uniform_");
  derivatives.define<redrawn<double, double>>("cauchy_");
  derivatives.define<redrawn<double, double>>("log_normal_");
  derivatives.define<normal_mean>("normal.Tensor_float").named("NormalBackward1");
  derivatives.define<normal_std>("normal.float_Tensor").named("NormalBackward2");
  derivatives.define<normal_both>("normal.Tensor_Tensor").named("NormalBackward3");
  derivatives.define<redrawn<double>>("exponential_");
  derivatives.define<redrawn<double>>("geometric_");
  derivatives.define<redrawn<>>("random_").named("RandomBackward2");
  derivatives.define<redrawn<int64_t>>("random_.to").named("RandomBackward1");
  derivatives.define<redrawn<int64_t, std::optional<int64_t>>>("random_.from");
  derivatives.define<drawn_from>("bernoulli_.Tensor");
  derivatives.define<redrawn<double>>("bernoulli_.float").named("BernoulliBackward1");
}

}  // namespace mindtorch::autograd
