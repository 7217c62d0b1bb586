#include "mindtorch/runtime/copy.h"

#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ascend {
namespace {

// Both on this device; other devices are the dispatcher's business.
void copy_into(ops::Launch& on, const Tensor& self, const Tensor& src, bool) {
  if (self.numel() == 0) return;
  if (self.dtype() == DType::kUInt8 && is_floating_point(src.dtype())) {
    // As in on_device().
    return call(on, MT_ACLNN(aclnnInplaceCopy), self, on_device(on, src, DType::kInt32));
  }
  if (!self.shares_storage(src)) return call(on, MT_ACLNN(aclnnInplaceCopy), self, src);
  // Overlapping views: read everything before the first write.
  const Tensor whole = make_like(on, src.sizes(), src.dtype());
  call(on, MT_ACLNN(aclnnInplaceCopy), whole, src);
  call(on, MT_ACLNN(aclnnInplaceCopy), self, whole);
}

void clone(ops::Launch& on, const Tensor& self, std::optional<MemoryFormat>, Tensor& out) {
  if (out.numel() != 0) call(on, MT_ACLNN(aclnnInplaceCopy), out, self);
}

}  // namespace

Scalar item(ops::Launch& on, const Tensor& self) {
  MT_CHECK(self.numel() == 1, RuntimeError, "a Tensor with ", self.numel(),
           " elements cannot be converted to Scalar");
  alignas(8) char element[8];
  runtime::copy_to_host(detail::runtime_of(on), element, self.data_ptr(),
                        static_cast<size_t>(self.element_size()));
  return read_element(element, self.dtype());
}

void register_copy(ops::Registry& registry) {
  registry.kernel<copy_into>(DeviceType::kNpu, "copy_").takes(kAnyOrComplex);
  registry.kernel<clone>(DeviceType::kNpu, "clone").takes(kAnyOrComplex);
  registry.dynamic_kernel<item>(DeviceType::kNpu, "item").takes(kAnyOrComplex);
}

}  // namespace mindtorch::ascend
