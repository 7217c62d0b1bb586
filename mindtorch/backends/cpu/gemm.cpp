#include "mindtorch/backends/cpu/gemm.h"

#include <algorithm>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product/few_rows.h"
#include "mindtorch/backends/cpu/product/product.h"
#include "mindtorch/backends/cpu/product_grid.h"
#include "mindtorch/base/error.h"
#include "mindtorch/tensor/scalar.h"

namespace mindtorch::cpu {
namespace {

// Products below this many multiplications are not worth dividing within.
constexpr int64_t kLargeProduct = int64_t{1} << 20;
constexpr int64_t kBatchGrain = int64_t{1} << 17;
constexpr int64_t kSmallestPiece = 64;
constexpr int64_t kPieceUnit = 32;

// Expanded operands may have more elements than memory has bytes; what is counted here must not
// overflow.
void check_sizes(int64_t batch, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kMostBytes = 64;  // of an element, and of what is kept beside it
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t all = 0;
  const bool overflows = __builtin_mul_overflow(batch * kMostBytes, m, &rows) ||
                         __builtin_mul_overflow(rows, k, &all) ||
                         __builtin_mul_overflow(batch * kMostBytes, n, &columns) ||
                         __builtin_mul_overflow(columns, k, &all) ||
                         __builtin_mul_overflow(rows, n, &all);
  MT_CHECK(!overflows, RuntimeError, "numel: integer multiplication overflow");
}

[[noreturn]] void refuse(DType dtype, const char* kernel) {
  const bool is_bool = dtype == DType::kBool;
  MT_CHECK(!is_bool, NotImplementedError, '"', kernel, "\" not implemented for 'Bool'");
  MT_THROW(RuntimeError, "invalid dtype");
}

bool is_zero(DType dtype, Factor factor) {
  return is_differentiable(dtype) ? factor.f == 0 && factor.imag == 0 : factor.i == 0;
}

// A product times 0 is not computed, so that its NaNs do not spread; but it is in 16-bit floats, as
// in torch.
bool leaves_out(DType dtype, Factor alpha) {
  const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return is_zero(dtype, alpha) && !is_half;
}

// c = beta * c, for products that add nothing.
void scale(DType dtype, int64_t m, int64_t n, Matrix c, Factor beta) {
  visit_any_dtype(dtype, [&]<typename T>() {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T& value = static_cast<T*>(c.data)[i * c.row_stride + j * c.col_stride];
        if (is_zero(dtype, beta)) {
          value = T{};
        } else if constexpr (is_complex(DTypeOf<T>::value)) {
          if constexpr (!std::is_same_v<T, ComplexHalf>) {
            value *= Scalar(std::complex<double>(beta.f, beta.imag)).to<T>();
          }
        } else if constexpr (std::is_same_v<T, double>) {
          value *= beta.f;
        } else if constexpr (std::is_same_v<T, float>) {
          value *= static_cast<float>(beta.f);
        } else if constexpr (std::is_integral_v<T>) {
          value = static_cast<T>(static_cast<uint64_t>(value) * static_cast<uint64_t>(beta.i));
        } else {
          value = T(static_cast<float>(value) * static_cast<float>(beta.f));
        }
      }
    }
  });
}

// Whether product/ has it.
bool has_tiles(DType dtype) { return is_floating_point(dtype) && !is_float8(dtype); }

bool multiplies_natively(DType dtype) {
  return dtype == DType::kBFloat16 && bfloat16_tiles() != nullptr;
}

// Products of floating dtypes. With beta 0 the addend is not read.
void multiply_floats(DType dtype, product::Problem problem) {
  if (problem.beta == 0) problem.addend = {nullptr, 0, 0};
  switch (dtype) {
    case DType::kFloat32:
      return product::multiply<float>(problem);
    case DType::kFloat64:
      return product::multiply<double>(problem);
    case DType::kFloat16:
      return product::multiply<Half>(problem);
    default:
      return product::multiply<BFloat16>(problem);
  }
}

const void* advance(const void* data, DType dtype, int64_t elements) {
  return static_cast<const char*>(data) + elements * size_bytes(dtype);
}
void* advance(void* data, DType dtype, int64_t elements) {
  return static_cast<char*>(data) + elements * size_bytes(dtype);
}

void dot_floats(DType dtype,
                int64_t n,
                const void* x,
                int64_t x_stride,
                const void* y,
                int64_t y_stride,
                void* out) {
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      *static_cast<T*>(out) = T(product::sum_of_products(n, static_cast<const T*>(x), x_stride,
                                                         static_cast<const T*>(y), y_stride));
    }
  });
}

template <typename T>
std::complex<T> complex_factor(Factor factor) {
  return {static_cast<T>(factor.f), static_cast<T>(factor.imag)};
}

template <typename T>
void dot_complex(
    int64_t n, const void* x, int64_t x_stride, const void* y, int64_t y_stride, void* out) {
  const auto* a = static_cast<const std::complex<T>*>(x);
  const auto* b = static_cast<const std::complex<T>*>(y);
  std::complex<double> sum;
  for (int64_t i = 0; i < n; ++i) {
    sum += std::complex<double>(a[i * x_stride]) * std::complex<double>(b[i * y_stride]);
  }
  *static_cast<std::complex<T>*>(out) = {static_cast<T>(sum.real()), static_cast<T>(sum.imag())};
}

}  // namespace

void gemm(DType dtype,
          int64_t m,
          int64_t n,
          int64_t k,
          ConstMatrix a,
          ConstMatrix b,
          Matrix c,
          Factor alpha,
          Factor beta) {
  if (m == 0 || n == 0) return;
  check_sizes(1, m, n, k);
  if (dtype == DType::kBool && k != 0) refuse(dtype, "addmm_impl_cpu_");
  if (k == 0 || leaves_out(dtype, alpha)) return scale(dtype, m, n, c, beta);
  if (dtype == DType::kComplex64) {
    return gemm_complex<float>(m, n, k, a, b, c, complex_factor<float>(alpha),
                               complex_factor<float>(beta));
  }
  if (dtype == DType::kComplex128) {
    return gemm_complex<double>(m, n, k, a, b, c, complex_factor<double>(alpha),
                                complex_factor<double>(beta));
  }
  if (multiplies_natively(dtype)) {
    return multiply_bfloat16(m, n, k, a, b, c, static_cast<float>(alpha.f),
                             static_cast<float>(beta.f));
  }
  if (!has_tiles(dtype)) return gemm_integer(dtype, m, n, k, a, b, c, alpha.i, beta.i);
  multiply_floats(dtype, {1, m, n, k, a, 0, b, 0, c, 0, as_const(c), 0, alpha.f, beta.f});
}

bool gemm_with_addend(DType dtype,
                      int64_t m,
                      int64_t n,
                      int64_t k,
                      ConstMatrix a,
                      ConstMatrix b,
                      ConstMatrix addend,
                      Matrix c) {
  if (m == 0 || n == 0 || k == 0) return false;
  check_sizes(1, m, n, k);
  if (multiplies_natively(dtype)) return multiply_bfloat16_with_addend(m, n, k, a, b, addend, c);
  if (!has_tiles(dtype) || addend.col_stride != 1) return false;
  multiply_floats(dtype, {1, m, n, k, a, 0, b, 0, c, 0, addend, 0, 1, 1});
  return true;
}

void batched_gemm(DType dtype,
                  int64_t batch,
                  int64_t m,
                  int64_t n,
                  int64_t k,
                  ConstMatrix a,
                  int64_t a_batch_stride,
                  ConstMatrix b,
                  int64_t b_batch_stride,
                  Matrix c,
                  int64_t c_batch_stride,
                  Factor alpha,
                  Factor beta) {
  if (dtype == DType::kBool && k != 0) refuse(dtype, "bmm");
  if (batch == 0 || m == 0 || n == 0) return;
  check_sizes(batch, m, n, k);

  // Rows of all products against one b are one tall product.
  if (b_batch_stride == 0 && a_batch_stride == m * a.row_stride &&
      c_batch_stride == m * c.row_stride) {
    return gemm(dtype, batch * m, n, k, a, b, c, alpha, beta);
  }

  if (has_tiles(dtype) && !multiplies_natively(dtype) && k != 0 && !leaves_out(dtype, alpha)) {
    return multiply_floats(dtype, {batch, m, n, k, a, a_batch_stride, b, b_batch_stride, c,
                                   c_batch_stride, as_const(c), c_batch_stride, alpha.f, beta.f});
  }

  // Some rows and columns of product i.
  const auto product = [&](int64_t i, int64_t row, int64_t rows, int64_t col, int64_t cols) {
    gemm(dtype, rows, cols, k,
         {advance(a.data, dtype, i * a_batch_stride + row * a.row_stride), a.row_stride,
          a.col_stride},
         {advance(b.data, dtype, i * b_batch_stride + col * b.col_stride), b.row_stride,
          b.col_stride},
         {advance(c.data, dtype, i * c_batch_stride + row * c.row_stride + col * c.col_stride),
          c.row_stride, c.col_stride},
         alpha, beta);
  };
  // Where there are fewer products than threads, each is divided; very large ones within, unless
  // all threads get the same number of pieces.
  const int64_t work = m * n * (k + 1);
  const int64_t threads = in_parallel_region() ? 1 : num_threads();
  if (batch < threads && threads % batch != 0 && work >= threads * kLargeProduct) {
    for (int64_t i = 0; i < batch; ++i) product(i, 0, m, 0, n);
    return;
  }
  const bool by_rows = m >= n;
  const int64_t size = by_rows ? m : n;
  const int64_t pieces = std::clamp<int64_t>(
      ceil_div(threads, batch), 1,
      std::max<int64_t>(1, std::min(size / kSmallestPiece, work / kLargeProduct)));
  const int64_t grain = ceil_div(kBatchGrain * pieces, work);
  parallel_for(0, batch * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = piece_begin(size, pieces, i % pieces, kPieceUnit);
      const int64_t count = piece_begin(size, pieces, i % pieces + 1, kPieceUnit) - first;
      product(i / pieces, by_rows ? first : 0, by_rows ? count : m, by_rows ? 0 : first,
              by_rows ? n : count);
    }
  });
}

void gemv(DType dtype,
          int64_t m,
          int64_t k,
          ConstMatrix a,
          const void* x,
          int64_t x_stride,
          void* y,
          int64_t y_stride,
          Factor alpha,
          Factor beta) {
  if (dtype == DType::kBool && k != 0) refuse(dtype, "addmv_impl_cpu");
  if (m == 0) return;
  if (k == 0 || leaves_out(dtype, alpha)) return scale(dtype, m, 1, {y, y_stride, 1}, beta);
  gemm(dtype, m, 1, k, a, {x, x_stride, 1}, {y, y_stride, 1}, alpha, beta);
}

void dot(DType dtype,
         int64_t n,
         const void* x,
         int64_t x_stride,
         const void* y,
         int64_t y_stride,
         void* out) {
  if (has_tiles(dtype)) return dot_floats(dtype, n, x, x_stride, y, y_stride, out);
  switch (dtype) {
    case DType::kBool:
      refuse(dtype, "dot");
    case DType::kComplex64:
      return dot_complex<float>(n, x, x_stride, y, y_stride, out);
    case DType::kComplex128:
      return dot_complex<double>(n, x, x_stride, y, y_stride, out);
    default:
      break;
  }
  const int64_t sum = dot_integer(dtype, n, x, x_stride, y, y_stride);
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) *static_cast<T*>(out) = static_cast<T>(sum);
  });
}

}  // namespace mindtorch::cpu
