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
  const DType dtype = promote_types(x1.dtype(), x2.dtype());
  MT_CHECK(is_floating_point(dtype), RuntimeError,
           "expected common dtype to be floating point, yet common dtype is ", legacy_name(dtype));
  const Shape sizes = broadcast_shapes(x1.sizes(), x2.sizes());
  const auto normalized = [&](const Tensor& vectors) {
    const Tensor all = expand(_to_copy(vectors, dtype), sizes);
    return div(all, clamp_min(linalg_vector_norm(all, Scalar(2), IntList{dim}, true), Scalar(eps)));
  };
  return sum(mul(normalized(x1), normalized(x2)), IntList{dim});
}

// The name that torch has in errors for the type of C++.
const char* cpp_name(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kUInt8:
      return "unsigned char";
    case DType::kInt8:
      return "signed char";
    case DType::kInt16:
      return "short int";
    case DType::kInt32:
      return "int";
    case DType::kInt64:
      return "long int";
    case DType::kFloat16:
      return "c10::Half";
    case DType::kBFloat16:
      return "c10::BFloat16";
    case DType::kFloat32:
      return "float";
    case DType::kFloat64:
      return "double";
    case DType::kComplex64:
      return "c10::complex<float>";
    case DType::kComplex128:
      return "c10::complex<double>";
    default:
      return legacy_name(dtype).data();
  }
}

Tensor bilinear(const Tensor& input1,
                const Tensor& input2,
                const Tensor& weight,
                const Tensor& bias) {
  const DType dtype = input1.dtype();
  MT_CHECK(input2.dtype() == dtype && weight.dtype() == dtype &&
               (!bias.defined() || bias.dtype() == dtype),
           RuntimeError, "All tensors must have the same dtype, got input1: ", cpp_name(dtype),
           ", input2: ", cpp_name(input2.dtype()), ", weight: ", cpp_name(weight.dtype()),
           bias.defined() ? ", bias: " : "", bias.defined() ? cpp_name(bias.dtype()) : "");
  MT_CHECK(input1.dim() == input2.dim(), RuntimeError,
           "bilinear(): input dimensions do not match: got ", input1.dim(), " and ", input2.dim());
  for (int64_t i = 0; i + 1 < input1.dim(); ++i) {
    MT_CHECK(input1.size(i) == input2.size(i), RuntimeError,
             "bilinear(): input batch dimensions do not match at dim ", i, ": got ", input1.size(i),
             " and ", input2.size(i));
  }
  const auto check = [&](int64_t i, const Tensor& input) {
    MT_CHECK(input.size(-1) == weight.size(i), RuntimeError, "bilinear(): input", i,
             " size does not match weight size: got ", input.size(-1), " but expected ",
             weight.size(i));
  };
  check(1, input1);
  check(2, input2);
  const int64_t outputs = weight.size(0);
  MT_CHECK(!bias.defined() || bias.size(0) == outputs, RuntimeError,
           "bilinear(): bias size does not match weight size: got ", bias.size(0), " but expected ",
           outputs);
  const Tensor first = reshape(input1, {-1, input1.size(-1)});
  const Tensor second = reshape(input2, {-1, input2.size(-1)});
  // (N, outputs, in2), then a row times a row
  Tensor products =
      mindtorch::matmul(first, reshape(transpose(weight, 0, 1), {weight.size(1), -1}));
  products = view(products, {first.size(0), outputs, weight.size(2)});
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
