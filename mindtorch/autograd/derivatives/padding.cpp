#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

void pad_edges_by(Backward& b, const TensorMeta&, IntList padding, int64_t mode) {
  b.set(0, _pad_edges_backward(b.grad(), padding, mode));
}
void pad_edges_backward_by(Backward& b, const TensorMeta&, IntList padding, int64_t mode) {
  b.set(0, _pad_edges(b.grad(), padding, mode));
}

}  // namespace

void define_padding(Derivatives& derivatives) {
  derivatives.define<pad_edges_by>("_pad_edges");
  derivatives.define<pad_edges_backward_by>("_pad_edges_backward");
}

}  // namespace mindtorch::autograd
