#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/ragged.h"

namespace mindtorch::ascend {
namespace {

void cat(ops::Launch& on, TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  // torch skips empty vectors whatever the shape of the rest.
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() != 0) parts.push_back(on_device(on, tensor, out.dtype()));
  }
  call(on, MT_ACLNN(aclnnCat), TensorList(parts), dim, out);
}
void flip(ops::Launch& on, const Tensor& self, IntList dims, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnFlip), self, dims, out);
}
void tril(ops::Launch& on, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnTril), self, diagonal, out);
}
void triu(ops::Launch& on, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnTriu), self, diagonal, out);
}
void tril_inplace(ops::Launch& on, const Tensor& self, int64_t diagonal) {
  if (self.numel() != 0) call(on, MT_ACLNN(aclnnInplaceTril), self, diagonal);
}
void triu_inplace(ops::Launch& on, const Tensor& self, int64_t diagonal) {
  if (self.numel() != 0) call(on, MT_ACLNN(aclnnInplaceTriu), self, diagonal);
}

// One copy from a view that sees every element `repeats` times.
void repeat_all(ops::Launch& on,
                const Tensor& self,
                int64_t repeats,
                std::optional<int64_t> dim,
                std::optional<int64_t>,
                Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t d = dim ? wrap_dim(*dim, self.dim()) : self.dim() - 1;
  Shape sizes = self.sizes();
  Shape from = self.strides();
  const int64_t place = self.dim() == 0 ? 0 : d + 1;
  sizes.insert(sizes.begin() + place, repeats);
  from.insert(from.begin() + place, 0);
  call(on, MT_ACLNN(aclnnInplaceCopy), out.alias(sizes, contiguous_strides(sizes), 0),
       self.alias(sizes, std::move(from), self.storage_offset()));
}
// The size of the result is the sum of `repeats`, so the host waits for it.
Tensor repeat_interleave(ops::Launch& on,
                         const Tensor& repeats,
                         std::optional<int64_t> output_size) {
  MT_CHECK(repeats.dim() == 1, RuntimeError, "repeat_interleave only accept 1D vector as repeat");
  MT_CHECK(repeats.dtype() == DType::kInt32 || repeats.dtype() == DType::kInt64,
           NotImplementedError, "\"repeat_interleave_cpu\" not implemented for '",
           legacy_name(repeats.dtype()), "'");
  int64_t count = 0;
  if (repeats.numel() != 0) {
    const Tensor least = make_like(on, {}, repeats.dtype());
    call(on, MT_ACLNN(aclnnMin), repeats, least);
    MT_CHECK(item(on, least).to_int() >= 0, RuntimeError, "repeats can not be negative");
    const Tensor sum = make_like(on, {}, DType::kInt64);
    const int64_t dim = 0;
    call(on, MT_ACLNN(aclnnReduceSum), repeats, IntList(&dim, 1), false, DType::kInt64, sum);
    count = item(on, sum).to_int();
  }
  MT_CHECK(!output_size || *output_size == count, RuntimeError,
           "allocated size does not match required size");
  const Tensor out = make_like(on, {count}, repeats.dtype());
  if (count != 0) call(on, MT_ACLNN(aclnnRepeatInterleaveTensor), repeats, count, out);
  return out;
}

// Column by column: what is chosen so far goes on with every index after the last (with
// replacement: from the last on).
void combinations(
    ops::Launch& on, const Tensor& self, int64_t r, bool with_replacement, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t n = self.numel();
  const int64_t again = with_replacement ? 0 : 1;
  const Tensor size = on_device(on, Tensor::wrapped_number(Scalar(n)), DType::kInt64);
  std::vector<Tensor> columns{counting(on, n)};
  int64_t count = n;
  for (int64_t k = 2; k <= r; ++k) {
    // k of n, or of n + k - 1 with replacement, from those of k - 1.
    count = with_replacement ? count * (n + k - 1) / k : count * (n - k + 1) / k;
    const Tensor first = computed(on, ops::Pointwise::kAdd, columns.back(), Scalar(again));
    const Tensor lengths = computed(on, ops::Pointwise::kSub, size, first);
    const Ragged next = ragged(on, lengths, first, count);
    for (Tensor& column : columns) column = gathered(on, column, 0, next.list);
    columns.push_back(next.number);
  }
  for (int64_t k = 0; k < r; ++k) {
    const Tensor column =
        out.alias({count}, {out.stride(0)}, out.storage_offset() + k * out.stride(1));
    call(on, MT_ACLNN(aclnnIndexSelect), self, int64_t{0}, columns[static_cast<size_t>(k)], column);
  }
}

}  // namespace

void register_shape(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<cat>(kNpu, "cat").takes(kAnyOrComplex);
  registry.kernel<flip>(kNpu, "flip").takes(kAnyOrComplex);
  registry.kernel<tril>(kNpu, "tril").takes(kAnyOrComplex);
  registry.kernel<triu>(kNpu, "triu").takes(kAnyOrComplex);
  registry.kernel<tril_inplace>(kNpu, "tril_").takes(kAnyOrComplex);
  registry.kernel<triu_inplace>(kNpu, "triu_").takes(kAnyOrComplex);
  registry.kernel<repeat_all>(kNpu, "repeat_interleave.self_int").takes(kAnyOrComplex);
  registry.kernel<combinations>(kNpu, "combinations");
  registry.dynamic_kernel<repeat_interleave>(kNpu, "repeat_interleave.Tensor").takes(kAnyOrComplex);
}

}  // namespace mindtorch::ascend
