// Cumulative ops.
#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

void cumsum(ops::Launch& on, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor input = self.dtype() == DType::kBool ? on_device(on, self, out.dtype()) : self;
  call(on, MT_ACLNN(aclnnCumsum), input, dim, out.dtype(), out);
}
void cumprod(ops::Launch& on, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor input = self.dtype() == DType::kBool ? on_device(on, self, out.dtype()) : self;
  call(on, MT_ACLNN(aclnnCumprod), input, typed(Scalar(dim), DType::kInt64), out.dtype(), out);
}
void cummax(ops::Launch& on, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  if (values.numel() != 0) call(on, MT_ACLNN(aclnnCummax), self, dim, values, indices);
}
void cummin(ops::Launch& on, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  if (values.numel() != 0) call(on, MT_ACLNN(aclnnCummin), self, dim, values, indices);
}

// The part of `self` from `start` on along `dim`.
Tensor piece(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  Shape sizes = self.sizes();
  sizes[static_cast<size_t>(dim)] = length;
  return self.alias(std::move(sizes), self.strides(),
                    self.storage_offset() + start * self.stride(dim));
}

// CANN has none. In log2(n) rounds every element takes in the one 1, 2, 4, ... before it, each of
// which stands for as many by then; nothing overflows or vanishes on the way.
void logcumsumexp(ops::Launch& on, const Tensor& self, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  if (self.dim() == 0) return call(on, MT_ACLNN(aclnnInplaceCopy), out, self);
  const DType dtype = self.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t length = self.size(d);
  Tensor now = on_device(on, self, dtype);
  for (int64_t step = 1; step < length; step *= 2) {
    const Tensor next = make_like(on, self.sizes(), dtype);
    call(on, MT_ACLNN(aclnnInplaceCopy), piece(next, d, 0, step), piece(now, d, 0, step));
    call(on, MT_ACLNN(aclnnLogAddExp), piece(now, d, step, length - step),
         piece(now, d, 0, length - step), piece(next, d, step, length - step));
    now = next;
  }
  call(on, MT_ACLNN(aclnnInplaceCopy), out, now);
}

}  // namespace

void register_scan(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<cumsum>(kNpu, "cumsum").takes(kAnyOrComplex);
  registry.kernel<cumprod>(kNpu, "cumprod").takes(kAnyOrComplex);
  registry.kernel<cummax>(kNpu, "cummax");
  registry.kernel<cummin>(kNpu, "cummin");
  registry.kernel<logcumsumexp>(kNpu, "logcumsumexp");
}

}  // namespace mindtorch::ascend
