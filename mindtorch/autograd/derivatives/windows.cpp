#include <string>

#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

void im2col_of(Backward& b,
               const TensorMeta& self,
               IntList kernel_size,
               IntList dilation,
               IntList padding,
               IntList stride) {
  b.set(0, _col2im(b.grad(), IntList(self.sizes).last(2), kernel_size, dilation, padding, stride));
}
void col2im_of(Backward& b,
               const TensorMeta&,
               IntList,
               IntList kernel_size,
               IntList dilation,
               IntList padding,
               IntList stride) {
  b.set(0, _im2col(b.grad(), kernel_size, dilation, padding, stride));
}
void max_unpool_of(Backward& b, const TensorMeta&, const Tensor& indices, IntList output_size) {
  const auto n = static_cast<int64_t>(output_size.size());
  const Tensor flat = gather(flatten(b.grad(), -n), -1, flatten(indices, -n));
  b.set(0, reshape(flat, indices.sizes()));
}

}  // namespace

void define_windows(Derivatives& derivatives) {
  derivatives.define<im2col_of>("_im2col").named("Im2ColBackward0");
  derivatives.define<col2im_of>("_col2im").named("Col2ImBackward0");
  derivatives.define<max_unpool_of>("_max_unpool").named([](ops::Args args) {
    return "MaxUnpool" + std::to_string(args[2].int_list().size()) + "DBackward0";
  });
}

}  // namespace mindtorch::autograd
