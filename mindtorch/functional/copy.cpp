#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/tensor/pinned.h"

namespace mindtorch::functional {
namespace {

bool is_laid_out(const Tensor& self, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::kContiguous:
      return self.is_contiguous();
    case MemoryFormat::kPreserve:
      return true;
    case MemoryFormat::kChannelsLast:
    case MemoryFormat::kChannelsLast3d:
      return self.strides() == strides_for(self.sizes(), format) ||
             is_channels_last(self.sizes(), self.strides());
  }
  return false;
}

Tensor contiguous(const Tensor& self, MemoryFormat memory_format) {
  if (is_laid_out(self, memory_format)) return self;
  MT_CHECK(memory_format != MemoryFormat::kPreserve, RuntimeError,
           "preserve memory format is unsupported by the contiguous operator");
  return clone(self, memory_format);
}

Tensor to_copy(const Tensor& self,
               std::optional<DType> dtype,
               std::optional<Device> device,
               bool non_blocking,
               bool copy,
               std::optional<MemoryFormat> memory_format) {
  const DType new_dtype = dtype.value_or(self.dtype());
  const Device new_device = device.value_or(self.device());
  const MemoryFormat format = memory_format.value_or(MemoryFormat::kPreserve);
  if (!copy && new_dtype == self.dtype() && new_device == self.device() &&
      is_laid_out(self, format)) {
    return self;
  }
  const Shape strides = format == MemoryFormat::kPreserve
                            ? strides_like(self.sizes(), self.strides())
                            : strides_for(self.sizes(), format);
  // Only into pinned memory can a device write while the program goes on.
  const bool pin = non_blocking && new_device.is_host() && self.device().is_accelerator();
  const Tensor result = pin ? empty_pinned(self.sizes(), strides, new_dtype, self.device().type)
                            : empty_strided(self.sizes(), strides, new_dtype, new_device);
  return copy_(result, self, non_blocking);
}

Tensor positive(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::kBool, RuntimeError,
           "The `+` operator, on a bool tensor is not supported.");
  return self;
}

}  // namespace

void compose_copy(ops::Registry& registry) {
  registry.composite<positive>("positive");
  registry.composite<contiguous>("contiguous");
  registry.composite<to_copy>("_to_copy");
}

}  // namespace mindtorch::functional
