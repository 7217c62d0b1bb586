// Activations made of other ops.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/tensor/dtype_set.h"

namespace mindtorch::functional {
namespace {

Tensor glu(const Tensor& self, int64_t dim) {
  MT_CHECK(self.dim() > 0, RuntimeError,
           "glu does not support scalars because halving size must be even");
  const int64_t along = wrap_dim(dim, self.dim());
  const int64_t size = self.size(along);
  MT_CHECK(size % 2 == 0, RuntimeError, "Halving dimension must be even, but dimension ", along,
           " is size ", size);
  MT_CHECK(self.device().is_meta() || contains(kFloatTypes, self.dtype()), NotImplementedError,
           "\"glu_cpu\" not implemented for '", legacy_name(self.dtype()), "'");
  return mul(narrow(self, along, 0, size / 2), sigmoid(narrow(self, along, size / 2, size / 2)));
}

// --- a leaky relu with random slopes ---

// 1 where an element is positive, drawn elsewhere.
Tensor random_slopes(const Tensor& self, double lower, double upper, Generator* generator) {
  MT_CHECK(is_floating_point(self.dtype()), NotImplementedError,
           "\"rrelu_with_noise_out_cpu\" not implemented for '", legacy_name(self.dtype()), "'");
  const Tensor drawn_for = le(self, Scalar(0));
  const int64_t count = item(sum(drawn_for)).to_int();
  const Tensor drawn =
      uniform_(empty({count}, DType::kFloat64, self.device()), lower, upper, generator);
  return mindtorch::masked_scatter_(ones_like(detach(self)), drawn_for,
                                    _to_copy(drawn, self.dtype()));
}

Scalar mean_slope(const Scalar& lower, const Scalar& upper) {
  return Scalar((lower.to_double() + upper.to_double()) / 2);
}

void check_slopes(const Scalar& lower, const Scalar& upper) {
  MT_CHECK(lower.to_double() <= upper.to_double(), RuntimeError,
           "Lower bound should be less than or equal to the upper bound");
}

Tensor rrelu(const Tensor& self,
             const Scalar& lower,
             const Scalar& upper,
             bool training,
             Generator* generator) {
  check_slopes(lower, upper);
  if (!training) return leaky_relu(self, mean_slope(lower, upper));
  return mul(self, random_slopes(self, lower.to_double(), upper.to_double(), generator));
}
Tensor rrelu_inplace(const Tensor& self,
                     const Scalar& lower,
                     const Scalar& upper,
                     bool training,
                     Generator* generator) {
  check_slopes(lower, upper);
  if (!training) return leaky_relu_(self, mean_slope(lower, upper));
  return mul_(self, random_slopes(self, lower.to_double(), upper.to_double(), generator));
}

void check_noise(const Tensor& self, const Tensor& noise, bool training) {
  MT_CHECK(equal(self.sizes(), noise.sizes()), RuntimeError,
           "noise tensor shape must match self tensor shape. Got self.shape = ",
           to_string(self.sizes()), " noise.shape = ", to_string(noise.sizes()));
  MT_CHECK(!training || self.dtype() == noise.dtype(), RuntimeError, "expected scalar type ",
           legacy_name(self.dtype()), " but found ", legacy_name(noise.dtype()));
}

// The result, and the slopes; those of `noise` where none are drawn.
std::tuple<Tensor, Tensor> rrelu_and_slopes(const Tensor& self,
                                            const Tensor& noise,
                                            const Scalar& lower,
                                            const Scalar& upper,
                                            bool training,
                                            Generator* generator) {
  check_noise(self, noise, training);
  if (!training) return {leaky_relu(self, mean_slope(lower, upper)), clone(noise)};
  const Tensor slopes = random_slopes(self, lower.to_double(), upper.to_double(), generator);
  return {mul(self, slopes), slopes};
}
Tensor rrelu_with_noise(const Tensor& self,
                        const Tensor& noise,
                        const Scalar& lower,
                        const Scalar& upper,
                        bool training,
                        Generator* generator) {
  auto [result, slopes] = rrelu_and_slopes(self, noise, lower, upper, training, generator);
  if (training) copy_(noise, slopes);
  return result;
}
Tensor rrelu_with_noise_inplace(const Tensor& self,
                                const Tensor& noise,
                                const Scalar& lower,
                                const Scalar& upper,
                                bool training,
                                Generator* generator) {
  check_noise(self, noise, training);
  if (!training) return leaky_relu_(self, mean_slope(lower, upper));
  copy_(noise, random_slopes(self, lower.to_double(), upper.to_double(), generator));
  return mul_(self, clone(noise));
}
Tensor rrelu_with_noise_backward(const Tensor& grad_output,
                                 const Tensor& self,
                                 const Tensor& noise,
                                 const Scalar& lower,
                                 const Scalar& upper,
                                 bool training,
                                 bool) {
  constexpr double kOneSlope = 1e-6;  // ranges below it are none
  if (training && upper.to_double() - lower.to_double() > kOneSlope) return mul(grad_output, noise);
  const Tensor scaled = mul(grad_output, mean_slope(lower, upper));
  return where(gt(self, Scalar(0)), grad_output, scaled);
}

}  // namespace

void compose_activation(ops::Registry& registry) {
  registry.composite<glu>("glu");
  registry.composite<rrelu>("rrelu");
  registry.composite<rrelu_inplace>("rrelu_");
  registry.composite<rrelu_with_noise>("rrelu_with_noise");
  registry.composite<rrelu_with_noise_inplace>("rrelu_with_noise_");
  registry.composite<rrelu_and_slopes>("rrelu_with_noise_functional");
  registry.composite<rrelu_with_noise_backward>("rrelu_with_noise_backward");
}

}  // namespace mindtorch::functional
