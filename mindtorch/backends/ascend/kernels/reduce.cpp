#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

using Dims = std::optional<IntList>;

// The dims to reduce; none given means all, and CANN wants them spelled out.
Shape all_or(const Dims& dim, int64_t count) {
  Shape dims;
  if (dim && !dim->empty()) {
    for (const int64_t d : *dim) dims.push_back(d < 0 ? d + count : d);
  } else {
    for (int64_t d = 0; d < count; ++d) dims.push_back(d);
  }
  return dims;
}

void sum(ops::Launch& on,
         const Tensor& self,
         Dims dim,
         bool keepdim,
         std::optional<DType>,
         Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnReduceSum), self, IntList(dims), keepdim, out.dtype(), out);
}
void mean(ops::Launch& on,
          const Tensor& self,
          Dims dim,
          bool keepdim,
          std::optional<DType>,
          Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnMean), self, IntList(dims), keepdim, out.dtype(), out);
}
void amax(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnAmax), self, IntList(dims), keepdim, out);
}
void amin(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnAmin), self, IntList(dims), keepdim, out);
}
void max_all(ops::Launch& on, const Tensor& self, Tensor& out) {
  call(on, MT_ACLNN(aclnnMax), self, out);
}
void min_all(ops::Launch& on, const Tensor& self, Tensor& out) {
  call(on, MT_ACLNN(aclnnMin), self, out);
}
void softmax(ops::Launch& on, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnSoftmax), on_device(on, self, out.dtype()), dim, out);
}
void log_softmax(
    ops::Launch& on, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnLogSoftmax), on_device(on, self, out.dtype()), dim, out);
}

}  // namespace

void register_reduce(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<sum>(kNpu, "sum.dim_IntList");
  registry.kernel<mean>(kNpu, "mean.dim");
  registry.kernel<amax>(kNpu, "amax");
  registry.kernel<amin>(kNpu, "amin");
  registry.kernel<max_all>(kNpu, "max");
  registry.kernel<min_all>(kNpu, "min");
  registry.kernel<softmax>(kNpu, "softmax.int");
  registry.kernel<log_softmax>(kNpu, "log_softmax.int");
}

}  // namespace mindtorch::ascend
