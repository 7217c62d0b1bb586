// New tensors from one, in terms of views and copies.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::functional {
namespace {

Tensor repeat(const Tensor& self, IntList repeats) {
  const auto rank = static_cast<int64_t>(repeats.size());
  MT_CHECK(rank >= self.dim(), RuntimeError,
           "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
           "tensor");
  // The result seen as (repeat, size) pairs is a broadcast of the tensor.
  const size_t missing = repeats.size() - self.sizes().size();
  Shape target;
  Shape pairs;
  Shape source;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t size = i < missing ? 1 : self.sizes()[i - missing];
    target.push_back(0);
    MT_CHECK(!__builtin_mul_overflow(repeats[i], size, &target.back()), RuntimeError,
             "Storage size calculation overflowed: size ", size, " repeated ", repeats[i],
             " times");
    for (const int64_t part : {repeats[i], size}) pairs.push_back(part);
    for (const int64_t part : {int64_t{1}, size}) source.push_back(part);
  }
  Tensor result = empty(target, self.dtype(), self.device());
  if (result.numel() != 0) copy_(view(result, pairs), reshape(self, source));
  return result;
}

Tensor tile(const Tensor& self, IntList dims) {
  if (static_cast<int64_t>(dims.size()) >= self.dim()) return mindtorch::repeat(self, dims);
  Shape repeats(static_cast<size_t>(self.dim()) - dims.size(), 1);
  for (const int64_t count : dims) repeats.push_back(count);
  return mindtorch::repeat(self, repeats);
}

Tensor repeat_interleave(const Tensor& self,
                         const Tensor& repeats,
                         std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  const Tensor input = dim ? self : flatten(self);
  const int64_t d = wrap_dim(dim.value_or(0), self.dim());
  const int64_t size = input.dim() == 0 ? 1 : input.size(d);
  Tensor counts = repeats;
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.numel() == 1)) {
    counts = expand(reshape(repeats, {1}), {size});
  } else {
    MT_CHECK(repeats.dim() == 1, RuntimeError, "repeats must be 0-dim or 1-dim tensor");
    MT_CHECK(repeats.numel() == size, RuntimeError,
             "repeats must have the same size as input along dim, but got repeats.size(0) = ",
             repeats.numel(), " and input.size(", d, ") = ", size);
  }
  return index_select(input, d, mindtorch::repeat_interleave(counts, output_size));
}

Tensor fliplr(const Tensor& self) {
  MT_CHECK(self.dim() >= 2, RuntimeError, "Input must be >= 2-d.");
  return flip(self, {1});
}
Tensor flipud(const Tensor& self) {
  MT_CHECK(self.dim() >= 1, RuntimeError, "Input must be >= 1-d.");
  return flip(self, {0});
}

Tensor rot90(const Tensor& self, int64_t k, IntList dims) {
  MT_CHECK(dims.size() == 2, RuntimeError,
           "expected total rotation dims == 2, but got dims = ", dims.size());
  MT_CHECK(self.dim() >= 2, RuntimeError,
           "expected total dims >= 2, but got total dims = ", self.dim());
  const int64_t from = wrap_dim(dims[0], self.dim());
  const int64_t to = wrap_dim(dims[1], self.dim());
  MT_CHECK(from != to, RuntimeError,
           "expected rotation dims to be different, but got dim0 = ", dims[0],
           " and dim1 = ", dims[1]);
  switch (((k % 4) + 4) % 4) {
    case 1:
      return transpose(flip(self, {to}), from, to);
    case 2:
      return flip(self, {from, to});
    case 3:
      return transpose(flip(self, {from}), from, to);
    default:
      return clone(self, MemoryFormat::kContiguous);
  }
}

Tensor roll(const Tensor& self, IntList shifts, IntList dims) {
  MT_CHECK(!shifts.empty(), RuntimeError, "`shifts` required");
  if (dims.empty() && shifts.size() == 1) {
    return view(mindtorch::roll(view(contiguous(self), {self.numel()}), shifts, {0}), self.sizes());
  }
  MT_CHECK(shifts.size() == dims.size(), RuntimeError,
           "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  Tensor result = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = existing_dim(dims[i], self.dim());
    const int64_t size = self.size(dim);
    if (self.numel() == 0) continue;
    const int64_t start = ((-shifts[i] % size) + size) % size;
    result = cat({narrow(result, dim, start, size - start), narrow(result, dim, 0, start)}, dim);
  }
  return result.is_same(self) ? clone(self) : result;
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.dim() + 1;
  const int64_t first = wrap_dim(dim1, rank);
  const int64_t second = wrap_dim(dim2, rank);
  MT_CHECK(first != second, RuntimeError, "diagonal dimensions cannot be identical ", dim1, ", ",
           dim2);
  const int64_t length = self.size(-1) + std::abs(offset);
  Shape sizes = self.sizes();
  sizes.pop_back();
  sizes.insert(sizes.begin() + std::min(first, second), length);
  sizes.insert(sizes.begin() + std::max(first, second), length);
  Tensor result = zeros(sizes, self.dtype(), self.device());
  copy_(diagonal(result, offset, first, second), self);
  return result;
}

Tensor diag(const Tensor& self, int64_t diagonal) {
  MT_CHECK(self.dim() == 1 || self.dim() == 2, RuntimeError,
           "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
  if (self.dim() == 1) return mindtorch::diag_embed(self, diagonal);
  return clone(mindtorch::diagonal(self, diagonal), MemoryFormat::kContiguous);
}

Tensor diagflat(const Tensor& self, int64_t offset) {
  return mindtorch::diag(view(contiguous(self), {self.numel()}), offset);
}

Tensor fill_diagonal(const Tensor& self, const Scalar& fill_value, bool wrap) {
  MT_CHECK(self.dim() >= 2, RuntimeError, "dimensions must larger than 1");
  const int64_t rows = self.size(0);
  int64_t length = rows;
  int64_t stride = 0;
  for (int64_t i = 0; i < self.dim(); ++i) {
    MT_CHECK(self.dim() == 2 || self.size(i) == rows, RuntimeError,
             "all dimensions of input must be of equal length");
    length = std::min(length, self.size(i));
    stride += self.stride(i);
  }
  fill_(as_strided(self, {length}, {stride}), fill_value);
  const int64_t columns = self.size(1);
  if (!wrap || self.dim() != 2 || rows <= columns + 1) return self;
  // Below the square the diagonal starts anew, after one row that it leaves out.
  const int64_t step = columns + 1;
  for (int64_t row = step; row < rows; row += step) {
    fill_(as_strided(self, {std::min(columns, rows - row)}, {stride},
                     self.storage_offset() + row * self.stride(0)),
          fill_value);
  }
  return self;
}

Tensor trace(const Tensor& self) {
  MT_CHECK(self.dim() == 2, RuntimeError, "trace: expected a matrix, but got tensor with dim ",
           self.dim());
  MT_CHECK(self.dtype() != DType::kBool, NotImplementedError,
           "\"trace\" not implemented for 'Bool'");
  return sum(diagonal(self));
}

Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return clone(narrow(self, dim, start, length), MemoryFormat::kContiguous);
}

// A copy with the very strides of the tensor, gaps included.
Tensor copy_with_strides(const Tensor& self) {
  if (self.is_contiguous() || may_overlap_itself(self.sizes(), self.strides())) return clone(self);
  const int64_t reach = extent(self.sizes(), self.strides());
  const Tensor copy = clone(as_strided(self, {reach}, {1}, self.storage_offset()));
  return as_strided(copy, self.sizes(), self.strides(), 0);
}

Tensor scatter_into(const Tensor& copy, const Tensor& part, const Tensor& src) {
  MT_CHECK(part.sizes() == src.sizes(), RuntimeError,
           "expected src to have a size equal to the slice of self. src size = ",
           to_string(src.sizes()), ", slice size = ", to_string(part.sizes()));
  copy_(part, src);
  return copy;
}

Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  const Tensor copy = copy_with_strides(self);
  return scatter_into(copy, select(copy, dim, index), src);
}

Tensor slice_scatter(const Tensor& self,
                     const Tensor& src,
                     int64_t dim,
                     std::optional<int64_t> start,
                     std::optional<int64_t> end,
                     int64_t step) {
  const Tensor copy = copy_with_strides(self);
  return scatter_into(copy, slice(copy, dim, start, end, step), src);
}

Tensor diagonal_scatter(
    const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  const Tensor copy = copy_with_strides(self);
  return scatter_into(copy, diagonal(copy, offset, dim1, dim2), src);
}

Tensor as_strided_scatter(const Tensor& self,
                          const Tensor& src,
                          IntList size,
                          IntList stride,
                          std::optional<int64_t> storage_offset) {
  // Strides are about the storage, so the copy must have all of the storage the tensor reaches.
  // Elements that several indices share get places of their own first.
  const bool overlaps = may_overlap_itself(self.sizes(), self.strides());
  const Tensor apart = overlaps ? clone(self) : self;
  const int64_t reach = extent(apart.sizes(), apart.strides());
  const Tensor whole = clone(as_strided(apart, {apart.storage_offset() + reach}, {1}, 0));
  const Tensor copy = as_strided(whole, apart.sizes(), apart.strides(), apart.storage_offset());
  return scatter_into(
      copy, as_strided(copy, size, stride, storage_offset.value_or(apart.storage_offset())), src);
}

Tensor constant_pad_nd(const Tensor& self, IntList pad, const Scalar& value) {
  MT_CHECK(pad.size() % 2 == 0, RuntimeError, "Length of pad must be even but instead it equals ",
           pad.size());
  MT_CHECK(static_cast<int64_t>(pad.size()) <= 2 * self.dim(), RuntimeError,
           "Length of pad should be no more than twice the number of dimensions of the input. Pad "
           "length is ",
           pad.size(), "while the input has ", self.dim(), "dimensions.");
  const auto each_side = [&](auto&& side) {
    for (size_t i = 0; i < pad.size() / 2; ++i) {
      side(self.dim() - 1 - static_cast<int64_t>(i), pad[2 * i], pad[2 * i + 1]);
    }
  };
  // Negative numbers cut pieces off the input instead.
  Tensor input = self;
  bool adds = false;
  each_side([&](int64_t dim, int64_t before, int64_t after) {
    adds |= before > 0 || after > 0;
    if (before < 0) input = narrow(input, dim, -before, input.size(dim) + before);
    if (after < 0) input = narrow(input, dim, 0, input.size(dim) + after);
  });
  Shape sizes = self.sizes();
  each_side([&](int64_t dim, int64_t before, int64_t after) {
    int64_t& size = sizes[static_cast<size_t>(dim)];
    MT_CHECK(
        !__builtin_add_overflow(size, before, &size) && !__builtin_add_overflow(size, after, &size),
        RuntimeError, "constant_pad_nd: the padding of dimension ", dim, " is too large");
    MT_CHECK(size >= 0, RuntimeError, "The input size ", self.size(dim), ", plus negative padding ",
             before, " and ", after,
             " resulted in a negative output size, which is invalid. Check dimension ", dim,
             " of your input.");
  });
  if (!adds) return clone(input);
  Tensor result = empty(sizes, self.dtype(), self.device(), ops::suggested_format(self));
  fill_(result, value);
  Tensor inside = result;
  each_side([&](int64_t dim, int64_t before, int64_t after) {
    if (before > 0) inside = narrow(inside, dim, before, inside.size(dim) - before);
    if (after > 0) inside = narrow(inside, dim, 0, inside.size(dim) - after);
  });
  copy_(inside, input);
  return result;
}

}  // namespace

void compose_shape(ops::Registry& registry) {
  registry.composite<repeat>("repeat");
  registry.composite<tile>("tile");
  registry.composite<repeat_interleave>("repeat_interleave.self_Tensor");
  registry.composite<fliplr>("fliplr");
  registry.composite<flipud>("flipud");
  registry.composite<rot90>("rot90");
  registry.composite<roll>("roll");
  registry.composite<diag>("diag");
  registry.composite<diagflat>("diagflat");
  registry.composite<diag_embed>("diag_embed");
  registry.composite<fill_diagonal>("fill_diagonal_");
  registry.composite<trace>("trace");
  registry.composite<narrow_copy>("narrow_copy");
  registry.composite<select_scatter>("select_scatter");
  registry.composite<slice_scatter>("slice_scatter");
  registry.composite<diagonal_scatter>("diagonal_scatter");
  registry.composite<as_strided_scatter>("as_strided_scatter");
  registry.composite<constant_pad_nd>("constant_pad_nd");
}

}  // namespace mindtorch::functional
