#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

// Whether there is something for CANN to do. A sum of no products is 0, and CANN may leave out what
// it has no elements for.
bool has_products(const Tensor& left, const Tensor& out) {
  return out.numel() != 0 && left.numel() != 0;
}

void zero_unless_empty(ops::Launch& on, const Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnInplaceZero), out);
}

void mm(ops::Launch& on, const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (!has_products(self, out)) return zero_unless_empty(on, out);
  call(on, MT_ACLNN(aclnnMm), self, mat2, out, float32_math());
}
void bmm(ops::Launch& on, const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (!has_products(self, out)) return zero_unless_empty(on, out);
  call(on, MT_ACLNN(aclnnBatchMatMul), self, mat2, out, float32_math());
}
void mv(ops::Launch& on, const Tensor& self, const Tensor& vec, Tensor& out) {
  if (!has_products(self, out)) return zero_unless_empty(on, out);
  call(on, MT_ACLNN(aclnnMv), self, vec, out, float32_math());
}

// Dtypes that CANN's dot does not take are multiplied, then summed; integers wrap around.
void dot(ops::Launch& on, const Tensor& self, const Tensor& tensor, Tensor& out) {
  if (self.numel() == 0) return zero_unless_empty(on, out);
  if ((bit(self.dtype()) & (kFloats | kI8 | kU8 | kI32)) != 0) {
    return call(on, MT_ACLNN(aclnnDot), self, tensor, out);
  }
  const Tensor products = computed(on, ops::Pointwise::kMul, self, tensor);
  const int64_t dim = 0;
  call(on, MT_ACLNN(aclnnReduceSum), products, IntList(&dim, 1), false, out.dtype(), out);
}

// beta * self, where there is no product to add to it.
void scaled(ops::Launch& on, const Tensor& self, const Scalar& beta, const Tensor& out) {
  if (beta.to_double() == 0) return zero_unless_empty(on, out);
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnMuls), expanded(self, out.sizes()), typed(beta, out.dtype()), out);
}

void addmm(ops::Launch& on,
           const Tensor& self,
           const Tensor& mat1,
           const Tensor& mat2,
           const Scalar& beta,
           const Scalar& alpha,
           Tensor& out) {
  if (!has_products(mat1, out)) return scaled(on, self, beta, out);
  call(on, MT_ACLNN(aclnnAddmm), self, mat1, mat2, typed(beta, out.dtype()),
       typed(alpha, out.dtype()), out, float32_math());
}
void addmv(ops::Launch& on,
           const Tensor& self,
           const Tensor& mat,
           const Tensor& vec,
           const Scalar& beta,
           const Scalar& alpha,
           Tensor& out) {
  if (!has_products(mat, out)) return scaled(on, self, beta, out);
  call(on, MT_ACLNN(aclnnAddmv), self, mat, vec, typed(alpha, out.dtype()),
       typed(beta, out.dtype()), out, float32_math());
}
void baddbmm(ops::Launch& on,
             const Tensor& self,
             const Tensor& batch1,
             const Tensor& batch2,
             const Scalar& beta,
             const Scalar& alpha,
             Tensor& out) {
  if (!has_products(batch1, out)) return scaled(on, self, beta, out);
  call(on, MT_ACLNN(aclnnBaddbmm), self, batch1, batch2, typed(beta, out.dtype()),
       typed(alpha, out.dtype()), out, float32_math());
}

}  // namespace

void register_matmul(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  takes_products(registry.kernel<mm>(kNpu, "mm"));
  takes_products(registry.kernel<bmm>(kNpu, "bmm"));
  takes_products(registry.kernel<mv>(kNpu, "mv"));
  registry.kernel<dot>(kNpu, "dot").takes(kAnyOrComplex);
  registry.kernel<dot>(kNpu, "vdot");
  takes_products(registry.kernel<addmm>(kNpu, "addmm"));
  takes_products(registry.kernel<addmv>(kNpu, "addmv"));
  takes_products(registry.kernel<baddbmm>(kNpu, "baddbmm"));
}

}  // namespace mindtorch::ascend
