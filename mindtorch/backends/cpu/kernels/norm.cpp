#include <cstring>
#include <limits>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/kernels/row_sections.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tiles/norm.h"

namespace mindtorch::cpu {
namespace {

// Contiguous, in the dtype that rows of `dtype` are computed in; undefined stays so.
Tensor as_param(const Tensor& param, DType dtype) {
  if (!param.defined()) return param;
  const DType wide = accumulate_dtype(dtype);
  if (param.dtype() == wide && param.is_contiguous()) return param;
  const Tensor result = Tensor::make(param.sizes(), wide);
  copy(param, result);
  return result;
}

const void* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr() : nullptr;
}

int64_t row_grain(int64_t n) { return std::max<int64_t>(1, 16 * 1024 / n); }

// Runs body<W>() for the dtype that statistics have.
template <typename Body>
void visit_wide(DType dtype, const Body& body) {
  if (dtype == DType::kFloat64) return body.template operator()<double>();
  body.template operator()<float>();
}

void normalize(Norm norm,
               const Tensor& input,
               IntList normalized_shape,
               const Tensor& weight,
               const Tensor& bias,
               double eps,
               const Tensor& out,
               const Tensor& mean,
               const Tensor& rstd) {
  if (out.numel() == 0) return;
  const int64_t n = numel(normalized_shape);
  const Tensor rows = as_contiguous(input);
  const Tensor scale = as_param(weight, input.dtype());
  const Tensor shift = as_param(bias, input.dtype());
  const NormParams params = {data_or_null(scale), data_or_null(shift), eps};
  const NormRowFn row = find_norm_row(norm, input.dtype());
  const int64_t bytes = n * out.element_size();
  visit_wide(rstd.dtype(), [&]<typename W>() {
    W* const means = mean.defined() ? mean.data<W>() : nullptr;
    W* const rstds = rstd.data<W>();
    parallel_for(0, out.numel() / n, row_grain(n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const NormStatistics found =
            row(rows.data<char>() + i * bytes, out.data<char>() + i * bytes, n, params);
        if (means != nullptr) means[i] = static_cast<W>(found.mean);
        rstds[i] = static_cast<W>(found.rstd);
      }
    });
  });
}

void layer_norm(ops::Launch&,
                const Tensor& input,
                IntList normalized_shape,
                const Tensor& weight,
                const Tensor& bias,
                double eps,
                Tensor& out,
                Tensor& mean,
                Tensor& rstd) {
  normalize(Norm::kLayer, input, normalized_shape, weight, bias, eps, out, mean, rstd);
}

void rms_norm(ops::Launch&,
              const Tensor& input,
              IntList normalized_shape,
              const Tensor& weight,
              std::optional<double> eps,
              Tensor& out,
              Tensor& rstd) {
  const double least = accumulate_dtype(input.dtype()) == DType::kFloat64
                           ? std::numeric_limits<double>::epsilon()
                           : double{std::numeric_limits<float>::epsilon()};
  normalize(Norm::kRootMeanSquare, input, normalized_shape, weight, {}, eps.value_or(least), out,
            {}, rstd);
}

// What is not wanted is undefined.
struct NormGradients {
  Tensor input;
  Tensor weight;
  Tensor bias;
};

// Rows are added up for weight and bias by sections, or, where they are too few for that, by ranges
// of columns that threads share: neither depends on the number of threads.
void normalize_backward(Norm norm,
                        const Tensor& grad_out,
                        const Tensor& input,
                        IntList normalized_shape,
                        const Tensor& mean,
                        const Tensor& rstd,
                        const Tensor& weight,
                        const NormGradients& out) {
  const int64_t n = numel(normalized_shape);
  if (n == 0) return;
  const DType wide = accumulate_dtype(input.dtype());
  const Tensor grads = as_contiguous(grad_out);
  const Tensor rows = as_contiguous(input);
  const Tensor scale = as_param(weight, input.dtype());
  const Tensor means = as_param(mean, input.dtype());
  const Tensor rstds = as_param(rstd, input.dtype());
  const NormGradientFn row = find_norm_gradient(norm, input.dtype());
  const int64_t bytes = n * input.element_size();
  const bool has_sums = out.weight.defined() || out.bias.defined();
  const int64_t count = input.numel() / n;
  visit_wide(wide, [&]<typename W>() {
    // Columns [from, from + width) of rows [first, last).
    const auto run = [&](int64_t first, int64_t last, int64_t from, int64_t width, bool has_input,
                         W* weight_sums, W* bias_sums) {
      const W* const factors = scale.defined() ? scale.data<W>() + from : nullptr;
      NormGradientParams params{factors, {}, weight_sums, bias_sums};
      const int64_t start = from * input.element_size();
      for (int64_t i = first; i < last; ++i) {
        const double centre = means.defined() ? static_cast<double>(means.data<W>()[i]) : 0;
        params.statistics = {centre, static_cast<double>(rstds.data<W>()[i])};
        const int64_t offset = i * bytes + start;
        row(grads.data<char>() + offset, rows.data<char>() + offset,
            has_input ? out.input.data<char>() + offset : nullptr, width, params);
      }
    };
    const bool has_input = out.input.defined();
    const auto run_rows = [&] {
      parallel_for(0, count, row_grain(n), [&](int64_t begin, int64_t end) {
        run(begin, end, 0, n, has_input, nullptr, nullptr);
      });
    };
    if (!has_sums) return run_rows();
    const Tensor sums = Tensor::make({2, n}, wide);
    W* const total = sums.data<W>();
    const RowSections sections(count, n);
    if (sections.count() == 1 && num_threads() > 1 && input.numel() > 2 * row_grain(1)) {
      if (has_input) run_rows();
      std::fill_n(total, 2 * n, W{0});
      parallel_for(0, n, row_grain(count), [&](int64_t begin, int64_t end) {
        run(0, count, begin, end - begin, false, total + begin, total + n + begin);
      });
    } else {
      sections.sum(2 * n, total, [&](int64_t first, int64_t last, W* line) {
        run(first, last, 0, n, has_input, line, line + n);
      });
    }
    for (const auto which : {0, 1}) {
      const Tensor& target = which == 0 ? out.weight : out.bias;
      if (!target.defined()) continue;
      copy(sums.alias(target.sizes(), contiguous_strides(target.sizes()), which * n), target);
    }
  });
}

void layer_norm_backward(ops::Launch&,
                         const Tensor& grad_out,
                         const Tensor& input,
                         IntList normalized_shape,
                         const Tensor& mean,
                         const Tensor& rstd,
                         const Tensor& weight,
                         bool needs_input,
                         bool needs_weight,
                         bool needs_bias,
                         Tensor& grad_input,
                         Tensor& grad_weight,
                         Tensor& grad_bias) {
  const Tensor none;
  normalize_backward(Norm::kLayer, grad_out, input, normalized_shape, mean, rstd, weight,
                     {needs_input ? grad_input : none, needs_weight ? grad_weight : none,
                      needs_bias ? grad_bias : none});
}

void rms_norm_backward(ops::Launch&,
                       const Tensor& grad_out,
                       const Tensor& input,
                       IntList normalized_shape,
                       const Tensor& rstd,
                       const Tensor& weight,
                       bool needs_input,
                       bool needs_weight,
                       Tensor& grad_input,
                       Tensor& grad_weight) {
  const Tensor none;
  normalize_backward(Norm::kRootMeanSquare, grad_out, input, normalized_shape, none, rstd, weight,
                     {needs_input ? grad_input : none, needs_weight ? grad_weight : none, none});
}

}  // namespace

void register_norm(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<layer_norm>(kCpu, "native_layer_norm");
  registry.kernel<layer_norm_backward>(kCpu, "native_layer_norm_backward");
  registry.kernel<rms_norm>(kCpu, "_fused_rms_norm");
  registry.kernel<rms_norm_backward>(kCpu, "_fused_rms_norm_backward");
}

}  // namespace mindtorch::cpu
