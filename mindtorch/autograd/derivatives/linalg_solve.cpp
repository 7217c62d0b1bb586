// Factors of square matrices, and what is solved by them.
#include <complex>

#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/linalg.h"

namespace mindtorch::autograd {
namespace {

using Name = std::optional<std::string_view>;

void inv_(Backward& b, const TensorMeta&, Name, const Tensor& inverse) {
  if (!b.grad().defined()) return;
  const Tensor adjoint = mH(inverse);
  b.set(0, neg(matmul(adjoint, matmul(b.grad(), adjoint))));
}

void cholesky_(Backward& b, const TensorMeta&, bool upper, Name, const Tensor& factor) {
  if (!b.grad().defined()) return;
  const Tensor l = upper ? mH(factor) : factor;
  const Tensor grad = upper ? mH(b.grad()) : b.grad();
  const Tensor product = matmul(mH(l), grad);
  const Tensor symmetric = add(tril(product), mH(tril(product, -1)));
  const Tensor half = _linalg_solve_triangular(mH(l), symmetric, true, true);
  b.set(0, mul(_linalg_solve_triangular(l, half, false, false), Scalar(0.5)));
}

// Lower and upper factors, and the permutation before them, out of one matrix.
struct Factors {
  Tensor p, l, u;
};
Factors unpack(const Tensor& lu, const Tensor& pivots) {
  auto [p, l, u] = lu_unpack(lu, pivots);
  return {p, l, u};
}

// The gradient of a square matrix from those of its triangular factors, before the permutation.
Tensor join_gradients(const Tensor& l, const Tensor& u, const Tensor& below, const Tensor& above) {
  const Tensor middle = add(tril(below, -1), triu(above));
  const Tensor right = _linalg_solve_triangular(mH(u), middle, false, false);
  return _linalg_solve_triangular(mH(l), right, true, true, true);
}

void lu_factor_(Backward& b, const TensorMeta&, Name, const Tensor& LU, const Tensor& pivots) {
  const Tensor& grad = b.grad();
  if (!grad.defined()) return;
  const auto [p, l, u] = unpack(LU, pivots);
  const int64_t m = LU.size(-2);
  const int64_t n = LU.size(-1);
  const int64_t k = std::min(m, n);
  const auto rows = [](const Tensor& x, int64_t begin, int64_t end) {
    return narrow(x, -2, begin, end - begin);
  };
  const auto columns = [](const Tensor& x, int64_t begin, int64_t end) {
    return narrow(x, -1, begin, end - begin);
  };
  const Tensor grad_l = tril(columns(grad, 0, k), -1);
  const Tensor grad_u = triu(rows(grad, 0, k));
  if (m == n) {
    b.set(0, matmul(p, join_gradients(l, u, matmul(mH(l), grad_l), matmul(grad_u, mH(u)))));
  } else if (m < n) {  // the columns that are left over are L times those of U
    const Tensor u1 = columns(u, 0, k);
    const Tensor u2 = columns(u, k, n);
    const Tensor grad_u1 = columns(grad_u, 0, k);
    const Tensor grad_u2 = columns(grad_u, k, n);
    const Tensor below = sub(matmul(mH(l), grad_l), matmul(grad_u2, mH(u2)));
    const Tensor parts[] = {join_gradients(l, u1, below, matmul(grad_u1, mH(u1))),
                            _linalg_solve_triangular(mH(l), grad_u2, true, true, true)};
    b.set(0, matmul(p, cat(parts, -1)));
  } else {  // the rows that are left over are those of L times U
    const Tensor l1 = rows(l, 0, k);
    const Tensor l2 = rows(l, k, m);
    const Tensor grad_l1 = rows(grad_l, 0, k);
    const Tensor grad_l2 = rows(grad_l, k, m);
    const Tensor above = sub(matmul(grad_u, mH(u)), matmul(mH(l2), grad_l2));
    const Tensor parts[] = {join_gradients(l1, u, matmul(mH(l1), grad_l1), above),
                            _linalg_solve_triangular(mH(u), grad_l2, false, false)};
    b.set(0, matmul(p, cat(parts, -2)));
  }
}

void lu_solve_(Backward& b,
               const Tensor& LU,
               const Tensor& pivots,
               const TensorMeta&,
               bool left,
               bool adjoint,
               const Tensor& x) {
  const Tensor grad_b = _linalg_lu_solve(LU, pivots, b.grad(), left, !adjoint);
  if (b.needs(2)) b.set(2, grad_b);
  if (!b.needs(0)) return;
  const Tensor direct = left ? matmul(grad_b, mH(x)) : matmul(mH(x), grad_b);
  const auto [p, l, u] = unpack(LU, pivots);
  const Tensor grad = matmul(mT(p), neg(adjoint ? mH(direct) : direct));
  b.set(0, add(tril(matmul(grad, mH(u)), -1), triu(matmul(mH(l), grad))));
}

void solve_(Backward& b,
            const Tensor& A,
            const TensorMeta&,
            bool left,
            Name,
            const Tensor& x,
            const Tensor& lu,
            const Tensor& pivots) {
  if (!b.grad().defined()) return;
  // The factors have no history: a gradient that will be differentiated goes by A.
  const Tensor grad_b = is_grad_enabled() ? linalg_solve(mH(A), b.grad(), left)
                                          : linalg_lu_solve(lu, pivots, b.grad(), left, true);
  if (b.needs(1)) b.set(1, grad_b);
  if (!b.needs(0)) return;
  const Tensor grad_a = neg(left ? matmul(grad_b, mH(x)) : matmul(mH(x), grad_b));
  b.set(0, sum_to(grad_a, A.sizes()));
}

void solve_triangular_(Backward& b,
                       const Tensor& A,
                       const TensorMeta&,
                       bool upper,
                       bool left,
                       bool unitriangular,
                       const Tensor& x) {
  const Tensor grad_b = _linalg_solve_triangular(mH(A), b.grad(), !upper, left, unitriangular);
  if (b.needs(1)) b.set(1, grad_b);
  if (!b.needs(0)) return;
  const Tensor whole = neg(left ? matmul(grad_b, mH(x)) : matmul(mH(x), grad_b));
  b.set(0, upper ? triu(whole, unitriangular ? 1 : 0) : tril(whole, unitriangular ? -1 : 0));
}

void ldl_solve_(
    Backward& b, const Tensor& LD, const Tensor& pivots, const TensorMeta&, bool hermitian) {
  MT_CHECK(!b.needs(0), NotImplementedError,
           "derivative for aten::linalg_ldl_solve is not implemented");
  b.set(2, _linalg_ldl_solve(LD, pivots, b.grad(), hermitian));
}

// --- determinants ---

Tensor diagonal_matrices(const Tensor& numbers, int64_t n) {
  return diag_embed(expand(unsqueeze(numbers, -1), with_dim(numbers.sizes(), n)));
}

// The products of all values but one: what the derivative of a product is made of, and what is left
// of it where values are zero.
Tensor products_of_others(const Tensor& values) {
  const int64_t n = values.size(-1);
  const Tensor ones =
      full(with_dim(batch_of(values, 1), 1), Scalar(1), values.dtype(), values.device());
  const Tensor before[] = {ones, narrow(cumprod(values, -1), -1, 0, n - 1)};
  const Tensor reversed[] = {ones, narrow(cumprod(flip(values, {-1}), -1), -1, 0, n - 1)};
  return mul(cat(before, -1), flip(cat(reversed, -1), {-1}));
}

// The gradient of a determinant, the matrix of cofactors, by singular values: right for matrices
// without an inverse, too.
Tensor cofactors(const Tensor& A) {
  const auto [u, s, vh] = _linalg_svd(A, true);
  const Tensor sign = mul(linalg_det(u), linalg_det(vh));
  const Tensor scaled = mul(u, unsqueeze(products_of_others(s), -2));
  return mul(matmul(scaled, vh), unsqueeze(unsqueeze(conjugate(sign), -1), -1));
}

// X of A* X = B. The factors have no history: a gradient that will be differentiated goes by A, and
// so does that of a device whose kernel kept none.
Tensor solve_adjoint(const Tensor& A, const Tensor& LU, const Tensor& pivots, const Tensor& B) {
  if (LU.dim() < A.dim()) return matmul(mH(linalg_inv(A)), B);
  return is_grad_enabled() ? linalg_solve(mH(A), B) : _linalg_lu_solve(LU, pivots, B, true, true);
}

void det_(
    Backward& b, const Tensor& A, const Tensor& result, const Tensor& LU, const Tensor& pivots) {
  if (!b.grad().defined() || A.numel() == 0) return;
  const int64_t n = A.size(-1);
  if (!A.device().is_meta() && item(any(eq(result, Scalar(0)))).to_bool()) {
    b.set(0, mul(cofactors(A), unsqueeze(unsqueeze(b.grad(), -1), -1)));
    return;
  }
  const Tensor diagonal = diagonal_matrices(mul(b.grad(), conjugate(result)), n);
  b.set(0, solve_adjoint(A, LU, pivots, diagonal));
}

void slogdet_(Backward& b,
              const Tensor& A,
              const Tensor& sign,
              const TensorMeta&,
              const Tensor& LU,
              const Tensor& pivots) {
  Tensor grad = b.grad(1);
  if (b.grad(0).defined() && is_complex(A.dtype())) {  // a real sign has no derivative
    const Tensor turn = mul(imag(mul(conj(b.grad(0)), sign)), Scalar(std::complex<double>(0, -1)));
    grad = grad.defined() ? add(grad, turn) : turn;
  }
  if (!grad.defined() || A.numel() == 0) return;
  const Tensor diagonal = diagonal_matrices(_to_copy(grad, A.dtype()), A.size(-1));
  b.set(0, solve_adjoint(A, LU, pivots, diagonal));
}

}  // namespace

void define_linalg_solve(Derivatives& derivatives) {
  derivatives.define<inv_>("_linalg_inv").named("LinalgInvExBackward0").knows_complex();
  derivatives.define<cholesky_>("_linalg_cholesky")
      .named("LinalgCholeskyExBackward0")
      .knows_complex();
  derivatives.define<lu_factor_>("_linalg_lu_factor")
      .named("LinalgLuFactorExBackward0")
      .knows_complex();
  derivatives.define<lu_solve_>("_linalg_lu_solve").named("LinalgLuSolveBackward0").knows_complex();
  derivatives.define<solve_>("_linalg_solve").named("LinalgSolveExBackward0").knows_complex();
  derivatives.define<solve_triangular_>("_linalg_solve_triangular")
      .named("LinalgSolveTriangularBackward0")
      .knows_complex();
  derivatives.define<ldl_solve_>("_linalg_ldl_solve")
      .named("LinalgLdlSolveBackward0")
      .knows_complex();
  derivatives.define<det_>("_linalg_det").named("LinalgDetBackward0").knows_complex();
  derivatives.define<slogdet_>("_linalg_slogdet").named("LinalgSlogdetBackward0").knows_complex();
}

}  // namespace mindtorch::autograd
