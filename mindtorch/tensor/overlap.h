#pragma once

#include "mindtorch/tensor/tensor.h"

namespace mindtorch {

// Which memory two tensors share, as far as torch looks: views with gaps between their elements
// (even and odd columns) count as apart.
enum class Overlap : uint8_t { kNone, kPartial, kFull };
MT_API Overlap find_overlap(const Tensor& a, const Tensor& b);

// Whether some elements are one and the same because a dim was expanded. Like torch, this looks no
// further: as_strided makes other overlaps.
MT_API bool is_expanded(const Tensor& tensor);

// Throw torch's RuntimeError where a tensor that is written has expanded elements, or shares memory
// with one that is read.
MT_API void check_no_self_overlap(const Tensor& written);
MT_API void check_no_overlap(const Tensor& written, const Tensor& read);
[[noreturn]] MT_API void refuse_overlap();

}  // namespace mindtorch
