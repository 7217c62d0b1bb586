#include "mindtorch/dispatch/eager/transfer.h"

#include "mindtorch/dispatch/eager/copy.h"
#include "mindtorch/runtime/copy.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::dispatch {
namespace {

Tensor contiguous_as(const Tensor& src, DType dtype) {
  if (src.is_contiguous() && src.dtype() == dtype) return src;
  Tensor result = Tensor::make(src.sizes(), dtype, src.device());
  copy_into(result, src);
  return result;
}

void copy_bytes(const Tensor& self, const Tensor& src, bool non_blocking) {
  const auto bytes = static_cast<size_t>(self.numel() * size_bytes(self.dtype()));
  if (src.device().is_host()) {
    runtime::copy_to_device(runtime_of(self.device()), self.mutable_data_ptr(), src.data_ptr(),
                            bytes, non_blocking);
  } else if (self.device().is_host()) {
    runtime::copy_to_host(runtime_of(src.device()), self.mutable_data_ptr(), src.data_ptr(), bytes,
                          non_blocking);
  } else {
    runtime::copy_between_devices(runtime_of(self.device()), self.mutable_data_ptr(),
                                  runtime_of(src.device()), src.data_ptr(), bytes);
  }
}

}  // namespace

void transfer(const Tensor& self, const Tensor& src, bool non_blocking) {
  if (self.numel() == 0) return;
  // What is broadcast crosses once and is spread on the other side.
  const Tensor from = contiguous_as(src, self.dtype());
  if (self.is_contiguous() && self.sizes() == src.sizes()) {
    copy_bytes(self, from, non_blocking);
    return;
  }
  const Tensor arrived = Tensor::make(src.sizes(), self.dtype(), self.device());
  copy_bytes(arrived, from, false);
  copy_into(self, arrived);
}

}  // namespace mindtorch::dispatch
