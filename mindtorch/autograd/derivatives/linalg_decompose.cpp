// Orthogonal factors, eigenvalues, singular values, and what is made of them.
#include <vector>

#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/linalg.h"

namespace mindtorch::autograd {
namespace {

Tensor columns(const Tensor& x, int64_t begin, int64_t end) {
  return narrow(x, -1, begin, end - begin);
}
Tensor plus(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : !b.defined() ? a : add(a, b);
}

// --- orthogonal factors ---

// Of A with at least as many rows as columns; a gradient that is undefined is zero.
Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& grad_q, const Tensor& grad_r) {
  Tensor inner;
  if (grad_r.defined()) inner = matmul(grad_r, mH(r));
  if (grad_q.defined()) {
    const Tensor product = matmul(mH(q), grad_q);
    inner = inner.defined() ? sub(inner, product) : neg(product);
  }
  inner = triu(inner);
  const Tensor symmetric = add(inner, mH(triu(inner, 1)));
  return _linalg_solve_triangular(mH(r), plus(matmul(q, symmetric), grad_q), false, false);
}

void qr_(
    Backward& b, const TensorMeta& A, std::string_view mode, const Tensor& Q, const Tensor& R) {
  const int64_t m = A.sizes[A.sizes.size() - 2];
  const int64_t n = A.sizes[A.sizes.size() - 1];
  MT_CHECK(mode != "r", RuntimeError,
           "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
           "use linalg.qr(A, mode='reduced') if you are going to differentiate through "
           "linalg.qr.");
  MT_CHECK(mode != "complete" || m <= n, RuntimeError,
           "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
  const Tensor& grad_q = b.grad(0);
  const Tensor& grad_r = b.grad(1);
  if (!grad_q.defined() && !grad_r.defined()) return;
  if (m >= n) {
    b.set(0, qr_gradient(Q, R, grad_q, grad_r));
    return;
  }
  // The columns that are left over are Q times those of R.
  const Tensor r1 = columns(R, 0, m);
  if (!grad_r.defined()) {
    const Tensor parts[] = {qr_gradient(Q, r1, grad_q, Tensor()),
                            zeros(with_dim(batch_of(R, 1), n - m), R.dtype(), R.device())};
    b.set(0, cat(parts, -1));
    return;
  }
  const Tensor grad_r2 = columns(grad_r, m, n);
  const Tensor through_q = matmul(Q, matmul(columns(R, m, n), mH(grad_r2)));
  const Tensor parts[] = {qr_gradient(Q, r1, plus(through_q, grad_q), columns(grad_r, 0, m)),
                          matmul(Q, grad_r2)};
  b.set(0, cat(parts, -1));
}

struct ReflectionGradients {
  Tensor reflectors, tau, product;
};
// Of the product of reflections I - t v v* and a matrix on their right; v are columns below the
// diagonal, with a 1 on it. t is tau, or its conjugate for the adjoint of the product.
ReflectionGradients reflection_gradients(
    const Tensor& reflectors, const Tensor& tau, Tensor product, bool adjoint, Tensor grad) {
  const int64_t count = tau.size(-1);
  const Tensor ones =
      eye(reflectors.size(-2), reflectors.size(-1), reflectors.dtype(), reflectors.device());
  const Tensor vectors = add(tril(reflectors, -1), ones);
  const auto vector = [&](int64_t i) { return narrow(vectors, -1, i, 1); };
  const auto factor = [&](int64_t i) {
    const Tensor own = unsqueeze(narrow(tau, -1, i, 1), -1);
    return adjoint ? conjugate(own) : own;
  };
  const auto place = [&](int64_t step) { return adjoint ? step : count - 1 - step; };
  std::vector<Tensor> products;  // before each reflection
  for (int64_t step = 0; step < count; ++step) {
    products.push_back(product);
    const Tensor v = vector(place(step));
    product = sub(product, mul(factor(place(step)), matmul(v, matmul(mH(v), product))));
  }
  std::vector<Tensor> of_vectors(static_cast<size_t>(reflectors.size(-1)));
  std::vector<Tensor> of_tau(static_cast<size_t>(count));
  for (int64_t step = count; step-- > 0;) {
    const int64_t i = place(step);
    const Tensor v = vector(i);
    const Tensor t = factor(i);
    const Tensor& before = products[static_cast<size_t>(step)];
    const Tensor inner = matmul(mH(v), before);
    const Tensor first = mul(conjugate(t), matmul(grad, mH(inner)));
    const Tensor second = mul(t, matmul(before, matmul(mH(grad), v)));
    of_vectors[static_cast<size_t>(i)] = neg(add(first, second));
    const Tensor of_t = neg(squeeze(matmul(matmul(mH(v), grad), mH(inner)), -1));
    of_tau[static_cast<size_t>(i)] = adjoint ? conjugate(of_t) : of_t;
    grad = sub(grad, mul(conjugate(t), matmul(v, matmul(mH(v), grad))));
  }
  for (Tensor& column : of_vectors) {
    if (!column.defined()) {
      column = zeros(with_dim(batch_of(reflectors, 1), 1), reflectors.dtype(), reflectors.device());
    }
  }
  return {of_vectors.empty() ? zeros(reflectors.sizes(), reflectors.dtype(), reflectors.device())
                             : tril(cat(of_vectors, -1), -1),
          of_tau.empty() ? zeros(tau.sizes(), tau.dtype(), tau.device()) : cat(of_tau, -1), grad};
}

void householder_product_(Backward& b, const Tensor& input, const Tensor& tau) {
  const Tensor identity = eye(input.size(-2), input.size(-1), input.dtype(), input.device());
  ReflectionGradients found =
      reflection_gradients(input, tau, expand(identity, input.sizes()), false, b.grad());
  if (b.needs(0)) b.set(0, std::move(found.reflectors));
  if (b.needs(1)) b.set(1, std::move(found.tau));
}

void ormqr_(Backward& b,
            const Tensor& self,
            const Tensor& tau,
            const Tensor& other,
            bool left,
            bool transpose) {
  // C Q is the adjoint of Q* C*.
  ReflectionGradients found =
      left ? reflection_gradients(self, tau, other, transpose, b.grad())
           : reflection_gradients(self, tau, mH(other), !transpose, mH(b.grad()));
  if (b.needs(0)) b.set(0, std::move(found.reflectors));
  if (b.needs(1)) b.set(1, std::move(found.tau));
  if (b.needs(2)) b.set(2, left ? found.product : mH(found.product));
}

// --- eigenvalues and singular values ---

// values[j] - values[i], and 1 where i = j.
Tensor differences(const Tensor& values) {
  const Tensor apart = sub(unsqueeze(values, -2), unsqueeze(values, -1));
  return add(apart, eye(values.size(-1), values.dtype(), values.device()));
}

void eigh_(Backward& b,
           const TensorMeta&,
           std::string_view,
           bool compute_v,
           const Tensor& values,
           const Tensor& vectors) {
  const Tensor& grad_values = b.grad(0);
  const Tensor& grad_vectors = b.grad(1);
  if (!grad_values.defined() && !grad_vectors.defined()) return;
  MT_CHECK(compute_v, RuntimeError,
           "linalg_eigh_backward: Setting compute_v to false in torch._linalg_eigh doesn't support "
           "backwards");
  if (!grad_vectors.defined()) {
    b.set(0, matmul(mul(vectors, unsqueeze(grad_values, -2)), mH(vectors)));
    return;
  }
  const Tensor inner = div(matmul(mH(vectors), grad_vectors), differences(values));
  Tensor middle = sub(inner, diag_embed(diagonal(inner, 0, -2, -1)));
  if (grad_values.defined()) middle = add(middle, diag_embed(grad_values));
  b.set(0, matmul(vectors, matmul(middle, mH(vectors))));
}

// Eigenvectors have length 1: what of their gradient would change it is taken away.
void eig_(
    Backward& b, const TensorMeta& A, bool compute_v, const Tensor& values, const Tensor& vectors) {
  const Tensor& grad_values = b.grad(0);
  const Tensor& grad_vectors = b.grad(1);
  if (!grad_values.defined() && !grad_vectors.defined()) return;
  MT_CHECK(compute_v, RuntimeError, "linalg_eig_backward: the eigenvectors are needed");
  const Tensor vectors_h = mH(vectors);
  Tensor middle;
  if (grad_vectors.defined()) {
    const Tensor product = matmul(vectors_h, grad_vectors);
    const Tensor lengths = unsqueeze(real(diagonal(product, 0, -2, -1)), -2);
    const Tensor turn = sub(product, matmul(vectors_h, mul(vectors, lengths)));
    const Tensor inner = div(turn, conj(differences(values)));
    middle = sub(inner, diag_embed(diagonal(inner, 0, -2, -1)));
    if (grad_values.defined()) middle = add(middle, diag_embed(grad_values));
    middle = matmul(middle, vectors_h);
  } else {
    middle = mul(unsqueeze(grad_values, -1), vectors_h);
  }
  const Tensor gradient = linalg_solve(vectors_h, middle);
  b.set(0, is_complex(A.dtype) ? gradient : clone(real(gradient)));
}

Tensor skew(const Tensor& x) { return sub(x, mH(x)); }

void svd_(Backward& b,
          const TensorMeta& A,
          bool full_matrices,
          bool compute_uv,
          const Tensor& all_u,
          const Tensor& s,
          const Tensor& all_vh) {
  if (!b.grad(0).defined() && !b.grad(1).defined() && !b.grad(2).defined()) return;
  MT_CHECK(compute_uv, RuntimeError,
           "svd_backward: Setting compute_uv to false in torch.svd doesn't compute singular "
           "matrices, and hence we cannot compute backward. Please use torch.svd(compute_uv=True)");
  const int64_t m = A.sizes[A.sizes.size() - 2];
  const int64_t n = A.sizes[A.sizes.size() - 1];
  const int64_t k = std::min(m, n);
  // The vectors beyond the singular values are any that complete a basis: they have no derivative.
  const auto first = [&](const Tensor& x, int64_t dim) {
    return full_matrices && x.defined() ? narrow(x, dim, 0, k) : x;
  };
  const Tensor u = first(all_u, -1);
  const Tensor vh = first(all_vh, -2);
  const Tensor grad_u = first(b.grad(0), -1);
  const Tensor& grad_s = b.grad(1);
  const Tensor grad_vh = first(b.grad(2), -2);
  if (!grad_u.defined() && !grad_vh.defined()) {
    b.set(0, matmul(mul(u, unsqueeze(grad_s, -2)), vh));
    return;
  }
  const Tensor apart = differences(square(s));
  Tensor middle;
  if (grad_s.defined()) middle = diag_embed(grad_s);
  if (grad_u.defined()) {
    const Tensor turn = skew(matmul(mH(u), grad_u));
    middle = plus(middle, mul(div(turn, apart), unsqueeze(s, -2)));
    if (grad_vh.defined() && is_complex(u.dtype())) {
      const Tensor phase = div(diagonal(turn, 0, -2, -1), mul(s, Scalar(2)));
      middle = add(middle, diag_embed(phase));
    }
  }
  if (grad_vh.defined()) {
    const Tensor turn = div(skew(matmul(vh, mH(grad_vh))), apart);
    middle = plus(middle, mul(unsqueeze(s, -1), turn));
  }
  // What of the gradients points out of the space of the singular vectors.
  Tensor left = matmul(u, middle);
  if (m > k && grad_u.defined()) {
    const Tensor scaled = div(grad_u, unsqueeze(s, -2));
    left = add(left, sub(scaled, matmul(u, matmul(mH(u), scaled))));
  }
  Tensor gradient = matmul(left, vh);
  if (n > k && grad_vh.defined()) {
    const Tensor scaled = div(grad_vh, unsqueeze(s, -1));
    gradient = add(gradient, matmul(u, sub(scaled, matmul(matmul(scaled, mH(vh)), vh))));
  }
  b.set(0, gradient);
}

// --- pseudoinverse, least squares, exponential ---

// Of a matrix that keeps its rank.
Tensor pinv_gradient(const Tensor& grad, const Tensor& inverse, const Tensor& A) {
  const Tensor inverse_h = mH(inverse);
  const Tensor grad_h = mH(grad);
  if (A.size(-2) <= A.size(-1)) {
    const Tensor inner = matmul(grad_h, inverse);
    const Tensor outer = matmul(inner, inverse_h);
    const Tensor kept = sub(outer, matmul(matmul(A, inverse), outer));
    const Tensor rest = matmul(matmul(inverse_h, inverse), sub(grad_h, matmul(inner, A)));
    return sub(add(kept, rest), mH(matmul(inverse, inner)));
  }
  const Tensor inner = matmul(inverse, grad_h);
  const Tensor outer = matmul(inverse_h, inner);
  const Tensor kept = sub(outer, matmul(matmul(outer, inverse), A));
  const Tensor rest = matmul(matmul(sub(grad_h, matmul(A, inner)), inverse), inverse_h);
  return sub(add(kept, rest), mH(matmul(inner, inverse)));
}

void pinv_(Backward& b,
           const Tensor& A,
           const TensorMeta&,
           const TensorMeta&,
           bool,
           const Tensor& inverse) {
  b.set(0, pinv_gradient(b.grad(), inverse, A));
}

void lstsq_(Backward& b, const Tensor& A, const Tensor& B, double, std::string_view) {
  if (!b.grad().defined()) return;
  const Tensor grad = narrow(b.grad(), -2, 0, A.size(-1));
  const Tensor inverse = linalg_pinv(A, std::optional<double>(), std::optional<double>());
  if (b.needs(0)) b.set(0, pinv_gradient(matmul(grad, mH(B)), inverse, A));
  if (b.needs(1)) b.set(1, matmul(mH(inverse), grad));
}

// The upper right block of the exponential of [[A*, G], [0, A*]] is the derivative along G.
void matrix_exp_(Backward& b, const Tensor& self) {
  const int64_t n = self.size(-1);
  const Tensor adjoint = mH(self);
  const Tensor upper[] = {adjoint, b.grad()};
  const Tensor lower[] = {zeros(self.sizes(), self.dtype(), self.device()), adjoint};
  const Tensor blocks[] = {cat(upper, -1), cat(lower, -1)};
  const Tensor whole = _linalg_matrix_exp(cat(blocks, -2));
  b.set(0, narrow(narrow(whole, -2, 0, n), -1, n, n));
}

}  // namespace

void define_linalg_decompose(Derivatives& derivatives) {
  derivatives.define<qr_>("_linalg_qr").named("LinalgQrBackward0");
  derivatives.define<householder_product_>("_linalg_householder_product")
      .named("LinalgHouseholderProductBackward0");
  derivatives.define<ormqr_>("_linalg_ormqr").named("OrmqrBackward0");
  derivatives.define<eigh_>("_linalg_eigh").named("LinalgEighBackward0");
  derivatives.define<eig_>("_linalg_eig").named("LinalgEigBackward0");
  derivatives.define<svd_>("_linalg_svd").named("LinalgSvdBackward0");
  derivatives.define<pinv_>("_linalg_pinv").named("LinalgPinvBackward0");
  derivatives.define<lstsq_>("_linalg_lstsq").named("LinalgLstsqBackward0");
  derivatives.define<matrix_exp_>("_linalg_matrix_exp").named("LinalgMatrixExpBackward0");
}

}  // namespace mindtorch::autograd
