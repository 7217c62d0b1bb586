#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::cpu {
namespace {

void copy_into(ops::Launch&, const Tensor& self, const Tensor& src, bool) {
  if (self.storage() == src.storage() && self.storage_offset() == src.storage_offset() &&
      self.strides() == src.strides() && self.dtype() == src.dtype() &&
      self.sizes() == src.sizes()) {
    return;
  }
  if (!self.shares_storage(src)) {
    copy(src, self);
    return;
  }
  // Overlapping views: read everything before the first write.
  const Tensor whole = Tensor::make(src.sizes(), src.dtype());
  copy(src, whole);
  copy(whole, self);
}

void clone(ops::Launch&, const Tensor& self, std::optional<MemoryFormat>, Tensor& out) {
  copy(self, out);
}

Scalar item(ops::Launch&, const Tensor& self) {
  MT_CHECK(self.numel() == 1, RuntimeError, "a Tensor with ", self.numel(),
           " elements cannot be converted to Scalar");
  return read_element(self.data_ptr(), self.dtype());
}

}  // namespace

void register_copy(ops::Registry& registry) {
  registry.kernel<copy_into>(DeviceType::kCpu, "copy_").takes(kAnyType);
  registry.kernel<clone>(DeviceType::kCpu, "clone").takes(kAnyType);
  registry.dynamic_kernel<item>(DeviceType::kCpu, "item").takes(kAnyType);
}

}  // namespace mindtorch::cpu
