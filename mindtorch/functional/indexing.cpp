// Indexing: masks become index tensors, index tensors are broadcast, then the kernels take over.
#include "mindtorch/base/warning.h"
#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/tensor/accelerators.h"
#include "mindtorch/tensor/overlap.h"

namespace mindtorch::functional {
namespace {

void check_mask_shape(const Tensor& self, const Tensor& mask, int64_t first) {
  for (int64_t d = 0; d < mask.dim(); ++d) {
    MT_CHECK(first + d < self.dim() && mask.size(d) == self.size(first + d), IndexError,
             "The shape of the mask ", to_string(mask.sizes()), " at index ", d,
             " does not match the shape of the indexed tensor ", to_string(self.sizes()),
             " at index ", first + d);
  }
}

// Where indices may lie that are used on a device. torch brings those of a write there from any.
enum class IndicesFrom : uint8_t { kHostOrSame, kAnywhere };

// One int64 index tensor per dimension, all of one shape; undefined where the whole dim is taken.
std::vector<Tensor> resolve(const Tensor& self,
                            TensorList indices,
                            IndicesFrom from = IndicesFrom::kHostOrSame) {
  std::vector<Tensor> resolved;
  for (const Tensor& index : indices) {
    if (!index.defined()) {
      resolved.emplace_back();
      continue;
    }
    if (index.dtype() != DType::kBool && index.dtype() != DType::kUInt8) {
      MT_CHECK(index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32, IndexError,
               "tensors used as indices must be long, int, byte or bool tensors");
      resolved.push_back(_to_copy(index, DType::kInt64));
      continue;
    }
    const auto first = static_cast<int64_t>(resolved.size());
    check_mask_shape(self, index, first);
    for (Tensor& column : unbind(nonzero(index), 1)) resolved.push_back(std::move(column));
  }
  MT_CHECK(static_cast<int64_t>(resolved.size()) <= self.dim(), IndexError,
           "too many indices for tensor of dimension ", self.dim());
  Shape shape;
  std::string shapes;
  for (const Tensor& index : resolved) {
    if (!index.defined()) continue;
    shapes += (shapes.empty() ? "" : ", ") + to_string(index.sizes());
    try {
      shape = broadcast_shapes(shape, index.sizes());
    } catch (const RuntimeError&) {
      for (const Tensor& rest :
           TensorList(resolved).subspan(static_cast<size_t>(&index - resolved.data()) + 1)) {
        if (rest.defined()) shapes += ", " + to_string(rest.sizes());
      }
      MT_THROW(IndexError,
               "shape mismatch: indexing tensors could not be broadcast together with shapes ",
               shapes);
    }
  }
  for (Tensor& index : resolved) {
    if (!index.defined()) continue;
    MT_CHECK(from == IndicesFrom::kAnywhere || index.device() == self.device() ||
                 index.device().is_host(),
             RuntimeError,
             "indices should be either on cpu or on the same device as the indexed tensor (",
             self.device().str(), ")");
    index = contiguous(expand(_to_copy(index, std::nullopt, self.device()), shape));
  }
  return resolved;
}

Tensor index(const Tensor& self, TensorList indices) {
  return mindtorch::_index(self, resolve(self, indices));
}

// The mask of x[mask] = number, in which no element is counted; undefined for other indices.
Tensor find_fill_mask(const Tensor& self, TensorList indices, const Tensor& values) {
  if (values.numel() != 1 || !values.device().is_host()) return Tensor();
  Tensor mask;
  int64_t dims = 0;
  for (const Tensor& index : indices) {
    if (!index.defined()) {
      ++dims;
      continue;
    }
    const bool is_mask = index.dtype() == DType::kBool || index.dtype() == DType::kUInt8;
    if (!is_mask || index.device() != self.device() || mask.defined()) return Tensor();
    check_mask_shape(self, index, dims);
    mask = index;
    dims += index.dim();
  }
  for (; mask.defined() && dims < self.dim(); ++dims) mask = unsqueeze(mask, -1);
  return mask;
}

Tensor index_put_(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  MT_CHECK(std::any_of(indices.begin(), indices.end(), [](const Tensor& t) { return t.defined(); }),
           RuntimeError, "index_put_ expects at least one index tensor");
  if (is_expanded(self)) {
    warn(
        "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before "
        "performing this operation. This also applies to advanced indexing e.g. tensor[indices] = "
        "tensor");
  }
  if (self.device().is_meta()) return self;  // how many elements a mask selects does not matter
  const Tensor mask = accumulate ? Tensor() : find_fill_mask(self, indices, values);
  if (mask.defined()) {
    const Tensor value = values.shares_storage(self) ? clone(values) : values;
    return mindtorch::masked_fill_(self, mask, view(value, Shape()));
  }
  return mindtorch::_index_put_(self, resolve(self, indices, IndicesFrom::kAnywhere), values,
                                accumulate);
}

Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  if (self.device().is_meta()) return clone(self);
  return mindtorch::index_put_(clone(self), indices, values, accumulate);
}

Tensor masked_fill_(const Tensor& self, const Tensor& mask, const Tensor& value) {
  if (MT_LIKELY(!is_expanded(self))) return mindtorch::_masked_fill_(self, mask, value);
  if (!self.device().is_meta()) {
    warn(
        "Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor before "
        "performing this operation. This also applies to advanced indexing e.g. tensor[mask] = "
        "scalar");
  }
  // Each element once: it is filled where any of the masks that meet there is true.
  Tensor once = self;
  Tensor any_mask = expand(mask, self.sizes());
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.strides()[static_cast<size_t>(d)] != 0 || self.size(d) < 2) continue;
    once = narrow(once, d, 0, 1);
    if (any_mask.dtype() == DType::kBool) any_mask = any(any_mask, IntList({d}), true);
  }
  mindtorch::_masked_fill_(once, any_mask, value);
  return self;
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  const Shape sizes = broadcast_shapes(mask.sizes(), self.sizes());
  return mindtorch::_masked_fill_(clone(expand(self, sizes), MemoryFormat::kContiguous), mask,
                                  value);
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  MT_CHECK(mask.dtype() == DType::kBool, RuntimeError,
           "masked_select: expected BoolTensor for mask");
  const Shape sizes = broadcast_shapes(mask.sizes(), self.sizes());
  return _masked_select(contiguous(expand(self, sizes)), contiguous(expand(mask, sizes)));
}

Tensor masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  // Torch's text, without the space.
  MT_CHECK(self.dtype() == source.dtype(), RuntimeError,
           "masked_scatter: expected self and source to have same dtypes but got",
           legacy_name(self.dtype()), " and ", legacy_name(source.dtype()));
  MT_CHECK(mask.dtype() == DType::kBool, RuntimeError,
           "masked_scatter_ only supports boolean masks, but got mask with dtype ",
           legacy_name(mask.dtype()));
  check_no_self_overlap(self);
  const Tensor where = expand(mask, self.sizes());
  if (self.device().is_meta()) return self;
  const int64_t count = item(mindtorch::sum(where)).to_int();
  MT_CHECK(count <= source.numel(), RuntimeError,
           "Number of elements of source < number of ones in mask");
  const std::vector<Tensor> indices = unbind(nonzero(where), 1);
  const Tensor values = narrow(reshape(source, {source.numel()}), 0, 0, count);
  if (self.dim() == 0) return count == 0 ? self : copy_(self, select(values, 0, 0));
  return mindtorch::index_put_(self, indices, values, false);
}

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const Shape sizes = broadcast_shapes(mask.sizes(), self.sizes());
  return mindtorch::masked_scatter_(clone(expand(self, sizes), MemoryFormat::kContiguous), mask,
                                    source);
}

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  return unbind(nonzero(self.dim() == 0 ? unsqueeze(self, 0) : self), 1);
}

Tensor argwhere(const Tensor& self) { return nonzero(self); }

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  if (!dim) return gather(view(contiguous(self), {-1}), 0, view(contiguous(indices), {-1}));
  MT_CHECK(self.dim() == indices.dim(), RuntimeError,
           "torch.take_along_dim(): input and indices should have the same number of dimensions, "
           "but got ",
           self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  MT_CHECK(self.dim() > 0, IndexError, "Dimension specified as ", *dim,
           " but tensor has no dimensions");
  MT_CHECK(indices.dtype() == DType::kInt64, RuntimeError,
           "torch.take_along_dim(): dtype of indices should be Long but got ",
           legacy_name(indices.dtype()));
  const int64_t d = wrap_dim(*dim, self.dim());
  Shape self_sizes = self.sizes();
  Shape index_sizes = indices.sizes();
  const auto at = static_cast<size_t>(d);
  const int64_t self_length = self_sizes[at];
  const int64_t index_length = index_sizes[at];
  self_sizes[at] = index_sizes[at] = 1;
  Shape sizes = broadcast_shapes(self_sizes, index_sizes);
  sizes[at] = self_length;
  const Tensor source = expand(self, sizes);
  sizes[at] = index_length;
  // Indices count from the end where they are negative, and go round beyond either.
  const Tensor places = self_length == 0 ? indices : remainder(indices, Scalar(self_length));
  return gather(source, d, expand(places, sizes));
}

Tensor put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  MT_CHECK(is_index_dtype(index.dtype(), self.device()), RuntimeError,
           "put_(): Expected a long tensor for index, but got ", legacy_name(index.dtype()));
  MT_CHECK(self.dtype() == source.dtype(), RuntimeError,
           "put_(): self and source expected to have the same dtype, but got self.dtype = ",
           legacy_name(self.dtype()), " and source.dtype = ", legacy_name(source.dtype()));
  MT_CHECK(index.numel() == source.numel(), IndexError,
           "put_(): Expected source and index to have the same number of elements, but got "
           "source.numel() = ",
           source.numel(), ", index.numel() = ", index.numel());
  check_no_self_overlap(self);
  const Tensor flat = self.is_contiguous() ? view(self, {-1}) : reshape(self, {-1});
  const Tensor places = _to_copy(contiguous(reshape(index, {-1})), DType::kInt64);
  _index_put_(flat, {places}, reshape(source, {-1}), accumulate);
  return self.is_contiguous() ? self : copy_(self, view(flat, self.sizes()));
}

Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  return mindtorch::put_(clone(self), index, source, accumulate);
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  constexpr int64_t kAsManyAsThereAre = -1;
  MT_CHECK(is_index_dtype(self.dtype(), self.device()), RuntimeError,
           "one_hot is only applicable to index tensor of type LongTensor.");
  Shape sizes = self.sizes();
  if (self.numel() == 0) {
    MT_CHECK(num_classes > 0, RuntimeError,
             "Can not infer total number of classes from empty tensor.");
    sizes.push_back(num_classes);
    return zeros(sizes, self.dtype(), self.device());
  }
  // Inside vmap the values of one sample cannot be looked at.
  const bool is_batched = (self.impl()->layers & dispatch::bit(dispatch::Layer::kBatching)) != 0;
  if (!self.device().is_meta() && (num_classes == kAsManyAsThereAre || !is_batched)) {
    MT_CHECK(item(min(self)).to_int() >= 0, RuntimeError, "Class values must be non-negative.");
    const int64_t largest = item(max(self)).to_int();
    if (num_classes == kAsManyAsThereAre) num_classes = largest + 1;
    MT_CHECK(largest < num_classes || num_classes < 1, RuntimeError,
             "Class values must be smaller than num_classes.");
  }
  MT_CHECK(num_classes >= 1, RuntimeError, "num_classes should be positive");
  sizes.push_back(num_classes);
  return scatter_(zeros(sizes, self.dtype(), self.device()), -1, unsqueeze(self, -1), Scalar(1));
}

std::vector<Tensor> where_nonzero(const Tensor& condition) {
  return mindtorch::nonzero_numpy(condition);
}

}  // namespace

void compose_indexing(ops::Registry& registry) {
  registry.composite<index>("index.Tensor");
  registry.composite<index_put_>("index_put_");
  registry.composite<index_put>("index_put");
  registry.composite<masked_fill_>("masked_fill_");
  registry.composite<masked_fill>("masked_fill");
  registry.composite<masked_select>("masked_select");
  registry.composite<masked_scatter_>("masked_scatter_");
  registry.composite<masked_scatter>("masked_scatter");
  registry.composite<nonzero_numpy>("nonzero_numpy");
  registry.composite<argwhere>("argwhere");
  registry.composite<one_hot>("one_hot");
  registry.composite<take_along_dim>("take_along_dim");
  registry.composite<put_>("put_");
  registry.composite<put>("put");
  registry.composite<where_nonzero>("where");
}

}  // namespace mindtorch::functional
