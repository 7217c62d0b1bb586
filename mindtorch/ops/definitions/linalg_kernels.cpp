// What LAPACK computes: the ops that have kernels. Those that users call are made of these
// (linalg.cpp). `checked_as` is the name that an error begins with if a matrix does not allow the
// computation; without it no_matrix is raised, and `info` tells.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/linalg_checks.h"

namespace mindtorch::ops {
namespace {

using Name = std::optional<std::string_view>;

TensorSpec matrices_like(const Tensor& tensor) {
  return column_major_spec(tensor.sizes(), tensor.dtype(), tensor.device());
}
TensorSpec matrices(const Tensor& like, int64_t rows, int64_t columns) {
  return column_major_spec(with_dims(batch_shape(like), {rows, columns}), like.dtype(),
                           like.device());
}
TensorSpec vectors(const Tensor& like, int64_t length, DType dtype) {
  return contiguous_spec(with_dims(batch_shape(like), {length}), dtype, like.device());
}
TensorSpec numbers(const Tensor& like, DType dtype) {
  return contiguous_spec(batch_shape(like), dtype, like.device());
}
TensorSpec no_matrix(const Tensor& like) {
  return contiguous_spec({0}, like.dtype(), like.device());
}
int64_t rank_of(const Tensor& tensor) { return std::min(tensor.size(-2), tensor.size(-1)); }

// --- factors of square matrices, and solutions ---

SpecList inv(const Tensor& A, Name) {
  check_square("linalg.inv", A);
  check_precise("linalg.inv", A);
  return {matrices_like(A), numbers(A, DType::kInt32)};
}

SpecList cholesky(const Tensor& self, bool, Name) {
  check_square("linalg.cholesky", self);
  check_floating("linalg.cholesky", self);
  check_lapack_dtype("cholesky_cpu", self);
  return {matrices_like(self), numbers(self, DType::kInt32)};
}

SpecList lu_factor(const Tensor& A, Name) {
  MT_CHECK(A.dim() >= 2, RuntimeError,
           "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ",
           to_string(A.sizes()), " instead");
  check_lapack_dtype("lu_cpu", A);
  return {matrices_like(A), vectors(A, rank_of(A), DType::kInt32), numbers(A, DType::kInt32)};
}

TensorSpec permutation(const Tensor& pivots, int64_t n, DType dtype) {
  return contiguous_spec(with_dims(batch_shape(pivots, 1), {n, n}), dtype, pivots.device());
}

// X of A X = B lies in columns, of X A = B in rows.
TensorSpec solution_like(const Tensor& B, bool left) {
  return left ? matrices_like(B) : contiguous_spec(B.sizes(), B.dtype(), B.device());
}

TensorSpec lu_solve(const Tensor&, const Tensor&, const Tensor& B, bool left, bool) {
  return solution_like(B, left);
}

TensorSpec det(const Tensor& A) {
  check_square("linalg.det", A);
  check_floating("linalg.det", A);
  check_lapack_dtype("lu_cpu", A);
  return numbers(A, A.dtype());
}

SpecList slogdet(const Tensor& A) {
  check_square("linalg.slogdet", A);
  check_precise("linalg.slogdet", A);
  return {numbers(A, A.dtype()), numbers(A, real_dtype(A.dtype()))};
}

SpecList solve(const Tensor& A, const Tensor& B, bool left, Name) {
  check_lapack_dtype("linalg_solve_cpu", A);
  return {solution_like(B, left), matrices_like(A), vectors(A, A.size(-1), DType::kInt32),
          numbers(A, DType::kInt32)};
}

TensorSpec solve_triangular(const Tensor& A, const Tensor& B, bool, bool, bool) {
  check_lapack_dtype("triangular_solve_cpu", A);
  return matrices_like(B);
}

SpecList ldl_factor(const Tensor& self, bool, Name) {
  check_square("torch.linalg.ldl_factor_ex", self);
  check_floating("torch.linalg.ldl_factor_ex", self);
  check_lapack_dtype("ldl_factor_kernel_cpu", self);
  return {matrices_like(self), vectors(self, self.size(-1), DType::kInt32),
          numbers(self, DType::kInt32)};
}

TensorSpec ldl_solve(const Tensor&, const Tensor&, const Tensor& B, bool) {
  return matrices_like(B);
}

// --- other decompositions ---

SpecList qr(const Tensor& A, std::string_view mode) {
  check_is_matrix("linalg.qr", A);
  check_floating("linalg.qr", A);
  MT_CHECK(mode == "reduced" || mode == "complete" || mode == "r", RuntimeError,
           "qr received unrecognized mode '", mode,
           "' but expected one of 'reduced' (default), 'r', or 'complete'");
  check_lapack_dtype("geqrf_cpu", A);
  const int64_t rows = mode == "complete" ? A.size(-2) : rank_of(A);
  return {mode == "r" ? no_matrix(A) : matrices(A, A.size(-2), rows),
          matrices(A, rows, A.size(-1))};
}

SpecList geqrf(const Tensor& self) {
  MT_CHECK(self.dim() >= 2, RuntimeError, "torch.geqrf: input must have at least 2 dimensions.");
  check_lapack_dtype("geqrf_cpu", self);
  return {matrices_like(self), vectors(self, rank_of(self), self.dtype())};
}

TensorSpec householder_product(const Tensor& input, const Tensor&) {
  check_lapack_dtype("orgqr_cpu", input);
  return matrices_like(input);
}

TensorSpec ormqr(const Tensor& self, const Tensor&, const Tensor& other, bool, bool) {
  check_lapack_dtype("ormqr_cpu", self);
  return matrices_like(other);
}

SpecList eigh(const Tensor& A, std::string_view UPLO, bool compute_v) {
  check_square("linalg.eigh", A);
  MT_CHECK(UPLO.size() == 1 && std::string_view("LlUu").find(UPLO) != std::string_view::npos,
           RuntimeError, "Expected UPLO argument to be 'L' or 'U', but got ", UPLO);
  check_lapack_dtype("linalg_eigh_cpu", A);
  return {vectors(A, A.size(-1), real_dtype(A.dtype())),
          compute_v ? matrices_like(A) : no_matrix(A)};
}

SpecList eig(const Tensor& A, bool compute_v) {
  check_lapack_dtype("linalg_eig_out_cpu", A);
  const DType dtype = complex_dtype(A.dtype());
  TensorSpec eigenvectors = compute_v ? column_major_spec(A.sizes(), dtype, A.device())
                                      : contiguous_spec({0}, dtype, A.device());
  return {vectors(A, A.size(-1), dtype), std::move(eigenvectors)};
}

SpecList svd(const Tensor& A, bool full_matrices, bool compute_uv) {
  check_is_matrix("linalg.svd", A);
  check_floating("linalg.svd", A);
  check_lapack_dtype("linalg_svd_cpu", A);
  const int64_t rank = rank_of(A);
  TensorSpec values = vectors(A, rank, real_dtype(A.dtype()));
  if (!compute_uv) return {no_matrix(A), std::move(values), no_matrix(A)};
  return {matrices(A, A.size(-2), full_matrices ? A.size(-2) : rank), std::move(values),
          matrices(A, full_matrices ? A.size(-1) : rank, A.size(-1))};
}

// The solution lies in memory for the larger of a matrix's sizes, as LAPACK makes it.
SpecList lstsq(const Tensor& A, const Tensor& B, double, std::string_view driver) {
  const int64_t rank = rank_of(A);
  const int64_t rows = std::max(A.size(-2), A.size(-1));
  const bool has_values = driver == "gelsd" || driver == "gelss";
  return {matrices(A, rows, B.size(-1)),
          driver == "gels" ? contiguous_spec({0}, DType::kInt64, A.device())
                           : numbers(A, DType::kInt64),
          has_values ? vectors(A, rank, real_dtype(A.dtype()))
                     : contiguous_spec({0}, real_dtype(A.dtype()), A.device())};
}

TensorSpec pinv(const Tensor& A, const Tensor&, const Tensor&, bool) {
  return contiguous_spec(with_dims(batch_shape(A), {A.size(-1), A.size(-2)}), A.dtype(),
                         A.device());
}

TensorSpec matrix_exp(const Tensor& self) {
  return contiguous_spec(self.sizes(), self.dtype(), self.device());
}

}  // namespace

void define_linalg_kernels(Registry& ops) {
  ops.define<inv>("_linalg_inv(Tensor A, str? checked_as=None) -> (Tensor inverse, Tensor info)")
      .device_example("torch.linalg.inv(x[:, :2])")
      .checks_values()
      .internal();
  ops.define<cholesky>(
         "_linalg_cholesky(Tensor self, bool upper=False, str? checked_as=None) -> (Tensor L, "
         "Tensor info)")
      .device_example("torch.linalg.cholesky(x @ x.T)")
      .checks_values()
      .internal();
  ops.define<lu_factor>(
         "_linalg_lu_factor(Tensor A, str? checked_as=None) -> (Tensor LU, Tensor pivots, Tensor "
         "info)")
      .device_example("torch.linalg.lu_factor(x)")
      .checks_values()
      .internal();
  ops.define<permutation>("_linalg_permutation(Tensor pivots, int n, ScalarType dtype) -> Tensor")
      .device_example("torch.lu_unpack(x, places[0, 1:].int())")
      .checks_values()
      .not_differentiable()
      .internal();
  ops.define<lu_solve>(
         "_linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, bool left=True, bool "
         "adjoint=False) -> Tensor")
      .device_example("torch.linalg.lu_solve(x[:, :2], places[0, 1:].int(), x)")
      .internal();
  // The factors as _linalg_lu_solve takes them, or nothing.
  ops.define<det>("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)")
      .auxiliary(2)
      .device_example("torch.linalg.det(x[:, :2])")
      .internal();
  ops.define<slogdet>(
         "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)")
      .auxiliary(2)
      .device_example("torch.linalg.slogdet(x[:, :2])")
      .internal();
  ops.define<solve>(
         "_linalg_solve(Tensor A, Tensor B, bool left=True, str? checked_as=None) -> (Tensor "
         "result, Tensor LU, Tensor pivots, Tensor info)")
      .device_example("torch.linalg.solve(x[:, :2], x)")
      .checks_values()
      .internal();
  ops.define<solve_triangular>(
         "_linalg_solve_triangular(Tensor A, Tensor B, bool upper, bool left=True, bool "
         "unitriangular=False) -> Tensor")
      .device_example("torch.linalg.solve_triangular(x[:, :2], x, upper=False)")
      .internal();
  ops.define<ldl_factor>(
         "_linalg_ldl_factor(Tensor self, bool hermitian=False, str? checked_as=None) -> (Tensor "
         "LD, Tensor pivots, Tensor info)")
      .device_example("torch.linalg.ldl_factor(x[:, :2])")
      .checks_values()
      .internal();
  ops.define<ldl_solve>(
         "_linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian=False) -> Tensor")
      .device_example("torch.linalg.ldl_solve(x[:, :2], places[0, 1:].int(), x)")
      .internal();
  ops.define<qr>("_linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)")
      .device_example("torch.linalg.qr(x)")
      .internal();
  ops.define<geqrf>("_linalg_geqrf(Tensor self) -> (Tensor a, Tensor tau)")
      .device_example("torch.geqrf(x)")
      .internal();
  ops.define<householder_product>("_linalg_householder_product(Tensor input, Tensor tau) -> Tensor")
      .device_example("torch.linalg.householder_product(x.T, x[0, :2])")
      .internal();
  ops.define<ormqr>(
         "_linalg_ormqr(Tensor self, Tensor tau, Tensor other, bool left=True, bool "
         "transpose=False) -> Tensor")
      .device_example("torch.ormqr(x.T, x[0, :2], x.T)")
      .internal();
  ops.define<eigh>(
         "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor "
         "eigenvectors)")
      .device_example("torch.linalg.eigh(x[:, :2])")
      .checks_values()
      .internal();
  ops.define<eig>(
         "_linalg_eig(Tensor A, bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)")
      .device_example("torch.linalg.eig(x[:, :2])")
      .checks_values()
      .internal();
  ops.define<svd>(
         "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True) -> (Tensor U, "
         "Tensor S, Tensor Vh)")
      .device_example("torch.linalg.svd(x)")
      .checks_values()
      .internal();
  ops.define<lstsq>(
         "_linalg_lstsq(Tensor A, Tensor B, float rcond, str driver) -> (Tensor solution, Tensor "
         "rank, Tensor singular_values)")
      .device_example("torch.linalg.lstsq(x, x)")
      .checks_values()
      .internal();
  ops.define<pinv>(
         "_linalg_pinv(Tensor A, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> "
         "Tensor")
      .device_example("torch.linalg.pinv(x)")
      .checks_values()
      .internal();
  ops.define<matrix_exp>("_linalg_matrix_exp(Tensor self) -> Tensor")
      .device_example("torch.linalg.matrix_exp(x[:, :2])")
      .internal();
}

}  // namespace mindtorch::ops
