#include "mindtorch/backends/cpu/attention/attention.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/wide.h"

namespace mindtorch::cpu {
namespace {

// The elements of `self` through `convert`, which fills a contiguous tensor of `dtype`. A dim that
// repeats its elements repeats those of the result.
template <typename Convert>
Tensor converted(const Tensor& self, DType dtype, const Convert& convert) {
  Shape distinct = self.sizes();
  for (size_t i = 0; i < distinct.size(); ++i) {
    if (self.strides()[i] == 0) distinct[i] = std::min<int64_t>(distinct[i], 1);
  }
  const Tensor result = Tensor::make(distinct, dtype);
  convert(self.alias(distinct, self.strides(), self.storage_offset()), result);
  return result.alias(self.sizes(), broadcast_strides(distinct, result.strides(), self.sizes()), 0);
}

Tensor widened(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype) return self;
  return converted(self, dtype, [](const Tensor& from, const Tensor& to) { copy(from, to); });
}

// What is added to the scores: 0 and -inf for a mask of truths. As large as all the scores, by
// strides; undefined stays so.
template <typename T>
Tensor as_bias(const Tensor& mask, IntList scores) {
  if (!mask.defined()) return mask;
  const DType dtype = DTypeOf<T>::value;
  const Tensor bias =
      mask.dtype() != DType::kBool
          ? widened(mask, dtype)
          : converted(mask, dtype, [](const Tensor& from, const Tensor& to) {
              copy(from, to);
              for (T& value : std::span(to.data<T>(), static_cast<size_t>(to.numel()))) {
                value = value != 0 ? T{0} : -std::numeric_limits<T>::infinity();
              }
            });
  return bias.alias(Shape(scores), broadcast_strides(bias.sizes(), bias.strides(), scores),
                    bias.storage_offset());
}

// As large as all the scores.
Shape score_sizes(const Tensor& query, const Tensor& key) {
  Shape sizes = query.sizes();
  sizes.back() = key.size(-2);
  return sizes;
}

// The logsumexp of each row of scores.
ops::TensorSpec row_stats(const Tensor& query,
                          const Tensor&,
                          const Tensor&,
                          const Tensor&,
                          bool,
                          double,
                          bool,
                          const Tensor&,
                          double) {
  Shape sizes = query.sizes();
  sizes.pop_back();
  const DType dtype = query.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  return {std::move(sizes), dtype, query.device(), std::nullopt};
}

// Weights are dropped by other ops: the CPU has no _dropout_mask.
void flash_attention(ops::Launch&,
                     const Tensor& query,
                     const Tensor& key,
                     const Tensor& value,
                     const Tensor& attn_mask,
                     bool is_causal,
                     double scale,
                     bool,
                     const Tensor&,
                     double,
                     Tensor& out,
                     Tensor& row_stats,
                     Tensor&) {
  if (out.numel() == 0) return;
  const auto run = [&]<typename T>(T) {
    const Tensor bias = as_bias<T>(attn_mask, score_sizes(query, key));
    attention::forward<T>(query, key, value, {bias, is_causal, scale}, out, row_stats);
  };
  if (out.dtype() == DType::kFloat64) {
    run(double{});
  } else {
    run(float{});
  }
}

void flash_attention_backward(ops::Launch&,
                              const Tensor& grad_out,
                              const Tensor& query,
                              const Tensor& key,
                              const Tensor& value,
                              const Tensor& out,
                              const Tensor& row_stats,
                              const Tensor&,
                              const Tensor& attn_mask,
                              bool is_causal,
                              double scale,
                              const Tensor&,
                              double,
                              Tensor& grad_query,
                              Tensor& grad_key,
                              Tensor& grad_value) {
  if (out.numel() == 0 || key.size(-2) == 0) {
    for (const Tensor* each : {&grad_query, &grad_key, &grad_value}) {
      std::memset(each->data_ptr(), 0,
                  static_cast<size_t>(each->numel() * size_bytes(each->dtype())));
    }
    return;
  }
  const auto run = [&]<typename T>(T) {
    const Tensor bias = as_bias<T>(attn_mask, score_sizes(query, key));
    attention::backward<T>(grad_out, query, key, value, out, row_stats, {bias, is_causal, scale},
                           grad_query, grad_key, grad_value);
  };
  if (out.dtype() == DType::kFloat64) {
    run(double{});
  } else {
    run(float{});
  }
}

}  // namespace

void register_attention(ops::Registry& registry) {
  registry.kernel<flash_attention>(DeviceType::kCpu, "_scaled_dot_product_flash_attention")
      .keeps<row_stats>();
  registry.kernel<flash_attention_backward>(DeviceType::kCpu,
                                            "_scaled_dot_product_flash_attention_backward");
}

}  // namespace mindtorch::cpu
