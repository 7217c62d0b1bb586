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
  if (self.is_contiguous()) {
    Shape strides = contiguous_strides(sizes);
    return {std::move(sizes), std::move(strides), self.storage_offset()};
  }
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
  MT_CHECK(self.dim() > 0, RuntimeError, "slice() cannot be applied to a 0-dim tensor.");
  MT_CHECK(step > 0, RuntimeError, "slice step must be positive");
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
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

ViewSpec expand(const Tensor& self, IntList size, bool) {
  MT_CHECK(static_cast<int64_t>(size.size()) >= self.dim(), RuntimeError, "expand(",
           name(self.dtype()), "{", to_string(self.sizes()), "}, size=", to_string(size),
           "): the number of sizes provided (", size.size(),
           ") must be greater or equal to the number of dimensions in the tensor (", self.dim(),
           ")");
  ViewSpec spec{Shape(size), Shape(size.size(), 0), self.storage_offset()};
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
      .method_only()
      .doc("The same elements under another shape, without a copy.",
           ">>> torch.arange(4).view(2, 2)\ntensor([[0, 1],\n        [2, 3]])");
  ops.define<transpose>("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
      .doc("Swaps two dimensions.",
           ">>> torch.zeros(2, 3).transpose(0, 1).shape\ntorch.Size([3, 2])");
  ops.define<t>("t(Tensor(a) self) -> Tensor(a)")
      .doc("Transposes a matrix.", ">>> torch.zeros(2, 3).t().shape\ntorch.Size([3, 2])");
  ops.define<select>("select.int(Tensor(a) self, int dim, int index) -> Tensor(a)")
      .doc("One slice along a dimension.",
           ">>> torch.arange(4).view(2, 2).select(0, 1)\ntensor([2, 3])");
  ops.define<unsqueeze>("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
      .doc("Adds a dimension of size 1.",
           ">>> torch.zeros(3).unsqueeze(0).shape\ntorch.Size([1, 3])");
  ops.define<slice>(
         "slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> "
         "Tensor(a)")
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
}

}  // namespace mindtorch::ops
