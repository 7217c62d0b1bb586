// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/product/vectors.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <utility>

#include "mindtorch/backends/cpu/product/load-inl.h"
#include "mindtorch/backends/cpu/product/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// Sums in registers.
constexpr int kMostSums = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM ? 24 : 12;
// Rows of w that are read at a time against kX rows of x.
template <int kX>
constexpr int kLinesFor = std::clamp(kMostSums / kX, 1, 8);

template <typename S>
HWY_INLINE Sum<S> total(Vector<S> sums) {
  return hn::GetLane(hn::SumOfLanes(Tag<S>(), sums));
}

// kLines rows of w against kX rows of x.
template <int kX, int kLines, typename S>
HWY_NOINLINE void dot_tile(const S* HWY_RESTRICT w,
                           int64_t w_stride,
                           const Sum<S>* HWY_RESTRICT x,
                           int64_t x_stride,
                           int64_t terms,
                           Sum<S>* HWY_RESTRICT out) {
  constexpr int64_t kLanes = kLanesOf<S>;
  using V = Vector<S>;
  V sums[kLines][kX];
  for (auto& line : sums) {
    for (V& sum : line) sum = hn::Zero(Tag<S>());
  }
  int64_t t = 0;
  for (; t + kLanes <= terms; t += kLanes) {
    V factors[kX];
    HWY_UNROLL(8)
    for (int i = 0; i < kX; ++i) factors[i] = load(x + i * x_stride + t);
    HWY_UNROLL(8)
    for (int j = 0; j < kLines; ++j) {
      const V line = load(w + j * w_stride + t);
      HWY_UNROLL(8)
      for (int i = 0; i < kX; ++i) sums[j][i] = hn::MulAdd(line, factors[i], sums[j][i]);
    }
  }
  if (t < terms) {
    const int64_t rest = terms - t;
    HWY_UNROLL(8)
    for (int i = 0; i < kX; ++i) {
      const V factor = load_some(x + i * x_stride + t, rest);
      HWY_UNROLL(8)
      for (int j = 0; j < kLines; ++j) {
        sums[j][i] = hn::MulAdd(load_some(w + j * w_stride + t, rest), factor, sums[j][i]);
      }
    }
  }
  HWY_UNROLL(8)
  for (int j = 0; j < kLines; ++j) {
    HWY_UNROLL(8)
    for (int i = 0; i < kX; ++i) out[j * kX + i] = total<S>(sums[j][i]);
  }
}

template <int kX, typename S>
void dots_of(int64_t count,
             const S* w,
             int64_t w_stride,
             const Sum<S>* x,
             int64_t x_stride,
             int64_t terms,
             Sum<S>* out) {
  constexpr int kLines = kLinesFor<kX>;
  int64_t j = 0;
  for (; j + kLines <= count; j += kLines) {
    dot_tile<kX, kLines>(w + j * w_stride, w_stride, x, x_stride, terms, out + j * kX);
  }
  for (; j < count; ++j) {
    dot_tile<kX, 1>(w + j * w_stride, w_stride, x, x_stride, terms, out + j * kX);
  }
}

template <typename S>
void dots(int64_t count,
          const S* w,
          int64_t w_stride,
          int64_t rows,
          const Sum<S>* x,
          int64_t x_stride,
          int64_t terms,
          Sum<S>* out) {
  switch (rows) {
    case 1:
      return dots_of<1>(count, w, w_stride, x, x_stride, terms, out);
    case 2:
      return dots_of<2>(count, w, w_stride, x, x_stride, terms, out);
    case 3:
      return dots_of<3>(count, w, w_stride, x, x_stride, terms, out);
    case 4:
      return dots_of<4>(count, w, w_stride, x, x_stride, terms, out);
    case 5:
      return dots_of<5>(count, w, w_stride, x, x_stride, terms, out);
    case 6:
      return dots_of<6>(count, w, w_stride, x, x_stride, terms, out);
    case 7:
      return dots_of<7>(count, w, w_stride, x, x_stride, terms, out);
    default:
      return dots_of<8>(count, w, w_stride, x, x_stride, terms, out);
  }
}

// kLines lines of w at a time: each sum is loaded and stored once for all of them.
template <int kLines, typename S>
HWY_NOINLINE void add_lines(int64_t count,
                            const S* HWY_RESTRICT w,
                            int64_t w_stride,
                            const Sum<S>* x,
                            Sum<S>* HWY_RESTRICT sums,
                            bool add) {
  constexpr int64_t kLanes = kLanesOf<S>;
  const Tag<S> d;
  using V = Vector<S>;
  V factors[kLines];
  for (int t = 0; t < kLines; ++t) factors[t] = hn::Set(d, x[t]);
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    V sum = add ? hn::LoadU(d, sums + j) : hn::Zero(d);
    HWY_UNROLL(8)
    for (int t = 0; t < kLines; ++t) {
      sum = hn::MulAdd(load(w + t * w_stride + j), factors[t], sum);
    }
    hn::StoreU(sum, d, sums + j);
  }
  if (j == count) return;
  const auto rest = static_cast<size_t>(count - j);
  V sum = add ? load_first(d, sums + j, rest) : hn::Zero(d);
  for (int t = 0; t < kLines; ++t) {
    sum = hn::MulAdd(load_some(w + t * w_stride + j, count - j), factors[t], sum);
  }
  store_first(d, sum, sums + j, rest);
}

template <typename S>
void columns(
    int64_t count, int64_t terms, const S* w, int64_t w_stride, const Sum<S>* x, Sum<S>* sums) {
  constexpr int kLines = 8;
  constexpr int64_t kPiece = 16384 / int64_t{sizeof(Sum<S>)};  // sums that stay in the first cache
  for (int64_t j = 0; j < count; j += kPiece) {
    const int64_t length = std::min(kPiece, count - j);
    int64_t t = 0;
    for (; t + kLines <= terms; t += kLines) {
      add_lines<kLines>(length, w + t * w_stride + j, w_stride, x + t, sums + j, t > 0);
    }
    for (; t < terms; ++t) {
      add_lines<1>(length, w + t * w_stride + j, w_stride, x + t, sums + j, t > 0);
    }
  }
}

template <typename S>
Sum<S> dot_of(int64_t n, const S* x, const S* y) {
  constexpr int64_t kLanes = kLanesOf<S>;
  constexpr int kSums = 8;
  using V = Vector<S>;
  V sums[kSums];
  for (V& sum : sums) sum = hn::Zero(Tag<S>());
  int64_t t = 0;
  for (; t + kSums * kLanes <= n; t += kSums * kLanes) {
    HWY_UNROLL(8)
    for (int i = 0; i < kSums; ++i) {
      const int64_t at = t + i * kLanes;
      sums[i] = hn::MulAdd(load(x + at), load(y + at), sums[i]);
    }
  }
  for (; t < n; t += kLanes) {
    sums[0] = hn::MulAdd(load_some(x + t, n - t), load_some(y + t, n - t), sums[0]);
  }
  for (int step = kSums / 2; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) sums[i] = hn::Add(sums[i], sums[i + step]);
  }
  return total<S>(sums[0]);
}

template <typename S>
const product::Vectors<S>* make_vectors() {
  static constexpr product::Vectors<S> kTable = {&dots<S>, &columns<S>};
  return &kTable;
}
const product::Vectors<float>* float_vectors() { return make_vectors<float>(); }
const product::Vectors<double>* double_vectors() { return make_vectors<double>(); }
const product::Vectors<Half>* half_vectors() { return make_vectors<Half>(); }
const product::Vectors<BFloat16>* bfloat_vectors() { return make_vectors<BFloat16>(); }
float float_dot(int64_t n, const float* x, const float* y) { return dot_of(n, x, y); }
double double_dot(int64_t n, const double* x, const double* y) { return dot_of(n, x, y); }
float half_dot(int64_t n, const Half* x, const Half* y) { return dot_of(n, x, y); }
float bfloat_dot(int64_t n, const BFloat16* x, const BFloat16* y) { return dot_of(n, x, y); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {
HWY_EXPORT(float_vectors);
HWY_EXPORT(double_vectors);
HWY_EXPORT(half_vectors);
HWY_EXPORT(bfloat_vectors);
HWY_EXPORT(float_dot);
HWY_EXPORT(double_dot);
HWY_EXPORT(half_dot);
HWY_EXPORT(bfloat_dot);
}  // namespace

template <>
const product::Vectors<float>& product::vectors<float>() {
  return *HWY_DYNAMIC_DISPATCH(float_vectors)();
}
template <>
const product::Vectors<double>& product::vectors<double>() {
  return *HWY_DYNAMIC_DISPATCH(double_vectors)();
}
template <>
const product::Vectors<Half>& product::vectors<Half>() {
  return *HWY_DYNAMIC_DISPATCH(half_vectors)();
}
template <>
const product::Vectors<BFloat16>& product::vectors<BFloat16>() {
  return *HWY_DYNAMIC_DISPATCH(bfloat_vectors)();
}
template <>
float product::dot<float>(int64_t n, const float* x, const float* y) {
  return HWY_DYNAMIC_DISPATCH(float_dot)(n, x, y);
}
template <>
double product::dot<double>(int64_t n, const double* x, const double* y) {
  return HWY_DYNAMIC_DISPATCH(double_dot)(n, x, y);
}
template <>
float product::dot<Half>(int64_t n, const Half* x, const Half* y) {
  return HWY_DYNAMIC_DISPATCH(half_dot)(n, x, y);
}
template <>
float product::dot<BFloat16>(int64_t n, const BFloat16* x, const BFloat16* y) {
  return HWY_DYNAMIC_DISPATCH(bfloat_dot)(n, x, y);
}

}  // namespace mindtorch::cpu
#endif
