#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mindtorch/backends/cpu/gathered_sum.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/indexing.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tiles/row.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kGrainBytes = 128 * 1024;

void embedding(
    ops::Launch&, const Tensor& weight, const Tensor& indices, int64_t, bool, bool, Tensor& out) {
  const Tensor places = as_index(indices);
  const auto* const place = places.data<int64_t>();
  const int64_t rows = weight.size(0);
  MT_CHECK(check_positive_indices(place, places.numel(), rows) < 0, IndexError,
           "index out of range in self");
  if (out.numel() == 0) return;
  const bool has_rows = weight.strides()[1] == 1 || weight.size(1) == 1;
  const Tensor table = has_rows ? weight : as_contiguous(weight);
  const int64_t row_bytes = weight.size(1) * weight.element_size();
  const int64_t stride_bytes = table.strides()[0] * weight.element_size();
  parallel_for(0, places.numel(), std::max<int64_t>(1, kGrainBytes / row_bytes),
               [&](int64_t begin, int64_t end) {
                 gather_rows(table.data_ptr(), row_bytes, place + begin, end - begin, rows,
                             stride_bytes, out.data<char>() + begin * row_bytes);
               });
}

void rows_of_bags(
    ops::Launch&, const Tensor& weight, const Tensor& indices, bool is_mean, Tensor& out) {
  const Tensor places = as_index(indices);
  const auto* const place = places.data<int64_t>();
  MT_CHECK(check_positive_indices(place, places.numel(), weight.size(0)) < 0, IndexError,
           "index out of range in self");
  if (out.numel() == 0) return;
  const bool has_rows = weight.strides()[1] == 1 || weight.size(1) == 1;
  const Tensor table = has_rows ? weight : as_contiguous(weight);
  const int64_t n = weight.size(1);
  const int64_t length = indices.size(1);
  const int64_t bag_bytes = std::max<int64_t>(length, 1) * n * weight.element_size();
  const GatheredSumFn sum = find_gathered_sum(weight.dtype());
  parallel_for(0, out.size(0), ceil_div(kGrainBytes, bag_bytes), [&](int64_t begin, int64_t end) {
    for (int64_t bag = begin; bag < end; ++bag) {
      sum(table.data_ptr(), table.strides()[0], place + bag * length, length, n, is_mean,
          out.data<char>() + bag * n * out.element_size());
    }
  });
}

// A thread for each part of the table: rows that several indices name are added in their order.
void embedding_dense_backward(ops::Launch&,
                              const Tensor& grad_output,
                              const Tensor& indices,
                              int64_t num_weights,
                              int64_t padding_idx,
                              bool scale_grad_by_freq,
                              Tensor& out) {
  const Tensor places = as_index(indices);
  const auto* const place = places.data<int64_t>();
  const int64_t count = places.numel();
  MT_CHECK(check_positive_indices(place, count, num_weights) < 0, IndexError,
           "index out of range in self");
  if (out.numel() == 0) return;
  const DType wide = accumulate_dtype(out.dtype());
  const Tensor sums = out.dtype() == wide ? out : Tensor::make(out.sizes(), wide);
  const Tensor grads = as_contiguous(grad_output);
  const int64_t n = out.size(1);
  const int64_t row_bytes = n * out.element_size();
  const int64_t sum_bytes = n * sums.element_size();
  std::vector<int64_t> frequency(static_cast<size_t>(scale_grad_by_freq ? num_weights : 0));
  for (int64_t i = 0; scale_grad_by_freq && i < count; ++i) {
    ++frequency[static_cast<size_t>(place[i])];
  }
  const AccumulateFn add = find_accumulate(Row::kSum, out.dtype());
  const int64_t work_bytes = (count + num_weights) * row_bytes;
  const int64_t grain = std::max<int64_t>(1, num_weights * kGrainBytes / work_bytes);
  parallel_for(0, num_weights, grain, [&](int64_t begin, int64_t end) {
    char* const table = sums.data<char>();
    std::memset(table + begin * sum_bytes, 0, static_cast<size_t>((end - begin) * sum_bytes));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = place[i];
      if (row < begin || row >= end || row == padding_idx) continue;
      add(grads.data<char>() + i * row_bytes, table + row * sum_bytes, n);
    }
    for (int64_t row = begin; scale_grad_by_freq && row < end; ++row) {
      const int64_t times = frequency[static_cast<size_t>(row)];
      if (times < 2) continue;
      const auto scale = [&](auto* values) {
        using W = std::remove_pointer_t<decltype(values)>;
        for (int64_t k = 0; k < n; ++k) values[k] /= static_cast<W>(times);
      };
      char* const values = table + row * sum_bytes;
      wide == DType::kFloat64 ? scale(reinterpret_cast<double*>(values))
                              : scale(reinterpret_cast<float*>(values));
    }
  });
  if (!sums.is_same(out)) copy(sums, out);
}

// In double; the caller rounds to the row's dtype, as torch does.
template <typename T>
double norm(const T* row, int64_t n, int64_t stride, double p) {
  double found = p == -std::numeric_limits<double>::infinity() ? -p : 0;
  for (int64_t i = 0; i < n; ++i) {
    const double size = std::fabs(static_cast<double>(row[i * stride]));
    if (p == 2) {
      found += size * size;
    } else if (std::isinf(p)) {
      found = size != size || (p > 0 ? size > found : size < found) ? size : found;
    } else {
      found += p == 0 ? (size != 0 ? 1 : 0) : std::pow(size, p);
    }
  }
  if (p == 2) return std::sqrt(found);
  return p == 0 || std::isinf(p) ? found : std::pow(found, 1 / p);
}

void embedding_renorm(
    ops::Launch&, const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  const Tensor places = as_index(indices);
  const int64_t rows = self.size(0);
  const auto* const place = places.data<int64_t>();
  const int64_t bad = check_indices(place, places.numel(), rows);
  MT_CHECK(bad < 0, IndexError, "select(): index ", place[bad], " out of range for tensor of size ",
           to_string(self.sizes()), " at dimension 0");
  std::vector<int64_t> named(place, place + places.numel());
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  const int64_t n = self.size(1);
  const int64_t stride = self.strides()[1];
  visit_dtype(self.dtype(), [&]<typename T>() {
    if constexpr (!std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      for (const int64_t at : named) {
        T* const row = self.data<T>() + (at < 0 ? at + rows : at) * self.strides()[0];
        const T length = T(static_cast<Wide>(norm(row, n, stride, norm_type)));
        if (!(static_cast<double>(length) > max_norm)) continue;
        const auto scale = static_cast<Wide>(max_norm / (static_cast<double>(length) + 1e-7));
        for (int64_t i = 0; i < n; ++i) {
          row[i * stride] = T(static_cast<Wide>(row[i * stride]) * scale);
        }
      }
    }
  });
}

}  // namespace

void register_embedding(ops::Registry& registry) {
  registry.kernel<embedding>(DeviceType::kCpu, "embedding").takes(kAnyType);
  registry.kernel<rows_of_bags>(DeviceType::kCpu, "_rows_of_bags");
  registry.kernel<embedding_dense_backward>(DeviceType::kCpu, "embedding_dense_backward")
      .takes(kAllOrComplex);
  registry.kernel<embedding_renorm>(DeviceType::kCpu, "embedding_renorm_");
}

}  // namespace mindtorch::cpu
