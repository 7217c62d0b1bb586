#include <string>

#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"
#include "mindtorch/ops/padding.h"

namespace mindtorch::autograd {
namespace {

void pad_edges_by(Backward& b, const TensorMeta&, IntList padding, int64_t mode) {
  b.set(0, _pad_edges_backward(b.grad(), padding, mode));
}
void pad_edges_backward_by(Backward& b, const TensorMeta&, IntList padding, int64_t mode) {
  b.set(0, _pad_edges(b.grad(), padding, mode));
}

// torch has circular borders as copies of parts.
std::string node_of_padding(ops::Args args) {
  const auto kind = static_cast<ops::Padding>(args[2].to_int());
  const auto dims = std::to_string(args[1].int_list().size() / 2);
  if (kind == ops::Padding::kReflect) return "ReflectionPad" + dims + "DBackward0";
  if (kind == ops::Padding::kReplicate) return "ReplicationPad" + dims + "DBackward0";
  return "PadEdgesBackward0";
}

}  // namespace

void define_padding(Derivatives& derivatives) {
  derivatives.define<pad_edges_by>("_pad_edges").named(&node_of_padding);
  derivatives.define<pad_edges_backward_by>("_pad_edges_backward");
}

}  // namespace mindtorch::autograd
