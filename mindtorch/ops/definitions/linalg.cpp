// Factors of matrices, inverses, determinants and solutions. Composites, written in
// functional/linalg.cpp of the ops in linalg_kernels.cpp.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {

void define_linalg(Registry& ops) {
  ops.define("linalg_inv(Tensor A) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The inverse of a square matrix.",
           ">>> torch.linalg.inv(torch.tensor([[2., 1.], [1., 1.]])).round()\ntensor([[ 1., "
           "-1.],\n  "
           "      [-1.,  2.]])");
  ops.define("inverse(Tensor self) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("The inverse of a square matrix: torch.linalg.inv.",
           ">>> torch.inverse(torch.tensor([[2.]]))\ntensor([[0.5000]])");
  ops.define("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The inverse, and for each matrix 0 or the element of the diagonal that is zero.",
           ">>> torch.linalg.inv_ex(torch.eye(2)).info\ntensor(0, dtype=torch.int32)");
  ops.define("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The triangular factor L of a positive-definite matrix L @ L.mH.",
           ">>> torch.linalg.cholesky(torch.tensor([[4., 2.], [2., 2.]]))\ntensor([[2., 0.],\n     "
           "   [1., 1.]])");
  ops.define(
         "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor "
         "L, Tensor info)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc(
          "The triangular factor, and for each matrix 0 or the order of the minor that is not "
          "positive-definite.",
          ">>> torch.linalg.cholesky_ex(torch.tensor([[-1.]])).info\ntensor(1, dtype=torch.int32)");
  ops.define("cholesky(Tensor self, bool upper=False) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("The triangular factor of a positive-definite matrix: torch.linalg.cholesky.",
           ">>> torch.cholesky(torch.tensor([[4.]]))\ntensor([[2.]])");
  ops.define("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("Both triangular factors in one matrix, and the rows that were swapped, counted from 1.",
           ">>> torch.linalg.lu_factor(torch.tensor([[1., 2.], [2., 2.]])).LU\ntensor([[2.0000, "
           "2.0000],\n        [0.5000, 1.0000]])");
  ops.define(
         "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor "
         "LU, Tensor pivots, Tensor info)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc(
          "torch.linalg.lu_factor, and for each matrix 0 or the element of U's diagonal that is "
          "zero.",
          ">>> torch.linalg.lu_factor_ex(torch.zeros(1, 1)).info\ntensor(1, dtype=torch.int32)");
  ops.define("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("A permutation, a lower and an upper triangular matrix whose product is A.",
           ">>> torch.linalg.lu(torch.tensor([[1., 2.], [2., 2.]])).U\ntensor([[2., 2.],\n        "
           "[0., 1.]])");
  ops.define(
         "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
         "unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The factors of torch.linalg.lu from the result of lu_factor.",
           ">>> torch.lu_unpack(*torch.linalg.lu_factor(torch.eye(2))).L\ntensor([[1., 0.],\n      "
           "  [0., 1.]])");
  ops.define(
         "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("Factors of a symmetric matrix, for ldl_solve.",
           ">>> torch.linalg.ldl_factor(torch.tensor([[2.]])).LD\ntensor([[2.]])");
  ops.define(
         "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> "
         "(Tensor LD, Tensor pivots, Tensor info)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("torch.linalg.ldl_factor, and for each matrix 0 or the block of D that is zero.",
           ">>> torch.linalg.ldl_factor_ex(torch.tensor([[2.]])).info\ntensor(0, "
           "dtype=torch.int32)");
  ops.define("linalg_det(Tensor A) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The determinant.",
           ">>> torch.linalg.det(torch.tensor([[1., 2.], [3., 4.]])).round()\ntensor(-2.)");
  ops.define("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The sign of the determinant and the logarithm of its absolute value.",
           ">>> torch.linalg.slogdet(torch.tensor([[-1.]])).sign\ntensor(-1.)");
  ops.define("logdet(Tensor self) -> Tensor")
      .doc("The logarithm of the determinant.", ">>> torch.logdet(torch.eye(2))\ntensor(0.)");
  ops.define("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("X with A @ X = B; with left=False, X @ A = B.",
           ">>> torch.linalg.solve(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([1., "
           "1.]))\ntensor([0.5000, 0.2500])");
  ops.define(
         "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
         "(Tensor result, Tensor info)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc(
          "torch.linalg.solve, and for each matrix 0 or the element of a factor's diagonal that is "
          "zero.",
          ">>> torch.linalg.solve_ex(torch.zeros(1, 1), torch.ones(1)).info\ntensor(1, "
          "dtype=torch.int32)");
  ops.define(
         "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
         "adjoint=False) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("torch.linalg.solve for a matrix that torch.linalg.lu_factor has factored.",
           ">>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.]])), torch.ones(1, "
           "1))\ntensor([[0.5000]])");
  ops.define("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("torch.linalg.lu_solve with the right-hand side first.",
           ">>> torch.lu_solve(torch.ones(1, 1), "
           "*torch.linalg.lu_factor(torch.tensor([[2.]])))\ntensor([[0.5000]])");
  ops.define(
         "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
         "unitriangular=False) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("torch.linalg.solve for a triangular matrix; the other triangle is not read.",
           ">>> torch.linalg.solve_triangular(torch.tensor([[2.]]), torch.ones(1, 1), "
           "upper=True)\ntensor([[0.5000]])");
  ops.define(
         "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
         "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("torch.linalg.solve_triangular with the right-hand side first, and a copy of A.",
           ">>> torch.triangular_solve(torch.ones(1, 1), "
           "torch.tensor([[2.]])).solution\ntensor([[0.5000]])");
  ops.define("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "cholesky_solve: Expected result to be safely castable from $R dtype, but got "
                 "result with dtype $O")
      .doc("X with A @ X = self, of the triangular factor of A.",
           ">>> torch.cholesky_solve(torch.ones(1, 1), torch.tensor([[2.]]))\ntensor([[0.2500]])");
  ops.define("cholesky_inverse(Tensor self, bool upper=False) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "cholesky_inverse: Expected result to be safely castable from $R dtype, but got "
                 "result with dtype $O")
      .doc("The inverse of A, of the triangular factor of A.",
           ">>> torch.cholesky_inverse(torch.tensor([[2.]]))\ntensor([[0.2500]])");
  ops.define(
         "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("torch.linalg.solve for a matrix that torch.linalg.ldl_factor has factored.",
           ">>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(torch.tensor([[2.]])), "
           "torch.ones(1, 1))\ntensor([[0.5000]])");
  ops.define("det(Tensor self) -> Tensor")
      .doc("The determinant: torch.linalg.det.", ">>> torch.det(torch.eye(2))\ntensor(1.)");
  ops.define("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("torch.linalg.slogdet.", ">>> torch.slogdet(torch.eye(2)).logabsdet\ntensor(0.)");
}

}  // namespace mindtorch::ops
