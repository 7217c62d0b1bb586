#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tiles/norm.h"

namespace mindtorch::cpu {
namespace {

// Gradients of longer columns are transposed first: their elements lie in too many pages.
constexpr int64_t kLongestColumn = 256;
constexpr int64_t kSoftmaxGrain = 4 * 1024;

// A contiguous tensor seen as [outer, n, inner], with the lines along n.
struct Lines {
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;

  Lines(const Tensor& self, int64_t dim) {
    if (self.dim() == 0) return;
    const size_t d = line_dim(self, dim);
    const IntList sizes = self.sizes();
    n = sizes[d];
    outer = numel(sizes.first(d));
    inner = numel(sizes.subspan(d + 1));
  }
  bool are_columns(int64_t longest) const { return inner > 1 && n <= longest; }
};

// body(offset, width) for blocks of neighbouring columns: narrower where threads would be idle.
template <typename Body>
void for_columns(const Lines& lines, int64_t element_size, const Body& body) {
  constexpr int64_t kWidest = 64;
  const int64_t narrowest = std::min(kWidest, 64 / element_size);  // a cache line
  const int64_t blocks_wanted = ceil_div(num_threads(), lines.outer);
  const int64_t share = ceil_div(lines.inner, blocks_wanted);
  const int64_t width = std::clamp(ceil_div(share, narrowest) * narrowest, narrowest, kWidest);
  const int64_t blocks = ceil_div(lines.inner, width);
  const int64_t grain =
      std::max<int64_t>(1, kSoftmaxGrain / (lines.n * std::min(width, lines.inner)));
  parallel_for(0, lines.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * width;
      body(i / blocks * lines.n * lines.inner + first, std::min(width, lines.inner - first));
    }
  });
}

Tensor converted(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype) return self;
  const Tensor result = Tensor::make(self.sizes(), dtype);
  copy(self, result);
  return result;
}

template <Softmax kSoftmax>
void softmax(ops::Launch&, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor input = converted(self, out.dtype());
  const Lines lines(self, dim);
  const int64_t bytes = out.element_size();
  if (lines.are_columns(kLongestSoftmaxColumn) && input.is_contiguous() && out.is_contiguous()) {
    const ColumnsFn columns = find_softmax_columns(kSoftmax, out.dtype());
    return for_columns(lines, bytes, [&](int64_t at, int64_t width) {
      columns(input.data<char>() + at * bytes, out.data<char>() + at * bytes, lines.n, width,
              lines.inner);
    });
  }
  const RowFn row =
      find_row(kSoftmax == Softmax::kLog ? Row::kLogSoftmax : Row::kSoftmax, out.dtype());
  const int64_t step = lines.n * bytes;
  for_line_blocks({input_lines(input, dim), output_lines(out, dim)}, 0,
                  [&](char* const* data, int64_t, int64_t count) {
                    for (int64_t i = 0; i < count; ++i) {
                      row(data[0] + i * step, data[1] + i * step, lines.n);
                    }
                  });
}

template <Softmax kSoftmax>
void softmax_backward(ops::Launch&,
                      const Tensor& grad_output,
                      const Tensor& output,
                      int64_t dim,
                      DType,
                      Tensor& out) {
  if (out.numel() == 0) return;
  const Lines lines(output, dim);
  const DType dtype = output.dtype();
  const int64_t bytes = output.element_size();
  // In the dtype of the output, which is then rounded to that of the input.
  const Tensor found = out.dtype() == dtype ? out : Tensor::make(out.sizes(), dtype);
  if (lines.are_columns(kLongestColumn) && grad_output.is_contiguous() && output.is_contiguous() &&
      found.is_contiguous()) {
    const ColumnsGradientFn columns = find_softmax_columns_gradient(kSoftmax, dtype);
    for_columns(lines, bytes, [&](int64_t at, int64_t width) {
      columns(grad_output.data<char>() + at * bytes, output.data<char>() + at * bytes,
              found.data<char>() + at * bytes, lines.n, width, lines.inner);
    });
  } else {
    const RowGradientFn row = find_softmax_gradient(kSoftmax, dtype);
    const int64_t step = lines.n * bytes;
    for_line_blocks(
        {input_lines(grad_output, dim), input_lines(output, dim), output_lines(found, dim)}, 0,
        [&](char* const* data, int64_t, int64_t count) {
          for (int64_t i = 0; i < count; ++i) {
            row(data[0] + i * step, data[1] + i * step, data[2] + i * step, lines.n);
          }
        });
  }
  if (!found.is_same(out)) copy(found, out);
}

}  // namespace

void register_softmax(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<softmax<Softmax::kPlain>>(kCpu, "softmax.int");
  registry.kernel<softmax<Softmax::kLog>>(kCpu, "log_softmax.int");
  registry.kernel<softmax_backward<Softmax::kPlain>>(kCpu, "_softmax_backward_data");
  registry.kernel<softmax_backward<Softmax::kLog>>(kCpu, "_log_softmax_backward_data");
}

}  // namespace mindtorch::cpu
