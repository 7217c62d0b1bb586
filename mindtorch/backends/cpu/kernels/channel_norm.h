#pragma once

#include <cstring>
#include <vector>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/tiles/norm.h"
#include "mindtorch/tensor/tensor.h"

// What batch_norm and group_norm share.
namespace mindtorch::cpu {

// Elements of a plane that are added up at once: larger planes are divided, so that several threads
// can work on one. Always alike, so that the number of threads does not change a sum.
inline constexpr int64_t kPlanePart = 32 * 1024;

inline int64_t parts_of(int64_t elements) { return ceil_div(elements, kPlanePart); }

// The moments of a part, in two passes: of the dtype that sums have, a block at a time.
// Row::kMoments is exact to double and takes twice as long.
class PartMoments {
 public:
  explicit PartMoments(DType dtype)
      : sum_(find_row(Row::kSum, dtype)),
        squares_(find_channels(ChannelsOfRow::kOne, dtype).squares) {}

  template <typename W>
  Moments of(const void* data, int64_t count) const {
    W sum{0};
    sum_(data, &sum, count);
    const W center = static_cast<W>(static_cast<double>(sum) / static_cast<double>(count));
    W squares{0};
    squares_(data, count, &center, &squares);
    return {static_cast<double>(center), static_cast<double>(squares), count};
  }

 private:
  RowFn sum_;
  void (*squares_)(const void* in, int64_t n, const void* center, void* squares);
};

// Contiguous, in the dtype that statistics have; where undefined, `otherwise` for each channel.
template <typename W>
std::vector<W> numbers(const Tensor& param, int64_t count, W otherwise) {
  std::vector<W> result(static_cast<size_t>(count), otherwise);
  if (!param.defined()) return result;
  const Tensor wide =
      Tensor::make(param.sizes(), std::is_same_v<W, double> ? DType::kFloat64 : DType::kFloat32);
  copy(param, wide);
  std::memcpy(result.data(), wide.data_ptr(), result.size() * sizeof(W));
  return result;
}

// Stores numbers in a tensor of any float dtype; an undefined one wants none.
template <typename W>
void store(const std::vector<W>& values, const Tensor& out) {
  if (!out.defined()) return;
  const Tensor wide =
      Tensor::make(out.sizes(), std::is_same_v<W, double> ? DType::kFloat64 : DType::kFloat32);
  std::memcpy(wide.data_ptr(), values.data(), values.size() * sizeof(W));
  copy(wide, out);
}

template <typename Body>
void visit_wide(DType dtype, const Body& body) {
  if (accumulate_dtype(dtype) == DType::kFloat64) return body.template operator()<double>();
  body.template operator()<float>();
}

// The factors of ChannelFns::gradient, for each channel.
template <typename W>
struct Factors {
  std::vector<W> by_grad;
  std::vector<W> by_input;
  std::vector<W> shift;

  explicit Factors(size_t count) : by_grad(count), by_input(count), shift(count) {}
};

}  // namespace mindtorch::cpu
