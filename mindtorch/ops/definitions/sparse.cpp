// Sparse tensors, given by the coordinates of their entries: products with matrices, which are each
// other's derivatives, sums, and what they are without gaps.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_coordinates(const char* op, const Tensor& row, const Tensor& col) {
  MT_CHECK(row.dim() == 1 && row.sizes() == col.sizes(), RuntimeError, op,
           ": the coordinates must be two vectors of one length, but got ", to_string(row.sizes()),
           " and ", to_string(col.sizes()));
  for (const Tensor* index : {&row, &col}) {
    MT_CHECK(index->dtype() == DType::kInt64 || index->dtype() == DType::kInt32, RuntimeError, op,
             ": the coordinates must be int64 or int32, but got ", legacy_name(index->dtype()));
  }
}

void check_list(const char* op, const Tensor& places) {
  MT_CHECK(places.dim() == 1 && places.dtype() == DType::kInt64, RuntimeError, op,
           ": expected a list of int64, but got ", legacy_name(places.dtype()), " of shape ",
           to_string(places.sizes()));
}

TensorSpec coo_mm(
    const Tensor& row, const Tensor& col, const Tensor& values, const Tensor& dense, int64_t rows) {
  check_coordinates("_coo_mm", row, col);
  MT_CHECK(values.sizes() == row.sizes(), RuntimeError, "_coo_mm: ", row.size(0),
           " entries have values of shape ", to_string(values.sizes()));
  MT_CHECK(dense.dim() == 2 && rows >= 0, RuntimeError, "_coo_mm: expected a matrix, but got ",
           dense.dim(), "-D tensor");
  MT_CHECK(values.dtype() == dense.dtype(), RuntimeError,
           "expected m1 and m2 to have the same dtype, but got: ", legacy_name(values.dtype()),
           " != ", legacy_name(dense.dtype()));
  return contiguous_spec({rows, dense.size(1)}, dense.dtype(), dense.device());
}

TensorSpec coo_dot(const Tensor& row, const Tensor& col, const Tensor& left, const Tensor& right) {
  check_coordinates("_coo_dot", row, col);
  MT_CHECK(left.dim() == 2 && right.dim() == 2 && left.size(1) == right.size(1), RuntimeError,
           "_coo_dot: expected two matrices with rows of one length, but got ",
           to_string(left.sizes()), " and ", to_string(right.sizes()));
  MT_CHECK(left.dtype() == right.dtype(), RuntimeError,
           "expected m1 and m2 to have the same dtype, but got: ", legacy_name(left.dtype()),
           " != ", legacy_name(right.dtype()));
  return contiguous_spec({row.size(0)}, left.dtype(), left.device());
}

TensorSpec coo_dense(const Tensor& indices, const Tensor& values, IntList size) {
  MT_CHECK(indices.dim() == 2 && indices.dtype() == DType::kInt64 && values.dim() == 1 &&
               indices.size(1) == values.size(0) &&
               indices.size(0) == static_cast<int64_t>(size.size()),
           RuntimeError, "_coo_dense: expected int64 coordinates of each value, but got ",
           to_string(indices.sizes()), " for ", to_string(values.sizes()));
  return contiguous_spec(Shape(size), values.dtype(), values.device());
}

TensorSpec coo_merge(const Tensor& left, const Tensor& right) {
  check_list("_coo_merge", left);
  check_list("_coo_merge", right);
  return contiguous_spec({left.size(0) + right.size(0)}, DType::kInt64, left.device());
}

}  // namespace

void define_sparse(Registry& ops) {
  ops.define<coo_mm>(
         "_coo_mm(Tensor row, Tensor col, Tensor values, Tensor dense, int rows) -> Tensor")
      .device_example("torch.sparse_coo_tensor(torch.stack([rows, rows]), x[0, :2]) @ x")
      .internal()
      .checks_values()
      .doc(
          "The product of a sparse matrix of `rows` rows, which has values[e] at row[e], col[e], "
          "and a dense one. Entries at one place add up.");
  ops.define<coo_dot>("_coo_dot(Tensor row, Tensor col, Tensor left, Tensor right) -> Tensor")
      .device_example(
          "grad((torch.sparse_coo_tensor(torch.stack([rows, rows]), gates[0, :2]) @ x).sum(), "
          "gates)")
      .internal()
      .checks_values()
      .doc("Entries of left @ right.T: those at row[e], col[e].");
  ops.define<coo_dense>("_coo_dense(Tensor indices, Tensor values, int[] size) -> Tensor")
      .device_example("torch.eye(2).to_sparse().to_dense()")
      .internal()
      .checks_values()
      .not_differentiable()
      .doc("The strided tensor that has values[e] at indices[:, e]. Entries at one place add up.");
  ops.define<coo_merge>("_coo_merge(Tensor left, Tensor right) -> Tensor")
      .device_example("torch.eye(2).to_sparse().requires_grad_() + torch.ones(2, 2).to_sparse()")
      .internal()
      .doc(
          "Where the entries of two tensors go in their sum, those of `left` first, by the place "
          "of each. The lists are merged from their fronts: the smaller place is next, equal ones "
          "share an entry.");
  ops.define(
         "_coo_add(Tensor left_indices, Tensor left, Tensor right_indices, Tensor right) -> "
         "(Tensor, Tensor)")
      .device_example("torch.eye(2).to_sparse() + torch.ones(2, 2).to_sparse()")
      .dynamic()
      .internal()
      .doc("The places and values of the sum of two tensors, merged as _coo_merge says.");
}

}  // namespace mindtorch::ops
