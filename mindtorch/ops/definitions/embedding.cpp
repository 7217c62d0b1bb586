// Rows of a table, by index.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_indices(const char* op, int position, const Tensor& indices) {
  const DType dtype = indices.dtype();
  if (dtype == DType::kInt64 || dtype == DType::kInt32) return;
  const std::string type = dtype == DType::kBool
                               ? "CPUBoolType"
                               : mindtorch::detail::concat("torch.", legacy_name(dtype), "Tensor");
  MT_THROW(RuntimeError, "Expected tensor for argument #", position,
           " 'indices' to have one of the following scalar types: Long, Int; but got ", type,
           " instead (while checking arguments for ", op, ")");
}

TensorSpec embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  MT_CHECK(weight.dim() == 2, RuntimeError, "'weight' must be 2-D");
  check_indices("embedding", 1, indices);
  MT_CHECK(weight.size(0) > 0 || indices.numel() == 0, RuntimeError,
           "index_select(): self indexing axis dim should be positive");
  Shape sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  return contiguous_spec(std::move(sizes), weight.dtype(), weight.device());
}

TensorSpec rows_of_bags(const Tensor& weight, const Tensor& indices, bool) {
  MT_CHECK(weight.dim() == 2, RuntimeError, "'weight' must be 2-D");
  MT_CHECK(indices.dim() == 2, RuntimeError, "'indices' must be 2-D");
  MT_CHECK(is_floating_point(weight.dtype()) && !is_float8(weight.dtype()), RuntimeError,
           "expected scalar type Half or BFloat16 or Float or Double but found ",
           legacy_name(weight.dtype()));
  check_indices("embedding_bag", 2, indices);
  return contiguous_spec({indices.size(0), weight.size(1)}, weight.dtype(), weight.device());
}

TensorSpec embedding_dense_backward(
    const Tensor& grad_output, const Tensor&, int64_t num_weights, int64_t, bool) {
  return contiguous_spec({num_weights, grad_output.size(-1)}, grad_output.dtype(),
                         grad_output.device());
}

void embedding_renorm(const Tensor& self, const Tensor& indices, double, double) {
  MT_CHECK(self.dim() == 2, RuntimeError, "Expected 2-dimensional tensor, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for "
           "embedding_renorm_)");
  check_indices("embedding_renorm_", 2, indices);
  MT_CHECK(is_floating_point(self.dtype()), RuntimeError,
           "norm(): input dtype should be either floating point or complex. Got ",
           legacy_name(self.dtype()), " instead.");
}

}  // namespace

void define_embedding(Registry& ops) {
  ops.define<embedding>(
         "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool "
         "scale_grad_by_freq=False, bool sparse=False) -> Tensor")
      .function_only()
      .doc("The rows of weight that the indices name.",
           ">>> torch.embedding(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1]))\n"
           "tensor([[3., 4.]])");
  // The sum or mean of the rows of weight that each row of indices names.
  ops.define<rows_of_bags>("_rows_of_bags(Tensor weight, Tensor indices, bool is_mean) -> Tensor")
      .device_example("F.embedding_bag(rows.view(1, 2), kernel.view(2, 2))")
      .internal();
  ops.define(
         "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
         "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
         "Tensor? per_sample_weights=None, bool include_last_offset=False) -> "
         "(Tensor, Tensor, Tensor, Tensor)")
      .function_only()
      .doc(
          "The sum, mean or largest elements of the rows of weight that each bag of indices "
          "names, by the mode (0, 1, 2); then the bag of each index, the sizes of the bags, and "
          "the rows that were largest.",
          ">>> torch.embedding_bag(torch.eye(2), torch.tensor([0, 1]), torch.tensor([0]))[0]\n"
          "tensor([[1., 1.]])");
  ops.define(
         "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, "
         "bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, "
         "bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)")
      .device_example(
          "torch.embedding_bag(kernel.view(2, 2), rows, torch.tensor([0]), False, 0, False, None, "
          "False, 1)")
      .function_only()
      .doc("Leaves out the indices that are padding_idx.");
  ops.define(
         "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
         "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
         "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
         "(Tensor, Tensor, Tensor, Tensor)")
      .device_example("torch.ops.aten._embedding_bag(kernel.view(2, 2), rows, torch.tensor([0]))")
      .internal();
  ops.define(
         "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, "
         "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
         "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
         "(Tensor, Tensor, Tensor, Tensor)")
      .device_example(
          "torch.ops.aten._embedding_bag_forward_only(kernel.view(2, 2), rows, torch.tensor([0]))")
      .internal();
  // The first of them alone. Without offsets each row of indices is a bag.
  ops.define(
         "_pooled_embedding(Tensor weight, Tensor indices, Tensor? offsets, "
         "bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, "
         "bool include_last_offset, int? padding_idx) -> Tensor")
      .device_example("F.embedding_bag(rows, kernel.view(2, 2), torch.tensor([0]))")
      .internal();
  ops.define<embedding_dense_backward>(
         "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, "
         "int padding_idx, bool scale_grad_by_freq) -> Tensor")
      .device_example("grad(F.embedding(rows, kernel.view(2, 2)).sum(), kernel)")
      .internal()
      .not_differentiable();
  ops.define<embedding_renorm>(
         "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) "
         "-> Tensor(a!)")
      .function_only()
      .allows_overlap()
      .doc("Scales the rows that the indices name down to norm max_norm where they are longer.",
           ">>> torch.embedding_renorm_(torch.tensor([[3., 4.]]), torch.tensor([0]), 1.0, 2.0)\n"
           "tensor([[0.6000, 0.8000]])");
}

}  // namespace mindtorch::ops
