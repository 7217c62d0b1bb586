// Copies between layouts, dtypes and devices.
#include <atomic>

#include "mindtorch/base/warning.h"
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void warn_of_lost_parts() {
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true)) warn("Casting complex values to real discards the imaginary part");
}

void copy(const Tensor& self, const Tensor& src, bool) {
  MT_CHECK(self.device().is_meta() || !src.device().is_meta(), NotImplementedError,
           "Cannot copy out of meta tensor; no data!");
  const Shape sizes = broadcast_shapes(self.sizes(), src.sizes());
  MT_CHECK(sizes == self.sizes(), RuntimeError, "output with shape ", to_string(self.sizes()),
           " doesn't match the broadcast shape ", to_string(sizes));
  const bool keeps_parts = is_complex(self.dtype()) || self.dtype() == DType::kBool;
  if (MT_UNLIKELY(is_complex(src.dtype()) && !keeps_parts)) warn_of_lost_parts();
}

TensorSpec clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format = memory_format.value_or(MemoryFormat::kPreserve);
  if (format == MemoryFormat::kPreserve) return spec_like(self, self.dtype());
  return {self.sizes(), self.dtype(), self.device(), strides_for(self.sizes(), format)};
}

}  // namespace

void define_copy(Registry& ops) {
  ops.define<copy>("copy_(Tensor(a!) self, Operand other, bool non_blocking=False) -> Tensor(a!)")
      .fusion(FusionKind::kCopy)
      .copies_from("other", "non_blocking")
      .method_only()
      .doc("Copies the elements of `src`, broadcast and converted, into `self`.",
           ">>> torch.zeros(2).copy_(torch.tensor([1, 2]))\ntensor([1., 2.])");
  ops.define<clone>("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor")
      .fusion(FusionKind::kCopy)
      .doc("A copy with memory of its own.", ">>> torch.tensor([1, 2]).clone()\ntensor([1, 2])");
  ops.define("positive(Tensor self) -> Tensor")
      .doc("The tensor itself.", ">>> torch.positive(torch.tensor([1, -2]))\ntensor([ 1, -2])");
  ops.define("item(Tensor self) -> Scalar")
      .dynamic()
      .method_only()
      .doc("The value of a tensor with one element, as a Python number.",
           ">>> torch.tensor([2.5]).item()\n2.5");
  ops.define("contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format) -> Tensor")
      .method_only()
      .doc("The tensor itself when it is contiguous in memory, else a contiguous copy.",
           ">>> torch.eye(2).t().contiguous().is_contiguous()\nTrue");
  ops.define(
         "_to_copy(Tensor self, ScalarType? dtype=None, Device? device=None, "
         "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor")
      .device_example("x.to(torch.float16)")
      .internal();
}

}  // namespace mindtorch::ops
