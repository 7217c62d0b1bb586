#include "mindtorch/backends/ascend/kernels/ragged.h"

#include "mindtorch/backends/ascend/kernels/compose.h"

namespace mindtorch::ascend {

Ragged ragged(ops::Launch& on, const Tensor& lengths, const Tensor& first, int64_t count) {
  using ops::Pointwise;
  const Tensor list = make_like(on, {count}, DType::kInt64);
  if (count == 0) return {list, list};
  call(on, MT_ACLNN(aclnnRepeatInterleaveTensor), lengths, count, list);
  // Element k of all is number k - start of its list, where the lists before it end at start.
  const Tensor ends = make_like(on, lengths.sizes(), DType::kInt64);
  call(on, MT_ACLNN(aclnnCumsum), lengths, int64_t{0}, DType::kInt64, ends);
  const Tensor starts = computed(on, Pointwise::kSub, ends, lengths);
  const Tensor shift = computed(on, Pointwise::kSub, first, starts);
  return {list, computed(on, Pointwise::kAdd, counting(on, count), gathered(on, shift, 0, list))};
}

}  // namespace mindtorch::ascend
