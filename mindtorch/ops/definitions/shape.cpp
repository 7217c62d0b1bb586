// New tensors from one: repeated, turned, cut, padded.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

TensorSpec flip(const Tensor& self, IntList dims) {
  if (!dims.empty()) dim_mask(dims, self.dim());  // checks them
  return spec_like(self, self.dtype());
}

TensorSpec repeat_interleave(const Tensor& self,
                             int64_t repeats,
                             std::optional<int64_t> dim,
                             std::optional<int64_t> output_size) {
  const int64_t d = wrap_dim(dim.value_or(0), self.dim());
  MT_CHECK(repeats >= 0, RuntimeError, "Repeats must be non-negative");
  Shape sizes = dim && self.dim() != 0 ? self.sizes() : Shape{self.numel()};
  int64_t& size = sizes[static_cast<size_t>(dim ? d : 0)];
  MT_CHECK(!__builtin_mul_overflow(size, repeats, &size), RuntimeError,
           "repeat_interleave: the result is too large");
  MT_CHECK(!output_size || *output_size == size, RuntimeError,
           "repeat_interleave: Invalid output_size, expected ", size, " but got ",
           output_size.value_or(0));
  numel(sizes);
  return contiguous_spec(std::move(sizes), self.dtype(), self.device());
}

TensorSpec triangle(std::string_view name, const Tensor& self) {
  MT_CHECK(self.dim() >= 2, RuntimeError, name, ": input tensor must have at least 2 dimensions");
  return contiguous_spec(self.sizes(), self.dtype(), self.device());
}
TensorSpec tril(const Tensor& self, int64_t) { return triangle("tril", self); }
TensorSpec triu(const Tensor& self, int64_t) { return triangle("triu", self); }
void tril_inplace(const Tensor& self, int64_t) { triangle("tril", self); }
void triu_inplace(const Tensor& self, int64_t) { triangle("triu", self); }

void define_repeats(Registry& ops) {
  ops.define("repeat(Tensor self, int[] repeats) -> Tensor")
      .method_only()
      .doc("The tensor laid side by side, as many times along each dimension as `repeats` says.",
           ">>> torch.tensor([1, 2]).repeat(2, 2)\ntensor([[1, 2, 1, 2],\n        [1, 2, 1, 2]])");
  ops.define("tile(Tensor self, int[] dims) -> Tensor")
      .doc("Like repeat; absent leading numbers are 1.",
           ">>> torch.tile(torch.tensor([1, 2]), (2,))\ntensor([1, 2, 1, 2])");
  ops.define("repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor")
      .dynamic()
      .function_only()
      .doc("Each element repeated; a lone tensor of repeats gives the indices.",
           ">>> torch.repeat_interleave(torch.tensor([1, 2]), 2)\ntensor([1, 1, 2, 2])");
  ops.define(
         "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
         "int? output_size=None) -> Tensor")
      .doc("Each element repeated as often as `repeats` says.",
           ">>> torch.tensor([5, 6]).repeat_interleave(torch.tensor([1, 2]))\n"
           "tensor([5, 6, 6])");
  ops.define<repeat_interleave>(
         "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, "
         "int? output_size=None) -> Tensor")
      .names_dims()
      .doc("Each element repeated.",
           ">>> torch.tensor([5, 6]).repeat_interleave(2)\ntensor([5, 5, 6, 6])");
}

void define_turns(Registry& ops) {
  ops.define<flip>("flip(Tensor self, int[] dims) -> Tensor")
      .names_dims()
      .doc("The elements in reverse order along some dimensions.",
           ">>> torch.tensor([1, 2, 3]).flip(0)\ntensor([3, 2, 1])");
  ops.define("fliplr(Tensor self) -> Tensor")
      .doc("The columns in reverse order.",
           ">>> torch.tensor([[1, 2], [3, 4]]).fliplr()\ntensor([[2, 1],\n        [4, 3]])");
  ops.define("flipud(Tensor self) -> Tensor")
      .doc("The rows in reverse order.",
           ">>> torch.tensor([[1, 2], [3, 4]]).flipud()\ntensor([[3, 4],\n        [1, 2]])");
  ops.define("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
      .doc("A rotation by `k` quarter turns, from the first of two dims towards the second.",
           ">>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))\ntensor([[2, 4],\n        [1, 3]])");
  ops.define("roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor")
      .doc("The elements moved along dimensions; what leaves at one end comes in at the other.",
           ">>> torch.tensor([1, 2, 3]).roll(1)\ntensor([3, 1, 2])");
}

void define_diagonals(Registry& ops) {
  ops.define<tril>("tril(Tensor self, int diagonal=0) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .doc("Zero above a diagonal.",
           ">>> torch.ones(2, 2).tril()\ntensor([[1., 0.],\n        [1., 1.]])");
  ops.define<triu>("triu(Tensor self, int diagonal=0) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .doc("Zero below a diagonal.",
           ">>> torch.ones(2, 2).triu()\ntensor([[1., 1.],\n        [0., 1.]])");
  ops.define<tril_inplace>("tril_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)")
      .names_dims()
      .method_only()
      .doc("Zero above a diagonal.",
           ">>> torch.ones(2, 2).tril_()\ntensor([[1., 0.],\n        [1., 1.]])");
  ops.define<triu_inplace>("triu_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)")
      .names_dims()
      .method_only()
      .doc("Zero below a diagonal.",
           ">>> torch.ones(2, 2).triu_()\ntensor([[1., 1.],\n        [0., 1.]])");
  ops.define("diag(Tensor self, int diagonal=0) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("The matrix with a vector on its diagonal, or the diagonal of a matrix.",
           ">>> torch.diag(torch.tensor([1, 2]))\ntensor([[1, 0],\n        [0, 2]])");
  ops.define("diagflat(Tensor self, int offset=0) -> Tensor")
      .doc("The matrix with all elements on its diagonal.",
           ">>> torch.diagflat(torch.tensor([[1, 2]]))\ntensor([[1, 0],\n        [0, 2]])");
  ops.define("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
      .doc("Matrices with the last dimension on their diagonals.",
           ">>> torch.diag_embed(torch.tensor([1, 2]))\ntensor([[1, 0],\n        [0, 2]])");
  ops.define("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)")
      .method_only()
      .doc("Sets the main diagonal to a number.",
           ">>> torch.zeros(2, 2).fill_diagonal_(1)\ntensor([[1., 0.],\n        [0., 1.]])");
  ops.define("trace(Tensor self) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .doc("The sum of the diagonal.", ">>> torch.trace(torch.eye(3))\ntensor(3.)");
}

void define_pieces(Registry& ops) {
  ops.define("hsplit.int(Tensor(a) self, int sections) -> Tensor[]")
      .doc("Splits by columns.", ">>> torch.arange(4).hsplit(2)\n(tensor([0, 1]), tensor([2, 3]))");
  ops.define("hsplit.array(Tensor(a) self, int[] indices) -> Tensor[]")
      .doc("Splits by columns.", ">>> torch.arange(3).hsplit([1])\n(tensor([0]), tensor([1, 2]))");
  ops.define("vsplit.int(Tensor(a) self, int sections) -> Tensor[]")
      .doc("Splits by rows.",
           ">>> torch.arange(4).view(2, 2).vsplit(2)\n(tensor([[0, 1]]), tensor([[2, 3]]))");
  ops.define("vsplit.array(Tensor(a) self, int[] indices) -> Tensor[]")
      .doc("Splits by rows.",
           ">>> torch.arange(4).view(2, 2).vsplit([1])\n(tensor([[0, 1]]), tensor([[2, 3]]))");
  ops.define("dsplit.int(Tensor(a) self, int sections) -> Tensor[]")
      .doc("Splits along the third dimension.", ">>> len(torch.zeros(2, 2, 4).dsplit(2))\n2");
  ops.define("dsplit.array(Tensor(a) self, int[] indices) -> Tensor[]")
      .doc("Splits along the third dimension.", ">>> len(torch.zeros(2, 2, 4).dsplit([1]))\n2");
  ops.define("narrow_copy(Tensor self, int dim, int start, int length) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(
          TargetDType::kSame,
          "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error "
          "message be improved?  If so, please report an enhancement request to PyTorch.)")
      .doc("A copy of a range of one dimension.",
           ">>> torch.arange(5).narrow_copy(0, 1, 3)\ntensor([1, 2, 3])");
  ops.define("select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor")
      .doc("A copy with one slice replaced.",
           ">>> torch.zeros(2, 2).select_scatter(torch.ones(2), 0, 0)\n"
           "tensor([[1., 1.],\n        [0., 0.]])");
  ops.define(
         "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, "
         "int step=1) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("A copy with a range of one dimension replaced.",
           ">>> torch.zeros(3).slice_scatter(torch.ones(2), 0, 1)\ntensor([0., 1., 1.])");
  ops.define(
         "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> "
         "Tensor")
      .doc("A copy with a diagonal replaced.",
           ">>> torch.zeros(2, 2).diagonal_scatter(torch.ones(2))\n"
           "tensor([[1., 0.],\n        [0., 1.]])");
  ops.define(
         "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, "
         "int? storage_offset=None) -> Tensor")
      .doc("A copy with the elements of a strided view replaced.",
           ">>> torch.zeros(3).as_strided_scatter(torch.ones(2), (2,), (2,))\n"
           "tensor([1., 0., 1.])");
  ops.define("constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor")
      .function_only()
      .doc("A border of one value, given as pairs from the last dimension on.",
           ">>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 2), 9)\n"
           "tensor([9, 1, 2, 9, 9])");
}

// These change what the tensor object shows, not its elements.
void define_inplace_views(Registry& ops) {
  ops.define("unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)")
      .method_only()
      .doc("Adds a dimension of size 1.",
           ">>> torch.zeros(3).unsqueeze_(0).shape\ntorch.Size([1, 3])");
  ops.define("squeeze_(Tensor(a!) self) -> Tensor(a!)")
      .method_only()
      .doc("Drops dimensions of size 1.",
           ">>> torch.zeros(1, 3, 1).squeeze_().shape\ntorch.Size([3])");
  ops.define("squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)")
      .method_only()
      .doc("Drops the given dimension if it has size 1.",
           ">>> torch.zeros(1, 3, 1).squeeze_(0).shape\ntorch.Size([3, 1])");
  ops.define("squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)")
      .method_only()
      .doc("Drops the given dimensions where they have size 1.",
           ">>> torch.zeros(1, 3, 1).squeeze_((0, 2)).shape\ntorch.Size([3])");
  ops.define("transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)")
      .method_only()
      .doc("Swaps two dimensions.",
           ">>> torch.zeros(2, 3).transpose_(0, 1).shape\ntorch.Size([3, 2])");
  ops.define("swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)")
      .method_only()
      .doc("Swaps two dimensions.",
           ">>> torch.zeros(2, 3).swapdims_(0, 1).shape\ntorch.Size([3, 2])");
  ops.define("swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)")
      .method_only()
      .doc("Swaps two dimensions.",
           ">>> torch.zeros(2, 3).swapaxes_(0, 1).shape\ntorch.Size([3, 2])");
  ops.define("t_(Tensor(a!) self) -> Tensor(a!)")
      .method_only()
      .doc("Transposes a matrix.", ">>> torch.zeros(2, 3).t_().shape\ntorch.Size([3, 2])");
  ops.define(
         "as_strided_(Tensor(a!) self, int[] size, int[] stride, int? storage_offset=None) -> "
         "Tensor(a!)")
      .doc("Shows the storage with any sizes, strides and offset.",
           ">>> torch.arange(4).as_strided_((2, 2), (1, 2))\ntensor([[0, 2],\n        [1, 3]])");
}

}  // namespace

void define_shape(Registry& ops) {
  define_repeats(ops);
  define_turns(ops);
  define_diagonals(ops);
  define_pieces(ops);
  define_inplace_views(ops);
  // --- channels and pixels ---
  ops.define("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor")
      .place(kFunction | kNnFunction)
      .doc("(*, C * r * r, H, W) as (*, C, H * r, W * r).",
           ">>> torch.pixel_shuffle(torch.arange(4.0).view(4, 1, 1), 2)\n"
           "tensor([[[0., 1.],\n         [2., 3.]]])");
  ops.define("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor")
      .place(kFunction | kNnFunction)
      .doc("The inverse of pixel_shuffle.",
           ">>> torch.pixel_unshuffle(torch.arange(4.0).view(1, 2, 2), 2).shape\n"
           "torch.Size([4, 1, 1])");
  ops.define("channel_shuffle(Tensor self, int groups) -> Tensor")
      .place(kFunction | kNnFunction)
      .also({"native_channel_shuffle"})
      .doc("Channels in groups, taken in turn from each group.",
           ">>> torch.channel_shuffle(torch.arange(4.0).view(1, 4, 1), 2).flatten()\n"
           "tensor([0., 2., 1., 3.])");
}

}  // namespace mindtorch::ops
