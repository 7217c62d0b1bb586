#include "mindtorch/backends/cpu/random_transform.h"

#include <cmath>
#include <cstring>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/random_transform.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// out[i] = body(vector of `kWordsPerLane` words a lane). The last, partial vector is computed in
// full on a copy.
template <int kWordsPerLane, class D, class Body, class T = hn::TFromD<D>>
HWY_INLINE void map_words(D d, const uint32_t* words, T* out, int64_t n, const Body& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(body(words + i * kWordsPerLane), d, out + i);
  if (i == n) return;
  uint32_t last_words[kWordsPerLane * hn::MaxLanes(D())] = {};
  T last[hn::MaxLanes(D())];
  const size_t count = static_cast<size_t>(n - i);
  std::memcpy(last_words, words + i * kWordsPerLane, count * kWordsPerLane * sizeof(uint32_t));
  hn::StoreU(body(last_words), d, last);
  std::memcpy(out + i, last, count * sizeof(T));
}

template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE V to_range(D d, V unit, T from, T to) {
  const V low = hn::Set(d, from);
  const V value = hn::MulAdd(unit, hn::Set(d, to - from), low);
  return hn::IfThenElse(hn::Eq(value, hn::Set(d, to)), low, value);
}

void uniform_floats(const uint32_t* words, float* out, int64_t n, float from, float to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  map_words<1>(d, words, out, n, [&](const uint32_t* at) HWY_ATTR {
    const auto word = hn::LoadU(di, reinterpret_cast<const int32_t*>(at));
    const auto digits = hn::ConvertTo(d, hn::And(word, hn::Set(di, 0xffffff)));
    return to_range(d, hn::Mul(digits, hn::Set(d, 0x1p-24f)), from, to);
  });
}

void uniform_doubles(const uint32_t* words, double* out, int64_t n, double from, double to) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  map_words<2>(d, words, out, n, [&](const uint32_t* at) HWY_ATTR {
    const auto pair = hn::LoadU(du, reinterpret_cast<const uint64_t*>(at));
    // The two halves become the last digits of 2^84 and of 2^52; both differences and their sum
    // are exact.
    const auto high =
        hn::Or(hn::And(pair, hn::Set(du, 0x1fffff)), hn::Set(du, uint64_t{0x4530000000000000}));
    const auto low = hn::Or(hn::ShiftRight<32>(pair), hn::Set(du, uint64_t{0x4330000000000000}));
    const auto digits = hn::Add(hn::Sub(hn::BitCast(d, high), hn::Set(d, 0x1p84)),
                                hn::Sub(hn::BitCast(d, low), hn::Set(d, 0x1p52)));
    return to_range(d, hn::Mul(digits, hn::Set(d, 0x1p-53)), from, to);
  });
}

// Note [Normals to the bit]
// torch's float normals come from the single-precision log, sin and cos of Moshier's Cephes
// library, evaluated in vectors with fused multiply-add. Any other approximation, however good,
// differs in the last bit of many numbers; so these two functions follow the same polynomials, and
// fuse where torch's compiled code does. They serve arguments that Box-Muller makes and no others.

// Natural logarithm of a normal number of (0, 1].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_of_unit(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const V half_to_one =
      hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f000000)));
  const V binary_exponent = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(di, 126)));

  // x = 2^e (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1).
  const V one = hn::Set(d, 1.0f);
  const auto is_small = hn::Lt(half_to_one, hn::Set(d, 0.707106781186547524f));
  const V e = hn::Sub(binary_exponent, hn::IfThenElseZero(is_small, one));
  const V f = hn::Add(hn::Sub(half_to_one, one), hn::IfThenElseZero(is_small, half_to_one));

  const V f2 = hn::Mul(f, f);
  V y = hn::Set(d, 7.0376836292e-2f);
  y = hn::MulAdd(y, f, hn::Set(d, -1.1514610310e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.1676998740e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, -1.2420140846e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.4249322787e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, -1.6668057665e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 2.0000714765e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, -2.4999993993e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 3.3333331174e-1f));
  // log(2) is 0.693359375 - 2.12194440e-4.
  y = hn::MulAdd(hn::Mul(y, f), f2, hn::Mul(e, hn::Set(d, -2.12194440e-4f)));
  y = hn::NegMulAdd(f2, hn::Set(d, 0.5f), y);
  return hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(f, y));
}

// Sine and cosine of an angle in [0, 2 pi].
template <class D, class V = hn::Vec<D>>
HWY_INLINE void sin_cos_of_turn(D d, V angle, V* sin, V* cos) {
  const hn::RebindToSigned<D> di;
  // The eighth of the circle, rounded up to an even one: the remainder lies in [-pi/4, pi/4].
  auto eighth = hn::ConvertTo(di, hn::Mul(angle, hn::Set(d, 1.27323954473516f)));
  eighth = hn::And(hn::Add(eighth, hn::Set(di, 1)), hn::Set(di, ~1));
  const V eighths = hn::ConvertTo(d, eighth);
  // pi/4 in three parts, of which the first two have few digits.
  V r = hn::NegMulAdd(eighths, hn::Set(d, 0.78515625f), angle);
  r = hn::NegMulAdd(eighths, hn::Set(d, 2.4187564849853515625e-4f), r);
  r = hn::NegMulAdd(eighths, hn::Set(d, 3.77489497744594108e-8f), r);

  const V r2 = hn::Mul(r, r);
  V c = hn::Set(d, 2.443315711809948e-5f);
  c = hn::MulAdd(c, r2, hn::Set(d, -1.388731625493765e-3f));
  c = hn::MulAdd(c, r2, hn::Set(d, 4.166664568298827e-2f));
  c = hn::MulSub(hn::Mul(c, r2), r2, hn::Mul(r2, hn::Set(d, 0.5f)));
  c = hn::Add(c, hn::Set(d, 1.0f));
  V s = hn::Set(d, -1.9515295891e-4f);
  s = hn::MulAdd(s, r2, hn::Set(d, 8.3321608736e-3f));
  s = hn::MulAdd(s, r2, hn::Set(d, -1.6666654611e-1f));
  s = hn::MulAdd(hn::Mul(s, r2), r, r);

  // Odd quarters exchange the two; the signs follow the quarter.
  const auto four = hn::Set(di, 4);
  const auto quarter_is_odd =
      hn::RebindMask(d, hn::Eq(hn::And(eighth, hn::Set(di, 2)), hn::Set(di, 2)));
  const V sin_sign = hn::BitCast(d, hn::ShiftLeft<29>(hn::And(eighth, four)));
  const V cos_sign =
      hn::BitCast(d, hn::ShiftLeft<29>(hn::And(hn::Add(eighth, hn::Set(di, 2)), four)));
  *sin = hn::Xor(hn::IfThenElse(quarter_is_odd, c, s), sin_sign);
  *cos = hn::Xor(hn::IfThenElse(quarter_is_odd, s, c), cos_sign);
}

void box_muller_floats(float* values, int64_t n, float mean, float std) {
  const hn::CappedTag<float, 8> d;
  for (int64_t group = 0; group < n; group += 16) {
    for (size_t j = 0; j < 8; j += hn::Lanes(d)) {
      float* first = values + group + j;
      const auto unit = hn::Sub(hn::Set(d, 1.0f), hn::LoadU(d, first));
      const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0f), log_of_unit(d, unit)));
      const auto angle =
          hn::Mul(hn::Set(d, static_cast<float>(2 * std::numbers::pi)), hn::LoadU(d, first + 8));
      hn::Vec<decltype(d)> sin, cos;
      sin_cos_of_turn(d, angle, &sin, &cos);
      const auto scale = hn::Set(d, std);
      const auto shift = hn::Set(d, mean);
      hn::StoreU(hn::MulAdd(hn::Mul(radius, cos), scale, shift), d, first);
      hn::StoreU(hn::MulAdd(hn::Mul(radius, sin), scale, shift), d, first + 8);
    }
  }
}

void box_muller_doubles(double* values, int64_t n, double mean, double std) {
  for (int64_t group = 0; group < n; group += 16) {
    for (int j = 0; j < 8; ++j) {
      double* first = values + group + j;
      const double radius = std::sqrt(-2 * std::log(1 - first[0]));
      const double angle = 2 * std::numbers::pi * first[8];
      first[0] = std::fma(radius * std::cos(angle), std, mean);
      first[8] = std::fma(radius * std::sin(angle), std, mean);
    }
  }
}

void scaled_log_complement(double* values, int64_t n, double scale) {
  const hn::ScalableTag<double> d;
  const auto factor = hn::Set(d, scale);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto log = hn::Log1p(d, hn::Neg(hn::LoadU(d, values + i)));
    hn::StoreU(hn::Mul(factor, log), d, values + i);
  }
  for (; i < n; ++i) values[i] = scale * std::log1p(-values[i]);
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(uniform_floats);
HWY_EXPORT(uniform_doubles);
HWY_EXPORT(box_muller_floats);
HWY_EXPORT(box_muller_doubles);
HWY_EXPORT(scaled_log_complement);

void uniform_floats(const uint32_t* words, float* out, int64_t n, float from, float to) {
  HWY_DYNAMIC_DISPATCH(uniform_floats)(words, out, n, from, to);
}
void uniform_doubles(const uint32_t* words, double* out, int64_t n, double from, double to) {
  HWY_DYNAMIC_DISPATCH(uniform_doubles)(words, out, n, from, to);
}
void box_muller(float* values, int64_t n, float mean, float std) {
  HWY_DYNAMIC_DISPATCH(box_muller_floats)(values, n, mean, std);
}
void box_muller(double* values, int64_t n, double mean, double std) {
  HWY_DYNAMIC_DISPATCH(box_muller_doubles)(values, n, mean, std);
}
void scaled_log_complement(double* values, int64_t n, double scale) {
  HWY_DYNAMIC_DISPATCH(scaled_log_complement)(values, n, scale);
}

}  // namespace mindtorch::cpu
#endif  // HWY_ONCE
