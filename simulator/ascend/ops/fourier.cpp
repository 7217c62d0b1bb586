// Fourier transforms, computed in float64.
#include <complex>
#include <numbers>

#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

using Complex = std::complex<double>;

enum Norm : int64_t { kBackward = 1, kForward = 2, kOrtho = 3 };

double factor_of(int64_t norm, int64_t n) {
  if (norm == kBackward) return 1;
  return norm == kForward ? 1.0 / static_cast<double>(n) : 1.0 / std::sqrt(static_cast<double>(n));
}

// e^(-pi i k / n)
Complex root(size_t k, size_t n) {
  return std::polar(1.0, -std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

// In place; the size must be a power of two.
void transform_power(std::vector<Complex>* x) {
  const size_t n = x->size();
  if (n == 1) return;
  std::vector<Complex> even(n / 2);
  std::vector<Complex> odd(n / 2);
  for (size_t i = 0; i < n / 2; ++i) {
    even[i] = (*x)[2 * i];
    odd[i] = (*x)[2 * i + 1];
  }
  transform_power(&even);
  transform_power(&odd);
  for (size_t k = 0; k < n / 2; ++k) {
    const Complex turned = root(2 * k, n) * odd[k];
    (*x)[k] = even[k] + turned;
    (*x)[n / 2 + k] = even[k] - turned;
  }
}

// Of any size, after Bluestein: jk is (jj + kk - (k - j)(k - j)) / 2, so that the transform is a
// convolution, which one of a larger power of two computes.
std::vector<Complex> transform(const std::vector<Complex>& x) {
  const size_t n = x.size();
  size_t m = 1;
  while (m < 2 * n) m *= 2;
  std::vector<Complex> signal(m);
  std::vector<Complex> chirp(m);
  for (size_t k = 0; k < n; ++k) {
    const Complex turn = root(k * k % (2 * n), n);
    signal[k] = x[k] * turn;
    chirp[k] = std::conj(turn);
    if (k > 0) chirp[m - k] = chirp[k];
  }
  transform_power(&signal);
  transform_power(&chirp);
  for (size_t k = 0; k < m; ++k) signal[k] = std::conj(signal[k] * chirp[k]);
  transform_power(&signal);  // of the conjugate: back again
  std::vector<Complex> result(n);
  for (size_t k = 0; k < n; ++k) {
    result[k] = std::conj(signal[k]) / static_cast<double>(m) * root(k * k % (2 * n), n);
  }
  return result;
}

}  // namespace

extern "C" {

// out has the real and the imaginary parts of the frequencies from 0 on in a last dim of its own.
aclnnStatus aclRfft1DGetWorkspaceSize(const aclTensor* self,
                                      int64_t n,
                                      int64_t dim,
                                      int64_t norm,
                                      aclTensor* out,
                                      uint64_t* workspaceSize,
                                      aclOpExecutor** executor) {
  return plan("aclRfft1D", workspaceSize, executor, [&](Planner& p) {
    constexpr int64_t kMost = 262144;
    const Operand in = p.input(self, "self", kF32);
    const Operand target = p.output(out, "out", kF32);
    if (in.numel() == 0) return;
    p.check_rank(in, 1, 7);
    p.check(n == -1 || (n >= 1 && n <= kMost),
            "n is " + std::to_string(n) + ", expected is -1 or a value in [1, 262144]");
    p.check(norm >= kBackward && norm <= kOrtho,
            "norm is " + std::to_string(norm) + ", expected is 1, 2 or 3");
    const int64_t along = p.dim(dim, in.rank(), "dim");
    const int64_t length = n == -1 ? in.shape()[z(along)] : n;
    Shape shape = in.shape();
    shape[z(along)] = length / 2 + 1;
    shape.push_back(2);
    p.check_shape(target, shape);
    p.run([=](Launch& launch) {
      const double factor = factor_of(norm, length);
      const View& result = get(launch, target);
      const View real = result.select(result.rank() - 1, 0);
      const View imaginary = result.select(result.rank() - 1, 1);
      for_rows<double>(get(launch, in), along, [&](int64_t row, const std::vector<double>& line) {
        std::vector<Complex> signal(z(length));
        std::copy_n(line.begin(), std::min(line.size(), signal.size()), signal.begin());
        const std::vector<Complex> spectrum = transform(signal);
        std::vector<double> first;
        std::vector<double> second;
        for (size_t k = 0; k < z(length / 2 + 1); ++k) {
          first.push_back(spectrum[k].real() * factor);
          second.push_back(spectrum[k].imag() * factor);
        }
        store_row(real, along, row, first);
        store_row(imaginary, along, row, second);
      });
    });
  });
}
}
