// Elements picked by index tensors and masks.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {

void define_indexing(Registry& ops) {
  ops.define("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor").internal();
  ops.define(
         "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
         "Tensor(a!)")
      .method_only();
}

}  // namespace mindtorch::ops
