#include "mindtorch/dispatch/eager/copy.h"

#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::dispatch {

void copy_into(const Tensor& target, const Tensor& source) {
  static const ops::Op& op = ops::registry().at("copy_");
  const ops::Value args[] = {target, source, false};
  ops::Outputs outputs;
  run_eager(op, args, outputs);
}

Tensor clone(const Tensor& tensor, bool contiguous) {
  static const ops::Op& op = ops::registry().at("clone");
  const ops::Value args[] = {tensor,
                             contiguous ? ops::Value(MemoryFormat::kContiguous) : ops::Value()};
  ops::Outputs outputs;
  run_eager(op, args, outputs);
  return std::move(outputs.tensors[0]);
}

}  // namespace mindtorch::dispatch
