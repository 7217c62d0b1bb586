// gather, scatter and its reductions: every element has an index of its own along one dim.
#include <string_view>

#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

// CANN's numbers for what to do with the elements that meet in one place.
enum Reduce : int64_t { kReplace = 0, kAdd = 1, kMultiply = 2 };

void gather(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, bool, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnGather), self, dim, index, out);
}

void scatter(ops::Launch& on,
             const Tensor& self,
             int64_t dim,
             const Tensor& index,
             const Tensor& src,
             Reduce reduce) {
  if (index.numel() == 0) return;
  call(on, MT_ACLNN(aclnnInplaceScatter), self, dim, index, src, static_cast<int64_t>(reduce));
}
void scatter_number(ops::Launch& on,
                    const Tensor& self,
                    int64_t dim,
                    const Tensor& index,
                    const Scalar& value,
                    Reduce reduce) {
  if (index.numel() == 0) return;
  call(on, MT_ACLNN(aclnnInplaceScatterValue), self, dim, index, typed(value, self.dtype()),
       static_cast<int64_t>(reduce));
}

Reduce reduction(std::string_view name) { return name == "add" ? kAdd : kMultiply; }

void scatter_src(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter(on, self, dim, index, src, kReplace);
}
void scatter_value(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  scatter_number(on, self, dim, index, value, kReplace);
}
void scatter_src_reduce(ops::Launch& on,
                        const Tensor& self,
                        int64_t dim,
                        const Tensor& index,
                        const Tensor& src,
                        std::string_view reduce) {
  scatter(on, self, dim, index, src, reduction(reduce));
}
void scatter_value_reduce(ops::Launch& on,
                          const Tensor& self,
                          int64_t dim,
                          const Tensor& index,
                          const Scalar& value,
                          std::string_view reduce) {
  scatter_number(on, self, dim, index, value, reduction(reduce));
}
void scatter_add(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (index.numel() != 0) call(on, MT_ACLNN(aclnnScatterAdd), self, dim, index, src, self);
}

// The sums of what meets in one place, divided by how many met there.
void divide_by_count(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, bool include_self) {
  const DType dtype = self.dtype();
  const Scalar one(int64_t{1});
  const Tensor count = make_like(on, self.sizes(), dtype);
  call(on, MT_ACLNN(aclnnInplaceFillScalar), count, typed(Scalar(int64_t{include_self}), dtype));
  scatter_number(on, count, dim, index, one, kAdd);
  const Tensor divisor = make_like(on, self.sizes(), dtype);
  call(on, MT_ACLNN(aclnnClampMin), count, typed(one, dtype), divisor);
  constexpr int kTrue = 0, kFloor = 2;
  call(on, MT_ACLNN(aclnnInplaceDivMod), self, divisor, is_floating_point(dtype) ? kTrue : kFloor);
}

void scatter_reduce(ops::Launch& on,
                    const Tensor& self,
                    int64_t dim,
                    const Tensor& index,
                    const Tensor& src,
                    std::string_view reduce,
                    bool include_self) {
  if (index.numel() == 0) return;
  const bool multiplies = reduce == "prod";
  if (!multiplies && reduce != "sum" && reduce != "mean") {
    refuse(on, "scatter_reduce", self.dtype(),
           "CANN's scatter does not take the amax or amin of what meets");
  }
  if (reduce == "mean" && self.dtype() == DType::kBool) {
    refuse(on, "scatter_reduce", self.dtype(), "CANN does not divide truth values");
  }
  if (!include_self) {
    scatter_number(on, self, dim, index, Scalar(int64_t{multiplies}), kReplace);
  }
  if (multiplies) {
    scatter(on, self, dim, index, src, kMultiply);
  } else {
    scatter_add(on, self, dim, index, src);
  }
  if (reduce == "mean") divide_by_count(on, self, dim, index, include_self);
}

}  // namespace

void register_scatter(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<gather>(kNpu, "gather").takes(kAnyOrComplex);
  registry.kernel<scatter_src>(kNpu, "scatter_.src").takes(kAnyOrComplex);
  registry.kernel<scatter_value>(kNpu, "scatter_.value").takes(kAnyOrComplex);
  registry.kernel<scatter_src_reduce>(kNpu, "scatter_.reduce");
  registry.kernel<scatter_value_reduce>(kNpu, "scatter_.value_reduce");
  registry.kernel<scatter_add>(kNpu, "scatter_add_").takes(kAnyOrComplex);
  registry.kernel<scatter_reduce>(kNpu, "scatter_reduce_.two");
}

}  // namespace mindtorch::ascend
