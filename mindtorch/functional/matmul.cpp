// Matrix products in all their shapes, made of mm, bmm, mv and dot.
#include <algorithm>
#include <limits>

#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::functional {
namespace {

Shape join(IntList front, std::initializer_list<int64_t> back) {
  Shape sizes(front);
  for (const int64_t size : back) sizes.push_back(size);
  return sizes;
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t a = self.dim();
  const int64_t b = other.dim();
  MT_CHECK(a != 0 && b != 0, RuntimeError,
           "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b, "D");
  if (a == 1 && b == 1) return mindtorch::dot(self, other);
  if (a == 2 && b == 1) return mindtorch::mv(self, other);
  if (a == 1 && b == 2) return squeeze(mindtorch::mm(unsqueeze(self, 0), other), {0});
  if (a == 2 && b == 2) return mindtorch::mm(self, other);

  // A stack of matrices times one matrix is one tall product.
  if (a >= 3 && b <= 2) {
    const IntList batch = IntList(self.sizes()).first(self.sizes().size() - 1);
    const Tensor rows = reshape(self, {numel(batch), self.size(-1)});
    if (b == 1) return view(mindtorch::mv(rows, other), batch);
    return view(mindtorch::mm(rows, other), join(batch, {other.size(1)}));
  }

  // Everything else is a broadcast batch of products.
  const Tensor left = a == 1 ? unsqueeze(self, 0) : self;
  const Tensor right = b == 1 ? unsqueeze(other, 1) : other;
  const IntList left_batch = IntList(left.sizes()).first(left.sizes().size() - 2);
  const IntList right_batch = IntList(right.sizes()).first(right.sizes().size() - 2);
  const Shape batch = broadcast_shapes(left_batch, right_batch);
  const int64_t m = left.size(-2);
  const int64_t k = left.size(-1);
  const int64_t n = right.size(-1);
  MT_CHECK(k == right.size(-2), RuntimeError,
           "Expected size for first two dimensions of batch2 tensor to be: [", numel(batch), ", ",
           k, "] but got: [", numel(batch), ", ", right.size(-2), "].");
  const int64_t count = numel(batch);
  const auto stacked = [&](const Tensor& tensor, int64_t rows, int64_t columns) {
    return reshape(expand(tensor, join(batch, {rows, columns})), {count, rows, columns});
  };
  const Tensor product = mindtorch::bmm(stacked(left, m, k), stacked(right, k, n));
  Shape sizes(batch);
  if (a != 1) sizes.push_back(m);
  if (b != 1) sizes.push_back(n);
  return view(product, sizes);
}

Tensor outer(const Tensor& self, const Tensor& vec2) {
  MT_CHECK(self.dim() == 1 && vec2.dim() == 1, RuntimeError, "outer: Expected 1-D argument ",
           self.dim() == 1 ? "vec2" : "self", ", but got ",
           self.dim() == 1 ? vec2.dim() : self.dim(), "-D");
  return mul(unsqueeze(self, 1), vec2);
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return mul(self, other);
  MT_CHECK(self.size(-1) == other.size(-1), RuntimeError,
           "inner() the last dimension must match on both input tensors but got shapes ",
           to_string(self.sizes()), " and ", to_string(other.sizes()));
  Shape sizes(IntList(self.sizes()).first(self.sizes().size() - 1));
  const int64_t rows = numel(sizes);
  const IntList other_batch = IntList(other.sizes()).first(other.sizes().size() - 1);
  for (const int64_t size : other_batch) sizes.push_back(size);
  const Tensor a = reshape(self, {rows, self.size(-1)});
  const Tensor b = reshape(other, {numel(other_batch), other.size(-1)});
  return view(mindtorch::mm(a, t(b)), sizes);
}

// Factors of integers are whole numbers: what is behind the point is cut off.
Scalar factor_of(const Scalar& factor, DType dtype) {
  ops::check_in_range(
      factor, dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype);
  return is_differentiable(dtype) ? factor : Scalar(factor.to_int());
}

Tensor addbmm(const Tensor& self,
              const Tensor& batch1,
              const Tensor& batch2,
              const Scalar& beta,
              const Scalar& alpha) {
  const DType dtype = self.dtype();
  expand(self, {batch1.size(1), batch2.size(2)});
  MT_CHECK(dtype == batch2.dtype(), RuntimeError,
           "self and mat2 must have the same dtype, but got ", legacy_name(dtype), " and ",
           legacy_name(batch2.dtype()));
  const Scalar self_factor = factor_of(beta, dtype);
  const Scalar product_factor = factor_of(alpha, dtype);
  const Tensor product = mindtorch::sum(mindtorch::bmm(batch1, batch2), IntList{0}, false, dtype);
  const Tensor bias = expand(self, product.sizes());
  if (product_factor.to_double() == 0) {
    return self_factor.to_double() == 0 ? zeros_like(product) : mul(bias, self_factor);
  }
  const Tensor scaled = mul(product, product_factor);
  return self_factor.to_double() == 0 ? scaled : add(mul(bias, self_factor), scaled);
}

Tensor addr(const Tensor& self,
            const Tensor& vec1,
            const Tensor& vec2,
            const Scalar& beta,
            const Scalar& alpha) {
  for (const auto& [name, vec] : {std::pair{"vec1", &vec1}, std::pair{"vec2", &vec2}}) {
    MT_CHECK(vec->dim() == 1, RuntimeError, "addr: Expected 1-D argument ", name, ", but got ",
             vec->dim(), "-D");
  }
  Tensor bias = expand(self, {vec1.size(0), vec2.size(0)});
  ResultType type;
  for (const Tensor* operand : {&self, &vec1, &vec2}) type.add(*operand);
  const DType dtype = type.dtype();
  for (const auto& [name, factor] : {std::pair{"beta", &beta}, std::pair{"alpha", &alpha}}) {
    MT_CHECK(!factor->is_bool() || dtype == DType::kBool, RuntimeError, "Boolean ", name,
             " only supported for Boolean results.");
    MT_CHECK(is_differentiable(dtype) || factor->is_integral(), RuntimeError,
             "For integral input tensors, argument ", name,
             " must not be a floating point number.");
    ops::check_in_range(*factor, dtype);
  }
  Tensor product = mindtorch::outer(_to_copy(vec1, dtype), _to_copy(vec2, dtype));
  if (dtype == DType::kBool) {
    if (!alpha.to_bool()) product = zeros_like(product);
    return beta.to_bool() ? logical_or(bias, product) : product;
  }
  product = mul(product, alpha);
  return beta.to_double() == 0 ? product : add(mul(_to_copy(bias, dtype), beta), product);
}

// The cheapest order by the classic dynamic programme over sub-chains.
Tensor chain_matmul(TensorList matrices) {
  MT_CHECK(!matrices.empty(), RuntimeError, "chain_matmul(): Expected one or more matrices");
  const size_t n = matrices.size();
  std::vector<int64_t> sizes;
  for (const Tensor& matrix : matrices) {
    MT_CHECK(matrix.dim() == 2, RuntimeError, "Tensor dimension is ", matrix.dim(),
             ", expected 2 instead.");
    sizes.push_back(matrix.size(0));
  }
  sizes.push_back(matrices.back().size(1));
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> cut(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double here = cost[i][k] + cost[k + 1][j] +
                            static_cast<double>(sizes[i]) * static_cast<double>(sizes[k + 1]) *
                                static_cast<double>(sizes[j + 1]);
        if (here < cost[i][j]) {
          cost[i][j] = here;
          cut[i][j] = k;
        }
      }
    }
  }
  const auto product = [&](const auto& self, size_t i, size_t j) -> Tensor {
    if (i == j) return matrices[i];
    return mindtorch::mm(self(self, i, cut[i][j]), self(self, cut[i][j] + 1, j));
  };
  return n == 1 ? clone(matrices[0]) : product(product, 0, n - 1);
}

// A bias that is one vector, whichever way it lies, joins the product of the rows, as in torch.
bool is_one_vector(const Tensor& bias) {
  const Shape& sizes = bias.sizes();
  return bias.dim() == 1 || std::count(sizes.begin(), sizes.end(), 1) + 1 == bias.dim();
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  MT_CHECK(input.dim() != 0 && weight.dim() != 0, RuntimeError,
           "both arguments to linear need to be at least 1D, but they are ", input.dim(), "D and ",
           weight.dim(), "D");
  const Tensor transposed = t(weight);
  if (!bias.defined()) return mindtorch::matmul(input, transposed);
  if (input.dim() == 2) return mindtorch::addmm(bias, input, transposed);
  if (input.is_contiguous() && is_one_vector(bias)) {
    const IntList batch = IntList(input.sizes()).first(input.sizes().size() - 1);
    const Tensor rows = view(input, {numel(batch), input.size(-1)});
    return view(mindtorch::addmm(bias, rows, transposed), join(batch, {weight.size(0)}));
  }
  const Tensor product = mindtorch::matmul(input, transposed);
  // Autograd would record a write to a view, where a sum is all there is.
  const bool records = dispatch::thread_layers().grad_mode &&
                       (product.impl()->autograd != nullptr || bias.impl()->autograd != nullptr);
  return records ? add(product, bias) : add_(product, bias);
}

Tensor tensordot(const Tensor& self, const Tensor& other, IntList dims_self, IntList dims_other) {
  MT_CHECK(dims_self.size() == dims_other.size(), RuntimeError,
           "both dimension lists should have same length");
  uint64_t mask_self = dims_self.empty() ? 0 : dim_mask(dims_self, self.dim());
  uint64_t mask_other = dims_other.empty() ? 0 : dim_mask(dims_other, other.dim());
  Shape order_self, order_other, sizes;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t summed = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if ((mask_self >> d & 1) != 0) continue;
    order_self.push_back(d);
    sizes.push_back(self.size(d));
    rows *= self.size(d);
  }
  for (size_t i = 0; i < dims_self.size(); ++i) {
    const int64_t a = wrap_dim(dims_self[i], self.dim());
    const int64_t b = wrap_dim(dims_other[i], other.dim());
    MT_CHECK(self.size(a) == other.size(b), RuntimeError,
             "contracted dimensions need to match, but first has size ", self.size(a), " in dim ",
             a, " and second has size ", other.size(b), " in dim ", b);
    order_self.push_back(a);
    order_other.push_back(b);
    summed *= self.size(a);
  }
  for (int64_t d = 0; d < other.dim(); ++d) {
    if ((mask_other >> d & 1) != 0) continue;
    order_other.push_back(d);
    sizes.push_back(other.size(d));
    columns *= other.size(d);
  }
  const Tensor a = reshape(permute(self, order_self), {rows, summed});
  const Tensor b = reshape(permute(other, order_other), {summed, columns});
  return reshape(mindtorch::mm(a, b), sizes);
}

}  // namespace

void compose_matmul(ops::Registry& registry) {
  registry.composite<matmul>("matmul");
  registry.composite<outer>("outer");
  registry.composite<inner>("inner");
  registry.composite<addbmm>("addbmm");
  registry.composite<addr>("addr");
  registry.composite<chain_matmul>("chain_matmul");
  registry.composite<linear>("linear");
  registry.composite<tensordot>("_tensordot");
}

}  // namespace mindtorch::functional
