// Other looks at a tensor's storage.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

ViewSpec same_view(const Tensor& self) {
  return {self.sizes(), self.strides(), self.storage_offset()};
}

ViewSpec view(const Tensor& self, IntList size) {
  Shape sizes = infer_sizes(size, self.numel());
  std::optional<Shape> strides = view_strides(self.sizes(), self.strides(), sizes);
  MT_CHECK(strides, RuntimeError,
           "view size is not compatible with input tensor's size and stride (at least one "
           "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  return {std::move(sizes), std::move(*strides), self.storage_offset()};
}

ViewSpec transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  dim0 = wrap_dim(dim0, self.dim());
  dim1 = wrap_dim(dim1, self.dim());
  ViewSpec spec = same_view(self);
  if (dim0 != dim1) {
    std::swap(spec.sizes[static_cast<size_t>(dim0)], spec.sizes[static_cast<size_t>(dim1)]);
    std::swap(spec.strides[static_cast<size_t>(dim0)], spec.strides[static_cast<size_t>(dim1)]);
  }
  return spec;
}

ViewSpec t(const Tensor& self) {
  MT_CHECK(self.dim() <= 2, RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is ",
           self.dim(), "D");
  return self.dim() < 2 ? same_view(self) : transpose(self, 0, 1);
}

ViewSpec select(const Tensor& self, int64_t dim, int64_t index) {
  MT_CHECK(self.dim() > 0, IndexError, "select() cannot be applied to a 0-dim tensor.");
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const int64_t size = self.sizes()[d];
  MT_CHECK(index >= -size && index < size, IndexError, "select(): index ", index,
           " out of range for tensor of size ", to_string(self.sizes()), " at dimension ", d);
  if (index < 0) index += size;
  ViewSpec spec = same_view(self);
  spec.offset += index * spec.strides[d];
  spec.sizes.erase(spec.sizes.begin() + d);
  spec.strides.erase(spec.strides.begin() + d);
  return spec;
}

ViewSpec unsqueeze(const Tensor& self, int64_t dim) {
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim() + 1));
  ViewSpec spec = same_view(self);
  const int64_t stride = d < spec.sizes.size() ? spec.sizes[d] * spec.strides[d] : 1;
  spec.sizes.insert(spec.sizes.begin() + d, 1);
  spec.strides.insert(spec.strides.begin() + d, stride);
  return spec;
}

ViewSpec slice(const Tensor& self,
               int64_t dim,
               std::optional<int64_t> start,
               std::optional<int64_t> end,
               int64_t step) {
  MT_CHECK(self.dim() > 0, IndexError, "slice() cannot be applied to a 0-dim tensor.");
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  MT_CHECK(step > 0, RuntimeError, "slice step must be positive");
  const int64_t size = self.sizes()[d];
  const auto clamp = [size](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t first = clamp(start.value_or(0));
  const int64_t last = std::max(first, clamp(end.value_or(size)));
  ViewSpec spec = same_view(self);
  spec.offset += first * spec.strides[d];
  spec.sizes[d] = (last - first + step - 1) / step;
  spec.strides[d] *= step;
  return spec;
}

ViewSpec permute(const Tensor& self, IntList dims) {
  MT_CHECK(
      static_cast<int64_t>(dims.size()) == self.dim(), RuntimeError,
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
      "of the desired ordering of dimensions i.e. input.dim() = ",
      self.dim(), " is not equal to len(dims) = ", dims.size());
  ViewSpec spec{Shape(dims.size()), Shape(dims.size()), self.storage_offset()};
  uint64_t seen = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto d = static_cast<size_t>(wrap_dim(dims[i], self.dim()));
    MT_CHECK((seen >> d & 1) == 0, RuntimeError, "permute(): duplicate dims are not allowed.");
    seen |= uint64_t{1} << d;
    spec.sizes[i] = self.sizes()[d];
    spec.strides[i] = self.strides()[d];
  }
  return spec;
}

// Drops the dims of size 1 that are in `mask`.
ViewSpec squeeze_mask(const Tensor& self, uint64_t mask) {
  ViewSpec spec{{}, {}, self.storage_offset()};
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    if (self.sizes()[i] == 1 && (mask >> i & 1) != 0) continue;
    spec.sizes.push_back(self.sizes()[i]);
    spec.strides.push_back(self.strides()[i]);
  }
  return spec;
}

ViewSpec squeeze(const Tensor& self) { return squeeze_mask(self, ~uint64_t{0}); }

ViewSpec squeeze_dims(const Tensor& self, IntList dim) {
  return squeeze_mask(self, dim.empty() ? 0 : dim_mask(dim, std::max<int64_t>(self.dim(), 1)));
}

ViewSpec squeeze_dim(const Tensor& self, int64_t dim) { return squeeze_dims(self, {dim}); }

ViewSpec narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  MT_CHECK(self.dim() > 0, RuntimeError, "narrow() cannot be applied to a 0-dim tensor.");
  MT_CHECK(length >= 0, RuntimeError, "narrow(): length must be non-negative.");
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const int64_t size = self.sizes()[d];
  MT_CHECK(start >= -size && start <= size, IndexError,
           "start out of range (expected to be in range of [", -size, ", ", size, "], but got ",
           start, ")");
  if (start < 0) start += size;
  MT_CHECK(start <= size - length, RuntimeError, "start (", start, ") + length (", length,
           ") exceeds dimension size (", size, ").");
  ViewSpec spec = same_view(self);
  spec.offset += start * spec.strides[d];
  spec.sizes[d] = length;
  return spec;
}

ViewSpec diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const auto d1 = static_cast<size_t>(wrap_dim(dim1, self.dim()));
  const auto d2 = static_cast<size_t>(wrap_dim(dim2, self.dim()));
  MT_CHECK(d1 != d2, RuntimeError, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  ViewSpec spec = same_view(self);
  const int64_t rows = spec.sizes[d1];
  const int64_t columns = spec.sizes[d2];
  const int64_t size = std::max<int64_t>(
      offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  if (size > 0) spec.offset += offset >= 0 ? offset * spec.strides[d2] : -offset * spec.strides[d1];
  const int64_t stride = spec.strides[d1] + spec.strides[d2];
  for (const size_t d : {std::max(d1, d2), std::min(d1, d2)}) {
    spec.sizes.erase(spec.sizes.begin() + d);
    spec.strides.erase(spec.strides.begin() + d);
  }
  spec.sizes.push_back(size);
  spec.strides.push_back(stride);
  return spec;
}

ViewSpec unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const auto d = static_cast<size_t>(wrap_dim(dimension, self.dim()));
  const int64_t length = self.dim() == 0 ? 1 : self.sizes()[d];
  MT_CHECK(size >= 0, RuntimeError, "size is ", size, " but must be >= 0");
  MT_CHECK(size <= length, RuntimeError, "maximum size for tensor at dimension ", d, " is ", length,
           " but size is ", size);
  MT_CHECK(step > 0, RuntimeError, "step is ", step, " but must be > 0");
  ViewSpec spec = same_view(self);
  if (self.dim() == 0) {
    spec.sizes.push_back(size);
    spec.strides.push_back(1);
    return spec;
  }
  spec.sizes.push_back(size);
  spec.strides.push_back(spec.strides[d]);
  spec.sizes[d] = (length - size) / step + 1;
  spec.strides[d] *= step;
  return spec;
}

ViewSpec view_dtype(const Tensor& self, DType dtype) {
  const int64_t old_size = self.element_size();
  const int64_t new_size = size_bytes(dtype);
  ViewSpec spec = same_view(self);
  spec.dtype = dtype;
  if (old_size == new_size) return spec;
  MT_CHECK(self.dim() != 0, RuntimeError, "self.dim() cannot be 0 to view ",
           legacy_name(self.dtype()), " as ", legacy_name(dtype), " (different element sizes)");
  MT_CHECK(spec.strides.back() == 1, RuntimeError, "self.stride(-1) must be 1 to view ",
           legacy_name(self.dtype()), " as ", legacy_name(dtype),
           " (different element sizes), but got ", spec.strides.back());
  const auto last = spec.sizes.size() - 1;
  if (new_size < old_size) {
    const int64_t ratio = old_size / new_size;
    spec.sizes[last] *= ratio;
    spec.offset *= ratio;
    for (size_t i = 0; i < last; ++i) spec.strides[i] *= ratio;
    return spec;
  }
  const int64_t ratio = new_size / old_size;
  const auto divisible = [&](int64_t number, const char* what) {
    MT_CHECK(number % ratio == 0, RuntimeError, what, " must be divisible by ", ratio, " to view ",
             legacy_name(self.dtype()), " as ", legacy_name(dtype),
             " (different element sizes), but got ", number);
  };
  divisible(spec.sizes[last], "self.size(-1)");
  divisible(spec.offset, "self.storage_offset()");
  for (size_t i = 0; i < last; ++i) divisible(spec.strides[i], "self.stride(...)");
  spec.sizes[last] /= ratio;
  spec.offset /= ratio;
  for (size_t i = 0; i < last; ++i) spec.strides[i] /= ratio;
  return spec;
}

ViewSpec unflatten(const Tensor& self, int64_t dim, IntList sizes) {
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  MT_CHECK(!sizes.empty(), RuntimeError, "unflatten: sizes must be non-empty");
  MT_CHECK(self.dim() > 0, IndexError, "Dimension specified as ", dim,
           " but tensor has no dimensions");
  const int64_t length = self.sizes()[d];
  for (const int64_t size : sizes) {
    MT_CHECK(size >= -1, RuntimeError, "unflatten: invalid shape dimension ", size);
  }
  Shape inferred(sizes);
  const auto unknown = std::find(inferred.begin(), inferred.end(), -1);
  if (unknown != inferred.end()) {
    MT_CHECK(std::find(unknown + 1, inferred.end(), -1) == inferred.end(), RuntimeError,
             "only one dimension can be inferred");
    *unknown = 1;
    const int64_t known = numel(inferred);
    MT_CHECK(known != 0, RuntimeError, "unflatten: cannot reshape tensor of 0 elements into shape ",
             to_string(sizes),
             " because the unspecified dimension size -1 can be any value and is ambiguous");
    *unknown = length / known;
  }
  MT_CHECK(numel(inferred) == length, RuntimeError, "unflatten: Provided sizes ", to_string(sizes),
           " don't multiply up to the size of dim ", d, " (", length, ") in the input tensor");
  Shape all = self.sizes();
  all.erase(all.begin() + d);
  for (size_t i = inferred.size(); i-- > 0;) all.insert(all.begin() + d, inferred[i]);
  return view(self, all);
}

// As torch names a type here; there is no torch.BoolTensor in that list.
std::string type_string(const Tensor& self) {
  const bool is_listed = self.dtype() != DType::kBool && self.dtype() != DType::kBFloat16;
  const std::string name(legacy_name(self.dtype()));
  return is_listed ? "torch." + name + "Tensor" : "CPU" + name + "Type";
}

}  // namespace

ViewSpec expand(const Tensor& self, IntList size, bool) {
  MT_CHECK(static_cast<int64_t>(size.size()) >= self.dim(), RuntimeError, "expand(",
           type_string(self), "{", to_string(self.sizes()), "}, size=", to_string(size),
           "): the number of sizes provided (", size.size(),
           ") must be greater or equal to the number of dimensions in the tensor (", self.dim(),
           ")");
  ViewSpec spec{Shape(size), Shape(size.size(), 0), self.storage_offset()};
  Shape known(size);
  for (int64_t& wanted : known) wanted = std::max<int64_t>(wanted, 0);
  numel(known);  // refuses products that do not fit
  const size_t shift = size.size() - self.sizes().size();
  for (size_t i = size.size(); i-- > 0;) {
    const bool existing = i >= shift;
    const int64_t own = existing ? self.sizes()[i - shift] : 1;
    int64_t& wanted = spec.sizes[i];
    if (wanted == -1) {
      MT_CHECK(existing, RuntimeError, "The expanded size of the tensor (", wanted,
               ") isn't allowed in a leading, non-existing dimension ", i);
      wanted = own;
    }
    MT_CHECK(wanted >= 0, RuntimeError, "invalid shape dimension ", wanted);
    if (own == wanted) {
      if (self.dim() == 0) continue;  // one element, repeated wherever it is shown
      spec.strides[i] = existing              ? self.strides()[i - shift]
                        : i + 1 < size.size() ? spec.sizes[i + 1] * spec.strides[i + 1]
                                              : 1;
      continue;
    }
    MT_CHECK(own == 1, RuntimeError, "The expanded size of the tensor (", wanted,
             ") must match the existing size (", own, ") at non-singleton dimension ", i,
             ".  Target sizes: ", to_string(size), ".  Tensor sizes: ", to_string(self.sizes()));
  }
  return spec;
}

namespace {

ViewSpec as_strided(const Tensor& self,
                    IntList size,
                    IntList stride,
                    std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(self.storage_offset());
  Tensor::over(self.storage(), self.dtype(), size, stride, offset);  // checks the bounds
  return {Shape(size), Shape(stride), offset};
}

}  // namespace

void define_views(Registry& ops) {
  ops.define<view>("view(Tensor(a) self, int[] size) -> Tensor(a)")
      .names_dims()
      .method_only()
      .doc("The same elements under another shape, without a copy.",
           ">>> torch.arange(4).view(2, 2)\ntensor([[0, 1],\n        [2, 3]])");
  ops.define<transpose>("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
      .names_dims()
      .doc("Swaps two dimensions.",
           ">>> torch.zeros(2, 3).transpose(0, 1).shape\ntorch.Size([3, 2])");
  ops.define<t>("t(Tensor(a) self) -> Tensor(a)")
      .doc("Transposes a matrix.", ">>> torch.zeros(2, 3).t().shape\ntorch.Size([3, 2])");
  ops.define<select>("select.int(Tensor(a) self, int dim, int index) -> Tensor(a)")
      .names_dims()
      .doc("One slice along a dimension.",
           ">>> torch.arange(4).view(2, 2).select(0, 1)\ntensor([2, 3])");
  ops.define<unsqueeze>("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
      .doc("Adds a dimension of size 1.",
           ">>> torch.zeros(3).unsqueeze(0).shape\ntorch.Size([1, 3])");
  ops.define<permute>("permute(Tensor(a) self, int[] dims) -> Tensor(a)")
      .doc("Puts the dimensions in another order.",
           ">>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape\ntorch.Size([4, 2, 3])");
  ops.define<squeeze>("squeeze(Tensor(a) self) -> Tensor(a)")
      .doc("Drops dimensions of size 1.",
           ">>> torch.zeros(1, 3, 1).squeeze().shape\ntorch.Size([3])");
  ops.define<squeeze_dim>("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)")
      .names_dims()
      .doc("Drops the given dimension if it has size 1.",
           ">>> torch.zeros(1, 3, 1).squeeze(0).shape\ntorch.Size([3, 1])");
  ops.define<squeeze_dims>("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)")
      .names_dims()
      .doc("Drops the given dimensions where they have size 1.",
           ">>> torch.zeros(1, 3, 1).squeeze((0, 2)).shape\ntorch.Size([3])");
  ops.define<narrow>("narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)")
      .names_dims()
      .doc("A range of one dimension.", ">>> torch.arange(5).narrow(0, 1, 3)\ntensor([1, 2, 3])");
  ops.define<diagonal>(
         "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
      .names_dims()
      .doc("A diagonal of two dimensions, as the last dimension.",
           ">>> torch.arange(4).view(2, 2).diagonal()\ntensor([0, 3])");
  ops.define<unfold>("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)")
      .names_dims()
      .method_only()
      .doc("All windows of `size` along a dimension, `step` apart.",
           ">>> torch.arange(4).unfold(0, 2, 1)\n"
           "tensor([[0, 1],\n        [1, 2],\n        [2, 3]])");
  ops.define<view_dtype>("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)")
      .device_example("x.view(torch.int32)")
      .names_dims()
      .method_only();
  ops.define<unflatten>("unflatten(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)")
      .names_dims()
      .doc("Splits one dimension into several.",
           ">>> torch.arange(6).unflatten(0, (2, 3)).shape\ntorch.Size([2, 3])");
  ops.define<same_view>("alias(Tensor(a) self) -> Tensor(a)")
      .device_example("x.detach()")
      .names_dims()
      .internal();
  ops.define<same_view>("detach(Tensor(a) self) -> Tensor(a)")
      .names_dims()
      .not_differentiable()
      .doc("The same memory as a tensor of its own.",
           ">>> torch.tensor([1., 2.]).detach()\ntensor([1., 2.])");
  ops.define<slice>(
         "slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> "
         "Tensor(a)")
      .device_example("x[:, 1:3]")
      .names_dims()
      .internal();
  ops.define<expand>("expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)")
      .method_only()
      .doc("Repeats dimensions of size 1 without a copy.",
           ">>> torch.tensor([[1], [2]]).expand(2, 3)\ntensor([[1, 1, 1],\n        [2, 2, 2]])");
  ops.define<as_strided>(
         "as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> "
         "Tensor(a)")
      .doc("A view of the storage with any sizes, strides and offset.",
           ">>> torch.arange(4).as_strided((2, 2), (1, 2))\ntensor([[0, 2],\n        [1, 3]])");

  // Composites, written in functional/views.cpp.
  const auto composite = [&](std::string_view schema, std::string_view doc,
                             std::string_view example, Location location = Location::here()) {
    return ops.define(schema, location).doc(doc, example);
  };
  composite("reshape(Tensor(a) self, int[] shape) -> Tensor(a)",
            "The same elements under another shape; a copy only where no view can do it.",
            ">>> torch.arange(4).reshape(2, -1)\ntensor([[0, 1],\n        [2, 3]])");
  composite("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
            "reshape to the sizes of `other`.",
            ">>> torch.arange(4).reshape_as(torch.zeros(2, 2)).shape\ntorch.Size([2, 2])")
      .method_only();
  composite("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", "view with the sizes of `other`.",
            ">>> torch.arange(4).view_as(torch.zeros(2, 2)).shape\ntorch.Size([2, 2])")
      .method_only();
  composite("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
            "expand to the sizes of `other`.",
            ">>> torch.tensor([1]).expand_as(torch.zeros(3)).shape\ntorch.Size([3])")
      .method_only();
  composite("flatten(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
            "Joins a range of dimensions into one.",
            ">>> torch.zeros(2, 3, 4).flatten(1).shape\ntorch.Size([2, 12])");
  composite("ravel(Tensor(a) self) -> Tensor(a)", "All elements in one dimension.",
            ">>> torch.zeros(2, 3).ravel().shape\ntorch.Size([6])");
  composite("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
            "Moves a dimension to another place.",
            ">>> torch.zeros(2, 3, 4).movedim(0, 2).shape\ntorch.Size([3, 4, 2])")
      .also({"moveaxis"});
  composite("movedim(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
            "Moves dimensions to other places, the others keep their order.",
            ">>> torch.zeros(2, 3, 4).movedim((0,), (2,)).shape\ntorch.Size([3, 4, 2])")
      .also({"moveaxis"});
  composite("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", "Swaps two dimensions.",
            ">>> torch.zeros(2, 3).swapdims(0, 1).shape\ntorch.Size([3, 2])");
  composite("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", "Swaps two dimensions.",
            ">>> torch.zeros(2, 3).swapaxes(0, 1).shape\ntorch.Size([3, 2])");
  composite("adjoint(Tensor(a) self) -> Tensor(a)",
            "The last two dimensions swapped, and complex numbers conjugated.",
            ">>> torch.zeros(2, 3).adjoint().shape\ntorch.Size([3, 2])");
  composite("split.Tensor(Tensor(a) self, int split_size, int dim=0) -> Tensor[]",
            "Pieces of one size; the last may be smaller.",
            ">>> torch.arange(5).split(2)\n(tensor([0, 1]), tensor([2, 3]), tensor([4]))");
  composite("split.sizes(Tensor(a) self, int[] split_size, int dim=0) -> Tensor[]",
            "Pieces of the given sizes.",
            ">>> torch.arange(5).split([2, 3])\n(tensor([0, 1]), tensor([2, 3, 4]))");
  composite("split_with_sizes(Tensor(a) self, int[] split_sizes, int dim=0) -> Tensor[]",
            "Pieces of the given sizes.",
            ">>> torch.arange(5).split_with_sizes([2, 3])\n(tensor([0, 1]), tensor([2, 3, 4]))");
  composite("chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor[]",
            "At most `chunks` pieces of equal size; the last may be smaller.",
            ">>> torch.arange(4).chunk(2)\n(tensor([0, 1]), tensor([2, 3]))");
  // First, since a tensor of one element would also pass for a number.
  composite(
      "tensor_split.tensor_indices_or_sections(Tensor(a) self, Tensor "
      "tensor_indices_or_sections, int dim=0) -> Tensor[]",
      "Pieces between the indices that a tensor holds, or as many as a 0-dim one says.",
      ">>> torch.arange(3).tensor_split(torch.tensor([1]))\n(tensor([0]), tensor([1, 2]))")
      .device_example("x.tensor_split(rows.cpu().sort().values, 1)");
  composite("tensor_split.sections(Tensor(a) self, int sections, int dim=0) -> Tensor[]",
            "Exactly `sections` pieces; the first ones may be one longer.",
            ">>> torch.arange(3).tensor_split(2)\n(tensor([0, 1]), tensor([2]))");
  composite("tensor_split.indices(Tensor(a) self, int[] indices, int dim=0) -> Tensor[]",
            "Pieces between the given indices.",
            ">>> torch.arange(3).tensor_split((1,))\n(tensor([0]), tensor([1, 2]))");
  composite("unbind(Tensor(a) self, int dim=0) -> Tensor[]", "All slices along a dimension.",
            ">>> torch.arange(2).unbind()\n(tensor(0), tensor(1))");
  composite("narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)",
            "A range of one dimension.",
            ">>> torch.arange(5).narrow(0, torch.tensor(1), 3)\ntensor([1, 2, 3])");
  composite("broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)",
            "Repeats dimensions of size 1 without a copy.",
            ">>> torch.tensor([1, 2]).broadcast_to((2, 2)).shape\ntorch.Size([2, 2])");
  composite("broadcast_tensors(Tensor[1] tensors) -> Tensor[]",
            "All tensors at their common shape.",
            ">>> torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))[0].shape\n"
            "torch.Size([2, 3])")
      .function_only();
  composite("atleast_1d(Tensor self) -> Tensor", "At least one dimension.",
            ">>> torch.atleast_1d(torch.tensor(1)).shape\ntorch.Size([1])")
      .function_only();
  composite("atleast_1d.Sequence(Tensor[1] tensors) -> Tensor[]", "The same for each tensor.",
            ">>> len(torch.atleast_1d([torch.tensor(1), torch.tensor(2)]))\n2")
      .function_only();
  composite("atleast_2d(Tensor self) -> Tensor", "At least two dimensions.",
            ">>> torch.atleast_2d(torch.tensor(1)).shape\ntorch.Size([1, 1])")
      .function_only();
  composite("atleast_2d.Sequence(Tensor[1] tensors) -> Tensor[]", "The same for each tensor.",
            ">>> len(torch.atleast_2d([torch.tensor(1), torch.tensor(2)]))\n2")
      .function_only();
  composite("atleast_3d(Tensor self) -> Tensor", "At least three dimensions.",
            ">>> torch.atleast_3d(torch.tensor(1)).shape\ntorch.Size([1, 1, 1])")
      .function_only();
  composite("atleast_3d.Sequence(Tensor[1] tensors) -> Tensor[]", "The same for each tensor.",
            ">>> len(torch.atleast_3d([torch.tensor(1), torch.tensor(2)]))\n2")
      .function_only();
}

}  // namespace mindtorch::ops
