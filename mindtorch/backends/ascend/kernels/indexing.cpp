// index, index_put_, index_select and the masks: whole slices move at once.
#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/tensor/overlap.h"

namespace mindtorch::ascend {
namespace {

// A dim that is not indexed is a tensor without elements: CANN takes no null in a list.
std::vector<Tensor> with_placeholders(const ops::Launch& on, TensorList indices) {
  std::vector<Tensor> filled(indices.begin(), indices.end());
  for (Tensor& index : filled) {
    if (!index.defined()) index = make_like(on, {0}, DType::kInt64);
  }
  return filled;
}

bool names_nothing(TensorList indices) {
  for (const Tensor& index : indices) {
    if (index.defined()) return false;
  }
  return true;
}

void index(ops::Launch& on, const Tensor& self, TensorList indices, Tensor& out) {
  if (out.numel() == 0) return;
  if (names_nothing(indices)) return call(on, MT_ACLNN(aclnnInplaceCopy), out, self);
  const std::vector<Tensor> filled = with_placeholders(on, indices);
  call(on, MT_ACLNN(aclnnIndex), self, TensorList(filled), out);
}

// A tensor that may be read while `written` is written: a copy, where they share memory.
Tensor apart(ops::Launch& on, const Tensor& tensor, const Tensor& written) {
  if (!tensor.shares_storage(written)) return tensor;
  Tensor copy = make_like(on, tensor.sizes(), tensor.dtype());
  call(on, MT_ACLNN(aclnnInplaceCopy), copy, tensor);
  return copy;
}

void index_put(ops::Launch& on,
               const Tensor& self,
               TensorList indices,
               const Tensor& values,
               bool accumulate) {
  check_no_self_overlap(self);  // CANN does not specify expanded tensors
  if (self.numel() == 0 || values.numel() == 0) return;
  const Tensor source = apart(on, on_device(on, values, self.dtype()), self);
  if (names_nothing(indices)) {
    if (!accumulate) return call(on, MT_ACLNN(aclnnInplaceCopy), self, source);
    return call(on, MT_ACLNN(aclnnInplaceAdd), self, source,
                typed(Scalar(int64_t{1}), self.dtype()));
  }
  std::vector<Tensor> filled = with_placeholders(on, indices);
  for (const Tensor& each : indices) {
    if (each.defined() && each.numel() == 0) return;
  }
  for (Tensor& each : filled) each = apart(on, each, self);
  constexpr bool kUnsafe = false;
  call(on, MT_ACLNN(aclnnIndexPutImpl), self, TensorList(filled), source, accumulate, kUnsafe);
}

void index_select(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnIndexSelect), self, dim, index, out);
}

void index_copy(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  if (index.numel() != 0) call(on, MT_ACLNN(aclnnInplaceIndexCopy), self, dim, index, source);
}

void index_add(ops::Launch& on,
               const Tensor& self,
               int64_t dim,
               const Tensor& index,
               const Tensor& source,
               const Scalar& alpha) {
  if (index.numel() == 0) return;
  call(on, MT_ACLNN(aclnnIndexAdd), self, dim, index, source, typed(alpha, self.dtype()), self);
}

// CANN's own op wants the indices on the host.
void index_fill(
    ops::Launch& on, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  if (self.numel() == 0 || index.numel() == 0) return;
  if (self.dim() == 0) {
    return call(on, MT_ACLNN(aclnnInplaceCopy), self, on_device(on, value, self.dtype()));
  }
  Shape sizes = self.sizes();
  sizes[static_cast<size_t>(wrap_dim(dim, self.dim()))] = index.numel();
  const Tensor slices = make_like(on, sizes, self.dtype());
  call(on, MT_ACLNN(aclnnInplaceCopy), slices, on_device(on, value, self.dtype()));
  call(on, MT_ACLNN(aclnnInplaceIndexCopy), self, dim, index, slices);
}

// The first rows of a result for which the most room was made.
Tensor first_rows(ops::Launch& on, const Tensor& room, int64_t rows) {
  if (rows == room.sizes()[0]) return room;
  Shape sizes = room.sizes();
  sizes[0] = rows;
  Tensor exact = make_like(on, sizes, room.dtype());
  if (exact.numel() != 0) {
    call(on, MT_ACLNN(aclnnInplaceCopy), exact, room.alias(sizes, room.strides(), 0));
  }
  return exact;
}

Tensor masked_select(ops::Launch& on, const Tensor& self, const Tensor& mask) {
  const Tensor room = make_like(on, {self.numel()}, self.dtype());
  if (self.numel() == 0) return room;
  const Shape found = call_sized<2>(on, MT_ACLNN(aclnnMaskedSelect), self, mask, room);
  return first_rows(on, room, found[0]);
}

Tensor nonzero(ops::Launch& on, const Tensor& self) {
  const Tensor room =
      make_like(on, {self.numel(), std::max<int64_t>(self.dim(), 1)}, DType::kInt64);
  if (self.numel() == 0) return make_like(on, {0, self.dim()}, DType::kInt64);
  const Tensor values = self.dim() > 0 ? self : self.alias({1}, {1}, self.storage_offset());
  const int64_t count = call_sized<1>(on, MT_ACLNN(aclnnNonzero), values, room)[0];
  return self.dim() > 0 ? first_rows(on, room, count) : make_like(on, {count, 0}, DType::kInt64);
}

void take(ops::Launch& on, const Tensor& self, const Tensor& index, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnTake), self, index, out);
}

}  // namespace

void register_indexing(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<index>(kNpu, "_index").takes(kAnyOrComplex);
  registry.kernel<index_put>(kNpu, "_index_put_").takes(kAnyOrComplex);
  registry.kernel<index_select>(kNpu, "index_select").takes(kAnyOrComplex);
  registry.kernel<index_copy>(kNpu, "index_copy_").takes(kAnyOrComplex);
  registry.kernel<index_add>(kNpu, "index_add_").takes(kAnyOrComplex);
  registry.kernel<index_fill>(kNpu, "index_fill_").takes(kAnyOrComplex);
  registry.dynamic_kernel<masked_select>(kNpu, "_masked_select");
  registry.dynamic_kernel<nonzero>(kNpu, "nonzero");
  registry.kernel<take>(kNpu, "take").takes(kAnyOrComplex);
}

}  // namespace mindtorch::ascend
