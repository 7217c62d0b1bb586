#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"

namespace mindtorch::ascend {
namespace {

using OptionalDType = std::optional<DType>;
using OptionalDevice = std::optional<Device>;

void empty(
    ops::Launch&, IntList, OptionalDType, OptionalDevice, std::optional<MemoryFormat>, Tensor&) {}
void empty_strided(ops::Launch&, IntList, IntList, OptionalDType, OptionalDevice, Tensor&) {}

void fill(ops::Launch& on, const Tensor& self, const Scalar& value) {
  if (self.numel() == 0) return;
  call(on, MT_ACLNN(aclnnInplaceFillScalar), self, typed(value, self.dtype()));
}
void fill_from(ops::Launch& on, const Tensor& self, const Tensor& value) {
  if (self.numel() == 0) return;
  call(on, MT_ACLNN(aclnnInplaceCopy), self, on_device(on, value, self.dtype()));
}
void zero(ops::Launch& on, const Tensor& self) {
  if (self.numel() != 0) call(on, MT_ACLNN(aclnnInplaceZero), self);
}

void zeros(ops::Launch& on, IntList, OptionalDType, OptionalDevice, Tensor& out) { zero(on, out); }
void ones(ops::Launch& on, IntList, OptionalDType, OptionalDevice, Tensor& out) {
  fill(on, out, Scalar(int64_t{1}));
}
void full(
    ops::Launch& on, IntList, const Scalar& value, OptionalDType, OptionalDevice, Tensor& out) {
  fill(on, out, value);
}
void scalar_tensor(
    ops::Launch& on, const Scalar& value, OptionalDType, OptionalDevice, Tensor& out) {
  fill(on, out, value);
}

void arange_step(ops::Launch& on,
                 const Scalar& start,
                 const Scalar& end,
                 const Scalar& step,
                 OptionalDType,
                 OptionalDevice,
                 Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnArange), typed(start, out.dtype()), typed(end, out.dtype()),
       typed(step, out.dtype()), out);
}
void arange(ops::Launch& on, const Scalar& end, OptionalDType, OptionalDevice, Tensor& out) {
  arange_step(on, Scalar(int64_t{0}), end, Scalar(int64_t{1}), {}, {}, out);
}
void linspace(ops::Launch& on,
              const Scalar& start,
              const Scalar& end,
              int64_t steps,
              OptionalDType,
              OptionalDevice,
              Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnLinspace), typed(start, DType::kFloat64), typed(end, DType::kFloat64),
       steps, out);
}
void eye_m(ops::Launch& on, int64_t n, int64_t m, OptionalDType, OptionalDevice, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnEye), n, m, out);
}
void eye(ops::Launch& on, int64_t n, OptionalDType, OptionalDevice, Tensor& out) {
  eye_m(on, n, n, {}, {}, out);
}

}  // namespace

void register_creation(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<empty>(kNpu, "empty.memory_format");
  registry.kernel<empty_strided>(kNpu, "empty_strided");
  registry.kernel<zeros>(kNpu, "zeros");
  registry.kernel<ones>(kNpu, "ones");
  registry.kernel<full>(kNpu, "full");
  registry.kernel<scalar_tensor>(kNpu, "scalar_tensor");
  registry.kernel<fill>(kNpu, "fill_.Scalar");
  registry.kernel<fill_from>(kNpu, "fill_.Tensor");
  registry.kernel<zero>(kNpu, "zero_");
  registry.kernel<arange>(kNpu, "arange");
  registry.kernel<arange_step>(kNpu, "arange.start_step");
  registry.kernel<linspace>(kNpu, "linspace");
  registry.kernel<eye>(kNpu, "eye");
  registry.kernel<eye_m>(kNpu, "eye.m");
}

}  // namespace mindtorch::ascend
