// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/attention/tiles.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/attention/tiles.h"
#include "mindtorch/backends/cpu/tiles/math-inl.h"
#include "mindtorch/backends/cpu/tiles/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {
using attention::Product;
using attention::Tiles;

constexpr int kVectors = kManyRegisters ? 4 : 2;
constexpr int kRows = 6;
// Narrow panels leave registers for more rows.
constexpr int rows_of(int vectors) { return kManyRegisters && vectors <= 2 ? 2 * kRows : kRows; }

// kR rows and kV vectors of a product; `a` and `c` are at the first of the rows.
template <int kR, int kV, typename T>
HWY_INLINE void tile(const Product<T>& p, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* c) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const int64_t a_row = p.a_row;
  V sums[kR][kV];
  HWY_UNROLL(12)
  for (int i = 0; i < kR; ++i) {
    HWY_UNROLL(4)
    for (int j = 0; j < kV; ++j) {
      const T* const at = c + i * p.c_row + static_cast<size_t>(j) * lanes;
      sums[i][j] = p.add ? hn::LoadU(d, at) : hn::Zero(d);
    }
  }
  for (int64_t k = 0; k < p.terms; ++k, a += p.a_term, b += p.b_term) {
    V x[kV];
    HWY_UNROLL(4)
    for (int j = 0; j < kV; ++j) x[j] = hn::LoadU(d, b + static_cast<size_t>(j) * lanes);
    HWY_UNROLL(12)
    for (int i = 0; i < kR; ++i) {
      const V factor = hn::Set(d, a[i * a_row]);
      HWY_UNROLL(4)
      for (int j = 0; j < kV; ++j) sums[i][j] = hn::MulAdd(factor, x[j], sums[i][j]);
    }
  }
  HWY_UNROLL(12)
  for (int i = 0; i < kR; ++i) {
    HWY_UNROLL(4)
    for (int j = 0; j < kV; ++j) {
      hn::StoreU(sums[i][j], d, c + i * p.c_row + static_cast<size_t>(j) * lanes);
    }
  }
}

// Rows of one panel, from `row` on, by tiles of kR.
template <int kR, int kV, typename T>
HWY_INLINE int64_t tiles_of_rows(const Product<T>& p, const T* b, T* c, int64_t row) {
  for (; row + kR <= p.rows; row += kR) tile<kR, kV>(p, p.a + row * p.a_row, b, c + row * p.c_row);
  return row;
}
template <int kV, typename T>
HWY_NOINLINE void rows_of_panel(const Product<T>& p, const T* b, T* c) {
  int64_t row = tiles_of_rows<rows_of(kV), kV>(p, b, c, 0);
  if constexpr (rows_of(kV) > kRows) row = tiles_of_rows<kRows, kV>(p, b, c, row);
  row = tiles_of_rows<4, kV>(p, b, c, row);
  row = tiles_of_rows<2, kV>(p, b, c, row);
  tiles_of_rows<1, kV>(p, b, c, row);
}

// By as many terms as keep b in the nearest cache until all rows have used it.
template <int kV, typename T>
void panel(const Product<T>& p, const T* b, T* c) {
  constexpr int64_t kCached = 16 * 1024;
  const auto width = static_cast<int64_t>(kV * hn::Lanes(hn::ScalableTag<T>()) * sizeof(T));
  Product<T> piece = p;
  for (int64_t at = 0; at == 0 || at < p.terms; at += piece.terms) {
    piece.terms = std::min(kCached / width, p.terms - at);
    rows_of_panel<kV>(piece, b + at * p.b_term, c);
    if (piece.terms == 0) return;
    piece.a += piece.terms * p.a_term;
    piece.add = true;
  }
}

template <typename T>
void multiply(const Product<T>& p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const int64_t full = kVectors * lanes;
  const T* b = p.b;
  T* c = p.c;
  int64_t left = p.columns;
  for (; left >= full; left -= full, b += p.b_panel, c += full) panel<kVectors>(p, b, c);
  if constexpr (kVectors > 2) {
    if (left == 3 * lanes) panel<3>(p, b, c);
    if (left == 2 * lanes) panel<2>(p, b, c);
  }
  if (left == lanes) panel<1>(p, b, c);
}

template <typename T>
T largest_of(const T* row, size_t width) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Neg(math::infinity(d)), b = a;
  size_t at = 0;
  for (; at + 2 * lanes <= width; at += 2 * lanes) {
    a = hn::Max(a, hn::LoadU(d, row + at));
    b = hn::Max(b, hn::LoadU(d, row + at + lanes));
  }
  if (at < width) a = hn::Max(a, hn::LoadU(d, row + at));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

// row = exp(row - shift); the sum of that.
template <typename T>
T exponentials(T* row, size_t width, T shift) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, shift);
  auto sum0 = hn::Zero(d), sum1 = sum0;
  size_t at = 0;
  for (; at + 2 * lanes <= width; at += 2 * lanes) {
    const auto e0 = math::exp_negative(d, hn::Sub(hn::LoadU(d, row + at), offset));
    const auto e1 = math::exp_negative(d, hn::Sub(hn::LoadU(d, row + at + lanes), offset));
    hn::StoreU(e0, d, row + at);
    hn::StoreU(e1, d, row + at + lanes);
    sum0 = hn::Add(sum0, e0);
    sum1 = hn::Add(sum1, e1);
  }
  if (at < width) {
    const auto e = math::exp_negative(d, hn::Sub(hn::LoadU(d, row + at), offset));
    hn::StoreU(e, d, row + at);
    sum0 = hn::Add(sum0, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
}

template <typename T>
void scale(T* row, size_t width, T factor) {
  const hn::ScalableTag<T> d;
  const auto by = hn::Set(d, factor);
  for (size_t at = 0; at < width; at += hn::Lanes(d)) {
    hn::StoreU(hn::Mul(by, hn::LoadU(d, row + at)), d, row + at);
  }
}

template <typename T>
void soften(
    T* scores, int64_t rows, int64_t width, T* largest, T* sums, T* result, int64_t result_width) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  const auto n = static_cast<size_t>(width);
  for (int64_t i = 0; i < rows; ++i) {
    const T before = largest[i];
    const T now = std::max(before, largest_of(scores + i * width, n));
    largest[i] = now;
    const T sum = exponentials(scores + i * width, n, now == kNothing ? T{0} : now);
    if (now == before) {
      sums[i] += sum;
      continue;
    }
    const T factor = std::exp(before - now);
    sums[i] = sums[i] * factor + sum;
    if (before != kNothing) {
      scale(result + i * result_width, static_cast<size_t>(result_width), factor);
    }
  }
}

template <typename T>
void differentiate(
    T* scores, T* gradients, int64_t rows, int64_t width, const T* logsumexp, const T* dots) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < rows; ++i) {
    const auto shift = hn::Set(d, logsumexp[i]);
    const auto dot = hn::Set(d, dots[i]);
    T* const weight = scores + i * width;
    T* const gradient = gradients + i * width;
    for (int64_t at = 0; at < width; at += lanes) {
      const auto w = math::exp_negative(d, hn::Sub(hn::LoadU(d, weight + at), shift));
      hn::StoreU(w, d, weight + at);
      const auto difference = hn::Sub(hn::LoadU(d, gradient + at), dot);
      hn::StoreU(hn::Mul(w, difference), d, gradient + at);
    }
  }
}

template <typename T>
Tiles<T> make() {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  return {lanes, kVectors * lanes, &multiply<T>, &soften<T>, &differentiate<T>};
}

}  // namespace

Tiles<float> attention_tiles_float() { return make<float>(); }
Tiles<double> attention_tiles_double() { return make<double>(); }

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(attention_tiles_float);
HWY_EXPORT(attention_tiles_double);

template <>
attention::Tiles<float> attention::tiles() {
  return HWY_DYNAMIC_DISPATCH(attention_tiles_float)();
}
template <>
attention::Tiles<double> attention::tiles() {
  return HWY_DYNAMIC_DISPATCH(attention_tiles_double)();
}
}  // namespace mindtorch::cpu
#endif
