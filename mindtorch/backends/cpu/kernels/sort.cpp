// Sorting and selection, line by line.
#include "mindtorch/backends/cpu/sorting.h"

#include <algorithm>
#include <limits>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/search.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kSortGrain = 4096;  // elements

// What the functions of sorting.h take of the thread's working memory for a row of n elements.
size_t row_scratch_bytes(int64_t n) { return static_cast<size_t>(3 * n) * sizeof(uint64_t); }

void sort_lines(
    const Tensor& self, int64_t dim, bool descending, const Tensor* values, const Tensor& indices) {
  if (self.numel() == 0) return;
  const int64_t n = line_length(self, dim);
  const int64_t bytes = n * self.element_size();
  for_line_blocks({input_lines(self, dim), output_lines(values ? *values : Tensor(), dim),
                   output_lines(indices, dim)},
                  row_scratch_bytes(n), [&](char* const* data, int64_t, int64_t count) {
                    for (int64_t i = 0; i < count; ++i) {
                      sort_row(self.dtype(), data[0] + i * bytes, n, descending, true,
                               data[1] == nullptr ? nullptr : data[1] + i * bytes,
                               reinterpret_cast<int64_t*>(data[2]) + i * n);
                    }
                  });
}

void sort(ops::Launch&,
          const Tensor& self,
          int64_t dim,
          bool descending,
          Tensor& values,
          Tensor& indices) {
  sort_lines(self, dim, descending, &values, indices);
}
void sort_stable(ops::Launch&,
                 const Tensor& self,
                 std::optional<bool>,
                 int64_t dim,
                 bool descending,
                 Tensor& values,
                 Tensor& indices) {
  sort_lines(self, dim, descending, &values, indices);
}
void argsort(ops::Launch&, const Tensor& self, int64_t dim, bool descending, Tensor& out) {
  sort_lines(self, dim, descending, nullptr, out);
}
void argsort_stable(
    ops::Launch&, const Tensor& self, bool, int64_t dim, bool descending, Tensor& out) {
  sort_lines(self, dim, descending, nullptr, out);
}

void topk(ops::Launch&,
          const Tensor& self,
          int64_t k,
          int64_t dim,
          bool largest,
          bool sorted,
          Tensor& values,
          Tensor& indices) {
  if (values.numel() == 0) return;
  if (self.dim() == 0) k = 1;  // a number has itself, also for k = 0
  const int64_t n = line_length(self, dim);
  const int64_t element = self.element_size();
  for_line_blocks({input_lines(self, dim), output_lines(values, dim), output_lines(indices, dim)},
                  row_scratch_bytes(n), [&](char* const* data, int64_t, int64_t count) {
                    for (int64_t i = 0; i < count; ++i) {
                      topk_row(self.dtype(), data[0] + i * n * element, n, k, largest, sorted,
                               data[1] + i * k * element,
                               reinterpret_cast<int64_t*>(data[2]) + i * k);
                    }
                  });
}

// One value and one index per line; the outputs are contiguous over the lines in order.
template <typename Select>
void select_per_line(
    const Tensor& self, int64_t dim, Tensor& values, Tensor* indices, const Select& select) {
  if (values.numel() == 0) return;
  const int64_t n = line_length(self, dim);
  const int64_t element = self.element_size();
  for_line_blocks({input_lines(self, dim)}, row_scratch_bytes(n),
                  [&](char* const* data, int64_t first, int64_t count) {
                    for (int64_t i = 0; i < count; ++i) {
                      select(self.dtype(), data[0] + i * n * element, n,
                             values.data<char>() + (first + i) * element,
                             indices == nullptr ? nullptr : indices->data<int64_t>() + first + i);
                    }
                  });
}

void kthvalue(ops::Launch&,
              const Tensor& self,
              int64_t k,
              int64_t dim,
              bool,
              Tensor& values,
              Tensor& indices) {
  select_per_line(self, dim, values, &indices,
                  [k](DType dtype, const void* in, int64_t n, void* value, int64_t* index) {
                    kthvalue_row(dtype, in, n, k, value, index);
                  });
}

template <auto kSelect>
void per_line(
    ops::Launch&, const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  select_per_line(self, dim, values, &indices, kSelect);
}

template <auto kSelect>
void of_all(ops::Launch&, const Tensor& self, Tensor& out) {
  if (self.numel() == 0) {
    copy(Tensor::wrapped_number(ops::median_of_nothing(self.dtype())), out);
    return;
  }
  const Tensor flat = as_contiguous(self);
  kSelect(self.dtype(), flat.data_ptr(), flat.numel(), out.data_ptr(), nullptr);
}

void searchsorted(ops::Launch&,
                  const Tensor& sorted_sequence,
                  const Tensor& self,
                  bool,
                  bool right,
                  std::optional<std::string_view> side,
                  const Tensor& sorter,
                  Tensor& out) {
  if (out.numel() == 0) return;
  const bool from_right = side ? *side == "right" : right;
  // Compared in the dtype that holds both: 3.5 lies between the integers 3 and 4.
  const DType dtype = result_type(sorted_sequence, self);
  const auto in_dtype = [&](const Tensor& tensor) {
    if (tensor.dtype() == dtype) return as_contiguous(tensor);
    const Tensor result = Tensor::make(tensor.sizes(), dtype);
    copy(tensor, result);
    return result;
  };
  const Tensor sequence = in_dtype(sorted_sequence);
  const Tensor converted = in_dtype(self);
  const Tensor order = sorter.defined() ? as_contiguous(sorter) : Tensor();
  const Tensor found =
      out.dtype() == DType::kInt64 ? out : Tensor::make(out.sizes(), DType::kInt64);
  const int64_t n = sequence.sizes().back();
  if (order.defined()) {
    const auto* at = order.data<int64_t>();
    MT_CHECK(std::all_of(at, at + order.numel(), [n](int64_t i) { return i >= 0 && i < n; }),
             RuntimeError, "torch.searchsorted(): sorter index out of range");
  }
  const bool shared = sequence.dim() == 1;
  const int64_t m = shared ? self.numel() : self.sizes().back();
  parallel_for(0, self.numel(), kSortGrain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t i = begin / m;
      const int64_t count = std::min(end, (i + 1) * m) - begin;
      const int64_t row = shared ? 0 : i;
      searchsorted_row(sequence.dtype(), sequence.data<char>() + row * n * sequence.element_size(),
                       n, converted.data<char>() + begin * converted.element_size(), count,
                       from_right, order.defined() ? order.data<int64_t>() + row * n : nullptr,
                       found.data<int64_t>() + begin);
      begin += count;
    }
  });
  if (!found.is_same(out)) copy(found, out);
}

Tensor count_bins(ops::Launch&, const Tensor& self, const Tensor& weights, int64_t minlength) {
  MT_CHECK(is_integral(self.dtype()), NotImplementedError, "\"bincount_cpu\" not implemented for '",
           legacy_name(self.dtype()), "'");
  MT_CHECK(minlength >= 0, RuntimeError, "minlength should be >= 0");
  MT_CHECK(self.dim() == 1, RuntimeError,
           "bincount only supports 1-d non-negative integral inputs.");
  const Tensor input = as_contiguous(self);
  const int64_t bins = bincount_size(self.dtype(), input.data_ptr(), input.numel(), minlength);
  MT_CHECK(bins >= 0, RuntimeError, "bincount only supports 1-d non-negative integral inputs.");
  if (!weights.defined() || self.numel() == 0) {  // without elements, weights count for nothing
    Tensor out = Tensor::make({bins}, DType::kInt64);
    bincount(self.dtype(), input.data_ptr(), input.numel(), nullptr, DType::kInt64, out.data_ptr(),
             bins);
    return out;
  }
  MT_CHECK(weights.dim() == 1 && weights.numel() == self.numel(), RuntimeError,
           "weights should be 1-d and have the same length as input");
  const DType dtype = weights.dtype() == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
  const Tensor by = Tensor::make(weights.sizes(), dtype);
  copy(weights, by);
  Tensor out = Tensor::make({bins}, dtype);
  bincount(self.dtype(), input.data_ptr(), input.numel(), by.data_ptr(), dtype, out.data_ptr(),
           bins);
  return out;
}

void histc_kernel(ops::Launch&,
                  const Tensor& self,
                  int64_t bins,
                  const Scalar& min,
                  const Scalar& max,
                  Tensor& out) {
  const Tensor input = as_contiguous(self);
  double low = min.to_double();
  double high = max.to_double();
  histc_range(self.dtype(), input.data_ptr(), input.numel(), &low, &high);
  histc(self.dtype(), input.data_ptr(), input.numel(), bins, low, high, out.data_ptr());
}

}  // namespace

void register_sort(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<sort>(kCpu, "sort");
  registry.kernel<sort_stable>(kCpu, "sort.stable");
  registry.kernel<argsort>(kCpu, "argsort");
  registry.kernel<argsort_stable>(kCpu, "argsort.stable");
  registry.kernel<topk>(kCpu, "topk");
  registry.kernel<kthvalue>(kCpu, "kthvalue");
  registry.kernel<of_all<median_row>>(kCpu, "median");
  registry.kernel<per_line<median_row>>(kCpu, "median.dim");
  registry.kernel<of_all<nanmedian_row>>(kCpu, "nanmedian");
  registry.kernel<per_line<nanmedian_row>>(kCpu, "nanmedian.dim");
  registry.kernel<per_line<mode_row>>(kCpu, "mode");
  registry.kernel<searchsorted>(kCpu, "searchsorted");
  registry.dynamic_kernel<count_bins>(kCpu, "bincount");
  registry.kernel<histc_kernel>(kCpu, "histc").takes(kFloatTypes).named("histogram_cpu");
}

}  // namespace mindtorch::cpu
