#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

Tensor scaled(const Tensor& grad, const Scalar& factor) {
  return factor == Scalar(1) ? grad : mul(grad, factor);
}

// The gradient of a factor has the factor's layout: that of a weight, which is multiplied
// transposed, can then be its .grad as it is.
Tensor product_like(const Backward& b, size_t param, const Tensor& left, const Tensor& right) {
  return b.is_column_major(param) ? t(mm(t(right), t(left))) : mm(left, right);
}

void mm_(Backward& b, const Tensor& self, const Tensor& mat2) {
  if (b.needs(0)) b.set(0, product_like(b, 0, b.grad(), t(mat2)));
  if (b.needs(1)) b.set(1, product_like(b, 1, t(self), b.grad()));
}
void bmm_(Backward& b, const Tensor& self, const Tensor& mat2) {
  if (b.needs(0)) b.set(0, bmm(b.grad(), mT(mat2)));
  if (b.needs(1)) b.set(1, bmm(mT(self), b.grad()));
}
void mv_(Backward& b, const Tensor& self, const Tensor& vec) {
  if (b.needs(0)) b.set(0, outer(b.grad(), vec));
  if (b.needs(1)) b.set(1, mv(t(self), b.grad()));
}
// The conjugate of `self` is multiplied.
void vdot_(Backward& b, const Tensor& self, const Tensor& other) {
  if (b.needs(0)) b.set(0, mul(conj(b.grad()), other));
  if (b.needs(1)) b.set(1, mul(b.grad(), self));
}

void dot_(Backward& b, const Tensor& self, const Tensor& other) {
  if (b.needs(0)) b.set(0, mul(b.grad(), other));
  if (b.needs(1)) b.set(1, mul(b.grad(), self));
}
void addmm_(Backward& b,
            const TensorMeta&,
            const Tensor& mat1,
            const Tensor& mat2,
            const Scalar& beta,
            const Scalar& alpha) {
  if (b.needs(0)) b.set(0, scaled(b.grad(), beta));
  if (b.needs(1)) b.set(1, scaled(product_like(b, 1, b.grad(), t(mat2)), alpha));
  if (b.needs(2)) b.set(2, scaled(product_like(b, 2, t(mat1), b.grad()), alpha));
}
void addmv_(Backward& b,
            const TensorMeta&,
            const Tensor& mat,
            const Tensor& vec,
            const Scalar& beta,
            const Scalar& alpha) {
  if (b.needs(0)) b.set(0, scaled(b.grad(), beta));
  if (b.needs(1)) b.set(1, scaled(outer(b.grad(), vec), alpha));
  if (b.needs(2)) b.set(2, scaled(mv(t(mat), b.grad()), alpha));
}
void baddbmm_(Backward& b,
              const TensorMeta&,
              const Tensor& batch1,
              const Tensor& batch2,
              const Scalar& beta,
              const Scalar& alpha) {
  if (b.needs(0)) b.set(0, scaled(b.grad(), beta));
  if (b.needs(1)) b.set(1, scaled(bmm(b.grad(), mT(batch2)), alpha));
  if (b.needs(2)) b.set(2, scaled(bmm(mT(batch1), b.grad()), alpha));
}

}  // namespace

void define_matmul(Derivatives& derivatives) {
  derivatives.define<mm_>("mm").only_for("self", {"mat2"}).only_for("mat2", {"self"});
  derivatives.define<bmm_>("bmm").only_for("self", {"mat2"}).only_for("mat2", {"self"});
  derivatives.define<mv_>("mv").only_for("self", {"vec"}).only_for("vec", {"self"});
  derivatives.define<dot_>("dot").only_for("self", {"tensor"}).only_for("tensor", {"self"});
  derivatives.define<vdot_>("vdot")
      .only_for("self", {"other"})
      .only_for("other", {"self"})
      .knows_complex();
  derivatives.define<addmm_>("addmm").only_for("mat1", {"mat2"}).only_for("mat2", {"mat1"});
  derivatives.define<addmv_>("addmv").only_for("mat", {"vec"}).only_for("vec", {"mat"});
  derivatives.define<baddbmm_>("baddbmm")
      .only_for("batch1", {"batch2"})
      .only_for("batch2", {"batch1"});
}

}  // namespace mindtorch::autograd
