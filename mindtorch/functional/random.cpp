// Random tensors made of other ops.
#include <algorithm>
#include <cmath>
#include <utility>

#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/dropout.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/registry.h"

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

// What dropout draws a number for: each element, or each channel of (N, C, ...).
enum class Dropped : uint8_t { kElements, kChannels };

// Whether dropout leaves everything as it is.
bool drops_nothing(const Tensor& self, double p, bool train) {
  MT_CHECK(p >= 0 && p <= 1, RuntimeError,
           "dropout probability has to be between 0 and 1, but got ", p);
  return p == 0 || !train || self.numel() == 0;
}

// 1 for what stays, 0 for what is dropped.
Tensor draw_kept(const Tensor& self, double p, Dropped what) {
  if (what == Dropped::kElements) return bernoulli_(mindtorch::empty_like(self), 1 - p);
  MT_CHECK(self.dim() >= 2, RuntimeError,
           "Feature dropout requires at least 2 dimensions in the input");
  Shape sizes(static_cast<size_t>(self.dim()), 1);
  std::copy_n(self.sizes().begin(), 2, sizes.begin());
  return bernoulli_(new_empty(self, sizes), 1 - p);
}

template <Dropped kWhat>
Tensor dropout_noise(const Tensor& self, double p) {
  if (p == 1) return zeros({}, self.dtype(), self.device());
  return div_(draw_kept(self, p, kWhat), 1 - p);
}

bool drops_by_mask(const Tensor& self, double p, Dropped what) {
  return what == Dropped::kElements && p < 1 && has_dropout_mask({&self});
}

template <Dropped kWhat>
Tensor dropout(const Tensor& self, double p, bool train) {
  if (drops_nothing(self, p, train)) return self;
  if (drops_by_mask(self, p, kWhat)) {
    return _masked_dropout(self, _dropout_mask(self, self.sizes(), p), p);
  }
  return mul(self, dropout_noise<kWhat>(self, p));
}

template <Dropped kWhat>
Tensor dropout_inplace(const Tensor& self, double p, bool train) {
  if (drops_nothing(self, p, train)) return self;
  if (drops_by_mask(self, p, kWhat)) {
    return copy_(self, _masked_dropout(self, _dropout_mask(self, self.sizes(), p), p));
  }
  return mul_(self, dropout_noise<kWhat>(self, p));
}

// What is dropped becomes the value that selu goes to; all are scaled to mean 0 and variance 1.
template <Dropped kWhat>
std::pair<Tensor, Tensor> scale_and_shift(const Tensor& self, double p) {
  constexpr double kLimit = 1.7580993408473766;
  const double scale = p < 1 ? 1 / std::sqrt((kLimit * kLimit * p + 1) * (1 - p)) : 0;
  const Tensor kept = draw_kept(self, p, kWhat);
  const Tensor shift = mul_(add(kept, Scalar(-1)), kLimit * scale);
  return {mul_(kept, scale), add_(shift, Scalar(kLimit * scale * p))};
}

template <Dropped kWhat>
Tensor alpha_dropout(const Tensor& self, double p, bool train) {
  if (drops_nothing(self, p, train)) return self;
  const auto [scale, shift] = scale_and_shift<kWhat>(self, p);
  return add(mul(self, scale), shift);
}

template <Dropped kWhat>
Tensor alpha_dropout_inplace(const Tensor& self, double p, bool train) {
  if (drops_nothing(self, p, train)) return self;
  const auto [scale, shift] = scale_and_shift<kWhat>(self, p);
  return add_(mul_(self, scale), shift);
}

}  // namespace

bool has_dropout_mask(std::initializer_list<const Tensor*> operands) {
  static const ops::Op& op = ops::registry().at("_dropout_mask");
  const Tensor& self = **operands.begin();
  const ops::Kernel& kernel = op.kernel(self.device().type);
  if (!kernel || (kernel.takes & bit(self.dtype())) == 0) return false;
  constexpr uint8_t kBatch = dispatch::bit(dispatch::Layer::kBatching);
  return std::ranges::none_of(operands, [](const Tensor* each) {
    return each->defined() && (each->impl()->layers & kBatch) != 0;
  });
}

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
  registry.composite<dropout<Dropped::kElements>>("dropout");
  registry.composite<dropout_inplace<Dropped::kElements>>("dropout_");
  registry.composite<dropout<Dropped::kChannels>>("feature_dropout");
  registry.composite<dropout_inplace<Dropped::kChannels>>("feature_dropout_");
  registry.composite<alpha_dropout<Dropped::kElements>>("alpha_dropout");
  registry.composite<alpha_dropout_inplace<Dropped::kElements>>("alpha_dropout_");
  registry.composite<alpha_dropout<Dropped::kChannels>>("feature_alpha_dropout");
  registry.composite<alpha_dropout_inplace<Dropped::kChannels>>("feature_alpha_dropout_");
}

}  // namespace mindtorch::functional
