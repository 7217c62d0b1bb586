#include "mindtorch/backends/cpu/gemm.h"

#include <algorithm>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
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

// A batch of floating products with more than vectors.
bool multiply_batch_by_tiles(DType dtype, product::Problem problem) {
  if (problem.m == 1 || problem.n == 1 || problem.k <= 1 || problem.alpha == 0) return false;
  if (problem.beta == 0) problem.addend = {nullptr, 0, 0};
  switch (dtype) {
    case DType::kFloat32:
      product::multiply<float>(problem);
      return true;
    case DType::kFloat64:
      product::multiply<double>(problem);
      return true;
    case DType::kFloat16:
      product::multiply<Half>(problem);
      return true;
    case DType::kBFloat16:
      if (!multiplies_halves_by_tiles(dtype)) return false;
      product::multiply<BFloat16>(problem);
      return true;
    default:
      return false;
  }
}

const void* advance(const void* data, DType dtype, int64_t elements) {
  return static_cast<const char*>(data) + elements * size_bytes(dtype);
}
void* advance(void* data, DType dtype, int64_t elements) {
  return static_cast<char*>(data) + elements * size_bytes(dtype);
}

}  // namespace

namespace {

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
  if (n == 1) {
    return gemv(dtype, m, k, a, b.data, b.row_stride, c.data, c.row_stride, alpha, beta);
  }
  if (m == 1) {
    return gemv(dtype, n, k, transposed(b), a.data, a.col_stride, c.data, c.col_stride, alpha,
                beta);
  }
  switch (dtype) {
    case DType::kFloat32:
      return gemm_float<float>(m, n, k, a, b, c, static_cast<float>(alpha.f),
                               static_cast<float>(beta.f));
    case DType::kFloat64:
      return gemm_float<double>(m, n, k, a, b, c, alpha.f, beta.f);
    case DType::kFloat16:
    case DType::kBFloat16:
      return gemm_half(dtype, m, n, k, a, b, c, static_cast<float>(alpha.f),
                       static_cast<float>(beta.f));
    default:
      return gemm_integer(dtype, m, n, k, a, b, c, alpha.i, beta.i);
  }
}

bool gemm_with_addend(DType dtype,
                      int64_t m,
                      int64_t n,
                      int64_t k,
                      ConstMatrix a,
                      ConstMatrix b,
                      ConstMatrix addend,
                      Matrix c) {
  if (m <= 1 || n <= 1 || k == 0) return false;
  const auto multiply = [&]<typename T>() {
    const bool is_simple = c.col_stride == 1 && addend.col_stride == 1;
    if (is_simple) product::multiply<T>({1, m, n, k, a, 0, b, 0, c, 0, addend, 0, 1, 1});
    return is_simple;
  };
  switch (dtype) {
    case DType::kFloat32:
      return multiply.template operator()<float>();
    case DType::kFloat64:
      return multiply.template operator()<double>();
    case DType::kFloat16:
    case DType::kBFloat16:
      return gemm_half_with_addend(dtype, m, n, k, a, b, addend, c);
    default:
      return false;
  }
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

  // Rows of all products against one b are one tall product.
  if (b_batch_stride == 0 && a_batch_stride == m * a.row_stride &&
      c_batch_stride == m * c.row_stride) {
    return gemm(dtype, batch * m, n, k, a, b, c, alpha, beta);
  }

  if (multiply_batch_by_tiles(
          dtype, {batch, m, n, k, a, a_batch_stride, b, b_batch_stride, c, c_batch_stride,
                  as_const(c), c_batch_stride, alpha.f, beta.f})) {
    return;
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
  // Where there are fewer products than threads, each is divided; very large ones within.
  const int64_t work = m * n * (k + 1);
  const int64_t threads = in_parallel_region() ? 1 : num_threads();
  if (batch < threads && work >= threads * kLargeProduct) {
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
  if (is_complex(dtype)) {
    return gemm(dtype, m, 1, k, a, {x, x_stride, 1}, {y, y_stride, 1}, alpha, beta);
  }
  switch (dtype) {
    case DType::kFloat32:
      return gemv_float(m, k, a, static_cast<const float*>(x), x_stride, static_cast<float*>(y),
                        y_stride, static_cast<float>(alpha.f), static_cast<float>(beta.f));
    case DType::kFloat64:
      return gemv_float(m, k, a, static_cast<const double*>(x), x_stride, static_cast<double*>(y),
                        y_stride, alpha.f, beta.f);
    case DType::kFloat16:
    case DType::kBFloat16:
      return gemv_half(dtype, m, k, a, x, x_stride, y, y_stride, static_cast<float>(alpha.f),
                       static_cast<float>(beta.f));
    default:
      return gemm_integer(dtype, m, 1, k, a, {x, x_stride, 1}, {y, y_stride, 1}, alpha.i, beta.i);
  }
}

void dot(DType dtype,
         int64_t n,
         const void* x,
         int64_t x_stride,
         const void* y,
         int64_t y_stride,
         void* out) {
  switch (dtype) {
    case DType::kBool:
      refuse(dtype, "dot");
    case DType::kFloat32:
      *static_cast<float*>(out) = dot_float(n, static_cast<const float*>(x), x_stride,
                                            static_cast<const float*>(y), y_stride);
      return;
    case DType::kFloat64:
      *static_cast<double*>(out) = dot_float(n, static_cast<const double*>(x), x_stride,
                                             static_cast<const double*>(y), y_stride);
      return;
    case DType::kComplex64:
      return dot_complex<float>(n, x, x_stride, y, y_stride, out);
    case DType::kComplex128:
      return dot_complex<double>(n, x, x_stride, y, y_stride, out);
    case DType::kFloat16:
      *static_cast<Half*>(out) = Half(dot_half(dtype, n, x, x_stride, y, y_stride));
      return;
    case DType::kBFloat16:
      *static_cast<BFloat16*>(out) = BFloat16(dot_half(dtype, n, x, x_stride, y, y_stride));
      return;
    default:
      break;
  }
  const int64_t sum = dot_integer(dtype, n, x, x_stride, y, y_stride);
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) *static_cast<T*>(out) = static_cast<T>(sum);
  });
}

}  // namespace mindtorch::cpu
