#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/pointwise.h"

namespace mindtorch::cpu {
namespace {

Factor factor(const Scalar& scalar) { return {scalar.to_double(), scalar.to_int(), scalar.imag()}; }

// The last two dims of a tensor as a matrix.
ConstMatrix matrix(const Tensor& tensor) {
  const size_t n = tensor.sizes().size();
  return {tensor.data_ptr(), tensor.strides()[n - 2], tensor.strides()[n - 1]};
}
Matrix output(const Tensor& tensor) {
  const ConstMatrix view = matrix(tensor);
  return {tensor.data_ptr(), view.row_stride, view.col_stride};
}

void multiply(const Tensor& a, const Tensor& b, const Tensor& out, Factor alpha, Factor beta) {
  gemm(out.dtype(), out.size(0), out.size(1), a.size(1), matrix(a), matrix(b), output(out), alpha,
       beta);
}

void multiply_batch(
    const Tensor& a, const Tensor& b, const Tensor& out, Factor alpha, Factor beta) {
  batched_gemm(out.dtype(), out.size(0), out.size(1), out.size(2), a.size(2), matrix(a),
               a.strides()[0], matrix(b), b.strides()[0], output(out), out.strides()[0], alpha,
               beta);
}

void multiply_vector(
    const Tensor& a, const Tensor& x, const Tensor& out, Factor alpha, Factor beta) {
  gemv(out.dtype(), a.size(0), a.size(1), matrix(a), x.data_ptr(), x.strides()[0], out.data_ptr(),
       out.strides()[0], alpha, beta);
}

void mm(ops::Launch&, const Tensor& self, const Tensor& mat2, Tensor& out) {
  multiply(self, mat2, out, kOneFactor, kZeroFactor);
}
void bmm(ops::Launch&, const Tensor& self, const Tensor& mat2, Tensor& out) {
  multiply_batch(self, mat2, out, kOneFactor, kZeroFactor);
}
void mv(ops::Launch&, const Tensor& self, const Tensor& vec, Tensor& out) {
  multiply_vector(self, vec, out, kOneFactor, kZeroFactor);
}
void inner_product(ops::Launch&, const Tensor& self, const Tensor& tensor, Tensor& out) {
  cpu::dot(out.dtype(), self.numel(), self.data_ptr(), self.strides()[0], tensor.data_ptr(),
           tensor.strides()[0], out.data_ptr());
}

void conjugate_product(ops::Launch& launch, const Tensor& self, const Tensor& other, Tensor& out) {
  if (!is_complex(self.dtype())) return inner_product(launch, self, other, out);
  const Tensor conjugate = Tensor::make(self.sizes(), self.dtype());
  ops::PointwiseCall call(ops::Pointwise::kConj, self.dtype(), self.dtype());
  if (self.numel() > 0) run_pointwise(launch, call.on(self), conjugate);
  inner_product(launch, conjugate, other, out);
}

// beta * self comes first; with beta 0, self is not read, so that its NaNs do not spread.
template <auto kMultiply>
void add_product(ops::Launch&,
                 const Tensor& self,
                 const Tensor& a,
                 const Tensor& b,
                 const Scalar& beta,
                 const Scalar& alpha,
                 Tensor& out) {
  const bool is_read =
      is_differentiable(out.dtype()) ? beta.to_complex() != 0.0 : beta.to_int() != 0;
  if (is_read) copy(self, out);
  kMultiply(a, b, out, factor(alpha), factor(beta));
}

void add_matrix_product(ops::Launch& launch,
                        const Tensor& self,
                        const Tensor& a,
                        const Tensor& b,
                        const Scalar& beta,
                        const Scalar& alpha,
                        Tensor& out) {
  if (self.dtype() == out.dtype() && alpha.to_complex() == 1.0 && beta.to_complex() == 1.0) {
    const Shape strides = broadcast_strides(self.sizes(), self.strides(), out.sizes());
    if (gemm_with_addend(out.dtype(), out.size(0), out.size(1), a.size(1), matrix(a), matrix(b),
                         {self.data_ptr(), strides[0], strides[1]}, output(out))) {
      return;
    }
  }
  add_product<multiply>(launch, self, a, b, beta, alpha, out);
}

}  // namespace

void register_matmul(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<mm>(kCpu, "mm").takes(kAllOrComplex);
  registry.kernel<bmm>(kCpu, "bmm").takes(kAllOrComplex);
  registry.kernel<mv>(kCpu, "mv").takes(kAllOrComplex);
  registry.kernel<inner_product>(kCpu, "dot").takes(kAllOrComplex);
  registry.kernel<conjugate_product>(kCpu, "vdot").takes(kAllOrComplex);
  registry.kernel<add_matrix_product>(kCpu, "addmm").takes(kAllOrComplex);
  registry.kernel<add_product<multiply_vector>>(kCpu, "addmv").takes(kAllOrComplex);
  registry.kernel<add_product<multiply_batch>>(kCpu, "baddbmm").takes(kAllOrComplex);
}

}  // namespace mindtorch::cpu
