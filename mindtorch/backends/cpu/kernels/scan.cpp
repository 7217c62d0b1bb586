// Cumulative ops.
#include "mindtorch/backends/cpu/scan.h"
#include "mindtorch/backends/cpu/ceil_div.h"

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/tensor/complex_view.h"

namespace mindtorch::cpu {
namespace {

// Inputs are made contiguous; outputs are, so that both share their strides. Elements of another
// dtype are converted where the result goes, a few lines at a time, and scanned in place.
void scan(ScanOp op, const Tensor& self, int64_t dim, const Tensor& out, const Tensor* indices) {
  constexpr int64_t kGrain = 16 * 1024;
  constexpr int64_t kRows = 4;
  constexpr int64_t kColumns = 64;
  if (out.numel() == 0) return;
  const Tensor input = as_contiguous(self);
  int64_t outer = 1;
  int64_t inner = 1;
  const size_t d = line_dim(self, dim);
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    if (i != d) (i < d ? outer : inner) *= self.sizes()[i];
  }
  const int64_t n = line_length(self, dim);
  const int64_t from_size = input.element_size();
  const int64_t to_size = out.element_size();
  const CastFn cast =
      input.dtype() == out.dtype() ? nullptr : find_cast(input.dtype(), out.dtype());
  // Where the elements from `at` on are to be read, after their conversion if they need one.
  const auto read = [&](int64_t at, int64_t rows, int64_t row_size) -> const char* {
    if (cast == nullptr) return input.data<char>() + at * to_size;
    for (int64_t i = at; i < at + rows * inner; i += inner) {
      cast(input.data<char>() + i * from_size, out.data<char>() + i * to_size, row_size);
    }
    return out.data<char>() + at * to_size;
  };
  const auto index_at = [&](int64_t at) {
    return indices == nullptr ? nullptr : indices->data<int64_t>() + at;
  };
  if (inner == 1) {
    parallel_for(0, outer, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; line += kRows) {
        const int64_t lines = std::min(kRows, end - line);
        const char* from = read(line * n, 1, lines * n);
        scan_rows(out.dtype(), op, from, n, out.data<char>() + line * n * to_size,
                  index_at(line * n), lines);
      }
    });
    return;
  }
  const int64_t blocks = ceil_div(inner, kColumns);
  const int64_t width = std::min(inner, kColumns);
  parallel_for(0, outer * blocks, std::max<int64_t>(1, kGrain / (n * width)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t unit = begin; unit < end; ++unit) {
                   const int64_t first = unit % blocks * kColumns;
                   const int64_t lines = std::min(kColumns, inner - first);
                   const int64_t at = unit / blocks * n * inner + first;
                   const char* from = read(at, n, lines);
                   scan_lines(out.dtype(), op, from, n, inner, out.data<char>() + at * to_size,
                              inner, index_at(at), inner, lines);
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
  registry.kernel<cumulative<ScanOp::kSum>>(kCpu, "cumsum").takes(kAllOrComplex);
  registry.kernel<cumulative<ScanOp::kProd>>(kCpu, "cumprod").takes(kAllOrComplex);
  registry.kernel<extreme<ScanOp::kMax>>(kCpu, "cummax");
  registry.kernel<extreme<ScanOp::kMin>>(kCpu, "cummin");
  registry.kernel<logcumsumexp>(kCpu, "logcumsumexp");
}

}  // namespace mindtorch::cpu
