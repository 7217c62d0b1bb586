// Products of vectors and matrices.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_product(const char* name, const Tensor& a, const Tensor& b) {
  MT_CHECK(a.dtype() == b.dtype(), RuntimeError,
           "expected m1 and m2 to have the same dtype, but got: ", limits(a.dtype()).type_name,
           " != ", limits(b.dtype()).type_name);
  const bool computes = a.numel() != 0 && b.numel() != 0 && !a.device().is_meta();
  MT_CHECK(!computes || a.dtype() != DType::kBool, NotImplementedError, "\"", name,
           "\" not implemented for 'Bool'");
}

void check_matrix(const char* name, const Tensor& tensor, int64_t dims) {
  MT_CHECK(tensor.dim() == dims, RuntimeError, name);
}

TensorSpec product(Shape sizes, const Tensor& like) {
  return contiguous_spec(std::move(sizes), like.dtype(), like.device());
}

TensorSpec mm(const Tensor& self, const Tensor& mat2) {
  check_matrix("self must be a matrix", self, 2);
  check_matrix("mat2 must be a matrix", mat2, 2);
  MT_CHECK(self.size(1) == mat2.size(0), RuntimeError,
           "mat1 and mat2 shapes cannot be multiplied (", self.size(0), "x", self.size(1), " and ",
           mat2.size(0), "x", mat2.size(1), ")");
  check_product("addmm_impl_cpu_", self, mat2);
  return product({self.size(0), mat2.size(1)}, self);
}

void check_bmm_shapes(const Tensor& self, const Tensor& mat2) {
  check_matrix("batch1 must be a 3D tensor", self, 3);
  check_matrix("batch2 must be a 3D tensor", mat2, 3);
  MT_CHECK(self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1), RuntimeError,
           "Expected size for first two dimensions of batch2 tensor to be: [", self.size(0), ", ",
           self.size(2), "] but got: [", mat2.size(0), ", ", mat2.size(1), "].");
}

// Where there is nothing to multiply, torch does not look at the dtypes.
bool multiplies_nothing(const Tensor& batch1, const Tensor& batch2) {
  return batch1.numel() == 0 || batch2.numel() == 0;
}

TensorSpec bmm(const Tensor& self, const Tensor& mat2) {
  check_bmm_shapes(self, mat2);
  if (!multiplies_nothing(self, mat2)) {
    check_product("baddbmm_with_gemm", self, mat2);
  }
  return product({self.size(0), self.size(1), mat2.size(2)}, mat2);
}

// `dims` and `size`: of the tensor that is added.
TensorSpec mat_vec(int64_t dims, int64_t size, DType dtype, const Tensor& mat, const Tensor& vec) {
  MT_CHECK(mat.dim() == 2 && vec.dim() == 1 && dims <= 1, RuntimeError,
           "vector + matrix @ vector expected, got ", dims, ", ", mat.dim(), ", ", vec.dim());
  MT_CHECK(mat.size(1) == vec.size(0) && (size == mat.size(0) || size == 1), RuntimeError,
           "size mismatch, got input (", size, "), mat (", mat.size(0), "x", mat.size(1),
           "), vec (", vec.size(0), ")");
  MT_CHECK(dtype == mat.dtype() && dtype == vec.dtype(), RuntimeError,
           "addmv input tensors must have the same dtype, but got ", legacy_name(dtype), ", ",
           legacy_name(mat.dtype()), ", and ", legacy_name(vec.dtype()));
  check_product("addmv_impl_cpu", mat, vec);
  return product({mat.size(0)}, mat);
}

TensorSpec mv(const Tensor& self, const Tensor& vec) {
  return mat_vec(1, self.size(0), vec.dtype(), self, vec);
}

TensorSpec dot(const Tensor& self, const Tensor& tensor) {
  MT_CHECK(self.dim() == 1 && tensor.dim() == 1, RuntimeError, "1D tensors expected, but got ",
           self.dim(), "D and ", tensor.dim(), "D tensors");
  MT_CHECK(self.dtype() == tensor.dtype(), RuntimeError,
           "dot : expected both vectors to have same dtype, but found ", legacy_name(self.dtype()),
           " and ", legacy_name(tensor.dtype()));
  MT_CHECK(self.dtype() != DType::kBool, NotImplementedError, "\"dot\" not implemented for 'Bool'");
  MT_CHECK(self.numel() == tensor.numel(), RuntimeError,
           "inconsistent tensor size, expected tensor [", self.numel(), "] and src [",
           tensor.numel(), "] to have the same number of elements, but got ", self.numel(), " and ",
           tensor.numel(), " elements respectively");
  return product({}, self);
}

// Factors of integers are whole numbers: what is behind the point is cut off.
void check_factors(DType dtype, const Scalar& beta, const Scalar& alpha) {
  check_in_range(beta, dtype);
  check_in_range(alpha, dtype);
}

TensorSpec addmm(const Tensor& self,
                 const Tensor& mat1,
                 const Tensor& mat2,
                 const Scalar& beta,
                 const Scalar& alpha) {
  MT_CHECK(self.dtype() == mat2.dtype(), RuntimeError,
           "self and mat2 must have the same dtype, but got ", legacy_name(self.dtype()), " and ",
           legacy_name(mat2.dtype()));
  MT_CHECK(mat1.dtype() == mat2.dtype(), RuntimeError,
           "mat1 and mat2 must have the same dtype, but got ", legacy_name(mat1.dtype()), " and ",
           legacy_name(mat2.dtype()));
  for (const auto& [name, matrix] : {std::pair{"mat1", &mat1}, std::pair{"mat2", &mat2}}) {
    MT_CHECK(matrix->dim() == 2, RuntimeError, name, " must be a matrix, got ", matrix->dim(),
             "-D tensor");
  }
  TensorSpec spec = mm(mat1, mat2);
  expand(self, spec.sizes, true);
  check_factors(number_dtype(self.dtype()), beta, alpha);
  return spec;
}

TensorSpec addmv(const Tensor& self,
                 const Tensor& mat,
                 const Tensor& vec,
                 const Scalar& beta,
                 const Scalar& alpha) {
  TensorSpec spec = mat_vec(self.dim(), self.numel(), self.dtype(), mat, vec);
  check_factors(self.dtype(), beta, alpha);
  return spec;
}

TensorSpec baddbmm(const Tensor& self,
                   const Tensor& batch1,
                   const Tensor& batch2,
                   const Scalar& beta,
                   const Scalar& alpha) {
  expand(self, Shape{batch1.size(0), batch1.size(1), batch2.size(2)}, true);
  MT_CHECK(multiplies_nothing(batch1, batch2) || self.dtype() == batch1.dtype(), RuntimeError,
           "Input dtypes must be the same, got: input ", limits(self.dtype()).type_name,
           ", batch1: ", limits(batch1.dtype()).type_name,
           ", batch2: ", limits(batch2.dtype()).type_name);
  TensorSpec spec = bmm(batch1, batch2);
  check_factors(number_dtype(self.dtype()), beta, alpha);
  return spec;
}

}  // namespace

void define_matmul(Registry& ops) {
  ops.define<mm>("mm(Tensor self, Tensor mat2) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .variants(kOutVariant)
      .doc("The product of two matrices.",
           ">>> torch.mm(torch.ones(1, 2), torch.ones(2, 1))\ntensor([[2.]])");
  ops.define<bmm>("bmm(Tensor self, Tensor mat2) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .variants(kOutVariant)
      .doc("The products of two batches of matrices.",
           ">>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).shape\ntorch.Size([2, 1, 1])");
  ops.define<mv>("mv(Tensor self, Tensor vec) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .variants(kOutVariant)
      .doc("The product of a matrix and a vector.",
           ">>> torch.mv(torch.ones(1, 2), torch.ones(2))\ntensor([2.])");
  ops.define<dot>("dot(Tensor self, Tensor tensor) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "result dtype $O does not match input dtype $R")
      .doc("The inner product of two vectors.",
           ">>> torch.dot(torch.tensor([1, 2]), torch.tensor([3, 4]))\ntensor(11)");
  ops.define<dot>("vdot(Tensor self, Tensor other) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "result dtype $O does not match input dtype $R")
      .doc("The inner product of two vectors.",
           ">>> torch.vdot(torch.tensor([1, 2]), torch.tensor([3, 4]))\ntensor(11)");
  ops.define<addmm>(
         "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .variants(kInplaceAndOut)
      .doc("beta * self + alpha * (mat1 @ mat2).",
           ">>> torch.addmm(torch.ones(1, 1), torch.ones(1, 2), torch.ones(2, 1))\ntensor([[3.]])");
  ops.define<addmv>(
         "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .variants(kInplaceAndOut)
      .doc("beta * self + alpha * (mat @ vec).",
           ">>> torch.addmv(torch.ones(1), torch.ones(1, 2), torch.ones(2))\ntensor([3.])");
  ops.define<baddbmm>(
         "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
         "Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .variants(kInplaceAndOut)
      .doc("beta * self + alpha * (batch1 @ batch2), batch by batch.",
           ">>> torch.baddbmm(torch.ones(1), torch.ones(1, 1, 2), torch.ones(1, 2, 1))\n"
           "tensor([[[3.]]])");
  // Composites, written in functional/matmul.cpp.
  ops.define("matmul(Tensor self, Tensor other) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .also({"linalg_matmul"})
      .doc("The matrix product in all its shapes: vectors, matrices and broadcast batches.",
           ">>> torch.matmul(torch.ones(4, 1, 2), torch.ones(2, 3)).shape\ntorch.Size([4, 1, 3])");
  ops.define(
         "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
         "Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .variants(kInplaceAndOut)
      .out_dtype(TargetDType::kSame, "self and mat2 must have the same dtype, but got $O and $R")
      .doc("beta * self + alpha * the sum of batch1 @ batch2 over the batch.",
           ">>> torch.addbmm(torch.zeros(1), torch.ones(2, 1, 2), torch.ones(2, 2, 1))\n"
           "tensor([[4.]])");
  ops.define(
         "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .variants(kInplaceAndOut)
      .doc("beta * self + alpha * outer(vec1, vec2).",
           ">>> torch.addr(torch.zeros(1, 1), torch.ones(1), torch.ones(1))\ntensor([[1.]])");
  ops.define("outer(Tensor self, Tensor vec2) -> Tensor")
      .variants(kOutVariant)
      .also({"ger"})
      .doc("All products of two vectors' elements.",
           ">>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))\n"
           "tensor([[3, 4],\n        [6, 8]])");
  ops.define("inner(Tensor self, Tensor other) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame,
                 "tensordot: Expected the output tensor to have dtype $R, but got an output tensor "
                 "with dtype $O")
      .doc("Products summed over the last dimension of both.",
           ">>> torch.inner(torch.tensor([1, 2]), torch.tensor([3, 4]))\ntensor(11)");
  ops.define("chain_matmul(Tensor[1] matrices) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .variants(kOutVariant)
      .function_only()
      .doc("The product of several matrices, in the cheapest order.",
           ">>> torch.chain_matmul(torch.ones(1, 2), torch.ones(2, 1))\ntensor([[2.]])");
  ops.define("einsum(str equation, Tensor[1] tensors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc("Products and sums written as Einstein wrote them.",
           ">>> torch.einsum('i,j->ij', [torch.tensor([1, 2]), torch.tensor([3])])\n"
           "tensor([[3],\n        [6]])");
  ops.define("_tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor")
      .device_example("torch.tensordot(x, x, dims=([1], [1]))")
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .function_only();
  // Of pairs of vectors.
  ops.define(
         "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, "
         "bool keepdim=False) -> Tensor")
      .internal();
  ops.define("pdist(Tensor self, float p=2.0) -> Tensor")
      .internal()
      .autocast_on_accelerators(AutocastPolicy::kFloat32);
  ops.define("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor")
      .internal()
      .autocast_on_accelerators(AutocastPolicy::kFloat32);
  ops.define("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor")
      .internal()
      .autocast_on_accelerators(AutocastPolicy::kWidest);
  ops.define("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .nn_function()
      .doc("input @ weight.T + bias.",
           ">>> torch.nn.functional.linear(torch.ones(2), torch.ones(3, 2))\ntensor([2., 2., 2.])");
}

}  // namespace mindtorch::ops
