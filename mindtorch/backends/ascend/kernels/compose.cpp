#include "mindtorch/backends/ascend/kernels/compose.h"

namespace mindtorch::ascend {

Tensor computed(
    ops::Launch& on, ops::Pointwise function, const Tensor& a, const Tensor& b, const Tensor& c) {
  const DType dtype = (function == ops::Pointwise::kWhere ? b : a).dtype();
  const DType result = ops::gives_bool(function) ? DType::kBool : dtype;
  ops::PointwiseCall call(function, dtype, result);
  Shape sizes = a.sizes();
  call.on(a);
  for (const Tensor* operand : {&b, &c}) {
    if (!operand->defined()) continue;
    sizes = broadcast_shapes(sizes, operand->sizes());
    call.on(*operand);
  }
  const Tensor out = make_like(on, sizes, result);
  if (out.numel() != 0) run_pointwise(on, call, out);
  return out;
}

Tensor computed(ops::Launch& on, ops::Pointwise function, const Tensor& a, const Scalar& b) {
  return computed(on, function, a, Tensor::wrapped_number(b));
}

Tensor flattened(ops::Launch& on, const Tensor& self) {
  if (self.is_contiguous()) return self.alias({self.numel()}, {1}, self.storage_offset());
  Tensor flat = make_like(on, {self.numel()}, self.dtype());
  if (flat.numel() != 0) {
    call(on, MT_ACLNN(aclnnInplaceCopy),
         flat.alias(self.sizes(), contiguous_strides(self.sizes()), 0), self);
  }
  return flat;
}

Tensor unsqueezed(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim() + 1);
  Shape sizes = self.sizes();
  Shape strides = self.strides();
  sizes.insert(sizes.begin() + d, 1);
  strides.insert(strides.begin() + d, 1);
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

Tensor transposed(const Tensor& self) {
  Shape sizes = self.sizes();
  Shape strides = self.strides();
  const size_t n = sizes.size();
  std::swap(sizes[n - 2], sizes[n - 1]);
  std::swap(strides[n - 2], strides[n - 1]);
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

Tensor expanded(const Tensor& self, IntList sizes) {
  return self.alias(Shape(sizes), broadcast_strides(self.sizes(), self.strides(), sizes),
                    self.storage_offset());
}

void fill_with_zeros(ops::Launch& on, std::initializer_list<const Tensor*> outputs) {
  for (const Tensor* each : outputs) {
    if (each->defined() && each->numel() != 0) call(on, MT_ACLNN(aclnnInplaceZero), *each);
  }
}

Tensor counting(ops::Launch& on, int64_t count) {
  Tensor numbers = make_like(on, {count}, DType::kInt64);
  if (count == 0) return numbers;
  const auto whole = [](int64_t value) { return typed(Scalar(value), DType::kInt64); };
  call(on, MT_ACLNN(aclnnArange), whole(0), whole(count), whole(1), numbers);
  return numbers;
}

Tensor gathered(ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index) {
  Tensor found = make_like(on, index.sizes(), self.dtype());
  if (found.numel() != 0) call(on, MT_ACLNN(aclnnGather), self, dim, index, found);
  return found;
}

}  // namespace mindtorch::ascend
