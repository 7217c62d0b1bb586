#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

// The gradient of real numbers that became complex is real.
Tensor real_if(const Tensor& grad, DType dtype) { return is_complex(dtype) ? grad : real(grad); }

void clone_of(Backward& b, const TensorMeta&, std::optional<MemoryFormat>) { b.set(0, b.grad()); }

void copy_from(Backward& b, const TensorMeta&, const TensorMeta& other, bool) {
  if (b.needs(0)) b.set(0, zeros_like(b.grad()));
  if (b.needs(1)) b.set(1, _to_copy(real_if(b.grad(), other.dtype), other.dtype, other.device));
}

void to_copy(Backward& b,
             const TensorMeta& self,
             std::optional<DType>,
             std::optional<Device>,
             bool,
             bool,
             std::optional<MemoryFormat>) {
  b.set(0, _to_copy(real_if(b.grad(), self.dtype), self.dtype, self.device));
}

void fill_tensor(Backward& b, const TensorMeta&, const TensorMeta& value) {
  if (b.needs(0)) b.set(0, zeros_like(b.grad()));
  if (b.needs(1)) b.set(1, _to_copy(sum(b.grad()), std::nullopt, value.device));
}
void fill_number(Backward& b, const TensorMeta&, const Scalar&) { b.set(0, zeros_like(b.grad())); }
void zero_all(Backward& b, const TensorMeta&) { b.set(0, zeros_like(b.grad())); }

}  // namespace

void define_copy(Derivatives& derivatives) {
  derivatives.define<clone_of>("clone");
  derivatives.define<copy_from>("copy_").named("CopyBackwards");
  derivatives.define<to_copy>("_to_copy");
  derivatives.define<fill_tensor>("fill_.Tensor").named("FillBackward1");
  derivatives.define<fill_number>("fill_.Scalar");
  derivatives.define<zero_all>("zero_");
}

}  // namespace mindtorch::autograd
