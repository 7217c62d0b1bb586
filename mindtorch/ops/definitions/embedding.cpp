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

TensorSpec embedding_bag(const Tensor& weight, const Tensor& indices, bool) {
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
  ops.define<embedding_bag>("_embedding_bag(Tensor weight, Tensor indices, bool is_mean) -> Tensor")
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
