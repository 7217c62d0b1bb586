#include "mindtorch/backends/ascend/kernels/reduce.h"

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {

Shape all_or(const Dims& dim, int64_t count) {
  Shape dims;
  if (dim && !dim->empty()) {
    for (const int64_t d : *dim) dims.push_back(d < 0 ? d + count : d);
  } else {
    for (int64_t d = 0; d < count; ++d) dims.push_back(d);
  }
  return dims;
}

namespace {

using OptionalDType = std::optional<DType>;
using OneDim = std::optional<int64_t>;

// A fraction is true: it must not become an integer, 0, on its way to a truth value.
Tensor as_bool_if_needed(ops::Launch& on, const Tensor& self, const Tensor& out) {
  return out.dtype() == DType::kBool ? on_device(on, self, DType::kBool) : self;
}

void sum(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, OptionalDType, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnReduceSum), as_bool_if_needed(on, self, out), IntList(dims), keepdim,
       out.dtype(), out);
}
void nansum(
    ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, OptionalDType dtype, Tensor& out) {
  if (self.dtype() == DType::kFloat64) {  // ReduceNansum takes none
    const Tensor is_nan = computed(on, ops::Pointwise::kIsNan, self);
    const Tensor zero = on_device(on, Tensor::wrapped_number(0.0), self.dtype());
    return sum(on, computed(on, ops::Pointwise::kWhere, is_nan, zero, self), dim, keepdim, dtype,
               out);
  }
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnReduceNansum), self, IntList(dims), keepdim, out.dtype(), out);
}
void mean(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, OptionalDType, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  const Tensor input = self.dtype() == DType::kBool ? on_device(on, self, out.dtype()) : self;
  call(on, MT_ACLNN(aclnnMean), input, IntList(dims), keepdim, out.dtype(), out);
}
void prod(
    ops::Launch& on, const Tensor& self, OneDim dim, bool keepdim, OptionalDType, Tensor& out) {
  const Tensor input = as_bool_if_needed(on, self, out);
  if (dim) {
    call(on, MT_ACLNN(aclnnProdDim), input, *dim, keepdim, out.dtype(), out);
  } else {
    call(on, MT_ACLNN(aclnnProd), input, out.dtype(), out);
  }
}

void amax(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnAmax), self, IntList(dims), keepdim, out);
}
void amin(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  call(on, MT_ACLNN(aclnnAmin), self, IntList(dims), keepdim, out);
}
void aminmax(
    ops::Launch& on, const Tensor& self, OneDim dim, bool keepdim, Tensor& min, Tensor& max) {
  const Shape dims = all_or(dim ? Dims(IntList(&*dim, 1)) : Dims(), self.dim());
  call(on, MT_ACLNN(aclnnAminmax), self, IntList(dims), keepdim, min, max);
}
void max_all(ops::Launch& on, const Tensor& self, Tensor& out) {
  call(on, MT_ACLNN(aclnnMax), self, out);
}
void min_all(ops::Launch& on, const Tensor& self, Tensor& out) {
  call(on, MT_ACLNN(aclnnMin), self, out);
}

// MaxDim and MinDim, which give values and indices; for float64, which they do not take, where the
// value is by ArgMax or ArgMin, and then what is there.
template <class Both, class Where>
void extreme_dim(ops::Launch& on,
                 const char* name,
                 const Both& both,
                 const Where& where,
                 const Tensor& self,
                 int64_t dim,
                 bool keepdim,
                 const Tensor& values,
                 const Tensor& indices) {
  if (values.numel() == 0) return;
  if (self.dtype() == DType::kFloat64) {
    call(on, where, self, dim, keepdim, indices);
    const bool as_before = keepdim || self.dim() == 0;
    const Tensor index = as_before ? indices : unsqueezed(indices, wrap_dim(dim, self.dim()));
    const Tensor found = as_before ? values : unsqueezed(values, wrap_dim(dim, self.dim()));
    return call(on, MT_ACLNN(aclnnGather), self, dim, index, found);
  }
  const DType dtype = computable(on, name, self.dtype(), kFloats | kI32 | kI64 | kBool);
  compute_in(on, dtype, values, [&](const Tensor& found) {
    call(on, both, on_device(on, self, dtype), dim, keepdim, found, indices);
  });
}
void max_dim(ops::Launch& on,
             const Tensor& self,
             int64_t dim,
             bool keepdim,
             Tensor& values,
             Tensor& indices) {
  extreme_dim(on, "max", MT_ACLNN(aclnnMaxDim), MT_ACLNN(aclnnArgMax), self, dim, keepdim, values,
              indices);
}
void min_dim(ops::Launch& on,
             const Tensor& self,
             int64_t dim,
             bool keepdim,
             Tensor& values,
             Tensor& indices) {
  extreme_dim(on, "min", MT_ACLNN(aclnnMinDim), MT_ACLNN(aclnnArgMin), self, dim, keepdim, values,
              indices);
}

// Without a dim, that of the flattened tensor.
template <class Where>
void arg_extreme(ops::Launch& on,
                 const Where& where,
                 const Tensor& self,
                 OneDim dim,
                 bool keepdim,
                 const Tensor& out) {
  if (dim) return call(on, where, self, *dim, keepdim, out);
  call(on, where, flattened(on, self), int64_t{0}, false, out.alias({}, {}, out.storage_offset()));
}
void argmax(ops::Launch& on, const Tensor& self, OneDim dim, bool keepdim, Tensor& out) {
  arg_extreme(on, MT_ACLNN(aclnnArgMax), self, dim, keepdim, out);
}
void argmin(ops::Launch& on, const Tensor& self, OneDim dim, bool keepdim, Tensor& out) {
  arg_extreme(on, MT_ACLNN(aclnnArgMin), self, dim, keepdim, out);
}

// No dims, spelled out, are none here: every element for itself.
template <class Truth>
void truth(ops::Launch& on,
           const Truth& op,
           const Tensor& self,
           const Dims& dim,
           bool keepdim,
           const Tensor& out) {
  if (dim && dim->empty()) {
    if (out.numel() == 0) return;
    return call(on, MT_ACLNN(aclnnInplaceCopy), out, on_device(on, self, DType::kBool));
  }
  const Shape dims = all_or(dim, self.dim());
  call(on, op, self, IntList(dims), keepdim, out);
}
void any(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, Tensor& out) {
  truth(on, MT_ACLNN(aclnnAny), self, dim, keepdim, out);
}
void all(ops::Launch& on, const Tensor& self, Dims dim, bool keepdim, Tensor& out) {
  truth(on, MT_ACLNN(aclnnAll), self, dim, keepdim, out);
}

}  // namespace

void register_reduce(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<sum>(kNpu, "sum.dim_IntList").takes(kAnyOrComplex);
  registry.kernel<nansum>(kNpu, "nansum");
  registry.kernel<mean>(kNpu, "mean.dim").takes(kAnyOrComplex);
  registry.kernel<prod>(kNpu, "prod.dim_int").takes(kAnyOrComplex);
  registry.kernel<amax>(kNpu, "amax");
  registry.kernel<amin>(kNpu, "amin");
  registry.kernel<aminmax>(kNpu, "aminmax");
  registry.kernel<max_all>(kNpu, "max");
  registry.kernel<min_all>(kNpu, "min");
  registry.kernel<max_dim>(kNpu, "max.dim");
  registry.kernel<min_dim>(kNpu, "min.dim");
  registry.kernel<argmax>(kNpu, "argmax");
  registry.kernel<argmin>(kNpu, "argmin");
  registry.kernel<any>(kNpu, "any.dims");
  registry.kernel<all>(kNpu, "all.dims");
}

}  // namespace mindtorch::ascend
