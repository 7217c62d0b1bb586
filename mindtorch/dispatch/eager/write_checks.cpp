#include "mindtorch/dispatch/eager/write_checks.h"

#include "mindtorch/base/warning.h"
#include "mindtorch/tensor/overlap.h"

namespace mindtorch::dispatch {

void check_inplace_shape(IntList result, const Tensor& self) {
  MT_CHECK(equal(result, self.sizes()), RuntimeError, "output with shape ", to_string(self.sizes()),
           " doesn't match the broadcast shape ", to_string(result));
}

void check_same_device(Device result, const Tensor& target) {
  MT_CHECK(result == target.device(), RuntimeError,
           "Expected all tensors to be on the same device, but found at least two devices, ",
           result.str(), " and ", target.device().str(), "!");
}

void check_no_partial_overlap(const Tensor& target, const Tensor& input) {
  // In a full overlap each element is read before it is written.
  if (MT_UNLIKELY(find_overlap(target, input) == Overlap::kPartial)) refuse_overlap();
}

void check_no_list_overlap(const Tensor& target, IntList result, ops::Args args) {
  if (!shares_storage_with_any(target, args)) return;
  const Tensor written = equal(target.sizes(), result)
                             ? target
                             : target.alias(Shape(result.begin(), result.end()),
                                            contiguous_strides(result), target.storage_offset());
  for (const ops::Value& value : args) {
    if (value.kind() != ops::ValueKind::kTensorList) continue;
    for (const Tensor& tensor : value.tensor_list()) {
      if (!tensor.defined()) continue;
      if (tensor.is_same(target) || find_overlap(written, tensor) != Overlap::kNone) {
        refuse_overlap();
      }
    }
  }
}

bool shares_storage_with_any(const Tensor& target, ops::Args args) {
  for (const ops::Value& value : args) {
    if (value.kind() == ops::ValueKind::kTensor) {
      if (value.tensor().shares_storage(target)) return true;
    } else if (value.kind() == ops::ValueKind::kTensorList) {
      for (const Tensor& tensor : value.tensor_list()) {
        if (tensor.defined() && tensor.shares_storage(target)) return true;
      }
    }
  }
  return false;
}

bool has_layout(const Tensor& target, const ops::TensorSpec& spec) {
  if (target.dtype() != spec.dtype || target.sizes() != spec.sizes) return false;
  return spec.strides ? target.strides() == *spec.strides : target.is_contiguous();
}

OutputShapes::~OutputShapes() {
  for (Before& before : before_) {
    before.target.impl()->set_sizes_and_strides(std::move(before.sizes), std::move(before.strides));
  }
}

void OutputShapes::resize(const Tensor& target, const ops::TensorSpec& spec) {
  TensorImpl& impl = *target.impl();
  if (impl.sizes == spec.sizes) return;
  if (impl.numel != 0) {
    warn(mindtorch::detail::concat(
        "An output with one or more elements was resized since it had shape ",
        to_string(impl.sizes), ", which does not match the required output shape ",
        to_string(spec.sizes),
        ". This behavior is deprecated, and in a future PyTorch release outputs "
        "will not be resized unless they have zero elements. You can explicitly "
        "reuse an out tensor t by resizing it, inplace, to zero elements with "
        "t.resize_(0)."));
  }
  Shape strides = spec.strides ? *spec.strides : contiguous_strides(spec.sizes);
  int64_t bytes = 0;
  MT_CHECK(!__builtin_add_overflow(extent(spec.sizes, strides), impl.offset, &bytes) &&
               !__builtin_mul_overflow(bytes, size_bytes(impl.dtype), &bytes),
           RuntimeError, "Storage size calculation overflowed with sizes=", to_string(spec.sizes));
  if (static_cast<size_t>(bytes) > impl.storage->size_bytes()) {
    impl.storage->resize(static_cast<size_t>(bytes));
  }
  before_.push_back({target, impl.sizes, impl.strides});
  impl.set_sizes_and_strides(spec.sizes, std::move(strides));
}

}  // namespace mindtorch::dispatch
