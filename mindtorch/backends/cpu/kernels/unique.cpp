// unique in its three forms. Outputs that were not asked for are empty tensors.
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/sorting.h"

namespace mindtorch::cpu {
namespace {

using Result = std::tuple<Tensor, Tensor, Tensor>;

// Allocates the outputs as the algorithms ask for them.
struct Outputs {
  Tensor values;
  Tensor inverse;
  Tensor counts = Tensor::make({0}, DType::kInt64);

  Outputs(IntList inverse_sizes, bool return_inverse)
      : inverse(return_inverse ? Tensor::make(inverse_sizes, DType::kInt64)
                               : Tensor::make({0}, DType::kInt64)) {}

  Allocate for_values(DType dtype, Shape rest) {
    return [this, dtype, rest](int64_t count) {
      Shape sizes{count};
      for (const int64_t size : rest) sizes.push_back(size);
      values = Tensor::make(sizes, dtype);
      return values.data_ptr();
    };
  }
  Allocate for_counts(bool wanted) {
    if (!wanted) return {};
    return [this](int64_t count) {
      counts = Tensor::make({count}, DType::kInt64);
      return counts.data_ptr();
    };
  }
  int64_t* inverse_data(bool wanted) { return wanted ? inverse.data<int64_t>() : nullptr; }
  Result take() { return {std::move(values), std::move(inverse), std::move(counts)}; }
};

Result unique_all(ops::Launch&, const Tensor& self, bool, bool return_inverse, bool return_counts) {
  const Tensor flat = as_contiguous(self);
  Outputs out(self.sizes(), return_inverse);
  unique_flat(self.dtype(), flat.data_ptr(), flat.numel(), out.for_values(self.dtype(), {}),
              out.inverse_data(return_inverse), out.for_counts(return_counts));
  return out.take();
}

// `dim` moved to the front, so that its slices are rows.
Tensor with_dim_first(const Tensor& self, int64_t dim) {
  const size_t d = line_dim(self, dim);
  Shape sizes = self.sizes();
  Shape strides = self.strides();
  std::rotate(sizes.begin(), sizes.begin() + d, sizes.begin() + d + 1);
  std::rotate(strides.begin(), strides.begin() + d, strides.begin() + d + 1);
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

template <auto kUnique>
Result unique_slices(const Tensor& self, int64_t dim, bool return_inverse, bool return_counts) {
  MT_CHECK(self.dim() > 0, IndexError, "Dimension specified as ", dim,
           " but tensor has no dimensions");
  const size_t d = line_dim(self, dim);
  const Tensor rows = as_contiguous(with_dim_first(self, dim));
  const int64_t count = rows.sizes()[0];
  int64_t length = 1;
  for (size_t i = 1; i < rows.sizes().size(); ++i) length *= rows.sizes()[i];
  MT_CHECK(count == 0 || length > 0, RuntimeError,
           "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  Outputs out({count}, return_inverse);
  Shape rest(IntList(rows.sizes()).subspan(1));
  kUnique(self.dtype(), rows.data_ptr(), count, length, out.for_values(self.dtype(), rest),
          out.inverse_data(return_inverse), out.for_counts(return_counts));
  Result result = out.take();
  // The distinct slices go back to where the dimension was.
  Tensor& values = std::get<0>(result);
  Shape sizes = values.sizes();
  Shape strides = values.strides();
  std::rotate(sizes.begin(), sizes.begin() + 1, sizes.begin() + d + 1);
  std::rotate(strides.begin(), strides.begin() + 1, strides.begin() + d + 1);
  values = values.alias(std::move(sizes), std::move(strides), 0);
  return result;
}

Result unique_dim(
    ops::Launch&, const Tensor& self, int64_t dim, bool, bool return_inverse, bool return_counts) {
  return unique_slices<unique_rows>(self, dim, return_inverse, return_counts);
}

Result consecutive(ops::Launch&,
                   const Tensor& self,
                   bool return_inverse,
                   bool return_counts,
                   std::optional<int64_t> dim) {
  if (dim) return unique_slices<unique_consecutive>(self, *dim, return_inverse, return_counts);
  const Tensor flat = as_contiguous(self);
  Outputs out(self.sizes(), return_inverse);
  unique_consecutive(self.dtype(), flat.data_ptr(), flat.numel(), 1,
                     out.for_values(self.dtype(), {}), out.inverse_data(return_inverse),
                     out.for_counts(return_counts));
  return out.take();
}

}  // namespace

void register_unique(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.dynamic_kernel<unique_all>(kCpu, "_unique2");
  registry.dynamic_kernel<unique_dim>(kCpu, "unique_dim");
  registry.dynamic_kernel<consecutive>(kCpu, "_unique_consecutive");
}

}  // namespace mindtorch::cpu
