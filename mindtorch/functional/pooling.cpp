// Pooling over one dimension, and without indices: torch's rules around the ops that compute it.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

int64_t single(const char* op, const char* name, IntList list) {
  MT_CHECK(list.size() == 1, RuntimeError, op, "() ", name,
           " must be an int, list of ints or tuple of ints of size 1 but got size ", list.size());
  return list[0];
}

void check_max_pool1d(
    const Tensor& self, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  MT_CHECK(self.dim() == 2 || self.dim() == 3, RuntimeError,
           "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
           "input, but got:",
           to_string(self.sizes()));
  MT_CHECK(kernel > 0, RuntimeError, "max_pool1d() kernel_size must be greater than zero, but got ",
           kernel);
  MT_CHECK(stride > 0, RuntimeError, "max_pool1d() stride must be greater than zero, but got ",
           stride);
  MT_CHECK(padding >= 0, RuntimeError, "max_pool1d() padding must be non-negative, but got ",
           padding);
  MT_CHECK(padding <= kernel / 2, RuntimeError,
           "max_pool1d() padding should be at most half of kernel size, but got padding=", padding,
           " and kernel_size=", kernel);
  MT_CHECK(dilation > 0, RuntimeError, "max_pool1d() dilation must be greater than zero, but got ",
           dilation);
}

// A line is an image with one row.
Pair max_pool1d_with_indices(const Tensor& self,
                             IntList kernel_size,
                             IntList stride,
                             IntList padding,
                             IntList dilation,
                             bool ceil_mode) {
  const int64_t k = single("max_pool1d", "kernel_size", kernel_size);
  const int64_t s = stride.empty() ? k : single("max_pool1d", "stride", stride);
  const int64_t p = single("max_pool1d", "padding", padding);
  const int64_t d = single("max_pool1d", "dilation", dilation);
  check_max_pool1d(self, k, s, p, d);
  const auto [values, indices] =
      max_pool2d_with_indices(unsqueeze(self, -2), {1, k}, {1, s}, {0, p}, {1, d}, ceil_mode);
  return {squeeze(values, -2), squeeze(indices, -2)};
}
template <auto WithIndices>
Tensor max_pool(const Tensor& self,
                IntList kernel_size,
                IntList stride,
                IntList padding,
                IntList dilation,
                bool ceil_mode) {
  return std::get<0>(WithIndices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

void check_line(const char* name, const Tensor& self) {
  MT_CHECK(self.dim() == 2 || self.dim() == 3, RuntimeError, "Expected 2 to 3 dimensions, but got ",
           self.dim(), "-dimensional tensor for argument #1 'self' (while checking arguments for ",
           name, ")");
}

Tensor avg_pool1d(const Tensor& self,
                  IntList kernel_size,
                  IntList stride,
                  IntList padding,
                  bool ceil_mode,
                  bool count_include_pad) {
  check_line("avg_pool1d", self);
  const int64_t k = single("avg_pool1d", "kernel_size", kernel_size);
  const int64_t s = stride.empty() ? k : single("avg_pool1d", "stride", stride);
  const int64_t p = single("avg_pool1d", "padding", padding);
  return squeeze(
      avg_pool2d(unsqueeze(self, -2), {1, k}, {1, s}, {0, p}, ceil_mode, count_include_pad), -2);
}

Tensor adaptive_avg_pool1d(const Tensor& self, IntList output_size) {
  check_line("adaptive_avg_pool1d", self);
  return squeeze(_adaptive_avg_pool2d(unsqueeze(self, -2), {1, output_size[0]}), -2);
}
Tensor adaptive_avg_pool2d(const Tensor& self, IntList output_size) {
  return _adaptive_avg_pool2d(self, output_size);
}
Tensor adaptive_avg_pool3d(const Tensor& self, IntList output_size) {
  return _adaptive_avg_pool3d(self, output_size);
}
Pair adaptive_max_pool1d(const Tensor& self, IntList output_size) {
  check_line("adaptive_max_pool1d", self);
  const auto [values, indices] = adaptive_max_pool2d(unsqueeze(self, -2), {1, output_size[0]});
  return {squeeze(values, -2), squeeze(indices, -2)};
}

}  // namespace

void compose_pooling(ops::Registry& registry) {
  registry.composite<max_pool1d_with_indices>("max_pool1d_with_indices");
  registry.composite<max_pool<mindtorch::max_pool1d_with_indices>>("max_pool1d");
  registry.composite<max_pool<mindtorch::max_pool2d_with_indices>>("max_pool2d");
  registry.composite<max_pool<mindtorch::max_pool3d_with_indices>>("max_pool3d");
  registry.composite<avg_pool1d>("avg_pool1d");
  registry.composite<adaptive_avg_pool1d>("adaptive_avg_pool1d");
  registry.composite<adaptive_avg_pool2d>("adaptive_avg_pool2d");
  registry.composite<adaptive_avg_pool3d>("adaptive_avg_pool3d");
  registry.composite<adaptive_max_pool1d>("adaptive_max_pool1d");
}

}  // namespace mindtorch::functional
