#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

constexpr int8_t kKeepDtype = 0;  // cubeMathType: compute in the dtype of the operands

void mm(ops::Launch& on, const Tensor& self, const Tensor& mat2, Tensor& out) {
  call(on, MT_ACLNN(aclnnMm), self, mat2, out, kKeepDtype);
}
void bmm(ops::Launch& on, const Tensor& self, const Tensor& mat2, Tensor& out) {
  call(on, MT_ACLNN(aclnnBatchMatMul), self, mat2, out, kKeepDtype);
}
void mv(ops::Launch& on, const Tensor& self, const Tensor& vec, Tensor& out) {
  call(on, MT_ACLNN(aclnnMv), self, vec, out, kKeepDtype);
}
void dot(ops::Launch& on, const Tensor& self, const Tensor& tensor, Tensor& out) {
  call(on, MT_ACLNN(aclnnDot), self, tensor, out);
}
void addmm(ops::Launch& on,
           const Tensor& self,
           const Tensor& mat1,
           const Tensor& mat2,
           const Scalar& beta,
           const Scalar& alpha,
           Tensor& out) {
  call(on, MT_ACLNN(aclnnAddmm), self, mat1, mat2, typed(beta, out.dtype()),
       typed(alpha, out.dtype()), out, kKeepDtype);
}
void baddbmm(ops::Launch& on,
             const Tensor& self,
             const Tensor& batch1,
             const Tensor& batch2,
             const Scalar& beta,
             const Scalar& alpha,
             Tensor& out) {
  call(on, MT_ACLNN(aclnnBaddbmm), self, batch1, batch2, typed(beta, out.dtype()),
       typed(alpha, out.dtype()), out, kKeepDtype);
}

}  // namespace

void register_matmul(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<mm>(kNpu, "mm");
  registry.kernel<bmm>(kNpu, "bmm");
  registry.kernel<mv>(kNpu, "mv");
  registry.kernel<dot>(kNpu, "dot");
  registry.kernel<addmm>(kNpu, "addmm");
  registry.kernel<baddbmm>(kNpu, "baddbmm");
}

}  // namespace mindtorch::ascend
