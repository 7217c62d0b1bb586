// Norms, products and powers of matrices. Composites, written in functional/linalg_norm.cpp.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {

void define_linalg_norm(Registry& ops) {
  ops.define(
         "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
         "ScalarType? dtype=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "linalg.matrix_norm expected out tensor dtype $R but got: $O")
      .function_only()
      .doc("A norm of the matrices in two dimensions: 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'.",
           ">>> torch.linalg.matrix_norm(torch.tensor([[1., -2.], [3., 4.]]), 1)\ntensor(6.)");
  ops.define(
         "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2, -1], bool "
         "keepdim=False, *, ScalarType? dtype=None) -> Tensor")
      .device_example("torch.linalg.matrix_norm(x, 'fro')")
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "linalg.matrix_norm expected out tensor dtype $R but got: $O")
      .function_only();
  ops.define(
         "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
         "ScalarType? dtype=None) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "linalg.norm expected out tensor dtype $R but got: $O")
      .function_only()
      .doc("A vector norm, or a matrix norm where ord and the number of dimensions ask for one.",
           ">>> torch.linalg.norm(torch.ones(2, 2))\ntensor(2.)");
  ops.define(
         "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
         "ScalarType? dtype=None) -> Tensor")
      .device_example("torch.linalg.norm(x, 'fro')")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "linalg.norm expected out tensor dtype $R but got: $O")
      .function_only();
  ops.define("linalg_cond(Tensor self, Scalar? p=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "linalg.cond: Expected result to be safely castable from $R dtype, but got result "
                 "with dtype $O")
      .function_only()
      .doc("The condition number: the norm of a matrix times that of its inverse.",
           ">>> torch.linalg.cond(torch.tensor([[4., 0.], [0., 2.]]))\ntensor(2.)");
  ops.define("linalg_cond.p_str(Tensor self, str p) -> Tensor")
      .device_example("torch.linalg.cond(x[:, :2], 'fro')")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "linalg.cond: Expected result to be safely castable from $R dtype, but got result "
                 "with dtype $O")
      .function_only();
  ops.define("linalg_matrix_power(Tensor self, int n) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("The product of n copies of a square matrix, of its inverse for n below 0.",
           ">>> torch.linalg.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 3)\ntensor([[1., "
           "3.],\n        [0., 1.]])");
  ops.define("matrix_power(Tensor self, int n) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("torch.linalg.matrix_power.",
           ">>> torch.matrix_power(torch.tensor([[2.]]), 3)\ntensor([[8.]])");
  ops.define("linalg_multi_dot(Tensor[] tensors) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "multi_dot(): expected out tensor to have dtype $r but got $o")
      .function_only()
      .doc("The product of two or more matrices, in the cheapest order.",
           ">>> torch.linalg.multi_dot([torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, "
           "1)])\ntensor([[6.]])");
  ops.define("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .variants(kOutVariant)
      .function_only()
      .doc("The dot products of the vectors along a dimension.",
           ">>> torch.linalg.vecdot(torch.tensor([[1., 2.]]), torch.tensor([3., "
           "4.]))\ntensor([11.])");
  ops.define("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor")
      .variants(kOutVariant)
      .function_only()
      .doc("The cross products of vectors of three elements.",
           ">>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., "
           "0.]))\ntensor([0., 0., 1.])");
  ops.define("linalg_vander(Tensor x, *, int? N=None) -> Tensor")
      .function_only()
      .doc("The powers of each element, from 0 to N - 1.",
           ">>> torch.linalg.vander(torch.tensor([2, 3]))\ntensor([[1, 2],\n        [1, 3]])");
  ops.define("linalg_matrix_exp(Tensor self) -> Tensor")
      .function_only()
      .doc("The exponential of a square matrix.",
           ">>> torch.linalg.matrix_exp(torch.zeros(2, 2))\ntensor([[1., 0.],\n        [0., 1.]])");
  ops.define("linalg_tensorinv(Tensor self, int ind=2) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "tensorinv: Expected result to be safely castable from $R dtype, but got result "
                 "with dtype $O")
      .function_only()
      .doc(
          "The inverse of a tensor as a map from its last dimensions to its first `ind`.",
          ">>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4)).shape\ntorch.Size([4, 2, 2])");
  ops.define("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast,
                 "tensorsolve: Expected result to be safely castable from $R dtype, but got result "
                 "with dtype $O")
      .function_only()
      .doc("X with tensordot(A, X, X.ndim) = B.",
           ">>> torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), torch.ones(2, "
           "2))\ntensor([1., 1., 1., 1.])");
  ops.define("matrix_exp(Tensor self) -> Tensor")
      .doc("torch.linalg.matrix_exp.", ">>> torch.matrix_exp(torch.zeros(1, 1))\ntensor([[1.]])");
}

}  // namespace mindtorch::ops
