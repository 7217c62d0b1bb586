#include "mindtorch/ops/value.h"

namespace mindtorch::ops {

const Tensor& Value::undefined() {
  static const Tensor none;
  return none;
}

}  // namespace mindtorch::ops
