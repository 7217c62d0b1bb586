// Orthogonal factors, eigenvalues and singular values. Composites, written in
// functional/linalg_decompose.cpp of the ops in linalg_kernels.cpp.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {

void define_linalg_decompose(Registry& ops) {
  ops.define("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("A matrix with orthonormal columns and an upper triangular one whose product is A.",
           ">>> torch.linalg.qr(torch.tensor([[-2.]])).R.abs()\ntensor([[2.]])");
  ops.define("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("torch.linalg.qr, reduced or complete.",
           ">>> torch.qr(torch.tensor([[-2.]])).R.abs()\ntensor([[2.]])");
  ops.define("geqrf(Tensor self) -> (Tensor a, Tensor tau)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(
          TargetDType::kCast,
          "torch.geqrf: Expected a to be safely castable from $R dtype, but got a with dtype $O")
      .doc("R of torch.linalg.qr, and below it the reflections whose product is Q.",
           ">>> torch.geqrf(torch.eye(2)).tau.shape\ntorch.Size([2])");
  ops.define("linalg_householder_product(Tensor input, Tensor tau) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "torch.linalg.householder_product: Expected result to be safely castable from $R "
                 "dtype, but got result with dtype $O")
      .function_only()
      .doc(
          "Q of torch.linalg.qr from the result of torch.geqrf.",
          ">>> torch.linalg.householder_product(torch.ones(1, 1), torch.zeros(1))\ntensor([[1.]])");
  ops.define("orgqr(Tensor self, Tensor input2) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "torch.linalg.householder_product: Expected result to be safely castable from $R "
                 "dtype, but got result with dtype $O")
      .doc("torch.linalg.householder_product.",
           ">>> torch.orgqr(torch.ones(1, 1), torch.zeros(1))\ntensor([[1.]])");
  ops.define(
         "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) "
         "-> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame,
                 "torch.ormqr: Expected input and result to have the same dtype, but input has "
                 "dtype$R and result has dtype $O")
      .doc("The product of Q, from the result of torch.geqrf, and a matrix.",
           ">>> torch.ormqr(torch.ones(1, 1), torch.zeros(1), torch.ones(1, 2))\ntensor([[1., "
           "1.]])");
  ops.define("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc(
          "Eigenvalues, rising, and eigenvectors of a symmetric or Hermitian matrix; one triangle "
          "is read.",
          ">>> torch.linalg.eigh(torch.tensor([[2., 0.], [0., 1.]])).eigenvalues\ntensor([1., "
          "2.])");
  ops.define("linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The eigenvalues of torch.linalg.eigh.",
           ">>> torch.linalg.eigvalsh(torch.tensor([[2., 0.], [0., 1.]]))\ntensor([1., 2.])");
  ops.define("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("Eigenvalues and eigenvectors of a square matrix, complex.",
           ">>> torch.linalg.eig(torch.tensor([[2.]])).eigenvalues\ntensor([2.+0.j])");
  ops.define("linalg_eigvals(Tensor self) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The eigenvalues of torch.linalg.eig.",
           ">>> torch.linalg.eigvals(torch.tensor([[2.]]))\ntensor([2.+0.j])");
  ops.define(
         "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor "
         "S, Tensor Vh)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("U, the singular values, falling, and Vh of A = U @ diag(S) @ Vh.",
           ">>> torch.linalg.svd(torch.tensor([[3., 0.], [0., 5.]])).S\ntensor([5., 3.])");
  ops.define("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The singular values, falling.",
           ">>> torch.linalg.svdvals(torch.tensor([[3., 0.], [0., 5.]]))\ntensor([5., 3.])");
  ops.define(
         "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("torch.linalg.svd with V in the place of Vh.",
           ">>> torch.svd(torch.tensor([[3., 0.], [0., 5.]])).S\ntensor([5., 3.])");
  ops.define(
         "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
         "hermitian=False) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "linalg.pinv: Expected result to be safely castable from $R dtype, but got result "
                 "with dtype $O")
      .function_only()
      .doc("The pseudoinverse; singular values up to max(atol, rtol * the largest) count as zero.",
           ">>> torch.linalg.pinv(torch.tensor([[2., 0.], [0., 0.]]))\ntensor([[0.5000, 0.0000],\n "
           "       [0.0000, 0.0000]])");
  ops.define(
         "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool "
         "hermitian=False) -> Tensor")
      .device_example("torch.linalg.pinv(x, atol=torch.tensor(0.5))")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "linalg.pinv: Expected result to be safely castable from $R dtype, but got result "
                 "with dtype $O")
      .function_only();
  ops.define("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor")
      .device_example("torch.linalg.pinv(x, 0.5)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "linalg.pinv: Expected result to be safely castable from $R dtype, but got result "
                 "with dtype $O")
      .function_only();
  ops.define("linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor")
      .device_example("torch.linalg.pinv(x, torch.tensor(0.5))")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "linalg.pinv: Expected result to be safely castable from $R dtype, but got result "
                 "with dtype $O")
      .function_only();
  ops.define("pinverse(Tensor self, float rcond=1e-15) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .doc("The pseudoinverse: torch.linalg.pinv.",
           ">>> torch.pinverse(torch.tensor([[2.]]))\ntensor([[0.5000]])");
  ops.define(
         "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
         "bool hermitian=False) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .function_only()
      .doc("How many singular values are above max(atol, rtol * the largest).",
           ">>> torch.linalg.matrix_rank(torch.ones(2, 2))\ntensor(1)");
  ops.define(
         "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? "
         "rtol=None, bool hermitian=False) -> Tensor")
      .device_example("torch.linalg.matrix_rank(x, atol=torch.tensor(0.5))")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .function_only();
  ops.define("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor")
      .device_example("torch.linalg.matrix_rank(x, 0.5)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .function_only();
  ops.define(
         "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor")
      .device_example("torch.linalg.matrix_rank(x, torch.tensor(0.5))")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .function_only();
  ops.define(
         "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor "
         "solution, Tensor residuals, Tensor rank, Tensor singular_values)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .function_only()
      .doc("X that makes A @ X - B smallest.",
           ">>> torch.linalg.lstsq(torch.ones(2, 1), torch.tensor([[1.], "
           "[3.]])).solution\ntensor([[2.0000]])");
}

}  // namespace mindtorch::ops
