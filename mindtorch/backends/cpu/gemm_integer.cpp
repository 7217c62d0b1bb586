// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/gemm_integer.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"

// Note [Integer products]
// Panels of a and b are packed so that the innermost loop reads both in order: for every term,
// kRows elements of a and two vectors of b, whose products it adds to sums held in registers.
// Arithmetic is modulo 2^bits, so 8-bit elements are multiplied in 16-bit lanes and the low halves
// kept: sums modulo 2^16 are right modulo 2^8 as well.
#ifndef MINDTORCH_GEMM_INTEGER_ONCE
#define MINDTORCH_GEMM_INTEGER_ONCE
namespace mindtorch::cpu {

struct IntegerProduct {
  int64_t m;
  int64_t n;
  int64_t k;
  ConstMatrix a;
  ConstMatrix b;
  Matrix c;
  int64_t alpha;
  int64_t beta;
};

// The lane in which elements of type T are multiplied.
template <typename T>
using LaneOf = std::conditional_t<sizeof(T) == 1, uint16_t, std::make_unsigned_t<T>>;

// c[i * step] = alpha * sums[i] + beta * c[i * step]
template <typename T, typename Lane>
void store_sums(const Lane* sums, int64_t n, T* c, int64_t step, int64_t alpha, int64_t beta) {
  const auto scale = static_cast<Lane>(alpha);
  const auto keep = static_cast<Lane>(beta);
  if (keep == 0 && scale == 1 && step == 1) {
    for (int64_t i = 0; i < n; ++i) c[i] = static_cast<T>(sums[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    uint64_t value = uint64_t{scale} * sums[i];
    if (keep != 0) value += uint64_t{keep} * static_cast<uint64_t>(c[i * step]);
    c[i * step] = static_cast<T>(value);
  }
}

}  // namespace mindtorch::cpu
#endif  // MINDTORCH_GEMM_INTEGER_ONCE

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a in one tile: as many sums as registers hold, beside two vectors of b and one of a.
constexpr int64_t kRows = HWY_TARGET == HWY_AVX3 ? 14 : 6;
constexpr int64_t kTerms = 256;
constexpr int64_t kBlockCols = 512;
constexpr int64_t kBlockRows = kRows * 8;

// packed[t * kRows + r] = a(r, t); rows beyond the last are 0.
template <typename T, typename Lane>
void pack_rows(ConstMatrix a, int64_t rows, int64_t terms, Lane* HWY_RESTRICT packed) {
  const T* from = static_cast<const T*>(a.data);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t t = 0; t < terms; ++t) {
      packed[t * kRows + r] =
          r < rows ? static_cast<Lane>(from[r * a.row_stride + t * a.col_stride]) : Lane{0};
    }
  }
}

// packed[t * width + j] = b(t, j); columns beyond the last are 0.
template <typename T, typename Lane>
void pack_cols(
    ConstMatrix b, int64_t terms, int64_t cols, int64_t width, Lane* HWY_RESTRICT packed) {
  const T* from = static_cast<const T*>(b.data);
  for (int64_t t = 0; t < terms; ++t) {
    const T* HWY_RESTRICT row = from + t * b.row_stride;
    Lane* HWY_RESTRICT to = packed + t * width;
    if (b.col_stride == 1 && cols == width) {
      for (int64_t j = 0; j < width; ++j) to[j] = static_cast<Lane>(row[j]);
    } else {
      for (int64_t j = 0; j < width; ++j) {
        to[j] = j < cols ? static_cast<Lane>(row[j * b.col_stride]) : Lane{0};
      }
    }
  }
}

// sums (kRows x two vectors, rows `stride` apart) += packed a @ packed b; kFirst starts from 0.
template <bool kFirst, typename Lane>
HWY_NOINLINE void multiply_tile(const Lane* HWY_RESTRICT a,
                                const Lane* HWY_RESTRICT b,
                                int64_t terms,
                                Lane* HWY_RESTRICT sums,
                                int64_t stride) {
  const hn::ScalableTag<Lane> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> low[kRows];
  hn::Vec<decltype(d)> high[kRows];
  HWY_UNROLL(14)
  for (int64_t r = 0; r < kRows; ++r) {
    low[r] = kFirst ? hn::Zero(d) : hn::LoadU(d, sums + r * stride);
    high[r] = kFirst ? hn::Zero(d) : hn::LoadU(d, sums + r * stride + lanes);
  }
  for (int64_t t = 0; t < terms; ++t) {
    const auto b_low = hn::LoadU(d, b + t * 2 * lanes);
    const auto b_high = hn::LoadU(d, b + t * 2 * lanes + lanes);
    HWY_UNROLL(14)
    for (int64_t r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, a[t * kRows + r]);
      low[r] = hn::Add(low[r], hn::Mul(factor, b_low));
      high[r] = hn::Add(high[r], hn::Mul(factor, b_high));
    }
  }
  HWY_UNROLL(14)
  for (int64_t r = 0; r < kRows; ++r) {
    hn::StoreU(low[r], d, sums + r * stride);
    hn::StoreU(high[r], d, sums + r * stride + lanes);
  }
}

// One block of c. The packed panel of a stays in the first-level cache, that of b in the second.
template <typename T>
void multiply_block(const IntegerProduct& p,
                    int64_t row,
                    int64_t rows,
                    int64_t col,
                    int64_t cols,
                    LaneOf<T>* packed_a,
                    LaneOf<T>* packed_b,
                    LaneOf<T>* sums) {
  using Lane = LaneOf<T>;
  const auto width = static_cast<int64_t>(2 * hn::Lanes(hn::ScalableTag<Lane>()));
  const int64_t stride = ceil_div(cols, width) * width;
  for (int64_t term = 0; term < p.k; term += kTerms) {
    const int64_t terms = std::min(kTerms, p.k - term);
    for (int64_t j = 0; j < cols; j += width) {
      pack_cols<T>(offset<T>(p.b, term, col + j), terms, std::min(width, cols - j), width,
                   packed_b + j * terms);
    }
    for (int64_t i = 0; i < rows; i += kRows) {
      pack_rows<T>(offset<T>(p.a, row + i, term), std::min(kRows, rows - i), terms, packed_a);
      for (int64_t j = 0; j < cols; j += width) {
        Lane* tile = sums + i * stride + j;
        if (term == 0) {
          multiply_tile<true>(packed_a, packed_b + j * terms, terms, tile, stride);
        } else {
          multiply_tile<false>(packed_a, packed_b + j * terms, terms, tile, stride);
        }
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    T* c = static_cast<T*>(offset<T>(p.c, row + i, col).data);
    store_sums(sums + i * stride, cols, c, p.c.col_stride, p.alpha, p.beta);
  }
}

template <typename T>
void multiply_by_blocks(const IntegerProduct& p) {
  using Lane = LaneOf<T>;
  const auto width = static_cast<int64_t>(2 * hn::Lanes(hn::ScalableTag<Lane>()));
  const int64_t row_blocks = ceil_div(p.m, kBlockRows);
  const int64_t col_blocks = ceil_div(p.n, kBlockCols);
  const int64_t most_cols = std::min(kBlockCols, ceil_div(p.n, width) * width);
  const int64_t most_terms = std::min(kTerms, p.k);
  const int64_t block_work = std::min(p.m, kBlockRows) * most_cols * p.k;
  const int64_t grain = ceil_div(int64_t{1} << 18, block_work);
  parallel_for(0, row_blocks * col_blocks, grain, [&](int64_t begin, int64_t end) {
    const Scratch<Lane> packed_a(kRows * most_terms);
    const Scratch<Lane> packed_b(most_terms * most_cols);
    const Scratch<Lane> sums(std::min(ceil_div(p.m, kRows) * kRows, kBlockRows) * most_cols);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % row_blocks * kBlockRows;
      const int64_t col = i / row_blocks * kBlockCols;
      multiply_block<T>(p, row, std::min(kBlockRows, p.m - row), col,
                        std::min(kBlockCols, p.n - col), packed_a.get(), packed_b.get(),
                        sums.get());
    }
  });
}

// The next three are plain loops, which the compiler vectorises for each instruction set. Products
// are taken in an unsigned type no smaller than int, where they wrap.
template <typename T>
using WrapOf = std::common_type_t<LaneOf<T>, unsigned>;

template <typename T>
HWY_NOINLINE uint64_t dot(const T* HWY_RESTRICT x,
                          int64_t x_stride,
                          const T* HWY_RESTRICT y,
                          int64_t y_stride,
                          int64_t n) {
  using Wrap = WrapOf<T>;
  LaneOf<T> sum = 0;
  if (x_stride == 1 && y_stride == 1) {
    for (int64_t i = 0; i < n; ++i) {
      sum = static_cast<LaneOf<T>>(sum + static_cast<Wrap>(x[i]) * static_cast<Wrap>(y[i]));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      sum = static_cast<LaneOf<T>>(sum + static_cast<Wrap>(x[i * x_stride]) *
                                             static_cast<Wrap>(y[i * y_stride]));
    }
  }
  return sum;
}

template <typename T>
void multiply_by_dots(const IntegerProduct& p) {
  const auto row = [&](int64_t i) {
    const T* a = static_cast<const T*>(p.a.data) + i * p.a.row_stride;
    for (int64_t j = 0; j < p.n; ++j) {
      const T* b = static_cast<const T*>(p.b.data) + j * p.b.col_stride;
      const auto sum = static_cast<LaneOf<T>>(dot(a, p.a.col_stride, b, p.b.row_stride, p.k));
      store_sums(&sum, 1, static_cast<T*>(offset<T>(p.c, i, j).data), 1, p.alpha, p.beta);
    }
  };
  parallel_for(0, p.m, ceil_div(int64_t{1} << 15, p.n * p.k), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row(i);
  });
}

// n == 1 and columns of a contiguous: adds up multiples of columns.
template <typename T>
void multiply_by_columns(const IntegerProduct& p) {
  constexpr int64_t kPiece = 4096;
  parallel_for(0, ceil_div(p.m, kPiece), ceil_div(8, p.k), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * kPiece; row < std::min(p.m, end * kPiece); row += kPiece) {
      const int64_t rows = std::min(kPiece, p.m - row);
      LaneOf<T> sums[kPiece] = {};
      for (int64_t t = 0; t < p.k; ++t) {
        const T* HWY_RESTRICT a = static_cast<const T*>(p.a.data) + row + t * p.a.col_stride;
        const auto x = static_cast<WrapOf<T>>(static_cast<const T*>(p.b.data)[t * p.b.row_stride]);
        for (int64_t i = 0; i < rows; ++i) {
          sums[i] = static_cast<LaneOf<T>>(sums[i] + static_cast<WrapOf<T>>(a[i]) * x);
        }
      }
      T* c = static_cast<T*>(p.c.data) + row * p.c.row_stride;
      store_sums(sums, rows, c, p.c.row_stride, p.alpha, p.beta);
    }
  });
}

template <typename T>
void multiply(const IntegerProduct& p) {
  constexpr int64_t kTinyWork = 1024;
  if (p.n == 1 && p.a.row_stride == 1 && p.m > 1) return multiply_by_columns<T>(p);
  if (p.n == 1 || p.m * p.n * p.k <= kTinyWork) return multiply_by_dots<T>(p);
  multiply_by_blocks<T>(p);
}

void multiply_uint8(const IntegerProduct& p) { multiply<uint8_t>(p); }
void multiply_int8(const IntegerProduct& p) { multiply<int8_t>(p); }
void multiply_int16(const IntegerProduct& p) { multiply<int16_t>(p); }
void multiply_int32(const IntegerProduct& p) { multiply<int32_t>(p); }
void multiply_int64(const IntegerProduct& p) { multiply<int64_t>(p); }

uint64_t dot_of_integers(
    DType dtype, const void* x, int64_t x_stride, const void* y, int64_t y_stride, int64_t n) {
  const auto typed = [&]<typename T>(T) {
    return dot(static_cast<const T*>(x), x_stride, static_cast<const T*>(y), y_stride, n);
  };
  switch (dtype) {
    case DType::kUInt8:
      return typed(uint8_t{});
    case DType::kInt8:
      return typed(int8_t{});
    case DType::kInt16:
      return typed(int16_t{});
    case DType::kInt32:
      return typed(int32_t{});
    default:
      return typed(int64_t{});
  }
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(multiply_uint8);
HWY_EXPORT(multiply_int8);
HWY_EXPORT(multiply_int16);
HWY_EXPORT(multiply_int32);
HWY_EXPORT(multiply_int64);
HWY_EXPORT(dot_of_integers);

void gemm_integer(DType dtype,
                  int64_t m,
                  int64_t n,
                  int64_t k,
                  ConstMatrix a,
                  ConstMatrix b,
                  Matrix c,
                  int64_t alpha,
                  int64_t beta) {
  const IntegerProduct product = {m, n, k, a, b, c, alpha, beta};
  switch (dtype) {
    case DType::kUInt8:
      return HWY_DYNAMIC_DISPATCH(multiply_uint8)(product);
    case DType::kInt8:
      return HWY_DYNAMIC_DISPATCH(multiply_int8)(product);
    case DType::kInt16:
      return HWY_DYNAMIC_DISPATCH(multiply_int16)(product);
    case DType::kInt32:
      return HWY_DYNAMIC_DISPATCH(multiply_int32)(product);
    case DType::kInt64:
      return HWY_DYNAMIC_DISPATCH(multiply_int64)(product);
    default:
      MT_ASSERT(is_integral(dtype));
  }
}

int64_t dot_integer(
    DType dtype, int64_t n, const void* x, int64_t x_stride, const void* y, int64_t y_stride) {
  return static_cast<int64_t>(
      HWY_DYNAMIC_DISPATCH(dot_of_integers)(dtype, x, x_stride, y, y_stride, n));
}

}  // namespace mindtorch::cpu
#endif  // HWY_ONCE
