#include "mindtorch/backends/cpu/product/sums.h"

#include <algorithm>
#include <type_traits>

#include "mindtorch/backends/cpu/half_conversion.h"
#include "mindtorch/tensor/float16.h"

namespace mindtorch::cpu::product {
namespace {

constexpr int64_t kPiece = 512;

template <typename S>
void store_line(const HalfConversion& convert,
                int64_t columns,
                float* sums,
                S* c,
                int64_t c_step,
                const S* addend,
                int64_t addend_step,
                float alpha,
                float beta) {
  S gathered[kPiece];
  for (int64_t j = 0; j < columns && alpha != 1; ++j) sums[j] *= alpha;
  if (addend != nullptr) {
    float other[kPiece];
    const S* from = addend;
    if (addend_step != 1) {
      for (int64_t j = 0; j < columns; ++j) gathered[j] = addend[j * addend_step];
      from = gathered;
    }
    convert.widen(from, other, columns);
    for (int64_t j = 0; j < columns; ++j) sums[j] += beta * other[j];
  }
  convert.narrow(sums, c_step == 1 ? c : gathered, columns);
  for (int64_t j = 0; j < columns && c_step != 1; ++j) c[j * c_step] = gathered[j];
}

}  // namespace

template <typename S, typename T>
void store_sums(
    int64_t rows, int64_t columns, Sums<T> sums, Matrix c, ConstMatrix addend, T alpha, T beta) {
  const auto* const other = static_cast<const S*>(addend.data);
  for (int64_t i = 0; i < rows; ++i) {
    T* const from = sums.data + i * sums.stride;
    S* const to = static_cast<S*>(c.data) + i * c.row_stride;
    const S* const added = other == nullptr ? nullptr : other + i * addend.row_stride;
    if constexpr (std::is_same_v<S, T>) {
      for (int64_t j = 0; j < columns; ++j) {
        const T scaled = alpha * from[j];
        to[j * c.col_stride] =
            added == nullptr ? scaled : scaled + beta * added[j * addend.col_stride];
      }
    } else {
      const HalfConversion convert(std::is_same_v<S, Half> ? DType::kFloat16 : DType::kBFloat16);
      for (int64_t j = 0; j < columns; j += kPiece) {
        store_line(convert, std::min(kPiece, columns - j), from + j, to + j * c.col_stride,
                   c.col_stride, added == nullptr ? nullptr : added + j * addend.col_stride,
                   addend.col_stride, alpha, beta);
      }
    }
  }
}

template void store_sums<float>(int64_t, int64_t, Sums<float>, Matrix, ConstMatrix, float, float);
template void store_sums<double>(
    int64_t, int64_t, Sums<double>, Matrix, ConstMatrix, double, double);
template void store_sums<Half>(int64_t, int64_t, Sums<float>, Matrix, ConstMatrix, float, float);
template void store_sums<BFloat16>(
    int64_t, int64_t, Sums<float>, Matrix, ConstMatrix, float, float);

}  // namespace mindtorch::cpu::product
