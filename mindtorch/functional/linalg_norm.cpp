// Norms, products and powers of matrices, and tensors seen as matrices.
#include <cmath>
#include <limits>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/linalg.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::functional {
namespace {

using ops::batch_shape;
using ops::check_floating;
using ops::check_is_matrix;
using ops::check_precise;
using ops::check_square;
using MaybeDims = std::optional<IntList>;

constexpr double kInf = std::numeric_limits<double>::infinity();

// --- norms ---

struct MatrixDims {
  int64_t rows;
  int64_t columns;
};
MatrixDims check_matrix_norm(const Tensor& self, IntList dim) {
  check_is_matrix("linalg.matrix_norm", self);
  MT_CHECK(dim.size() == 2, RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got ",
           to_string(dim));
  const MatrixDims dims = {wrap_dim(dim[0], self.dim()), wrap_dim(dim[1], self.dim())};
  MT_CHECK(dims.rows != dims.columns, RuntimeError,
           "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ", dim[1], ")");
  check_floating("linalg.matrix_norm", self);
  return dims;
}

// Singular values of the matrices in two dims, last.
Tensor singular_values(const Tensor& self, MatrixDims dims) {
  return linalg_svdvals(movedim(self, {dims.rows, dims.columns}, {-2, -1}));
}
Tensor keep_dims(Tensor norms, MatrixDims dims, bool keepdim) {
  if (!keepdim) return norms;
  norms = unsqueeze(norms, std::min(dims.rows, dims.columns));
  return unsqueeze(norms, std::max(dims.rows, dims.columns));
}
Tensor largest(const Tensor& values, int64_t dim, bool keepdim) {
  if (values.size(dim) == 0) {  // of nothing
    Shape sizes = values.sizes();
    const auto at = static_cast<size_t>(wrap_dim(dim, values.dim()));
    if (keepdim) {
      sizes[at] = 1;
    } else {
      sizes.erase(sizes.begin() + at);
    }
    return zeros(sizes, values.dtype(), values.device());
  }
  return amax(values, IntList{dim}, keepdim);
}

Tensor matrix_norm(
    const Tensor& self, const Scalar& ord, IntList dim, bool keepdim, std::optional<DType> dtype) {
  const MatrixDims dims = check_matrix_norm(self, dim);
  const double order = ord.to_double();
  const double size = std::abs(order);
  MT_CHECK(size == 1 || size == 2 || size == kInf, RuntimeError, "linalg.matrix_norm: Order ",
           order, " not supported.");
  const bool wants_largest = order > 0;
  const Tensor x = dtype ? _to_copy(self, *dtype) : self;
  if (size == 2) {
    check_precise("linalg.matrix_norm", self);
    const Tensor s = singular_values(x, dims);
    return keep_dims(wants_largest ? largest(s, -1, false) : amin(s, IntList{-1}), dims, keepdim);
  }
  const int64_t summed = size == 1 ? dims.rows : dims.columns;
  const int64_t kept = size == 1 ? dims.columns : dims.rows;
  const Tensor sums = linalg_vector_norm(x, Scalar(1.0), IntList{summed}, true);
  const Tensor norms = wants_largest ? largest(sums, kept, true) : amin(sums, IntList{kept}, true);
  return keepdim ? norms : squeeze(norms, IntList{dims.rows, dims.columns});
}
Tensor matrix_norm_named(const Tensor& self,
                         std::string_view ord,
                         IntList dim,
                         bool keepdim,
                         std::optional<DType> dtype) {
  const MatrixDims dims = check_matrix_norm(self, dim);
  MT_CHECK(ord == "fro" || ord == "nuc", RuntimeError, "linalg.matrix_norm: Order ", ord,
           " not supported.");
  if (ord == "fro") return linalg_vector_norm(self, Scalar(2.0), dim, keepdim, dtype);
  check_precise("linalg.matrix_norm", self);
  const Tensor x = dtype ? _to_copy(self, *dtype) : self;
  return keep_dims(sum(singular_values(x, dims), IntList{-1}), dims, keepdim);
}

Tensor norm(const Tensor& self,
            std::optional<Scalar> ord,
            MaybeDims dim,
            bool keepdim,
            std::optional<DType> dtype) {
  MT_CHECK(!dim || dim->size() == 1 || dim->size() == 2, RuntimeError,
           "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ",
           dim ? to_string(*dim) : "");
  MT_CHECK(!ord || dim || self.dim() == 1 || self.dim() == 2, RuntimeError,
           "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
           self.dim(), "D.");
  if (ord && ((dim && dim->size() == 2) || (!dim && self.dim() == 2))) {
    return matrix_norm(self, *ord, dim.value_or(IntList{0, 1}), keepdim, dtype);
  }
  return linalg_vector_norm(self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
}
Tensor norm_named(const Tensor& self,
                  std::string_view ord,
                  MaybeDims dim,
                  bool keepdim,
                  std::optional<DType> dtype) {
  MT_CHECK(!dim || dim->size() == 1 || dim->size() == 2, RuntimeError,
           "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ",
           dim ? to_string(*dim) : "");
  MT_CHECK(dim || self.dim() <= 2, RuntimeError,
           "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
           self.dim(), "D.");
  return matrix_norm_named(self, ord, dim.value_or(IntList{0, 1}), keepdim, dtype);
}

// --- condition numbers ---

// A matrix that has no inverse has an infinite one.
template <typename Norm>
Tensor cond_by_inverse(const Tensor& A, const Norm& norm_of) {
  const auto [inverse, info] = linalg_inv_ex(A);
  const Tensor inverse_norm = masked_fill(norm_of(inverse), ne(info, Scalar(0)), Scalar(kInf));
  const Tensor product = mul(norm_of(A), inverse_norm);
  // 0 times infinity: the norm of a matrix of zeros says nothing against it.
  return masked_fill(product, ne(info, Scalar(0)), Scalar(kInf));
}
Tensor cond_of_nothing(const Tensor& A) {
  return zeros(batch_shape(A), real_dtype(A.dtype()), A.device());
}
void check_cond(const Tensor& A) {
  MT_CHECK(A.dim() >= 2, RuntimeError,
           "linalg.cond: The input tensor must have at least 2 dimensions.");
}

Tensor cond(const Tensor& self, std::optional<Scalar> p) {
  check_cond(self);
  const double order = p ? p->to_double() : 2.0;
  const double size = std::abs(order);
  MT_CHECK(size == 1 || size == 2 || size == kInf, RuntimeError,
           "linalg.cond got an invalid norm type: ", order);
  if (self.numel() == 0 && size != 2) return cond_of_nothing(self);
  if (size == 2) {
    const Tensor s = linalg_svdvals(self);
    if (s.size(-1) == 0) return cond_of_nothing(self);
    const Tensor first = select(s, -1, 0);
    const Tensor last = select(s, -1, s.size(-1) - 1);
    return order > 0 ? div(first, last) : div(last, first);
  }
  check_square(mindtorch::detail::concat("linalg.cond(ord=", order, ")"), self);
  return cond_by_inverse(
      self, [&](const Tensor& x) { return matrix_norm(x, *p, {-2, -1}, false, std::nullopt); });
}
Tensor cond_named(const Tensor& self, std::string_view p) {
  check_cond(self);
  MT_CHECK(p == "fro" || p == "nuc", RuntimeError, "linalg.cond got an invalid norm type: ", p);
  check_square(mindtorch::detail::concat("linalg.cond(ord=", p, ")"), self);
  if (self.numel() == 0) return cond_of_nothing(self);
  const auto norm_of = [&](const Tensor& x) {
    return matrix_norm_named(x, p, {-2, -1}, false, std::nullopt);
  };
  if (p == "fro") return cond_by_inverse(self, norm_of);
  // The nuclear norm of an inverse is the sum of the inverse singular values.
  const Tensor s = linalg_svdvals(self);
  return mul(sum(s, IntList{-1}), sum(reciprocal(s), IntList{-1}));
}

// --- products and powers ---

Tensor matrix_power(const Tensor& self, int64_t n) {
  check_square("linalg.matrix_power", self);
  if (n == 0) {
    const Tensor identity = eye(self.size(-1), self.dtype(), self.device());
    return copy_(clone(self, MemoryFormat::kContiguous), identity);
  }
  Tensor power = n < 0 ? mindtorch::linalg_inv(self) : self;
  Tensor product;
  for (int64_t rest = std::abs(n); rest > 0; rest >>= 1) {
    if ((rest & 1) != 0) product = product.defined() ? matmul(product, power) : power;
    if (rest > 1) power = matmul(power, power);
  }
  return n == 1 ? clone(self, MemoryFormat::kContiguous) : product;
}

Tensor multi_dot(TensorList tensors) {
  const size_t count = tensors.size();
  MT_CHECK(count >= 2, RuntimeError, "multi_dot(): expected at least 2 tensors but got ", count);
  std::vector<Tensor> matrices(tensors.begin(), tensors.end());
  for (size_t i = 0; i < count; ++i) {
    const bool is_end = i == 0 || i + 1 == count;
    const int64_t dims = matrices[i].dim();
    if (is_end) {
      MT_CHECK(dims == 1 || dims == 2, RuntimeError, "multi_dot(): the ", i == 0 ? "first" : "last",
               " tensor must be 1D or 2D but got ", dims, "D");
    } else {
      MT_CHECK(dims == 2, RuntimeError, "multi_dot(): tensor ", i, " must be 2D but got ", dims,
               "D");
    }
    MT_CHECK(matrices[i].dtype() == matrices[0].dtype(), RuntimeError,
             "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
             ops::limits(matrices[0].dtype()).type_name, " and tensor ", i, " ",
             ops::limits(matrices[i].dtype()).type_name);
    MT_CHECK(matrices[i].device() == matrices[0].device(), RuntimeError,
             "multi_dot(): all tensors must be on the same device but tensor 0 is on ",
             matrices[0].device().str(), " and tensor ", i, " on ", matrices[i].device().str());
  }
  const bool starts_with_vector = matrices.front().dim() == 1;
  const bool ends_with_vector = matrices.back().dim() == 1;
  if (starts_with_vector) matrices.front() = unsqueeze(matrices.front(), 0);
  if (ends_with_vector) matrices.back() = unsqueeze(matrices.back(), -1);
  Tensor product = chain_matmul(matrices);
  if (ends_with_vector) product = squeeze(product, -1);
  return starts_with_vector ? squeeze(product, 0) : product;
}

Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_floating("linalg.vecdot", x);
  MT_CHECK(x.dtype() == y.dtype(), RuntimeError,
           "linalg.vecdot: Expected x and y to have the same dtype, but found x of type ",
           legacy_name(x.dtype()), " and y of type ", legacy_name(y.dtype()), " instead");
  if (x.dim() == 1 && y.dim() == 1) return vdot(x, y);
  return sum(mul(conj(x), y), IntList{dim});
}

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  MT_CHECK(self.dim() == other.dim(), RuntimeError,
           "linalg.cross: inputs must have the same number of dimensions.");
  MT_CHECK(self.dim() > 0 && self.size(dim) == 3 && other.size(dim) == 3, RuntimeError,
           "linalg.cross: inputs dimension ", dim, " must have length 3. Got ",
           self.dim() > 0 ? self.size(dim) : 1, " and ", other.dim() > 0 ? other.size(dim) : 1);
  return cross(self, other, dim);
}

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N) {
  const DType dtype = x.dtype();
  MT_CHECK(ops::is_lapack_dtype(dtype) || is_integral(dtype), RuntimeError,
           "linalg.vander supports floating point, complex, and integer tensors, but got ",
           legacy_name(dtype));
  const Tensor vectors = x.dim() == 0 ? unsqueeze(x, -1) : x;
  const int64_t n = N.value_or(vectors.size(-1));
  MT_CHECK(n > 1, RuntimeError, "N must be greater than 1.");
  const Shape repeated = ops::with_dims(vectors.sizes(), {n - 1});
  const Tensor powers = cumprod(expand(unsqueeze(vectors, -1), repeated), -1);
  const Tensor ones =
      full(ops::with_dims(vectors.sizes(), {1}), Scalar(1), powers.dtype(), vectors.device());
  const Tensor parts[] = {ones, powers};
  return cat(parts, -1);
}

Tensor matrix_exp(const Tensor& self) {
  check_square("linalg.matrix_exp", self);
  check_floating("linalg.matrix_exp", self);
  if (!ops::is_half(self.dtype())) return _linalg_matrix_exp(self);
  return _to_copy(_linalg_matrix_exp(_to_copy(self, DType::kFloat32)), self.dtype());
}

// --- tensors as matrices ---

Tensor tensorinv(const Tensor& self, int64_t ind) {
  MT_CHECK(ind > 0, RuntimeError, "Expected a strictly positive integer for 'ind', but got ", ind);
  MT_CHECK(ind <= self.dim(), RuntimeError, "ArrayRef: invalid slice, N = ", ind,
           "; size = ", self.dim());
  const IntList sizes = self.sizes();
  const IntList start = sizes.first(static_cast<size_t>(ind));
  const IntList rest = sizes.subspan(static_cast<size_t>(ind));
  const int64_t rows = numel(start);
  const int64_t columns = numel(rest);
  MT_CHECK(rows == columns, RuntimeError,
           "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
           "prod(self.shape[:ind]), but got ",
           columns, " != ", rows);
  Shape target(rest.begin(), rest.end());
  for (const int64_t size : start) target.push_back(size);
  return reshape(mindtorch::linalg_inv(reshape(self, {rows, columns})), target);
}

Tensor tensorsolve(const Tensor& self, const Tensor& other, MaybeDims dims) {
  Tensor a = self;
  if (dims) {
    Shape ends;
    for (size_t i = 0; i < dims->size(); ++i) {
      ends.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(dims->size()));
    }
    a = movedim(a, *dims, ends);
  }
  MT_CHECK(other.dim() <= a.dim(), RuntimeError, "Expected self to have at least ", other.dim(),
           " dimensions, but it has ", a.dim());
  const IntList sizes = a.sizes();
  const IntList rest = sizes.subspan(static_cast<size_t>(other.dim()));
  const int64_t rows = other.numel();
  MT_CHECK(numel(rest) == rows, RuntimeError,
           "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
           "prod(self.shape[:other.ndim]), but got ",
           numel(rest), " != ", rows);
  const Tensor x = linalg_solve(reshape(a, {rows, rows}), reshape(other, {-1}));
  return reshape(x, rest);
}

}  // namespace

void compose_linalg_norm(ops::Registry& registry) {
  registry.composite<matrix_norm>("linalg_matrix_norm");
  registry.composite<matrix_norm_named>("linalg_matrix_norm.str_ord");
  registry.composite<norm>("linalg_norm");
  registry.composite<norm_named>("linalg_norm.ord_str");
  registry.composite<cond>("linalg_cond");
  registry.composite<cond_named>("linalg_cond.p_str");
  registry.composite<matrix_power>("linalg_matrix_power");
  registry.composite<matrix_power>("matrix_power");
  registry.composite<multi_dot>("linalg_multi_dot");
  registry.composite<vecdot>("linalg_vecdot");
  registry.composite<linalg_cross>("linalg_cross");
  registry.composite<linalg_vander>("linalg_vander");
  registry.composite<matrix_exp>("linalg_matrix_exp");
  registry.composite<matrix_exp>("matrix_exp");
  registry.composite<tensorinv>("linalg_tensorinv");
  registry.composite<tensorsolve>("linalg_tensorsolve");
}

}  // namespace mindtorch::functional
