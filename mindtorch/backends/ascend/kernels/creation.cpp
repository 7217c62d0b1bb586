#include <algorithm>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/ragged.h"

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

template <class Op>
void step_through(ops::Launch& on,
                  const Op& op,
                  const Scalar& start,
                  const Scalar& end,
                  const Scalar& step,
                  const Tensor& out) {
  if (out.numel() == 0) return;
  // CANN counts in no integers of fewer bits, which could not hold every end either.
  const DType dtype = is_floating_point(out.dtype()) ? out.dtype() : DType::kInt64;
  const DType counted = out.dtype() == DType::kInt32 ? out.dtype() : dtype;
  compute_in(on, counted, out, [&](const Tensor& numbers) {
    call(on, op, typed(start, dtype), typed(end, dtype), typed(step, dtype), numbers);
  });
}
void arange_step(ops::Launch& on,
                 const Scalar& start,
                 const Scalar& end,
                 const Scalar& step,
                 OptionalDType,
                 OptionalDevice,
                 Tensor& out) {
  step_through(on, MT_ACLNN(aclnnArange), start, end, step, out);
}
void arange(ops::Launch& on, const Scalar& end, OptionalDType, OptionalDevice, Tensor& out) {
  step_through(on, MT_ACLNN(aclnnArange), Scalar(int64_t{0}), end, Scalar(int64_t{1}), out);
}
// The end belongs to it, if a step reaches it.
void range(ops::Launch& on,
           const Scalar& start,
           const Scalar& end,
           const Scalar& step,
           OptionalDType,
           OptionalDevice,
           Tensor& out) {
  step_through(on, MT_ACLNN(aclnnRange), start, end, step, out);
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
void logspace(ops::Launch& on,
              const Scalar& start,
              const Scalar& end,
              int64_t steps,
              double base,
              OptionalDType,
              OptionalDevice,
              Tensor& out) {
  if (out.numel() == 0) return;
  constexpr auto kDouble = DType::kFloat64;
  const Tensor exponents = make_like(on, out.sizes(), kDouble);
  call(on, MT_ACLNN(aclnnLinspace), typed(start, kDouble), typed(end, kDouble), steps, exponents);
  compute_in(on, kDouble, out, [&](const Tensor& powers) {
    call(on, MT_ACLNN(aclnnPowScalarTensor), typed(Scalar(base), kDouble), exponents, powers);
  });
}
void eye_m(ops::Launch& on, int64_t n, int64_t m, OptionalDType, OptionalDevice, Tensor& out) {
  if (out.numel() == 0) return;
  if (out.dtype() != DType::kFloat64) return call(on, MT_ACLNN(aclnnEye), n, m, out);
  zero(on, out);
  fill(on, out.alias({std::min(n, m)}, {out.stride(0) + out.stride(1)}, out.storage_offset()),
       Scalar(int64_t{1}));
}
void eye(ops::Launch& on, int64_t n, OptionalDType, OptionalDevice, Tensor& out) {
  eye_m(on, n, n, {}, {}, out);
}

// The rows and columns of the elements that a matrix has from column first[row] on, as many as
// lengths[row] says.
void write_indices(ops::Launch& on, const Tensor& lengths, const Tensor& first, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t count = out.size(1);
  const Ragged indices = ragged(on, lengths, first, count);
  const auto line = [&](int64_t i) {
    return out.alias({count}, {out.stride(1)}, out.storage_offset() + i * out.stride(0));
  };
  call(on, MT_ACLNN(aclnnInplaceCopy), line(0), indices.list);
  call(on, MT_ACLNN(aclnnInplaceCopy), line(1), indices.number);
}
Tensor clamped(ops::Launch& on, const Tensor& self, int64_t low, int64_t high) {
  const Tensor least = computed(on, ops::Pointwise::kMaximum, self, Scalar(low));
  return computed(on, ops::Pointwise::kMinimum, least, Scalar(high));
}
void tril_indices(ops::Launch& on,
                  int64_t row,
                  int64_t col,
                  int64_t offset,
                  OptionalDType,
                  OptionalDevice,
                  Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t diagonal = std::clamp(offset, -row, col);
  const Tensor ends = computed(on, ops::Pointwise::kAdd, counting(on, row), Scalar(diagonal + 1));
  const Tensor first = make_like(on, {row}, DType::kInt64);
  zero(on, first);
  write_indices(on, clamped(on, ends, 0, col), first, out);
}
void triu_indices(ops::Launch& on,
                  int64_t row,
                  int64_t col,
                  int64_t offset,
                  OptionalDType,
                  OptionalDevice,
                  Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t diagonal = std::clamp(offset, -row, col);
  const int64_t rows = std::min(row, col - diagonal);  // those below have no elements
  const Tensor starts = computed(on, ops::Pointwise::kAdd, counting(on, rows), Scalar(diagonal));
  const Tensor first = clamped(on, starts, 0, col);
  const Tensor width = on_device(on, Tensor::wrapped_number(Scalar(col)), DType::kInt64);
  write_indices(on, computed(on, ops::Pointwise::kSub, width, first), first, out);
}

}  // namespace

void register_creation(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<empty>(kNpu, "empty.memory_format").takes(kAnyType);
  registry.kernel<empty_strided>(kNpu, "empty_strided").takes(kAnyType);
  registry.kernel<zeros>(kNpu, "zeros").takes(kAnyOrComplex);
  registry.kernel<ones>(kNpu, "ones").takes(kAnyOrComplex);
  registry.kernel<full>(kNpu, "full").takes(kAnyOrComplex);
  registry.kernel<scalar_tensor>(kNpu, "scalar_tensor").takes(kAnyOrComplex);
  registry.kernel<fill>(kNpu, "fill_.Scalar").takes(kAnyOrComplex);
  registry.kernel<fill_from>(kNpu, "fill_.Tensor").takes(kAnyOrComplex);
  registry.kernel<zero>(kNpu, "zero_").takes(kAnyOrComplex);
  registry.kernel<arange>(kNpu, "arange");
  registry.kernel<arange_step>(kNpu, "arange.start_step");
  registry.kernel<range>(kNpu, "range.step");
  registry.kernel<linspace>(kNpu, "linspace");
  registry.kernel<logspace>(kNpu, "logspace");
  registry.kernel<tril_indices>(kNpu, "tril_indices");
  registry.kernel<triu_indices>(kNpu, "triu_indices");
  registry.kernel<eye>(kNpu, "eye");
  registry.kernel<eye_m>(kNpu, "eye.m");
}

}  // namespace mindtorch::ascend
