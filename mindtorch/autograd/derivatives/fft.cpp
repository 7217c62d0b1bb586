// Fourier transforms are linear: the gradient is transformed the other way.
#include "mindtorch/autograd/derivatives/derivatives.h"
#include "mindtorch/autograd/derivatives/helpers.h"

namespace mindtorch::autograd {
namespace {

// Gradients of complex results may be real.
Tensor complex_grad(const Backward& b) {
  const Tensor& grad = b.grad();
  return is_complex(grad.dtype()) ? grad : _to_copy(grad, complex_dtype(grad.dtype()));
}

void c2c(Backward& b, const TensorMeta&, IntList dim, int64_t normalization, bool forward) {
  b.set(0, _fft_c2c(complex_grad(b), dim, normalization, !forward));
}

// As the transform of complex numbers without imaginary parts, of which only half is kept.
void r2c(Backward& b, const TensorMeta& self, IntList dim, int64_t normalization, bool) {
  Tensor grad = complex_grad(b);
  const auto ndim = static_cast<int64_t>(self.sizes.size());
  const int64_t last = wrap_dim(dim.back(), ndim);
  const int64_t dropped = self.sizes[static_cast<size_t>(last)] - grad.size(last);
  if (dropped > 0) {
    Shape padding(static_cast<size_t>(2 * ndim), 0);
    padding[padding.size() - 1 - static_cast<size_t>(2 * last)] = dropped;
    grad = constant_pad_nd(grad, padding, Scalar(0));
  }
  b.set(0, real(_fft_c2c(grad, dim, normalization, false)));
}

// Elements of the half that stand for their mirror images, too, count twice.
void c2r(Backward& b, const TensorMeta& self, IntList dim, int64_t normalization, int64_t length) {
  const auto ndim = static_cast<int64_t>(self.sizes.size());
  const int64_t last = wrap_dim(dim.back(), ndim);
  const Tensor half = _fft_r2c(b.grad(), dim, normalization, true);
  const int64_t twice = length - half.size(last);
  Tensor grad = half;
  if (twice > 0) {
    const Tensor parts[] = {narrow(half, last, 0, 1), mul(narrow(half, last, 1, twice), Scalar(2)),
                            narrow(half, last, 1 + twice, half.size(last) - 1 - twice)};
    grad = cat(parts, last);
  }
  b.set(0, put_back(grad, self));
}

}  // namespace

void define_fft(Derivatives& derivatives) {
  derivatives.define<c2c>("_fft_c2c").named("FftC2CBackward0").knows_complex();
  derivatives.define<r2c>("_fft_r2c").named("FftR2CBackward0").knows_complex();
  derivatives.define<c2r>("_fft_c2r").named("FftC2RBackward0").knows_complex();
}

}  // namespace mindtorch::autograd
