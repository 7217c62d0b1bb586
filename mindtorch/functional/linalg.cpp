// Factors, inverses, determinants, solutions: names and checks around the ops with kernels.
#include "mindtorch/functional/linalg.h"

#include <limits>

#include "mindtorch/functional/composites.h"

namespace mindtorch::functional {
namespace {

using ops::batch_shape;
using ops::check_floating;
using ops::check_is_matrix;
using ops::check_lapack_dtype;
using ops::check_precise;
using ops::check_square;
using Name = std::optional<std::string_view>;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Name name_if(bool check_errors, std::string_view name) {
  return check_errors ? Name(name) : std::nullopt;
}

// --- factors and inverses ---

Two linalg_inv_ex(const Tensor& A, bool check_errors) {
  return _linalg_inv(A, name_if(check_errors, "linalg.inv_ex"));
}
Tensor linalg_inv(const Tensor& A) { return std::get<0>(_linalg_inv(A, "linalg.inv")); }

Two linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  return _linalg_cholesky(self, upper, name_if(check_errors, "linalg.cholesky_ex"));
}
Tensor linalg_cholesky(const Tensor& self, bool upper) {
  return std::get<0>(_linalg_cholesky(self, upper, "linalg.cholesky"));
}
Tensor cholesky(const Tensor& self, bool upper) {
  check_square("cholesky", self);
  check_lapack_dtype("cholesky_cpu", self);
  return std::get<0>(_linalg_cholesky(self, upper, "cholesky"));
}

void check_pivot(const Tensor& A, bool pivot) {
  MT_CHECK(pivot || !A.device().is_cpu(), RuntimeError,
           "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}
Three linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) {
  check_pivot(A, pivot);
  return _linalg_lu_factor(A, name_if(check_errors, "torch.linalg.lu_factor_ex"));
}
Two linalg_lu_factor(const Tensor& A, bool pivot) {
  check_pivot(A, pivot);
  auto [lu, pivots, info] = _linalg_lu_factor(A, "torch.linalg.lu_factor");
  return {lu, pivots};
}

Three unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  const int64_t m = lu.size(-2);
  const int64_t n = lu.size(-1);
  const int64_t k = std::min(m, n);
  const Tensor none = empty({0}, lu.dtype(), lu.device());
  Tensor p = none, l = none, u = none;
  if (unpack_data) {
    const Tensor ones = eye(m, k, lu.dtype(), lu.device());
    const Tensor below = tril(n > k ? narrow(lu, -1, 0, k) : lu, -1);
    // A sum with true is what bool has for putting ones into a diagonal of zeros.
    l = contiguous(lu.dtype() == DType::kBool ? logical_or(below, ones) : add(below, ones));
    u = contiguous(triu(m > k ? narrow(lu, -2, 0, k) : lu));
  }
  if (unpack_pivots) {
    const bool has_kernel = ops::is_lapack_dtype(lu.dtype());
    p = _linalg_permutation(pivots, m, has_kernel ? lu.dtype() : DType::kFloat32);
    if (!has_kernel) p = _to_copy(p, lu.dtype());
  }
  return {p, l, u};
}
Three lu_unpack(const Tensor& LU_data,
                const Tensor& LU_pivots,
                bool unpack_data,
                bool unpack_pivots) {
  MT_CHECK(LU_data.dim() >= 2, RuntimeError,
           "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: ",
           to_string(LU_data.sizes()), " instead");
  MT_CHECK(!unpack_pivots || LU_pivots.dtype() == DType::kInt32, RuntimeError,
           "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
           "dtype.\nNote: this function is intended to be used with the output produced by "
           "torch.linalg.lu_factor");
  return unpack(LU_data, LU_pivots, unpack_data, unpack_pivots);
}
Three linalg_lu(const Tensor& A, bool pivot) {
  MT_CHECK(A.dim() >= 2, RuntimeError,
           "linalg.lu: Expected tensor with 2 or more dimensions. Got size: ", to_string(A.sizes()),
           " instead");
  check_pivot(A, pivot);
  const auto [lu, pivots, info] = _linalg_lu_factor(A);
  return unpack(lu, pivots, true, true);
}

Three linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) {
  return _linalg_ldl_factor(self, hermitian, name_if(check_errors, "torch.linalg.ldl_factor_ex"));
}
Two linalg_ldl_factor(const Tensor& self, bool hermitian) {
  auto [factors, pivots, info] = _linalg_ldl_factor(self, hermitian, "torch.linalg.ldl_factor");
  return {factors, pivots};
}

// --- determinants ---

Tensor linalg_det(const Tensor& A) { return std::get<0>(_linalg_det(A)); }
Two linalg_slogdet(const Tensor& A) {
  auto [sign, logabsdet, lu, pivots] = _linalg_slogdet(A);
  return {sign, logabsdet};
}
Tensor logdet(const Tensor& self) {
  check_square("logdet", self);
  check_precise("logdet", self);
  const auto [sign, logabsdet] = mindtorch::linalg_slogdet(self);
  if (is_complex(sign.dtype())) return add(logabsdet, log(sign));
  // A negative number has no logarithm.
  const Tensor is_negative = eq(sign, Scalar(-1));
  return masked_fill(logabsdet, is_negative, Scalar(std::numeric_limits<double>::quiet_NaN()));
}

// --- solutions ---

void check_same_dtype(std::string_view name, const Tensor& A, const Tensor& B, const char* first) {
  MT_CHECK(A.dtype() == B.dtype(), RuntimeError, name, ": Expected ", first,
           " and B to have the same dtype, but found ", first, " of type ", legacy_name(A.dtype()),
           " and B of type ", legacy_name(B.dtype()), " instead");
}
void check_equation(std::string_view name, const Tensor& A, const Tensor& B, bool left) {
  check_is_matrix(name, B, "B");
  check_square(name, A);
  MT_CHECK(left ? A.size(-2) == B.size(-2) : A.size(-1) == B.size(-1), RuntimeError, name,
           ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (",
           A.size(-2), "x", A.size(-1), " and ", B.size(-2), "x", B.size(-1), ")");
}
Shape common_batch(const Tensor& A, const Tensor& B) {
  return broadcast_shapes(batch_shape(B), batch_shape(A));
}

// B is one vector, or has one for each matrix.
bool has_vectors(const Tensor& A, const Tensor& B) {
  if (B.dim() == 1) return true;
  return B.dim() == A.dim() - 1 &&
         std::equal(B.sizes().begin(), B.sizes().end(), A.sizes().begin());
}

Two solve(const Tensor& A, const Tensor& B, bool left, Name checked_as) {
  check_square("linalg.solve", A);
  check_floating("linalg.solve", A);
  check_same_dtype("linalg.solve", A, B, "A");
  const bool vectors = has_vectors(A, B);
  const Tensor columns = vectors ? unsqueeze(B, -1) : B;
  check_equation("linalg.solve", A, columns, left);
  check_lapack_dtype("lu_cpu", A);
  const Tensor b = expand_batch(columns, common_batch(A, columns));
  const auto [x, lu, pivots, info] = _linalg_solve(A, b, left, checked_as);
  return {vectors ? squeeze(x, -1) : x, info};
}
Two linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  return solve(A, B, left, name_if(check_errors, "torch.linalg.solve_ex"));
}
Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  return std::get<0>(solve(A, B, left, "torch.linalg.solve"));
}

Tensor linalg_lu_solve(
    const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  check_square("torch.linalg.lu_solve", LU);
  check_floating("torch.linalg.lu_solve", LU);
  check_same_dtype("linalg.lu_solve", LU, B, "LU");
  MT_CHECK(pivots.dtype() == DType::kInt32, RuntimeError,
           "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  check_equation("linalg.lu_solve", LU, B, left);
  MT_CHECK(pivots.dim() > 0 && pivots.size(-1) == LU.size(-1), RuntimeError,
           "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
           "matrix");
  MT_CHECK(equal(IntList(LU.sizes()).first(LU.sizes().size() - 1), pivots.sizes()), RuntimeError,
           "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
           "pivots with shape ",
           to_string(pivots.sizes()), " instead");
  check_lapack_dtype("linalg.lu_solve_cpu", LU);
  const Shape batch = common_batch(LU, B);
  const Shape pivot_sizes = ops::with_dims(batch, {LU.size(-1)});
  return _linalg_lu_solve(expand_batch(LU, batch),
                          pivots.sizes() == pivot_sizes ? pivots : expand(pivots, pivot_sizes),
                          expand_batch(B, batch), left, adjoint);
}
Tensor lu_solve(const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots) {
  return mindtorch::linalg_lu_solve(LU_data, LU_pivots, self);
}

Tensor linalg_solve_triangular(
    const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) {
  check_equation("linalg.solve_triangular", self, B, left);
  const Shape batch = common_batch(self, B);
  return _linalg_solve_triangular(expand_batch(self, batch), expand_batch(B, batch), upper, left,
                                  unitriangular);
}

// What the older functions say of their arguments.
void check_old_equation(const char* name, const Tensor& B, const Tensor& A) {
  MT_CHECK(A.dtype() == B.dtype(), RuntimeError,
           "Expected b and A to have the same dtype, but found b of type ", legacy_name(B.dtype()),
           " and A of type ", legacy_name(A.dtype()), " instead.");
  MT_CHECK(A.size(-1) == A.size(-2), RuntimeError,
           "A must be batches of square matrices, but they are ", A.size(-2), " by ", A.size(-1),
           " matrices");
  MT_CHECK(A.size(-2) == B.size(-2), RuntimeError, "Incompatible matrix sizes for ", name,
           ": each A matrix is ", A.size(-1), " by ", A.size(-1), " but each b matrix is ",
           B.size(-2), " by ", B.size(-1));
}

Two triangular_solve(
    const Tensor& self, const Tensor& A, bool upper, bool transpose, bool unitriangular) {
  for (const auto& [name, tensor] : {std::pair{"b", &self}, std::pair{"A", &A}}) {
    MT_CHECK(tensor->dim() >= 2, RuntimeError, "torch.triangular_solve: Expected ", name,
             " to have at least 2 dimensions, but it has ", tensor->dim(), " dimensions instead");
  }
  check_old_equation("triangular_solve", self, A);
  const Shape batch = common_batch(A, self);
  const Tensor a = expand_batch(A, batch);
  const Tensor x = _linalg_solve_triangular(transpose ? mT(a) : a, expand_batch(self, batch),
                                            upper != transpose, true, unitriangular);
  return {x, mT(contiguous(mT(a)))};
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  MT_CHECK(self.dim() >= 2, RuntimeError, "b should have at least 2 dimensions, but has ",
           self.dim(), " dimensions instead");
  MT_CHECK(input2.dim() >= 2, RuntimeError, "u should have at least 2 dimensions, but has ",
           input2.dim(), " dimensions instead");
  check_old_equation("cholesky_solve", self, input2);
  check_lapack_dtype("cholesky_solve_cpu", self);
  const Shape batch = common_batch(input2, self);
  const Tensor factor = expand_batch(input2, batch);
  const Tensor first =
      _linalg_solve_triangular(upper ? mH(factor) : factor, expand_batch(self, batch), false);
  return _linalg_solve_triangular(upper ? factor : mH(factor), first, true);
}
Tensor cholesky_inverse(const Tensor& self, bool upper) {
  check_square("cholesky_inverse", self);
  check_lapack_dtype("cholesky_inverse_out_cpu", self);
  const Tensor identity = expand(eye(self.size(-1), self.dtype(), self.device()), self.sizes());
  return mindtorch::cholesky_solve(identity, self, upper);
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  check_square("torch.linalg.ldl_solve", LD);
  check_floating("torch.linalg.ldl_solve", LD);
  check_old_equation("torch.linalg.ldl_solve", B, LD);
  MT_CHECK(is_integral(pivots.dtype()), RuntimeError,
           "torch.linalg.ldl_solve: Expected pivots to be integers. Got ",
           legacy_name(pivots.dtype()));
  MT_CHECK(equal(IntList(LD.sizes()).first(LD.sizes().size() - 1), pivots.sizes()), RuntimeError,
           "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but "
           "got pivots with shape ",
           to_string(pivots.sizes()), " instead");
  check_lapack_dtype("ldl_solve_kernel_cpu", LD);
  const Shape batch = common_batch(LD, B);
  return _linalg_ldl_solve(
      expand_batch(LD, batch),
      expand(_to_copy(pivots, DType::kInt32), ops::with_dims(batch, {LD.size(-1)})),
      expand_batch(B, batch), hermitian);
}

}  // namespace

void compose_linalg(ops::Registry& registry) {
  registry.composite<linalg_inv>("linalg_inv");
  registry.composite<linalg_inv>("inverse");
  registry.composite<linalg_inv_ex>("linalg_inv_ex");
  registry.composite<linalg_cholesky>("linalg_cholesky");
  registry.composite<linalg_cholesky_ex>("linalg_cholesky_ex");
  registry.composite<cholesky>("cholesky");
  registry.composite<linalg_lu_factor>("linalg_lu_factor");
  registry.composite<linalg_lu_factor_ex>("linalg_lu_factor_ex");
  registry.composite<linalg_lu>("linalg_lu");
  registry.composite<lu_unpack>("lu_unpack");
  registry.composite<linalg_ldl_factor>("linalg_ldl_factor");
  registry.composite<linalg_ldl_factor_ex>("linalg_ldl_factor_ex");
  registry.composite<linalg_det>("linalg_det");
  registry.composite<linalg_det>("det");
  registry.composite<linalg_slogdet>("linalg_slogdet");
  registry.composite<linalg_slogdet>("slogdet");
  registry.composite<logdet>("logdet");
  registry.composite<linalg_solve>("linalg_solve");
  registry.composite<linalg_solve_ex>("linalg_solve_ex");
  registry.composite<linalg_lu_solve>("linalg_lu_solve");
  registry.composite<lu_solve>("lu_solve");
  registry.composite<linalg_solve_triangular>("linalg_solve_triangular");
  registry.composite<triangular_solve>("triangular_solve");
  registry.composite<cholesky_solve>("cholesky_solve");
  registry.composite<cholesky_inverse>("cholesky_inverse");
  registry.composite<linalg_ldl_solve>("linalg_ldl_solve");
}

}  // namespace mindtorch::functional
