#include "mindtorch/tensor/overlap.h"

namespace mindtorch {

Overlap find_overlap(const Tensor& a, const Tensor& b) {
  if (MT_LIKELY(!a.shares_storage(b)) || a.numel() == 0 || b.numel() == 0) return Overlap::kNone;
  if (a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
      a.strides() == b.strides() && a.dtype() == b.dtype()) {
    return Overlap::kFull;
  }
  const int64_t a_begin = a.storage_offset() * a.element_size();
  const int64_t b_begin = b.storage_offset() * b.element_size();
  const int64_t a_end = a_begin + extent(a.sizes(), a.strides()) * a.element_size();
  const int64_t b_end = b_begin + extent(b.sizes(), b.strides()) * b.element_size();
  if (a_end <= b_begin || b_end <= a_begin) return Overlap::kNone;
  if (!is_dense(a.sizes(), a.strides()) || !is_dense(b.sizes(), b.strides())) return Overlap::kNone;
  return Overlap::kPartial;
}

bool is_expanded(const Tensor& tensor) {
  if (MT_LIKELY(tensor.is_contiguous()) || tensor.numel() == 0) return false;
  for (size_t i = 0; i < tensor.sizes().size(); ++i) {
    if (tensor.strides()[i] == 0 && tensor.sizes()[i] > 1) return true;
  }
  return false;
}

void check_no_self_overlap(const Tensor& written) {
  MT_CHECK(!is_expanded(written), RuntimeError,
           "unsupported operation: more than one element of the written-to tensor refers to a "
           "single memory location. Please clone() the tensor before performing the operation.");
}

void check_no_overlap(const Tensor& written, const Tensor& read) {
  if (MT_UNLIKELY(find_overlap(written, read) != Overlap::kNone)) refuse_overlap();
}

void refuse_overlap() {
  MT_THROW(RuntimeError,
           "unsupported operation: some elements of the input tensor and the written-to tensor "
           "refer to a single memory location. Please clone() the tensor before performing the "
           "operation.");
}

}  // namespace mindtorch
