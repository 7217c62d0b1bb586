#pragma once

#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/backends/ascend/kernels/pointwise.h"

// What kernels of several ACLNN calls are made of. The calls follow each other on the stream; the
// memory of a tensor in between goes back to the stream's pool, for what runs later.
namespace mindtorch::ascend {

// A pointwise function of tensors that broadcast; it computes in the dtype of `a` (kWhere: of `b`).
Tensor computed(ops::Launch& on,
                ops::Pointwise function,
                const Tensor& a,
                const Tensor& b = {},
                const Tensor& c = {});
Tensor computed(ops::Launch& on, ops::Pointwise function, const Tensor& a, const Scalar& b);

// Runs body(tensor) with `out`, or with a tensor of `dtype` that is then cast into it.
template <class Body>
void compute_in(ops::Launch& on, DType dtype, const Tensor& out, const Body& body) {
  if (out.dtype() == dtype) return body(out);
  const Tensor computed = make_like(on, out.sizes(), dtype);
  body(computed);
  call(on, MT_ACLNN(aclnnInplaceCopy), out, computed);
}

// The elements in order, as a vector. Shares memory where it can.
Tensor flattened(ops::Launch& on, const Tensor& self);
// A view with a dim of length 1 at `dim`.
Tensor unsqueezed(const Tensor& self, int64_t dim);
// A view with its last two dims swapped.
Tensor transposed(const Tensor& self);
// A view that repeats elements.
Tensor expanded(const Tensor& self, IntList sizes);

// For outputs that nothing is added up into.
void fill_with_zeros(ops::Launch& on, std::initializer_list<const Tensor*> outputs);

// 0, 1, ... as int64.
Tensor counting(ops::Launch& on, int64_t count);
// The elements of each line along `dim` that `index`, of as many dims, names.
Tensor gathered(ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index);

}  // namespace mindtorch::ascend
