// Distances and products of pairs of vectors.
#include <algorithm>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const Tensor gap = add(sub(x1, x2), Scalar(eps));
  return linalg_vector_norm(gap, Scalar(p), IntList{std::max(x1.dim(), x2.dim()) - 1}, keepdim);
}

Tensor pdist(const Tensor& self, double p) {
  MT_CHECK(self.dim() == 2, RuntimeError, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  MT_CHECK(p >= 0, RuntimeError, "pdist only supports non-negative p values");
  const Tensor pairs = triu_indices(self.size(0), self.size(0), 1, std::nullopt, self.device());
  const auto rows = [&](int64_t i) { return index_select(self, 0, select(pairs, 0, i)); };
  return linalg_vector_norm(sub(rows(0), rows(1)), Scalar(p), IntList{-1});
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const Shape sizes = broadcast_shapes(x1.sizes(), x2.sizes());
  const auto normalized = [&](const Tensor& vectors) {
    const Tensor all = expand(vectors, sizes);
    return div(all, clamp_min(linalg_vector_norm(all, Scalar(2), IntList{dim}, true), Scalar(eps)));
  };
  return sum(mul(normalized(x1), normalized(x2)), IntList{dim});
}

Tensor bilinear(const Tensor& input1,
                const Tensor& input2,
                const Tensor& weight,
                const Tensor& bias) {
  MT_CHECK(input1.dim() == input2.dim(), RuntimeError,
           "bilinear(): input dimensions do not match: got ", input1.dim(), " and ", input2.dim());
  MT_CHECK(input1.dim() > 0, IndexError, "Dimension specified as -1 but tensor has no dimensions");
  const auto check = [&](int64_t i, const Tensor& input) {
    MT_CHECK(input.size(-1) == weight.size(i), RuntimeError, "bilinear(): input", i,
             " size does not match weight size: got ", input.size(-1), " but expected ",
             weight.size(i));
  };
  check(1, input1);
  check(2, input2);
  const int64_t outputs = weight.size(0);
  const Tensor first = reshape(input1, {-1, input1.size(-1)});
  const Tensor second = reshape(input2, {-1, input2.size(-1)});
  // (N, outputs, in2), then a row times a row
  Tensor products =
      mindtorch::matmul(first, reshape(transpose(weight, 0, 1), {weight.size(1), -1}));
  products = view(products, {-1, outputs, weight.size(2)});
  Shape sizes = input1.sizes();
  sizes.back() = outputs;
  const Tensor result = view(sum(mul(products, unsqueeze(second, 1)), IntList{2}), sizes);
  return bias.defined() ? add(result, bias) : result;
}

}  // namespace

void compose_pairs(ops::Registry& registry) {
  registry.composite<pairwise_distance>("pairwise_distance");
  registry.composite<pdist>("pdist");
  registry.composite<cosine_similarity>("cosine_similarity");
  registry.composite<bilinear>("bilinear");
}

}  // namespace mindtorch::functional
