// Cumulative ops.
#include "mindtorch/backends/cpu/scan.h"

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/tensor/complex_view.h"

namespace mindtorch::cpu {
namespace {

// Inputs are made contiguous; outputs are, so that both share their strides.
void scan(ScanOp op, const Tensor& self, int64_t dim, const Tensor& out, const Tensor* indices) {
  if (out.numel() == 0) return;
  Tensor input = self;
  if (!self.is_contiguous() || self.dtype() != out.dtype()) {
    input = Tensor::make(self.sizes(), out.dtype());
    copy(self, input);
  }
  int64_t outer = 1;
  int64_t inner = 1;
  const size_t d = line_dim(self, dim);
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    if (i != d) (i < d ? outer : inner) *= self.sizes()[i];
  }
  const int64_t n = line_length(self, dim);
  const int64_t element = out.element_size();
  parallel_for(
      0, outer, std::max<int64_t>(1, 16 * 1024 / (n * inner)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t start = i * n * inner;
          scan_lines(out.dtype(), op, input.data<char>() + start * element, n, inner,
                     out.data<char>() + start * element, inner,
                     indices == nullptr ? nullptr : indices->data<int64_t>() + start, inner, inner);
        }
      });
}

// Products so far of complex numbers, line by line. `out` is contiguous.
void scan_complex_products(const Tensor& self, int64_t dim, const Tensor& out) {
  copy(self, out);
  if (out.numel() == 0 || out.dim() == 0) return;
  const size_t d = line_dim(out, dim);
  const int64_t step = out.strides()[d];
  const int64_t block = step * out.sizes()[d];
  visit_any_dtype(out.dtype(), [&]<typename T>() {
    if constexpr (is_complex(DTypeOf<T>::value) && !std::is_same_v<T, ComplexHalf>) {
      for (int64_t begin = 0; begin < out.numel(); begin += block) {
        T* const data = out.data<T>() + begin;
        for (int64_t i = step; i < block; ++i) data[i] *= data[i - step];
      }
    }
  });
}

template <ScanOp kOp>
void cumulative(ops::Launch&, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (is_complex(out.dtype())) {
    if (kOp == ScanOp::kProd) return scan_complex_products(self, dim, out);
    const Tensor input = Tensor::make(self.sizes(), out.dtype());
    copy(self, input);
    if (self.dim() == 0) return copy(input, out);
    return scan(kOp, parts_of(input), static_cast<int64_t>(line_dim(self, dim)), parts_of(out),
                nullptr);
  }
  scan(kOp, self, dim, out, nullptr);
}
template <ScanOp kOp>
void extreme(ops::Launch&, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  scan(kOp, self, dim, values, &indices);
}
void logcumsumexp(ops::Launch&, const Tensor& self, int64_t dim, Tensor& out) {
  scan(ScanOp::kLogSumExp, self, dim, out, nullptr);
}

}  // namespace

void register_scan(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<cumulative<ScanOp::kSum>>(kCpu, "cumsum");
  registry.kernel<cumulative<ScanOp::kProd>>(kCpu, "cumprod");
  registry.kernel<extreme<ScanOp::kMax>>(kCpu, "cummax");
  registry.kernel<extreme<ScanOp::kMin>>(kCpu, "cummin");
  registry.kernel<logcumsumexp>(kCpu, "logcumsumexp");
}

}  // namespace mindtorch::cpu
