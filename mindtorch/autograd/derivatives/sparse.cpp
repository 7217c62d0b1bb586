#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

void coo_mm_(Backward& b,
             const Tensor& row,
             const Tensor& col,
             const Tensor& values,
             const Tensor& dense,
             int64_t) {
  if (b.needs(2)) b.set(2, _coo_dot(row, col, b.grad(), dense));
  if (b.needs(3)) b.set(3, _coo_mm(col, row, values, b.grad(), dense.size(0)));
}
void coo_dot_(
    Backward& b, const Tensor& row, const Tensor& col, const Tensor& left, const Tensor& right) {
  if (b.needs(2)) b.set(2, _coo_mm(row, col, b.grad(), right, left.size(0)));
  if (b.needs(3)) b.set(3, _coo_mm(col, row, b.grad(), left, right.size(0)));
}

}  // namespace

void define_sparse(Derivatives& derivatives) {
  derivatives.define<coo_mm_>("_coo_mm");
  derivatives.define<coo_dot_>("_coo_dot");
}

}  // namespace mindtorch::autograd
