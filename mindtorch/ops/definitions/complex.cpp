// Complex numbers: their parts, and tensors made of parts.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

ViewSpec view_as_real(const Tensor& self) {
  MT_CHECK(is_complex(self.dtype()), RuntimeError,
           "view_as_real is only supported for complex tensors");
  ViewSpec spec{self.sizes(), self.strides(), self.storage_offset() * 2, real_dtype(self.dtype())};
  for (int64_t& stride : spec.strides) stride *= 2;
  spec.sizes.push_back(2);
  spec.strides.push_back(1);
  return spec;
}

ViewSpec view_as_complex(const Tensor& self) {
  const DType dtype = self.dtype();
  MT_CHECK(dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64,
           RuntimeError,
           "view_as_complex is only supported for half, float and double tensors, but got a tensor "
           "of scalar type: ",
           legacy_name(dtype));
  MT_CHECK(self.dim() != 0, RuntimeError, "Input tensor must have one or more dimensions");
  MT_CHECK(self.size(-1) == 2, RuntimeError, "Tensor must have a last dimension of size 2");
  ViewSpec spec{self.sizes(), self.strides(), self.storage_offset(), complex_dtype(dtype)};
  MT_CHECK(spec.strides.back() == 1, RuntimeError,
           "Tensor must have a last dimension with stride 1");
  spec.sizes.pop_back();
  spec.strides.pop_back();
  for (int64_t& stride : spec.strides) {
    MT_CHECK(stride % 2 == 0, RuntimeError,
             "Tensor must have a stride divisible by 2 for all but last dimension");
    stride /= 2;
  }
  MT_CHECK(spec.offset % 2 == 0, RuntimeError, "Tensor must have a storage_offset divisible by 2");
  spec.offset /= 2;
  return spec;
}

PointwiseCall conj(const Tensor& self) { return same_dtype<Pointwise::kConj>(self); }

PointwiseCall angle(const Tensor& self) {
  const DType dtype = float_dtype(self.dtype());
  return PointwiseCall(Pointwise::kAngle, dtype, real_dtype(dtype), self);
}

}  // namespace

void define_complex(Registry& ops) {
  ops.define<view_as_real>("view_as_real(Tensor(a) self) -> Tensor(a)")
      .names_dims()
      .function_only()
      .doc("A view of complex numbers as pairs of real ones.",
           ">>> torch.view_as_real(torch.tensor([1 + 2j]))\ntensor([[1., 2.]])");
  ops.define<view_as_complex>("view_as_complex(Tensor(a) self) -> Tensor(a)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .names_dims()
      .function_only()
      .doc("A view of pairs of real numbers as complex ones.",
           ">>> torch.view_as_complex(torch.tensor([[1., 2.]]))\ntensor([1.+2.j])");
  ops.define<conj>("_conj_physical(Tensor self) -> Tensor")
      .device_example("torch.tensor([1 + 2j]).conj()")
      .variants(kInplaceAndOut)
      .internal();
  ops.define<angle>("angle(Tensor self) -> Tensor")
      .variants(kOutVariant)
      .doc("The angle of each element in radians; of real numbers 0 or pi.",
           ">>> torch.angle(torch.tensor([1j, -1 + 0j]))\ntensor([1.5708, 3.1416])");
  ops.define("conj(Tensor(a) self) -> Tensor(a)")
      .doc("The complex conjugate; real tensors are their own.",
           ">>> torch.conj(torch.tensor([1 + 2j]))\ntensor([1.-2.j])");
  ops.define("conj_physical(Tensor self) -> Tensor")
      .doc("The complex conjugate, computed at once.",
           ">>> torch.conj_physical(torch.tensor([1 + 2j]))\ntensor([1.-2.j])");
  ops.define("conj_physical_(Tensor(a!) self) -> Tensor(a!)")
      .device_example("torch.tensor([1 + 2j]).conj_physical_()")
      .method_only();
  ops.define("resolve_conj(Tensor(a) self) -> Tensor(a)")
      .doc("The tensor itself: conjugates are computed at once.",
           ">>> torch.resolve_conj(torch.tensor([1 + 2j]).conj())\ntensor([1.-2.j])");
  ops.define("resolve_neg(Tensor(a) self) -> Tensor(a)")
      .doc("The tensor itself: negatives are computed at once.",
           ">>> torch.resolve_neg(torch.tensor([1.]))\ntensor([1.])");
  ops.define("real(Tensor(a) self) -> Tensor(a)")
      .function_only()
      .doc("A view of the real parts; real tensors are their own.",
           ">>> torch.real(torch.tensor([1 + 2j]))\ntensor([1.])");
  ops.define("imag(Tensor(a) self) -> Tensor(a)")
      .function_only()
      .doc("A view of the imaginary parts.",
           ">>> torch.imag(torch.tensor([1 + 2j]))\ntensor([2.])");
  ops.define("complex(Tensor real, Tensor imag) -> Tensor")
      .function_only()
      .variants(kOutVariant)
      .doc("Complex numbers of their parts.",
           ">>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))\ntensor([1.+2.j])");
  ops.define("polar(Tensor abs, Tensor angle) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .function_only()
      .variants(kOutVariant)
      .doc("Complex numbers of their lengths and angles.",
           ">>> torch.polar(torch.tensor([2.]), torch.tensor([0.]))\ntensor([2.+0.j])");
  ops.define("isreal(Tensor self) -> Tensor")
      .doc("Where the imaginary part is 0.",
           ">>> torch.isreal(torch.tensor([1 + 0j, 1j]))\ntensor([ True, False])");
}

}  // namespace mindtorch::ops
