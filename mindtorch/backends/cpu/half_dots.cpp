// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/half_dots.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "mindtorch/backends/cpu/half_dots.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kFloats;
using Floats = hn::Vec<decltype(kFloats)>;

template <typename Element>  // Half, BFloat16
HWY_INLINE Floats widen(const uint16_t* from) {
  return load_wide(kFloats, reinterpret_cast<const Element*>(from));
}

// Less than a vector, followed by zeros.
template <typename Element>
HWY_INLINE Floats widen_some(const uint16_t* from, int64_t count) {
  uint16_t padded[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(padded, from, static_cast<size_t>(count) * 2);
  return widen<Element>(padded);
}

HWY_INLINE float total(Floats sums) { return hn::GetLane(hn::SumOfLanes(kFloats, sums)); }

// Two rows of w at a time against all rows of x.
template <typename Element, int64_t kX>
void dots(int64_t n,
          const uint16_t* w,
          int64_t w_stride,
          const float* HWY_RESTRICT x,
          int64_t x_stride,
          int64_t k,
          float* HWY_RESTRICT out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  for (int64_t j = 0; j < n; j += 2) {
    const uint16_t* first = w + j * w_stride;
    const uint16_t* second = j + 1 < n ? first + w_stride : first;
    Floats sums[2 * kX];
    for (Floats& sum : sums) sum = hn::Zero(kFloats);
    const auto add = [&](Floats a, Floats b, int64_t t) HWY_ATTR {
      HWY_UNROLL(8)
      for (int64_t i = 0; i < kX; ++i) {
        const auto factor = hn::LoadU(kFloats, x + i * x_stride + t);
        sums[2 * i] = hn::MulAdd(a, factor, sums[2 * i]);
        sums[2 * i + 1] = hn::MulAdd(b, factor, sums[2 * i + 1]);
      }
    };
    int64_t t = 0;
    for (; t + lanes <= k; t += lanes)
      add(widen<Element>(first + t), widen<Element>(second + t), t);
    if (t < k)
      add(widen_some<Element>(first + t, k - t), widen_some<Element>(second + t, k - t), t);
    for (int64_t i = 0; i < kX; ++i) {
      out[j * kX + i] = total(sums[2 * i]);
      if (j + 1 < n) out[(j + 1) * kX + i] = total(sums[2 * i + 1]);
    }
  }
}

template <typename Element>
void dots_of(int64_t n,
             const uint16_t* w,
             int64_t w_stride,
             int64_t rows,
             const float* x,
             int64_t x_stride,
             int64_t k,
             float* out) {
  switch (rows) {
    case 1:
      return dots<Element, 1>(n, w, w_stride, x, x_stride, k, out);
    case 2:
      return dots<Element, 2>(n, w, w_stride, x, x_stride, k, out);
    case 3:
      return dots<Element, 3>(n, w, w_stride, x, x_stride, k, out);
    case 4:
      return dots<Element, 4>(n, w, w_stride, x, x_stride, k, out);
    case 5:
      return dots<Element, 5>(n, w, w_stride, x, x_stride, k, out);
    case 6:
      return dots<Element, 6>(n, w, w_stride, x, x_stride, k, out);
    case 7:
      return dots<Element, 7>(n, w, w_stride, x, x_stride, k, out);
    default:
      return dots<Element, 8>(n, w, w_stride, x, x_stride, k, out);
  }
}

template <typename Element>
float dot_of(int64_t n, const uint16_t* x, const uint16_t* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  Floats sums[4];
  for (Floats& sum : sums) sum = hn::Zero(kFloats);
  int64_t t = 0;
  for (; t + 4 * lanes <= n; t += 4 * lanes) {
    HWY_UNROLL(4)
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t at = t + i * lanes;
      sums[i] = hn::MulAdd(widen<Element>(x + at), widen<Element>(y + at), sums[i]);
    }
  }
  for (; t < n; t += lanes) {
    const int64_t count = std::min(lanes, n - t);
    sums[0] =
        hn::MulAdd(widen_some<Element>(x + t, count), widen_some<Element>(y + t, count), sums[0]);
  }
  return total(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])));
}

// kLines lines of w at a time: each sum is loaded and stored once for all of them.
template <typename Element, int64_t kLines>
void add_lines(int64_t n,
               const uint16_t* HWY_RESTRICT w,
               int64_t w_stride,
               const float* x,
               float* HWY_RESTRICT sums,
               bool add) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  Floats factors[kLines];
  for (int64_t t = 0; t < kLines; ++t) factors[t] = hn::Set(kFloats, x[t]);
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    Floats sum = add ? hn::LoadU(kFloats, sums + j) : hn::Zero(kFloats);
    HWY_UNROLL(8)
    for (int64_t t = 0; t < kLines; ++t) {
      sum = hn::MulAdd(widen<Element>(w + t * w_stride + j), factors[t], sum);
    }
    hn::StoreU(sum, kFloats, sums + j);
  }
  if (j == n) return;
  float rest[HWY_MAX_BYTES / sizeof(float)] = {};
  const size_t bytes = static_cast<size_t>(n - j) * sizeof(float);
  if (add) std::memcpy(rest, sums + j, bytes);
  Floats sum = hn::LoadU(kFloats, rest);
  for (int64_t t = 0; t < kLines; ++t) {
    sum = hn::MulAdd(widen_some<Element>(w + t * w_stride + j, n - j), factors[t], sum);
  }
  hn::StoreU(sum, kFloats, rest);
  std::memcpy(sums + j, rest, bytes);
}

template <typename Element>
void columns_of(
    int64_t n, int64_t k, const uint16_t* w, int64_t w_stride, const float* x, float* sums) {
  constexpr int64_t kLines = 8;
  constexpr int64_t kPiece = 4096;  // sums that stay in the first cache
  for (int64_t j = 0; j < n; j += kPiece) {
    const int64_t count = std::min(kPiece, n - j);
    int64_t t = 0;
    for (; t + kLines <= k; t += kLines) {
      add_lines<Element, kLines>(count, w + t * w_stride + j, w_stride, x + t, sums + j, t > 0);
    }
    for (; t < k; ++t) {
      add_lines<Element, 1>(count, w + t * w_stride + j, w_stride, x + t, sums + j, t > 0);
    }
  }
}

void float16_columns(
    int64_t n, int64_t k, const uint16_t* w, int64_t w_stride, const float* x, float* sums) {
  columns_of<Half>(n, k, w, w_stride, x, sums);
}
void bfloat16_columns(
    int64_t n, int64_t k, const uint16_t* w, int64_t w_stride, const float* x, float* sums) {
  columns_of<BFloat16>(n, k, w, w_stride, x, sums);
}
void float16_dots(int64_t n,
                  const uint16_t* w,
                  int64_t w_stride,
                  int64_t rows,
                  const float* x,
                  int64_t x_stride,
                  int64_t k,
                  float* out) {
  dots_of<Half>(n, w, w_stride, rows, x, x_stride, k, out);
}
void bfloat16_dots(int64_t n,
                   const uint16_t* w,
                   int64_t w_stride,
                   int64_t rows,
                   const float* x,
                   int64_t x_stride,
                   int64_t k,
                   float* out) {
  dots_of<BFloat16>(n, w, w_stride, rows, x, x_stride, k, out);
}
float float16_dot(int64_t n, const uint16_t* x, const uint16_t* y) { return dot_of<Half>(n, x, y); }
float bfloat16_dot(int64_t n, const uint16_t* x, const uint16_t* y) {
  return dot_of<BFloat16>(n, x, y);
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(float16_dots);
HWY_EXPORT(bfloat16_dots);
HWY_EXPORT(float16_columns);
HWY_EXPORT(bfloat16_columns);
HWY_EXPORT(float16_dot);
HWY_EXPORT(bfloat16_dot);

void half_dots(DType dtype,
               int64_t n,
               const uint16_t* w,
               int64_t w_stride,
               int64_t rows,
               const float* x,
               int64_t x_stride,
               int64_t k,
               float* out) {
  if (dtype == DType::kFloat16) {
    HWY_DYNAMIC_DISPATCH(float16_dots)(n, w, w_stride, rows, x, x_stride, k, out);
  } else {
    HWY_DYNAMIC_DISPATCH(bfloat16_dots)(n, w, w_stride, rows, x, x_stride, k, out);
  }
}

void half_columns(DType dtype,
                  int64_t n,
                  int64_t k,
                  const uint16_t* w,
                  int64_t w_stride,
                  const float* x,
                  float* sums) {
  if (dtype == DType::kFloat16) {
    HWY_DYNAMIC_DISPATCH(float16_columns)(n, k, w, w_stride, x, sums);
  } else {
    HWY_DYNAMIC_DISPATCH(bfloat16_columns)(n, k, w, w_stride, x, sums);
  }
}

float half_dot(DType dtype, int64_t n, const uint16_t* x, const uint16_t* y) {
  return dtype == DType::kFloat16 ? HWY_DYNAMIC_DISPATCH(float16_dot)(n, x, y)
                                  : HWY_DYNAMIC_DISPATCH(bfloat16_dot)(n, x, y);
}

}  // namespace mindtorch::cpu
#endif  // HWY_ONCE
