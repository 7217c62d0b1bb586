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
void prod(ops::Launch& on,
          const Tensor& self,
          std::optional<int64_t> dim,
          bool keepdim,
          std::optional<DType>,
          Tensor& out) {
  if (dim) {
    call(on, MT_ACLNN(aclnnProdDim), self, *dim, keepdim, out.dtype(), out);
  } else {
    call(on, MT_ACLNN(aclnnProd), self, out.dtype(), out);
  }
}
void max_dim(ops::Launch& on,
             const Tensor& self,
             int64_t dim,
             bool keepdim,
             Tensor& values,
             Tensor& indices) {
  call(on, MT_ACLNN(aclnnMaxDim), self, dim, keepdim, values, indices);
}
void min_dim(ops::Launch& on,
             const Tensor& self,
             int64_t dim,
             bool keepdim,
             Tensor& values,
             Tensor& indices) {
  call(on, MT_ACLNN(aclnnMinDim), self, dim, keepdim, values, indices);
}
// Without a dim, that of the flattened tensor.
Tensor flattened(ops::Launch& on, const Tensor& self) {
  Tensor flat = make_like(on, {self.numel()}, self.dtype());
  call(on, MT_ACLNN(aclnnInplaceCopy),
       flat.alias(self.sizes(), contiguous_strides(self.sizes()), 0), self);
  return flat;
}
void argmax(
    ops::Launch& on, const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  if (dim) return call(on, MT_ACLNN(aclnnArgMax), self, *dim, keepdim, out);
  call(on, MT_ACLNN(aclnnArgMax), flattened(on, self), int64_t{0}, false,
       out.alias({}, {}, out.storage_offset()));
}
void argmin(
    ops::Launch& on, const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  if (dim) return call(on, MT_ACLNN(aclnnArgMin), self, *dim, keepdim, out);
  call(on, MT_ACLNN(aclnnArgMin), flattened(on, self), int64_t{0}, false,
       out.alias({}, {}, out.storage_offset()));
}
void any(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnAny), self, IntList(dims), keepdim, out);
}
void all(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnAll), self, IntList(dims), keepdim, out);
}
int64_t whole_correction(const std::optional<Scalar>& correction) {
  const double value = correction ? correction->to_double() : 1.0;
  MT_CHECK(value == static_cast<double>(static_cast<int64_t>(value)), NotImplementedError,
           "CANN takes a whole correction for var and std, not ", value);
  return static_cast<int64_t>(value);
}
void var(ops::Launch& on,
         const Tensor& self,
         Dims dim,
         std::optional<Scalar> correction,
         bool keepdim,
         Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnVarCorrection), self, IntList(dims), whole_correction(correction), keepdim,
       out);
}
void std_deviation(ops::Launch& on,
                   const Tensor& self,
                   Dims dim,
                   std::optional<Scalar> correction,
                   bool keepdim,
                   Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnStd), self, IntList(dims), whole_correction(correction), keepdim, out);
}
void vector_norm(ops::Launch& on,
                 const Tensor& self,
                 const Scalar& ord,
                 Dims dim,
                 bool keepdim,
                 std::optional<DType>,
                 Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnNorm), on_device(on, self, out.dtype()), typed(ord, DType::kFloat32),
       IntList(dims), keepdim, out);
}
void logsumexp(ops::Launch& on, const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnLogSumExp), on_device(on, self, out.dtype()), IntList(dims), keepdim, out);
}
void cumsum(ops::Launch& on, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnCumsum), self, dim, out.dtype(), out);
}
void cumprod(ops::Launch& on, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnCumprod), self, typed(Scalar(dim), DType::kInt64), out.dtype(), out);
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
  registry.kernel<prod>(kNpu, "prod.dim_int");
  registry.kernel<max_dim>(kNpu, "max.dim");
  registry.kernel<min_dim>(kNpu, "min.dim");
  registry.kernel<argmax>(kNpu, "argmax");
  registry.kernel<argmin>(kNpu, "argmin");
  registry.kernel<any>(kNpu, "any.dims");
  registry.kernel<all>(kNpu, "all.dims");
  registry.kernel<var>(kNpu, "var.correction");
  registry.kernel<std_deviation>(kNpu, "std.correction");
  registry.kernel<vector_norm>(kNpu, "linalg_vector_norm");
  registry.kernel<logsumexp>(kNpu, "logsumexp");
  registry.kernel<cumsum>(kNpu, "cumsum");
  registry.kernel<cumprod>(kNpu, "cumprod");
  registry.kernel<softmax>(kNpu, "softmax.int");
  registry.kernel<log_softmax>(kNpu, "log_softmax.int");
}

}  // namespace mindtorch::ascend
