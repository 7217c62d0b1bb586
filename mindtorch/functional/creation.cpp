// New tensors in the likeness of others, and those made of several ops.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/layout.h"

namespace mindtorch::functional {
namespace {

Tensor empty_like(const Tensor& self,
                  std::optional<DType> dtype,
                  std::optional<Device> device,
                  std::optional<MemoryFormat> memory_format) {
  const DType new_dtype = dtype.value_or(self.dtype());
  const Device new_device = device.value_or(self.device());
  const MemoryFormat format = memory_format.value_or(MemoryFormat::kPreserve);
  if (format != MemoryFormat::kPreserve) {
    return empty(self.sizes(), new_dtype, new_device, format);
  }
  if (ops::has_plain_strides(self.sizes(), self.strides())) {
    return empty(self.sizes(), new_dtype, new_device);
  }
  return empty_strided(self.sizes(), strides_like(self.sizes(), self.strides()), new_dtype,
                       new_device);
}

Tensor zeros_like(const Tensor& self,
                  std::optional<DType> dtype,
                  std::optional<Device> device,
                  std::optional<MemoryFormat> memory_format) {
  return zero_(mindtorch::empty_like(self, dtype, device, memory_format));
}

Tensor full_like(const Tensor& self,
                 const Scalar& fill_value,
                 std::optional<DType> dtype,
                 std::optional<Device> device,
                 std::optional<MemoryFormat> memory_format) {
  return fill_(mindtorch::empty_like(self, dtype, device, memory_format), fill_value);
}

Tensor ones_like(const Tensor& self,
                 std::optional<DType> dtype,
                 std::optional<Device> device,
                 std::optional<MemoryFormat> memory_format) {
  return fill_(mindtorch::empty_like(self, dtype, device, memory_format), 1);
}

Tensor new_empty(const Tensor& self,
                 IntList size,
                 std::optional<DType> dtype,
                 std::optional<Device> device) {
  return empty(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

Tensor new_empty_strided(const Tensor& self,
                         IntList size,
                         IntList stride,
                         std::optional<DType> dtype,
                         std::optional<Device> device) {
  return empty_strided(size, stride, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

Tensor new_zeros(const Tensor& self,
                 IntList size,
                 std::optional<DType> dtype,
                 std::optional<Device> device) {
  return zeros(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

Tensor new_ones(const Tensor& self,
                IntList size,
                std::optional<DType> dtype,
                std::optional<Device> device) {
  return ones(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

Tensor new_full(const Tensor& self,
                IntList size,
                const Scalar& fill_value,
                std::optional<DType> dtype,
                std::optional<Device> device) {
  return full(size, fill_value, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

Tensor empty_permuted(IntList size,
                      IntList physical_layout,
                      std::optional<DType> dtype,
                      std::optional<Device> device) {
  MT_CHECK(size.size() == physical_layout.size(), RuntimeError,
           "Number of dimensions in size does not match the length of the physical_layout; i.e. "
           "len(size) = ",
           size.size(), " is not equal to len(physical_layout) = ", physical_layout.size());
  numel(size);
  Shape strides(size.size());
  uint64_t seen = 0;
  int64_t step = 1;
  for (size_t i = physical_layout.size(); i-- > 0;) {
    const int64_t dim = physical_layout[i];
    MT_CHECK(dim >= 0 && dim < static_cast<int64_t>(size.size()), RuntimeError,
             "Dimension out of range (expected to be between 0 and ", size.size() - 1, ", but got ",
             dim, " at index ", i,
             ").  NB: negative dims not currently supported; file an issue "
             "if you want it.");
    MT_CHECK((seen >> dim & 1) == 0, RuntimeError, "Duplicate dim not allowed");
    seen |= uint64_t{1} << dim;
    strides[static_cast<size_t>(dim)] = step;
    step *= std::max<int64_t>(size[static_cast<size_t>(dim)], 1);
  }
  return empty_strided(size, strides, dtype, device);
}

Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  MT_CHECK(x.dim() == 1, RuntimeError, "x must be a one-dimensional tensor.");
  const int64_t count = n.value_or(x.numel());
  MT_CHECK(count >= 0, RuntimeError, "N must be non-negative.");
  const Tensor result =
      mindtorch::new_empty(x, {x.numel(), count}, promote_types(x.dtype(), DType::kInt64));
  if (result.numel() == 0) return result;
  fill_(select(result, 1, 0), 1);
  if (count > 1) {
    const Tensor factors = expand(unsqueeze(x, 1), {x.numel(), count - 1});
    copy_(narrow(result, 1, 1, count - 1), cumprod(factors, 1, result.dtype()));
  }
  return increasing ? result : flip(result, {1});
}

}  // namespace

void compose_creation(ops::Registry& registry) {
  registry.composite<empty_like>("empty_like");
  registry.composite<zeros_like>("zeros_like");
  registry.composite<ones_like>("ones_like");
  registry.composite<full_like>("full_like");
  registry.composite<new_empty>("new_empty");
  registry.composite<new_empty_strided>("new_empty_strided");
  registry.composite<new_zeros>("new_zeros");
  registry.composite<new_ones>("new_ones");
  registry.composite<new_full>("new_full");
  registry.composite<empty_permuted>("empty_permuted");
  registry.composite<vander>("vander");
}

}  // namespace mindtorch::functional
