#include "mindtorch/dispatch/eager/transfer.h"

#include "mindtorch/dispatch/eager/copy.h"
#include "mindtorch/tensor/bytes.h"

namespace mindtorch::dispatch {
namespace {

Tensor contiguous_as(const Tensor& src, DType dtype) {
  if (src.is_contiguous() && src.dtype() == dtype) return src;
  Tensor result = Tensor::make(src.sizes(), dtype, src.device());
  copy_into(result, src);
  return result;
}

void copy_elements(const Tensor& self, const Tensor& src, bool non_blocking) {
  const auto bytes = static_cast<size_t>(self.numel() * size_bytes(self.dtype()));
  copy_bytes(self.device(), self.mutable_data_ptr(), src.device(), src.data_ptr(), bytes,
             non_blocking);
}

}  // namespace

void transfer(const Tensor& self, const Tensor& src, bool non_blocking) {
  if (self.numel() == 0) return;
  // What is broadcast crosses once and is spread on the other side.
  const Tensor from = contiguous_as(src, self.dtype());
  if (self.is_contiguous() && self.sizes() == src.sizes()) {
    copy_elements(self, from, non_blocking);
    return;
  }
  const Tensor arrived = Tensor::make(src.sizes(), self.dtype(), self.device());
  copy_elements(arrived, from, false);
  copy_into(self, arrived);
}

}  // namespace mindtorch::dispatch
