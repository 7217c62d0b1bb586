// Reductions made of other ops.
#include <cmath>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

Scalar correction(bool unbiased) { return unbiased ? 1 : 0; }

Tensor var_all(const Tensor& self, bool unbiased) {
  return mindtorch::var(self, std::nullopt, correction(unbiased), false);
}
Tensor var_dim(const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) {
  return mindtorch::var(self, dim, std::optional<Scalar>(correction(unbiased)), keepdim);
}
Tensor std_all(const Tensor& self, bool unbiased) {
  return mindtorch::std(self, std::nullopt, correction(unbiased), false);
}
Tensor std_dim(const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) {
  return mindtorch::std(self, dim, std::optional<Scalar>(correction(unbiased)), keepdim);
}

using Pair = std::tuple<Tensor, Tensor>;

Pair var_mean_all(const Tensor& self, bool unbiased) {
  return mindtorch::var_mean(self, std::nullopt, correction(unbiased), false);
}
Pair var_mean_dim(const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) {
  return mindtorch::var_mean(self, dim, std::optional<Scalar>(correction(unbiased)), keepdim);
}
Pair std_mean_all(const Tensor& self, bool unbiased) {
  return mindtorch::std_mean(self, std::nullopt, correction(unbiased), false);
}
Pair std_mean_dim(const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) {
  return mindtorch::std_mean(self, dim, std::optional<Scalar>(correction(unbiased)), keepdim);
}

Tensor nanmean(const Tensor& self,
               std::optional<IntList> dim,
               bool keepdim,
               std::optional<DType> dtype) {
  MT_CHECK(is_floating_point(self.dtype()), RuntimeError,
           "nanmean(): expected input to have floating point or complex dtype but got ",
           legacy_name(self.dtype()));
  MT_CHECK(!dtype || is_floating_point(*dtype), RuntimeError,
           "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
           "point or complex dtype. Got: ",
           legacy_name(*dtype));
  const Tensor count = mindtorch::sum(logical_not(isnan(self)), dim, keepdim);
  return div(mindtorch::nansum(self, dim, keepdim, dtype), count);
}

Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  return mindtorch::sum(ne(self, Scalar(0)), dim ? IntList(&*dim, 1) : IntList());
}
Tensor count_nonzero_dims(const Tensor& self, IntList dim) {
  return mindtorch::sum(ne(self, Scalar(0)), dim);
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return linalg_vector_norm(sub(self, other), p);
}

bool equal(const Tensor& self, const Tensor& other) {
  if (self.sizes() != other.sizes()) return false;
  if (self.numel() == 0) return true;
  return item(mindtorch::all(eq(self, other))).to_bool();
}

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  MT_CHECK(self.dtype() == other.dtype(), RuntimeError, legacy_name(self.dtype()),
           " did not match ", legacy_name(other.dtype()));
  MT_CHECK(rtol >= 0, RuntimeError, "rtol must be greater than or equal to zero, but got ", rtol);
  MT_CHECK(atol >= 0, RuntimeError, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = eq(self, other);
  if (is_differentiable(self.dtype()) && equal_nan) {
    close = logical_or(close, logical_and(isnan(self), isnan(other)));
  }
  if (rtol == 0 && atol == 0) return close;
  const Tensor a = is_differentiable(self.dtype()) ? self : _to_copy(self, default_dtype());
  const Tensor b = is_differentiable(self.dtype()) ? other : _to_copy(other, default_dtype());
  const Tensor allowed = add(abs(mul(b, Scalar(rtol))), Scalar(atol));
  const Tensor error = abs(sub(a, b));
  return logical_or(close, logical_and(isfinite(error), le(error, allowed)));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return item(mindtorch::all(mindtorch::isclose(self, other, rtol, atol, equal_nan))).to_bool();
}

}  // namespace

void compose_reduce(ops::Registry& registry) {
  registry.composite<var_all>("var");
  registry.composite<var_dim>("var.dim");
  registry.composite<std_all>("std");
  registry.composite<std_dim>("std.dim");
  registry.composite<var_mean_all>("var_mean");
  registry.composite<var_mean_dim>("var_mean.dim");
  registry.composite<std_mean_all>("std_mean");
  registry.composite<std_mean_dim>("std_mean.dim");
  registry.composite<nanmean>("nanmean");
  registry.composite<count_nonzero>("count_nonzero");
  registry.composite<count_nonzero_dims>("count_nonzero.dim_IntList");
  registry.composite<dist>("dist");
  registry.composite<equal>("equal");
  registry.composite<isclose>("isclose");
  registry.composite<allclose>("allclose");
}

}  // namespace mindtorch::functional
