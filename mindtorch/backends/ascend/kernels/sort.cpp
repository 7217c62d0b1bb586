#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

void sort_stable(ops::Launch& on,
                 const Tensor& self,
                 std::optional<bool> stable,
                 int64_t dim,
                 bool descending,
                 Tensor& values,
                 Tensor& indices) {
  if (values.numel() == 0) return;
  call(on, MT_ACLNN(aclnnSort), self, stable.value_or(false), dim, descending, values, indices);
}
void sort(ops::Launch& on,
          const Tensor& self,
          int64_t dim,
          bool descending,
          Tensor& values,
          Tensor& indices) {
  sort_stable(on, self, false, dim, descending, values, indices);
}
void argsort_stable(
    ops::Launch& on, const Tensor& self, bool stable, int64_t dim, bool descending, Tensor& out) {
  Tensor values = make_like(on, self.sizes(), self.dtype());
  sort_stable(on, self, stable, dim, descending, values, out);
}
void argsort(ops::Launch& on, const Tensor& self, int64_t dim, bool descending, Tensor& out) {
  argsort_stable(on, self, false, dim, descending, out);
}
void topk(ops::Launch& on,
          const Tensor& self,
          int64_t k,
          int64_t dim,
          bool largest,
          bool sorted,
          Tensor& values,
          Tensor& indices) {
  if (values.numel() == 0) return;
  call(on, MT_ACLNN(aclnnTopk), self, k, dim, largest, sorted, values, indices);
}

}  // namespace

void register_sort(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<sort>(kNpu, "sort");
  registry.kernel<sort_stable>(kNpu, "sort.stable");
  registry.kernel<argsort>(kNpu, "argsort");
  registry.kernel<argsort_stable>(kNpu, "argsort.stable");
  registry.kernel<topk>(kNpu, "topk");
}

}  // namespace mindtorch::ascend
