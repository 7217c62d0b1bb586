#include <limits>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

Tensor msort(const Tensor& self) { return std::get<0>(mindtorch::sort(self, 0, false)); }

Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  MT_CHECK(boundaries.dim() == 1, RuntimeError,
           "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  return searchsorted(boundaries, self, out_int32, right);
}

// prepend, self and append after one another along `dim`; the outer two may be absent.
Tensor joined(const Tensor& prepend, const Tensor& self, const Tensor& append, int64_t dim) {
  std::vector<Tensor> parts;
  for (const Tensor* part : {&prepend, &self, &append}) {
    if (!part->defined()) continue;
    MT_CHECK(part->dim() == self.dim(), RuntimeError,
             "diff expects prepend or append to be the same dimension as input");
    for (int64_t d = 0; d < self.dim(); ++d) {
      MT_CHECK(
          d == dim || part->size(d) == self.size(d), RuntimeError,
          "diff expects the shape of tensor to prepend or append to match that of input except "
          "along the differencing dimension; input.size(",
          d, ") = ", self.size(d), ", but got tensor.size(", d, ") = ", part->size(d));
    }
    parts.push_back(*part);
  }
  return mindtorch::cat(parts, dim);
}

Tensor diff(
    const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  MT_CHECK(self.dim() > 0, RuntimeError, "diff expects input to be at least one-dimensional");
  MT_CHECK(n >= 0, RuntimeError, "order must be non-negative but got ", n);
  const int64_t d = wrap_dim(dim, self.dim());
  Tensor current = self;
  if (prepend.defined() || append.defined()) current = joined(prepend, self, append, d);
  if (n == 0) return clone(self);
  n = std::min(n, current.size(d));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t length = current.size(d);
    const Tensor later = narrow(current, d, 1, length - 1);
    const Tensor earlier = narrow(current, d, 0, length - 1);
    current = current.dtype() == DType::kBool ? logical_xor(later, earlier) : sub(later, earlier);
  }
  return current;
}

// By binary search in the sorted test elements.
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  ResultType type;
  type.add(elements);
  type.add(test_elements);
  const DType dtype = type.dtype();
  for (const Tensor* input : {&elements, &test_elements}) {
    MT_CHECK(input->dtype() != DType::kBool, RuntimeError,
             "Unsupported input type encountered for isin(): Bool");
  }
  const Device device = elements.device().is_host() ? test_elements.device() : elements.device();
  const Tensor wanted = _to_copy(elements, dtype, device);
  if (test_elements.numel() == 0) {
    return full(wanted.sizes(), invert, DType::kBool, wanted.device());
  }
  Tensor tests = reshape(_to_copy(test_elements, dtype, device), {-1});
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Tensor has_inf;
  if (is_floating_point(dtype)) {  // a search does not find its way among NaNs: make them inf
    has_inf = any(eq(tests, Scalar(kInf)));
    tests = mindtorch::masked_fill(tests, isnan(tests), Tensor::wrapped_number(Scalar(kInf)));
  }
  const Tensor sorted = std::get<0>(mindtorch::sort(tests, 0, false));
  const Tensor place = clamp_max(searchsorted(sorted, wanted), Scalar(sorted.numel() - 1));
  Tensor found = eq(take(sorted, place), wanted);
  if (has_inf.defined()) {
    found = logical_and(found, logical_or(has_inf, ne(wanted, Scalar(kInf))));
  }
  return invert ? logical_not(found) : found;
}

}  // namespace

void compose_sort(ops::Registry& registry) {
  registry.composite<msort>("msort");
  registry.composite<bucketize>("bucketize");
  registry.composite<isin>("isin.Tensor_Tensor");
  registry.composite<diff>("diff");
}

}  // namespace mindtorch::functional
