#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

Tensor conj(const Tensor& self) {
  return is_complex(self.dtype()) ? mindtorch::_conj_physical(self) : self;
}
Tensor conj_physical(const Tensor& self) {
  return is_complex(self.dtype()) ? mindtorch::_conj_physical(self) : self;
}
Tensor conj_physical_(const Tensor& self) {
  return is_complex(self.dtype()) ? mindtorch::_conj_physical_(self) : self;
}
Tensor itself(const Tensor& self) { return self; }

Tensor real(const Tensor& self) {
  return is_complex(self.dtype()) ? select(view_as_real(self), -1, 0) : self;
}
Tensor imag(const Tensor& self) {
  MT_CHECK(is_complex(self.dtype()), RuntimeError,
           "imag is not implemented for tensors with non-complex dtypes.");
  return select(view_as_real(self), -1, 1);
}

void check_parts(const Tensor& a, const Tensor& b) {
  const auto is_part = [](DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
  };
  MT_CHECK(is_part(a.dtype()) && is_part(b.dtype()), RuntimeError,
           "Expected both inputs to be Half, Float or Double tensors but got ",
           legacy_name(a.dtype()), " and ", legacy_name(b.dtype()));
  MT_CHECK(a.dtype() == b.dtype(), RuntimeError, "Expected object of scalar type ",
           legacy_name(a.dtype()), " but got scalar type ", legacy_name(b.dtype()),
           " for second argument");
}

Tensor joined(const Tensor& real, const Tensor& imag) {
  const Shape sizes = broadcast_shapes(real.sizes(), imag.sizes());
  const Tensor parts[] = {expand(real, sizes), expand(imag, sizes)};
  return view_as_complex(stack(TensorList(parts, 2), -1));
}

Tensor complex(const Tensor& real, const Tensor& imag) {
  check_parts(real, imag);
  return joined(real, imag);
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  check_parts(abs, angle);
  return joined(mul(abs, cos(angle)), mul(abs, sin(angle)));
}

Tensor isreal(const Tensor& self) {
  if (!is_complex(self.dtype())) {
    return ones_like(self, DType::kBool, std::nullopt, MemoryFormat::kPreserve);
  }
  return eq(mindtorch::imag(self), Tensor::wrapped_number(Scalar(0)));
}

}  // namespace

void compose_complex(ops::Registry& registry) {
  registry.composite<conj>("conj");
  registry.composite<conj_physical>("conj_physical");
  registry.composite<conj_physical_>("conj_physical_");
  registry.composite<itself>("resolve_conj");
  registry.composite<itself>("resolve_neg");
  registry.composite<real>("real");
  registry.composite<imag>("imag");
  registry.composite<complex>("complex");
  registry.composite<polar>("polar");
  registry.composite<isreal>("isreal");
}

}  // namespace mindtorch::functional
