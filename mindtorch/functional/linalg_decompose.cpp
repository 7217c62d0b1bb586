// Orthogonal factors, eigenvalues, singular values, least squares: names and checks around the ops
// with kernels.
#include <limits>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/linalg.h"

namespace mindtorch::functional {
namespace {

using ops::batch_shape;
using ops::check_floating;
using ops::check_is_matrix;
using ops::check_lapack_dtype;
using ops::check_square;
using ops::with_dims;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

// --- orthogonal factors ---

Two linalg_qr(const Tensor& A, std::string_view mode) { return _linalg_qr(A, mode); }
Two qr(const Tensor& self, bool some) { return _linalg_qr(self, some ? "reduced" : "complete"); }
Two geqrf(const Tensor& self) { return _linalg_geqrf(self); }

void check_batch(const char* name, const char* other, const Shape& found, const Tensor& input) {
  MT_CHECK(found == batch_shape(input), RuntimeError, name, ": Expected batch dimensions of ",
           other, " to be equal to input.shape[:-2], but got ", to_string(found));
}

Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  constexpr const char* kName = "torch.linalg.householder_product";
  MT_CHECK(input.dim() >= 2, RuntimeError, kName, ": input must have at least 2 dimensions.");
  MT_CHECK(input.size(-2) >= input.size(-1), RuntimeError, kName,
           ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  MT_CHECK(input.size(-1) >= tau.size(-1), RuntimeError, kName,
           ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  MT_CHECK(input.dim() - tau.dim() == 1, RuntimeError, kName,
           ": Expected tau to have one dimension less than input, but got tau.ndim equal to ",
           tau.dim(), " and input.ndim is equal to ", input.dim());
  check_batch(kName, "tau", batch_shape(tau, 1), input);
  MT_CHECK(tau.dtype() == input.dtype(), RuntimeError, kName, ": tau dtype ",
           legacy_name(tau.dtype()), " does not match input dtype ", legacy_name(input.dtype()));
  return _linalg_householder_product(input, tau);
}

Tensor ormqr(
    const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transpose) {
  constexpr const char* kName = "torch.ormqr";
  const Tensor& tau = input2;
  const Tensor& other = input3;
  MT_CHECK(self.dim() >= 2, RuntimeError, kName, ": input must have at least 2 dimensions.");
  MT_CHECK(other.dim() >= 2, RuntimeError, kName, ": other must have at least 2 dimensions.");
  const int64_t side = left ? -2 : -1;
  MT_CHECK(other.size(side) >= tau.size(-1), RuntimeError, kName, ": other.shape[", side,
           "] must be greater than or equal to tau.shape[-1]");
  MT_CHECK(other.size(side) == self.size(-2), RuntimeError, kName, ": other.shape[", side,
           "] must be equal to input.shape[-2]");
  MT_CHECK(tau.size(-1) == std::min(other.size(side), self.size(-1)), RuntimeError, kName,
           ": tau.shape[-1] must be equal to min(other.shape[", side, "], input.shape[-1])");
  MT_CHECK(self.dim() - tau.dim() == 1, RuntimeError, kName,
           ": Expected tau to have one dimension less than input, but got tau.ndim equal to ",
           tau.dim(), " and input.ndim is equal to ", self.dim());
  MT_CHECK(self.dim() == other.dim(), RuntimeError, kName,
           ": Expected other to have the same number of dimensions as input, but got other.ndim "
           "equal to ",
           other.dim(), " and input.ndim is equal to ", self.dim());
  check_batch(kName, "tau", batch_shape(tau, 1), self);
  check_batch(kName, "other", batch_shape(other), self);
  for (const auto& [what, tensor] : {std::pair{"tau", &tau}, std::pair{"other", &other}}) {
    MT_CHECK(tensor->dtype() == self.dtype(), RuntimeError, kName, ": Expected input and ", what,
             " to have the same dtype, but input has dtype", legacy_name(self.dtype()), " and ",
             what, " has dtype ", legacy_name(tensor->dtype()));
  }
  return _linalg_ormqr(self, tau, other, left, transpose);
}

// --- eigenvalues and singular values ---

Two linalg_eigh(const Tensor& self, std::string_view UPLO) { return _linalg_eigh(self, UPLO); }
// Their derivative needs the vectors.
Tensor linalg_eigvalsh(const Tensor& self, std::string_view UPLO) {
  return std::get<0>(_linalg_eigh(self, UPLO, may_record(self)));
}

void check_eig(const char* name, const Tensor& A) {
  check_square(name, A);
  MT_CHECK(is_differentiable(A.dtype()), RuntimeError, "Unknown Complex ScalarType for ",
           legacy_name(A.dtype()));
}
Two linalg_eig(const Tensor& self) {
  check_eig("linalg.eig", self);
  return _linalg_eig(self);
}
Tensor linalg_eigvals(const Tensor& self) {
  check_eig("linalg.eigvals", self);
  return std::get<0>(_linalg_eig(self, may_record(self)));
}

void check_driver(std::optional<std::string_view> driver) {
  MT_CHECK(!driver, RuntimeError,
           "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
           "cuSOLVER backend.");
}
Three linalg_svd(const Tensor& A, bool full_matrices, std::optional<std::string_view> driver) {
  check_driver(driver);
  return _linalg_svd(A, full_matrices);
}
Tensor linalg_svdvals(const Tensor& A, std::optional<std::string_view> driver) {
  check_driver(driver);
  return std::get<1>(_linalg_svd(A, false, may_record(A)));
}
Three svd(const Tensor& self, bool some, bool compute_uv) {
  MT_CHECK(self.dim() >= 2, RuntimeError,
           "linalg.svd: input should have at least 2 dimensions, but has ", self.dim(),
           " dimensions instead");
  if (compute_uv) {
    auto [u, s, vh] = _linalg_svd(self, !some);
    return {u, s, mH(vh)};
  }
  const auto zeros_of = [&](int64_t n) {
    return zeros(with_dims(batch_shape(self), {n, n}), self.dtype(), self.device());
  };
  const Tensor s = std::get<1>(_linalg_svd(self, false, may_record(self)));
  return {zeros_of(self.size(-2)), s, zeros_of(self.size(-1))};
}

// --- what is made of singular values ---

double epsilon(DType dtype) {
  return real_dtype(dtype) == DType::kFloat64
             ? std::numeric_limits<double>::epsilon()
             : static_cast<double>(std::numeric_limits<float>::epsilon());
}
Tensor number(double value, const Tensor& like) {
  return full({}, Scalar(value), real_dtype(like.dtype()), like.device());
}
double default_rtol(const Tensor& A) {
  return epsilon(A.dtype()) * static_cast<double>(std::max(A.size(-2), A.size(-1)));
}

struct Tolerances {
  Tensor atol;
  Tensor rtol;
};
// What counts as zero unless something is said: a little more than rounding makes.
Tolerances tolerances(const Tensor& A, std::optional<double> atol, std::optional<double> rtol) {
  const double relative = rtol.value_or(atol.value_or(0.0) > 0.0 ? 0.0 : default_rtol(A));
  return {number(atol.value_or(0.0), A), number(relative, A)};
}
Tolerances tolerances(const char* name, const Tensor& A, const Tensor& atol, const Tensor& rtol) {
  for (const auto& [what, tensor] : {std::pair{"atol", &atol}, std::pair{"rtol", &rtol}}) {
    MT_CHECK(!tensor->defined() || is_floating_point(tensor->dtype()) ||
                 is_integral(tensor->dtype(), true),
             RuntimeError, name, ": ", what, " tensor of complex type is not supported. Got ",
             tensor->defined() ? legacy_name(tensor->dtype()) : "");
  }
  if (rtol.defined()) return {atol.defined() ? atol : number(0.0, A), rtol};
  if (!atol.defined()) return tolerances(A, std::nullopt, std::nullopt);
  const Tensor usual = full(atol.sizes(), Scalar(default_rtol(A)), DType::kFloat64, A.device());
  return {atol, masked_fill(usual, gt(atol, Scalar(0)), Scalar(0))};
}

Tensor pinv(const Tensor& A, const Tolerances& least, bool hermitian) {
  if (hermitian) {
    check_square("linalg.eigh", A);
  }
  // Tolerances that are tensors broadcast with the batch.
  const Shape batch =
      broadcast_shapes(batch_shape(A), broadcast_shapes(least.atol.sizes(), least.rtol.sizes()));
  const auto whole = [&](const Tensor& tolerance) {
    return tolerance.numel() == 1 ? tolerance : expand(tolerance, batch);
  };
  const Tensor matrices =
      batch == batch_shape(A) ? A : expand(A, with_dims(batch, {A.size(-2), A.size(-1)}));
  return _linalg_pinv(matrices, whole(least.atol), whole(least.rtol), hermitian);
}
void check_pinv(const Tensor& A) {
  MT_CHECK(A.dim() >= 2 && ops::is_lapack_dtype(A.dtype()), RuntimeError, "linalg.pinv(",
           legacy_name(A.dtype()), "{", to_string(A.sizes()),
           "}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble "
           "types");
}
Tensor pinv_float(const Tensor& self,
                  std::optional<double> atol,
                  std::optional<double> rtol,
                  bool hermitian) {
  check_pinv(self);
  return pinv(self, tolerances(self, atol, rtol), hermitian);
}
Tensor pinv_tensor(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  check_pinv(self);
  return pinv(self, tolerances("linalg.pinv", self, atol, rtol), hermitian);
}
Tensor pinv_rcond(const Tensor& self, double rcond, bool hermitian) {
  return pinv_float(self, 0.0, rcond, hermitian);
}
Tensor pinv_rcond_tensor(const Tensor& self, const Tensor& rcond, bool hermitian) {
  return pinv_tensor(self, number(0.0, self), rcond, hermitian);
}
Tensor pinverse(const Tensor& self, double rcond) { return pinv_float(self, 0.0, rcond, false); }

// How many singular values count.
Tensor rank_of(const Tensor& A, const Tolerances& least, bool hermitian) {
  const Tensor s = hermitian ? abs(mindtorch::linalg_eigvalsh(A)) : mindtorch::linalg_svdvals(A);
  if (s.size(-1) == 0) return zeros(batch_shape(A), DType::kInt64, A.device());
  const Tensor limit = maximum(least.atol, mul(least.rtol, amax(s, IntList{-1})));
  return sum(gt(s, unsqueeze(limit, -1)), IntList{-1}, false, DType::kInt64);
}
void check_rank(const Tensor& A) {
  check_is_matrix("torch.linalg.matrix_rank", A, "input");
  MT_CHECK(ops::is_lapack_dtype(A.dtype()), RuntimeError,
           "This function doesn't handle types other than float and double");
}
Tensor rank_float(const Tensor& self,
                  std::optional<double> atol,
                  std::optional<double> rtol,
                  bool hermitian) {
  check_rank(self);
  return rank_of(self, tolerances(self, atol, rtol), hermitian);
}
Tensor rank_tensor(const Tensor& input, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  check_rank(input);
  return rank_of(input, tolerances("torch.linalg.matrix_rank", input, atol, rtol), hermitian);
}
Tensor rank_tol(const Tensor& self, double tol, bool hermitian) {
  return rank_float(self, tol, 0.0, hermitian);
}
Tensor rank_tol_tensor(const Tensor& input, const Tensor& tol, bool hermitian) {
  check_rank(input);
  return rank_tensor(input, tol, number(0.0, input), hermitian);
}

// --- least squares ---

std::string_view driver_of(std::optional<std::string_view> driver) {
  constexpr std::string_view kDrivers[] = {"gels", "gelsy", "gelsd", "gelss"};
  const std::string_view name = driver.value_or("gelsy");
  MT_CHECK(std::ranges::find(kDrivers, name) != std::end(kDrivers), RuntimeError,
           "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  return name;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& self,
                                                        const Tensor& b,
                                                        std::optional<double> rcond,
                                                        std::optional<std::string_view> driver) {
  constexpr const char* kName = "torch.linalg.lstsq";
  MT_CHECK(self.dim() >= 2, RuntimeError, kName, ": input must have at least 2 dimensions.");
  MT_CHECK(b.dim() >= 1, RuntimeError, kName, ": other must have at least 1 dimension.");
  MT_CHECK(self.dtype() == b.dtype(), RuntimeError, kName,
           ": Expected input and other to have the same dtype, but got input's dtype ",
           legacy_name(self.dtype()), " and other's dtype ", legacy_name(b.dtype()));
  const int64_t fewer = self.dim() - b.dim();
  MT_CHECK(fewer >= 0 && fewer <= 1, RuntimeError, kName,
           ": input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
           "<= 1");
  const bool vectors = fewer == 1;
  const Tensor columns = vectors ? unsqueeze(b, -1) : b;
  const int64_t m = self.size(-2);
  const int64_t n = self.size(-1);
  MT_CHECK(m == columns.size(-2), RuntimeError, kName,
           vectors ? ": input.size(-2) should match other.size(-1)"
                   : ": input.size(-2) should match other.size(-2)");
  const std::string_view way = driver_of(driver);
  MT_CHECK(ops::is_lapack_dtype(self.dtype()), RuntimeError,
           "This function doesn't handle types other than float and double");
  const Shape batch = broadcast_shapes(batch_shape(self), batch_shape(columns));
  const Tensor a = expand_batch(self, batch);
  const Tensor rhs = expand_batch(columns, batch);
  const auto [all, rank, singular_values] =
      _linalg_lstsq(a, rhs, rcond.value_or(default_rtol(self)), way);
  Tensor solution = narrow(all, -2, 0, n);
  // Where every matrix has full rank, the rest of what LAPACK leaves are the residuals.
  Tensor residuals = empty({0}, real_dtype(self.dtype()), self.device());
  const bool asks_rank = m > n && way != "gelsy" && !self.device().is_meta();
  if (asks_rank && (way == "gels" || item(mindtorch::all(eq(rank, Scalar(n)))).to_bool())) {
    residuals = sum(square(abs(sub(matmul(a, solution), rhs))), IntList{-2});
  }
  if (vectors) solution = squeeze(solution, -1);
  return {solution, residuals, rank, singular_values};
}

}  // namespace

void compose_linalg_decompose(ops::Registry& registry) {
  registry.composite<linalg_qr>("linalg_qr");
  registry.composite<qr>("qr");
  registry.composite<geqrf>("geqrf");
  registry.composite<linalg_householder_product>("linalg_householder_product");
  registry.composite<linalg_householder_product>("orgqr");
  registry.composite<ormqr>("ormqr");
  registry.composite<linalg_eigh>("linalg_eigh");
  registry.composite<linalg_eigvalsh>("linalg_eigvalsh");
  registry.composite<linalg_eig>("linalg_eig");
  registry.composite<linalg_eigvals>("linalg_eigvals");
  registry.composite<linalg_svd>("linalg_svd");
  registry.composite<linalg_svdvals>("linalg_svdvals");
  registry.composite<svd>("svd");
  registry.composite<pinv_float>("linalg_pinv.atol_rtol_float");
  registry.composite<pinv_tensor>("linalg_pinv.atol_rtol_tensor");
  registry.composite<pinv_rcond>("linalg_pinv");
  registry.composite<pinv_rcond_tensor>("linalg_pinv.rcond_tensor");
  registry.composite<pinverse>("pinverse");
  registry.composite<rank_float>("linalg_matrix_rank.atol_rtol_float");
  registry.composite<rank_tensor>("linalg_matrix_rank.atol_rtol_tensor");
  registry.composite<rank_tol>("linalg_matrix_rank");
  registry.composite<rank_tol_tensor>("linalg_matrix_rank.tol_tensor");
  registry.composite<linalg_lstsq>("linalg_lstsq");
}

}  // namespace mindtorch::functional
