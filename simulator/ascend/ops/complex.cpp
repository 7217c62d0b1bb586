// Complex numbers from their parts, and back.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kComplex = kC | only(ACL_COMPLEX32);

DType complex_of(DType part) {
  switch (part) {
    case ACL_DOUBLE:
      return ACL_COMPLEX128;
    case ACL_FLOAT16:
      return ACL_COMPLEX32;
    case ACL_FLOAT:
      return ACL_COMPLEX64;
    default:
      return ACL_DT_UNDEFINED;
  }
}

// out = f(a, b), from two parts of one dtype.
template <class F>
aclnnStatus from_parts(const char* op,
                       const aclTensor* first,
                       const char* first_name,
                       const aclTensor* second,
                       const char* second_name,
                       Types types,
                       const aclTensor* out,
                       F f,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand a = p.input(first, first_name, types);
    const Operand b = p.input(second, second_name, types);
    const Operand target = p.output(out, "out", kComplex);
    p.check(a.dtype() == b.dtype(), p.name(b) + " must have the dtype of " + p.name(a));
    p.check(target.dtype() == complex_of(a.dtype()),
            "out must have dtype " + std::string(dtype_name(complex_of(a.dtype()))));
    const std::string names = p.name(a) + " and " + p.name(b);
    p.check_shape(target, p.broadcast(a.shape(), b.shape(), names.c_str()));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_floating(a.dtype(), [&](auto zero) {
        using C = decltype(zero);
        map_elements<C>(
            get(launch, target), [&](C x, C y) -> std::complex<C> { return f(x, y); },
            get(launch, a), get(launch, b));
      });
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Complex, const aclTensor* real, const aclTensor* imag, aclTensor* out) {
  return from_parts(
      "aclnnComplex", real, "real", imag, "imag", kF32 | kF16 | kF64, out,
      [](auto x, auto y) { return std::complex(x, y); }, workspaceSize, executor);
}
SIM_SIGNATURE(Polar, const aclTensor* input, const aclTensor* angle, aclTensor* out) {
  return from_parts(
      "aclnnPolar", input, "input", angle, "angle", kF32 | kF64, out,
      [](auto x, auto y) { return std::complex(x * std::cos(y), x * std::sin(y)); }, workspaceSize,
      executor);
}
SIM_SIGNATURE(Real, const aclTensor* self, aclTensor* out) {
  return plan("aclnnReal", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kComplex | kF | kF64);
    const Operand target = p.output(out, "out", kF | kF64);
    const bool real = !contains(kComplex, in.dtype());
    p.check(real ? target.dtype() == in.dtype() : complex_of(target.dtype()) == in.dtype(),
            "out must have the dtype of self's parts");
    p.check_shape(target, in.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) { cast_elements(get(launch, target), get(launch, in)); });
  });
}
}
