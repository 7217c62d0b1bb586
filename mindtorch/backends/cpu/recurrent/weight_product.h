#pragma once

#include <cstdint>
#include <optional>

#include "mindtorch/backends/cpu/bfloat16_product.h"
#include "mindtorch/backends/cpu/packed_product.h"
#include "mindtorch/backends/cpu/recurrent/rows.h"

namespace mindtorch::cpu::recurrent {

// Multiplications that are worth a thread.
inline constexpr int64_t kGrain = int64_t{1} << 20;

enum class Packing : uint8_t { kNone, kBFloat16, kAll };

// Products of rows with one weight, computed in T. With a packed weight, a row's result does not
// depend on how many there are beside it. With one of bfloat16, rows are rounded to bfloat16, as
// they are in the output.
template <typename T>
class WeightProduct {
 public:
  // With the weight, or with its transpose. `packing` says of which dtypes it is packed.
  WeightProduct(const Tensor& weight, bool is_transposed, Packing packing);

  // c = a @ weight, or c += a @ weight, of contiguous rows; those of c are `stride` apart.
  void operator()(const T* a, int64_t rows, T* c, int64_t stride, bool add = false) const;
  // c = a @ weight, of rows in the weight's dtype, by all threads.
  void of_narrow(const Rows<T>& a, int64_t first, int64_t rows, T* c, int64_t stride) const;

  int64_t multiplications_of_a_row() const { return k_ * n_; }
  // Working memory for so many rows.
  size_t scratch_bytes(int64_t rows) const;

 private:
  int64_t k_;
  int64_t n_;
  Tensor values_;
  ConstMatrix weight_ = {};  // of values_, where it is not packed
  std::optional<PackedMatrix<T>> packed_;
  std::optional<PackedBFloat16> narrow_;
};

extern template class WeightProduct<float>;
extern template class WeightProduct<double>;

}  // namespace mindtorch::cpu::recurrent
