#include <limits>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

constexpr int8_t kKeepDtype = 0;  // cubeMathType: compute in the dtype of the operands

Tensor transposed(const Tensor& self) {
  Shape sizes = self.sizes();
  Shape strides = self.strides();
  const size_t n = sizes.size();
  std::swap(sizes[n - 2], sizes[n - 1]);
  std::swap(strides[n - 2], strides[n - 1]);
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

void hide(ops::Launch& on, const Tensor& scores, const Tensor& hidden) {
  const Scalar nothing(-std::numeric_limits<double>::infinity());
  call(on, MT_ACLNN(aclnnInplaceMaskedFillScalar), scores, hidden, typed(nothing, scores.dtype()));
}

// Step by step, in float32: CANN's attention in one op leaves open what rows without a key give,
// and where a mask of numbers is added.
void attention(ops::Launch& on,
               const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const Tensor& attn_mask,
               bool is_causal,
               double scale,
               bool,
               Tensor& out) {
  constexpr DType kWide = DType::kFloat32;
  if ((bit(query.dtype()) & kFloats) == 0) {
    refuse(on, "scaled_dot_product_attention", query.dtype(),
           "CANN's matrix products take float16, bfloat16 and float32");
  }
  if (out.numel() == 0) return;
  const int64_t keys = key.size(-2);
  if (keys == 0) return call(on, MT_ACLNN(aclnnInplaceZero), out);
  Shape sizes = query.sizes();
  sizes.back() = keys;
  const Tensor scores = make_like(on, sizes, kWide);
  if (query.size(-1) == 0) {
    call(on, MT_ACLNN(aclnnInplaceZero), scores);
  } else {
    call(on, MT_ACLNN(aclnnMatmul), on_device(on, query, kWide),
         transposed(on_device(on, key, kWide)), scores, kKeepDtype);
    call(on, MT_ACLNN(aclnnInplaceMuls), scores, typed(Scalar(scale), kWide));
  }
  if (is_causal) {
    const Tensor all = make_like(on, {query.size(-2), keys}, DType::kBool);
    call(on, MT_ACLNN(aclnnInplaceOne), all);
    const Tensor later = make_like(on, all.sizes(), DType::kBool);
    call(on, MT_ACLNN(aclnnTriu), all, int64_t{1}, later);
    hide(on, scores, later);
  }
  if (attn_mask.defined() && attn_mask.dtype() == DType::kBool) {
    hide(on, scores, computed(on, ops::Pointwise::kLogicalNot, attn_mask));
  } else if (attn_mask.defined()) {
    call(on, MT_ACLNN(aclnnInplaceAdd), scores, on_device(on, attn_mask, kWide),
         typed(Scalar(1.0), kWide));
  }
  const Tensor weights = make_like(on, sizes, kWide);
  call(on, MT_ACLNN(aclnnSoftmax), scores, int64_t{-1}, weights);
  if (attn_mask.defined()) {  // nothing to see gives 0
    sizes.back() = 1;
    const Tensor largest = make_like(on, sizes, kWide);
    const int64_t last = query.dim() - 1;
    call(on, MT_ACLNN(aclnnAmax), scores, IntList(&last, 1), true, largest);
    const Scalar nothing(-std::numeric_limits<double>::infinity());
    call(on, MT_ACLNN(aclnnInplaceMaskedFillScalar), weights,
         computed(on, ops::Pointwise::kEq, largest, nothing), typed(Scalar(0.0), kWide));
  }
  compute_in(on, kWide, out, [&](const Tensor& result) {
    call(on, MT_ACLNN(aclnnMatmul), weights, on_device(on, value, kWide), result, kKeepDtype);
  });
}

}  // namespace

void register_attention(ops::Registry& registry) {
  registry.kernel<attention>(DeviceType::kNpu, "_attention");
}

}  // namespace mindtorch::ascend
