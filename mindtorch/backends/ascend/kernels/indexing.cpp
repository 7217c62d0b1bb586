#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

void index_select(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnIndexSelect), self, dim, index, out);
}
void gather(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, bool, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnGather), self, dim, index, out);
}
void scatter_src(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  constexpr int64_t kReplace = 0;
  if (index.numel() != 0) call(on, MT_ACLNN(aclnnInplaceScatter), self, dim, index, src, kReplace);
}
void scatter_value(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  constexpr int64_t kReplace = 0;
  if (index.numel() == 0) return;
  call(on, MT_ACLNN(aclnnInplaceScatterValue), self, dim, index, typed(value, self.dtype()),
       kReplace);
}
void scatter_add(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (index.numel() != 0) call(on, MT_ACLNN(aclnnScatterAdd), self, dim, index, src, self);
}
void index_copy(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  if (index.numel() != 0) call(on, MT_ACLNN(aclnnInplaceIndexCopy), self, dim, index, source);
}
void index_add(ops::Launch& on,
               const Tensor& self,
               int64_t dim,
               const Tensor& index,
               const Tensor& source,
               const Scalar& alpha) {
  if (index.numel() == 0) return;
  call(on, MT_ACLNN(aclnnIndexAdd), self, dim, index, source, typed(alpha, self.dtype()), self);
}

}  // namespace

void register_indexing(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<index_select>(kNpu, "index_select");
  registry.kernel<gather>(kNpu, "gather");
  registry.kernel<scatter_src>(kNpu, "scatter_.src");
  registry.kernel<scatter_value>(kNpu, "scatter_.value");
  registry.kernel<scatter_add>(kNpu, "scatter_add_");
  registry.kernel<index_copy>(kNpu, "index_copy_");
  registry.kernel<index_add>(kNpu, "index_add_");
}

}  // namespace mindtorch::ascend
