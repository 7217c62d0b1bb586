// Random tensors made of other ops.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

Tensor rand_like(const Tensor& self,
                 Generator* generator,
                 std::optional<DType> dtype,
                 std::optional<Device> device,
                 std::optional<MemoryFormat> memory_format) {
  return uniform_(mindtorch::empty_like(self, dtype, device, memory_format), 0, 1, generator);
}

Tensor randn_like(const Tensor& self,
                  Generator* generator,
                  std::optional<DType> dtype,
                  std::optional<Device> device,
                  std::optional<MemoryFormat> memory_format) {
  return normal_(mindtorch::empty_like(self, dtype, device, memory_format), 0, 1, generator);
}

Tensor randint_like_low(const Tensor& self,
                        int64_t low,
                        int64_t high,
                        Generator* generator,
                        std::optional<DType> dtype,
                        std::optional<Device> device,
                        std::optional<MemoryFormat> memory_format) {
  return random_(mindtorch::empty_like(self, dtype, device, memory_format), low, high, generator);
}

Tensor randint_like(const Tensor& self,
                    int64_t high,
                    Generator* generator,
                    std::optional<DType> dtype,
                    std::optional<Device> device,
                    std::optional<MemoryFormat> memory_format) {
  return random_(mindtorch::empty_like(self, dtype, device, memory_format), 0, high, generator);
}

void check_std(const Tensor& std) {
  if (std.numel() == 0 || std.device().is_meta()) return;
  MT_CHECK(item(min(std)).to_double() >= 0, RuntimeError,
           "normal expects all elements of std >= 0.0");
}

Tensor normal_tensor_tensor(const Tensor& mean, const Tensor& std, Generator* generator) {
  check_std(std);
  const Tensor result =
      empty(broadcast_shapes(mean.sizes(), std.sizes()), mean.dtype(), mean.device());
  return add_(mul_(normal_(result, 0, 1, generator), std), mean);
}

Tensor normal_tensor_float(const Tensor& mean, double std, Generator* generator) {
  const Tensor result = empty(mean.sizes(), mean.dtype(), mean.device());
  return add_(normal_(result, 0, std, generator), mean);
}

Tensor normal_float_tensor(double mean, const Tensor& std, Generator* generator) {
  check_std(std);
  const Tensor result = empty(std.sizes(), std.dtype(), std.device());
  return add_(mul_(normal_(result, 0, 1, generator), std), mean);
}

Tensor bernoulli(const Tensor& self, Generator* generator) {
  return bernoulli_(new_empty(self, self.sizes()), self, generator);
}

Tensor bernoulli_p(const Tensor& self, double p, Generator* generator) {
  return bernoulli_(new_empty(self, self.sizes()), p, generator);
}

// What dropout multiplies by: 0, or the inverse of the part that stays. Undefined where dropout
// leaves everything as it is.
Tensor dropout_noise(const Tensor& self, double p, bool train) {
  MT_CHECK(p >= 0 && p <= 1, RuntimeError,
           "dropout probability has to be between 0 and 1, but got ", p);
  if (p == 0 || !train || self.numel() == 0) return Tensor();
  if (p == 1) return zeros({}, self.dtype(), self.device());
  return div_(bernoulli_(mindtorch::empty_like(self), 1 - p), 1 - p);
}

Tensor dropout(const Tensor& self, double p, bool train) {
  const Tensor noise = dropout_noise(self, p, train);
  return noise.defined() ? mul(self, noise) : self;
}

Tensor dropout_inplace(const Tensor& self, double p, bool train) {
  const Tensor noise = dropout_noise(self, p, train);
  return noise.defined() ? mul_(self, noise) : self;
}

}  // namespace

void compose_random(ops::Registry& registry) {
  registry.composite<rand_like>("rand_like");
  registry.composite<randn_like>("randn_like");
  registry.composite<randint_like>("randint_like");
  registry.composite<randint_like_low>("randint_like.low_dtype");
  registry.composite<normal_tensor_tensor>("normal.Tensor_Tensor");
  registry.composite<normal_tensor_float>("normal.Tensor_float");
  registry.composite<normal_float_tensor>("normal.float_Tensor");
  registry.composite<bernoulli>("bernoulli");
  registry.composite<bernoulli_p>("bernoulli.p");
  registry.composite<dropout>("dropout");
  registry.composite<dropout_inplace>("dropout_");
}

}  // namespace mindtorch::functional
