// Views made of other views.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

Tensor reshape(const Tensor& self, IntList shape) {
  const Shape sizes = infer_sizes(shape, self.numel());
  if (view_strides(self.sizes(), self.strides(), sizes)) return view(self, sizes);
  return view(clone(self, MemoryFormat::kContiguous), sizes);
}

Tensor reshape_as(const Tensor& self, const Tensor& other) {
  return mindtorch::reshape(self, other.sizes());
}
Tensor view_as(const Tensor& self, const Tensor& other) { return view(self, other.sizes()); }
Tensor expand_as(const Tensor& self, const Tensor& other) { return expand(self, other.sizes()); }
Tensor broadcast_to(const Tensor& self, IntList size) { return expand(self, size); }

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const int64_t start = wrap_dim(start_dim, self.dim());
  const int64_t end = wrap_dim(end_dim, self.dim());
  MT_CHECK(start <= end, RuntimeError,
           "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return mindtorch::reshape(self, {1});
  if (start == end) return self;
  Shape sizes;
  int64_t joined = 1;
  for (int64_t i = 0; i < self.dim(); ++i) {
    const int64_t size = self.sizes()[static_cast<size_t>(i)];
    if (i < start || i > end) {
      sizes.push_back(size);
      continue;
    }
    joined *= size;
    if (i == end) sizes.push_back(joined);
  }
  return mindtorch::reshape(self, sizes);
}

Tensor ravel(const Tensor& self) { return mindtorch::reshape(contiguous(self), {-1}); }

Tensor movedim(const Tensor& self, IntList source, IntList destination) {
  MT_CHECK(source.size() == destination.size(), RuntimeError,
           "movedim: Invalid source or destination dims: source (", to_string(source),
           " dims) should contain the same number of dims as destination (", to_string(destination),
           " dims)");
  Shape order(static_cast<size_t>(self.dim()), -1);
  uint64_t moved = 0;
  uint64_t taken = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], self.dim());
    const int64_t to = wrap_dim(destination[i], self.dim());
    MT_CHECK((moved >> from & 1) == 0, RuntimeError, "movedim: repeated dim in `source` (",
             to_string(source), ")");
    MT_CHECK((taken >> to & 1) == 0, RuntimeError, "movedim: repeated dim in `destination` (",
             to_string(destination), ")");
    moved |= uint64_t{1} << from;
    taken |= uint64_t{1} << to;
    if (!order.empty()) order[static_cast<size_t>(to)] = from;
  }
  if (self.dim() == 0) return alias(self);
  int64_t next = 0;
  for (int64_t& dim : order) {
    if (dim >= 0) continue;
    while ((moved >> next & 1) != 0) ++next;
    dim = next++;
  }
  return permute(self, order);
}

Tensor move_one_dim(const Tensor& self, int64_t source, int64_t destination) {
  return mindtorch::movedim(self, IntList(&source, 1), IntList(&destination, 1));
}

Tensor swapdims(const Tensor& self, int64_t dim0, int64_t dim1) {
  return transpose(self, dim0, dim1);
}

Tensor adjoint(const Tensor& self) {
  MT_CHECK(
      self.dim() == 0 || self.dim() >= 2, RuntimeError,
      "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
  return mindtorch::conj(self.dim() == 0 ? self : transpose(self, -2, -1));
}

// An empty list that can take so many; throws at once where there is no memory for them.
std::vector<Tensor> room_for(int64_t count) {
  std::vector<Tensor> pieces;
  pieces.reserve(static_cast<size_t>(count));
  return pieces;
}

// Views that one op made: autograd does not let them be written one by one.
std::vector<Tensor> as_pieces(std::vector<Tensor> pieces) {
  for (const Tensor& piece : pieces) {
    TensorImpl& impl = *piece.impl();
    if (impl.view_base && impl.view_origin == ViewOrigin::kRecorded) {
      impl.view_origin = ViewOrigin::kMultiOutput;
    }
  }
  return pieces;
}

std::vector<Tensor> split_sizes(const Tensor& self, IntList split_size, int64_t dim) {
  MT_CHECK(self.dim() != 0, RuntimeError, "split expects at least a 1-dimensional tensor");
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t size = self.sizes()[static_cast<size_t>(d)];
  int64_t total = 0;
  for (const int64_t length : split_size) {
    MT_CHECK(length >= 0, RuntimeError,
             "split_with_sizes expects split_sizes have only non-negative entries, but got "
             "split_sizes=",
             to_string(split_size));
    MT_CHECK(!__builtin_add_overflow(total, length, &total), RuntimeError,
             "split_with_sizes: the sum of the sizes overflows");
  }
  MT_CHECK(total == size, RuntimeError, "split_with_sizes expects split_sizes to sum exactly to ",
           size, " (input tensor's size at dimension ", d,
           "), but got split_sizes=", to_string(split_size));
  std::vector<Tensor> pieces = room_for(static_cast<int64_t>(split_size.size()));
  int64_t start = 0;
  for (const int64_t length : split_size) {
    pieces.push_back(narrow(self, d, start, length));
    start += length;
  }
  return as_pieces(std::move(pieces));
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  MT_CHECK(self.dim() != 0, RuntimeError, "split expects at least a 1-dimensional tensor");
  MT_CHECK(split_size >= 0, RuntimeError,
           "split expects split_size be non-negative, but got split_size=", split_size);
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t size = self.sizes()[static_cast<size_t>(d)];
  MT_CHECK(split_size > 0 || size == 0, RuntimeError,
           "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  std::vector<Tensor> pieces = room_for(size == 0 ? 1 : (size - 1) / split_size + 1);
  int64_t start = 0;
  do {
    const int64_t length = std::min(split_size, size - start);
    pieces.push_back(narrow(self, d, start, length));
    start += length;
  } while (start < size);
  return as_pieces(std::move(pieces));
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  MT_CHECK(self.dim() > 0, RuntimeError, "chunk expects at least a 1-dimensional tensor");
  MT_CHECK(chunks > 0, RuntimeError, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = self.size(dim);
  // Torch's sum wraps around, and its next complaint is about the length that comes of it.
  const auto sum = static_cast<uint64_t>(size) + static_cast<uint64_t>(chunks) - 1;
  const int64_t length = static_cast<int64_t>(sum) / chunks;
  if (length == 0) {  // of nothing, every chunk is empty
    std::vector<Tensor> pieces = room_for(chunks);
    for (int64_t i = 0; i < chunks; ++i) pieces.push_back(narrow(self, dim, 0, 0));
    return as_pieces(std::move(pieces));
  }
  return mindtorch::split(self, length, dim);
}

std::vector<Tensor> tensor_split_indices(const Tensor& self, IntList indices, int64_t dim) {
  MT_CHECK(self.dim() > 0, RuntimeError,
           "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  const int64_t d = wrap_dim(dim, self.dim());
  std::vector<Tensor> pieces;
  int64_t start = 0;
  for (const int64_t end : indices) {
    pieces.push_back(slice(self, d, start, end, 1));
    start = end;
  }
  pieces.push_back(slice(self, d, start, std::nullopt, 1));
  return as_pieces(std::move(pieces));
}

std::vector<Tensor> tensor_split(const Tensor& self, int64_t sections, int64_t dim) {
  MT_CHECK(self.dim() > 0, RuntimeError,
           "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  MT_CHECK(sections > 0, RuntimeError, "number of sections must be larger than 0, got ", sections);
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t size = self.sizes()[static_cast<size_t>(d)];
  std::vector<Tensor> pieces = room_for(sections);
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t length = size / sections + (i < size % sections ? 1 : 0);
    pieces.push_back(narrow(self, d, start, length));
    start += length;
  }
  return as_pieces(std::move(pieces));
}

std::vector<Tensor> tensor_split_tensor(const Tensor& self, const Tensor& where, int64_t dim) {
  MT_CHECK(where.device().is_host(), RuntimeError,
           "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on ",
           where.device().str());
  MT_CHECK(where.dtype() == DType::kInt64, RuntimeError,
           "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
           legacy_name(where.dtype()));
  MT_CHECK(where.dim() <= 1, RuntimeError,
           "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
           "one-dimensional tensor, but got a tensor with ",
           where.dim(), " dims");
  if (where.dim() == 0) return mindtorch::tensor_split(self, item(where).to_int(), dim);
  Shape indices;
  for (const Tensor& index : mindtorch::unbind(where, 0)) indices.push_back(item(index).to_int());
  return tensor_split_indices(self, indices, dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  const int64_t d = existing_dim(dim, self.dim());
  const int64_t size = self.sizes()[static_cast<size_t>(d)];
  std::vector<Tensor> slices = room_for(size);
  for (int64_t i = 0; i < size; ++i) {
    slices.push_back(select(self, d, i));
  }
  return as_pieces(std::move(slices));
}

Tensor narrow_tensor(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  MT_CHECK(start.dim() == 0 && is_integral(start.dtype()), RuntimeError,
           "start must be an 0-dim integral Tensor.");
  return narrow(self, dim, item(start).to_int(), length);
}

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Shape sizes;
  for (const Tensor& tensor : tensors) sizes = broadcast_shapes(sizes, tensor.sizes());
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(expand(tensor, sizes));
  return result;
}

Tensor atleast_1d(const Tensor& self) {
  return self.dim() == 0 ? mindtorch::reshape(self, {1}) : self;
}
Tensor atleast_2d(const Tensor& self) {
  if (self.dim() == 0) return mindtorch::reshape(self, {1, 1});
  return self.dim() == 1 ? unsqueeze(self, 0) : self;
}
Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return mindtorch::reshape(self, {1, 1, 1});
  if (self.dim() == 1) return unsqueeze(unsqueeze(self, 0), -1);
  return self.dim() == 2 ? unsqueeze(self, -1) : self;
}
template <Tensor (*kOne)(const Tensor&)>
std::vector<Tensor> each(TensorList tensors) {
  std::vector<Tensor> results;
  for (const Tensor& tensor : tensors) results.push_back(kOne(tensor));
  return results;
}

}  // namespace

void compose_views(ops::Registry& registry) {
  registry.composite<reshape>("reshape");
  registry.composite<reshape_as>("reshape_as");
  registry.composite<view_as>("view_as");
  registry.composite<expand_as>("expand_as");
  registry.composite<flatten>("flatten");
  registry.composite<ravel>("ravel");
  registry.composite<movedim>("movedim");
  registry.composite<move_one_dim>("movedim.int");
  registry.composite<swapdims>("swapdims");
  registry.composite<swapdims>("swapaxes");
  registry.composite<adjoint>("adjoint");
  registry.composite<split_sizes>("split.sizes");
  registry.composite<split_sizes>("split_with_sizes");
  registry.composite<split>("split.Tensor");
  registry.composite<chunk>("chunk");
  registry.composite<tensor_split>("tensor_split.sections");
  registry.composite<tensor_split_tensor>("tensor_split.tensor_indices_or_sections");
  registry.composite<tensor_split_indices>("tensor_split.indices");
  registry.composite<unbind>("unbind");
  registry.composite<narrow_tensor>("narrow.Tensor");
  registry.composite<broadcast_to>("broadcast_to");
  registry.composite<broadcast_tensors>("broadcast_tensors");
  registry.composite<each<atleast_1d>>("atleast_1d.Sequence");
  registry.composite<each<atleast_2d>>("atleast_2d.Sequence");
  registry.composite<each<atleast_3d>>("atleast_3d.Sequence");
  registry.composite<atleast_1d>("atleast_1d");
  registry.composite<atleast_2d>("atleast_2d");
  registry.composite<atleast_3d>("atleast_3d");
}

}  // namespace mindtorch::functional
