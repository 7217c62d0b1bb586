// Tensors made of several others: joined, stacked, crossed.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::ops {
namespace {

// torch.empty(0) joins tensors of any shape, for history's sake.
bool is_skipped(const Tensor& tensor) { return tensor.dim() == 1 && tensor.numel() == 0; }

MemoryFormat common_format(TensorList tensors) {
  const MemoryFormat format = suggested_format(tensors[0]);
  for (const Tensor& tensor : tensors.subspan(1)) {
    if (format == MemoryFormat::kContiguous) break;
    if (suggested_format(tensor) != format) return MemoryFormat::kContiguous;
  }
  return format;
}

TensorSpec cat(TensorList tensors, int64_t dim) {
  MT_CHECK(!tensors.empty(), ValueError, "torch.cat(): expected a non-empty list of Tensors");
  const Tensor* first = nullptr;
  ResultType type;
  for (size_t i = 0; i < tensors.size(); ++i) {
    MT_CHECK(tensors[i].dim() != 0, RuntimeError, "zero-dimensional tensor (at position ", i,
             ") cannot be concatenated");
    type.add(tensors[i]);
    if (first == nullptr && !is_skipped(tensors[i])) first = &tensors[i];
  }
  if (first == nullptr) return contiguous_spec({0}, type.dtype(), tensors[0].device());
  const auto d = static_cast<size_t>(wrap_dim(dim, first->dim()));
  Shape sizes = first->sizes();
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (is_skipped(tensor)) continue;
    MT_CHECK(tensor.dim() == first->dim(), RuntimeError,
             "Tensors must have same number of dimensions: got ", first->dim(), " and ",
             tensor.dim());
    for (size_t j = 0; j < sizes.size(); ++j) {
      MT_CHECK(j == d || tensor.sizes()[j] == sizes[j], RuntimeError,
               "Sizes of tensors must match except in dimension ", d, ". Expected size ", sizes[j],
               " but got size ", tensor.sizes()[j], " for tensor number ", i, " in the list.");
    }
    MT_CHECK(!__builtin_add_overflow(sizes[d], tensor.sizes()[d], &sizes[d]), RuntimeError,
             "torch.cat(): the size of dimension ", d, " overflows");
  }
  TensorSpec spec = contiguous_spec(std::move(sizes), type.dtype(), first->device());
  const MemoryFormat format = common_format(tensors);
  if (format != MemoryFormat::kContiguous) spec.strides = strides_for(spec.sizes, format);
  return spec;
}

// How many ways there are to choose r of n.
int64_t choose(int64_t n, int64_t r) {
  if (r > n) return 0;
  __int128 count = 1;
  for (int64_t i = 1; i <= std::min(r, n - r); ++i) {
    count = count * (n - i + 1) / i;
    MT_CHECK(count <= INT64_MAX, RuntimeError, "combinations(): there are too many of them");
  }
  return static_cast<int64_t>(count);
}

TensorSpec combinations(const Tensor& self, int64_t r, bool with_replacement) {
  MT_CHECK(self.dim() == 1, RuntimeError, "Expect a 1D vector, but got shape ",
           to_string(self.sizes()));
  MT_CHECK(r >= 0, RuntimeError, "Expect a non-negative number, but got ", r);
  if (r == 0) return contiguous_spec({0}, self.dtype(), self.device());
  const int64_t n = self.numel();
  int64_t pool = n;
  MT_CHECK(!with_replacement || n == 0 || !__builtin_add_overflow(n - 1, r, &pool), RuntimeError,
           "combinations(): there are too many of them");
  return contiguous_spec({choose(pool, r), r}, self.dtype(), self.device());
}

}  // namespace

void define_joining(Registry& ops) {
  ops.define<cat>("cat(Tensor[] tensors, int dim=0) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kWidest)
      .variants(kOutVariant)
      .joins()
      .function_only()
      .also({"concat", "concatenate"})
      .doc("Joins tensors along an existing dimension.",
           ">>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])\ntensor([1, 2, 3])");
  ops.define("stack(Tensor[] tensors, int dim=0) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kWidest)
      .variants(kOutVariant)
      .joins()
      .function_only()
      .doc("Joins tensors along a new dimension.",
           ">>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])\n"
           "tensor([[1, 2],\n        [3, 4]])");
  ops.define("hstack(Tensor[] tensors) -> Tensor")
      .variants(kOutVariant)
      .joins()
      .function_only()
      .doc("Joins tensors side by side: along the columns, or the only dimension.",
           ">>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3])])\ntensor([1, 2, 3])");
  ops.define("vstack(Tensor[] tensors) -> Tensor")
      .variants(kOutVariant)
      .joins()
      .function_only()
      .also({"row_stack"})
      .doc("Joins tensors one below the other; vectors become rows.",
           ">>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])\n"
           "tensor([[1, 2],\n        [3, 4]])");
  ops.define("dstack(Tensor[] tensors) -> Tensor")
      .variants(kOutVariant)
      .joins()
      .function_only()
      .doc("Joins tensors along the third dimension.",
           ">>> torch.dstack([torch.zeros(2, 3), torch.zeros(2, 3)]).shape\n"
           "torch.Size([2, 3, 2])");
  ops.define("column_stack(Tensor[] tensors) -> Tensor")
      .variants(kOutVariant)
      .joins()
      .function_only()
      .doc("Joins tensors side by side; vectors become columns.",
           ">>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])\n"
           "tensor([[1, 3],\n        [2, 4]])");
  ops.define("block_diag(Tensor[1] tensors) -> Tensor")
      .function_only()
      .doc("A matrix with the tensors along its diagonal.",
           ">>> torch.block_diag(torch.tensor([1, 2]), torch.tensor([[3], [4]]))\n"
           "tensor([[1, 2, 0],\n        [0, 0, 3],\n        [0, 0, 4]])");
  ops.define("meshgrid(Tensor[1] tensors, *, str? indexing=None) -> Tensor[]")
      .function_only()
      .doc("Each vector's coordinate at every point of the grid that the vectors span.",
           ">>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing='ij')[1]\n"
           "tensor([[3, 4],\n        [3, 4]])");
  ops.define("cartesian_prod(Tensor[1] tensors) -> Tensor")
      .function_only()
      .doc("All combinations of one element of each vector, in rows.",
           ">>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))\n"
           "tensor([[1, 3],\n        [1, 4],\n        [2, 3],\n        [2, 4]])");
  ops.define<combinations>(
         "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor")
      .function_only()
      .doc("All ways to take `r` elements of a vector, in rows.",
           ">>> torch.combinations(torch.tensor([1, 2, 3]))\n"
           "tensor([[1, 2],\n        [1, 3],\n        [2, 3]])");
  ops.define("kron(Tensor self, Tensor other) -> Tensor")
      .variants(kOutVariant)
      .doc("The Kronecker product: `other` scaled by each element of `self`.",
           ">>> torch.kron(torch.tensor([1, 2]), torch.tensor([3, 4]))\ntensor([3, 4, 6, 8])");
  ops.define("cross(Tensor self, Tensor other, int? dim=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("The vector product along a dimension of size 3.",
           ">>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]))\n"
           "tensor([0, 0, 1])");
}

}  // namespace mindtorch::ops
