// Exponentials and logarithms of float64 with tables of 16 numbers, which AVX-512 looks up in
// registers: they spare half of a polynomial's terms, and a division.

#include "mindtorch/backends/cpu/tiles/math-inl.h"

#if defined(MT_TILES_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_LOOKUP_INL_H_
#undef MT_TILES_LOOKUP_INL_H_
#else
#define MT_TILES_LOOKUP_INL_H_
#endif

#if HWY_TARGET <= HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE::math {

// The entries that the lowest four bits of each index name.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V look_up(D d, const double (&table)[16], V index) {
  return V{_mm512_permutex2var_pd(hn::Load(d, table).raw, _mm512_castpd_si512(index.raw),
                                  hn::Load(d, table + 8).raw)};
}

// What rounding 2^(i / 16) leaves out, relative to it.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V lost_of_power(D d, V index) {
  alignas(64) static constexpr double kLost[16] = {0.0,
                                                   0x1.79aa65d837b6dp-54,
                                                   -0x1.01b15eaa59348p-55,
                                                   0x1.68efde3a8a894p-54,
                                                   0x1.34d754db0abb6p-55,
                                                   0x1.59f48a72a4c6dp-55,
                                                   0x1.690cebb7aafbp-56,
                                                   0x1.063e1e21c5409p-54,
                                                   -0x1.3b3efbf5e2228p-54,
                                                   -0x1.b32dcb94da51dp-56,
                                                   0x1.db72fc1f0eab4p-55,
                                                   0x1.1affc2b91ce27p-56,
                                                   0x1.c1a7792cb3387p-55,
                                                   0x1.36eae30af0cb3p-56,
                                                   0x1.4a385a63d07a7p-56,
                                                   -0x1.ff7128fd391fp-55};
  return look_up(d, kLost, index);
}

// e^x = 2^(n / 16) (1 + rest); `shifted` holds n in its low bits.
template <class D>
struct TableExpParts {
  hn::Vec<D> rest, n;
  hn::Vec<hn::RebindToSigned<D>> shifted;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE TableExpParts<D> table_exp_parts(D d, V x) {
  static constexpr double kTerms[] = {
      0x1.0000000000003p0,  0x1.0000000000004p-1, 0x1.555555547c59ep-3,
      0x1.55555554745c1p-5, 0x1.11123d8b7e3fbp-7, 0x1.6c184eaf0571ep-10};  // (e^r - 1) / r
  const V magic = round_magic(d);
  const V shifted = hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep4), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e42fefa39efp-5), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.abc9e3b39803fp-60), r);
  const V rest = hn::MulAdd(polynomial(d, r, kTerms), r, lost_of_power(d, shifted));
  return {rest, n, hn::BitCast(hn::RebindToSigned<D>(), shifted)};
}
// 2^(n / 16), or that of its lowest four bits. The bits of 2^(i / 16) less i * 2^48, plus
// n * 2^48, have the rest of n in the exponent.
template <class D, class VI = hn::Vec<hn::RebindToSigned<D>>>
HWY_INLINE hn::Vec<D> sixteenth_power(D d, VI index, VI n) {
  alignas(64) static constexpr int64_t kBits[16] = {
      0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
      0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
      0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
      0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da};
  const hn::RebindToSigned<D> di;
  const VI power{
      _mm512_permutex2var_epi64(hn::Load(di, kBits).raw, index.raw, hn::Load(di, kBits + 8).raw)};
  return hn::BitCast(d, hn::Add(power, hn::ShiftLeft<48>(n)));
}

// The same for 2^x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE TableExpParts<D> table_exp2_parts(D d, V x) {
  static constexpr double kTerms[] = {
      0x1.62e42fefa39f3p-1, 0x1.ebfbdff82c597p-3,  0x1.c6b08d6f2a288p-5,
      0x1.3b2ab6fad6017p-7, 0x1.5d897e5262908p-10, 0x1.430a72bbee4a4p-13};  // (2^r - 1) / r
  const V magic = round_magic(d);
  const V shifted = hn::MulAdd(x, hn::Set(d, 16.0), magic);
  const V n = hn::Sub(shifted, magic);
  const V r = hn::NegMulAdd(n, hn::Set(d, 0.0625), x);
  const V rest = hn::MulAdd(polynomial(d, r, kTerms), r, lost_of_power(d, shifted));
  return {rest, n, hn::BitCast(hn::RebindToSigned<D>(), shifted)};
}

// 2^(n / 16) (1 + rest), where that is neither subnormal nor overflows, and where it may.
template <class D>
HWY_INLINE hn::Vec<D> ordinary_power(D d, const TableExpParts<D>& p) {
  const auto power = sixteenth_power(d, p.shifted, p.shifted);
  return hn::MulAdd(power, p.rest, power);
}
template <class D>
HWY_INLINE hn::Vec<D> any_power(D d, const TableExpParts<D>& p) {
  const auto lowest = hn::And(p.shifted, hn::Set(hn::RebindToSigned<D>(), 15));
  const auto power = sixteenth_power(d, p.shifted, lowest);
  return hn::Vec<D>{
      _mm512_scalef_pd(hn::MulAdd(power, p.rest, power).raw, hn::Mul(p.n, hn::Set(d, 0.0625)).raw)};
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V exp_of_any(D d, V x) {
  const V below = min_or_second(d, hn::Set(d, 710.0), x);
  return any_power(d, table_exp_parts(d, max_or_second(d, hn::Set(d, -746.0), below)));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_by_table(D d, V x) {
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, 700.0))))) return exp_of_any(d, x);
  return ordinary_power(d, table_exp_parts(d, x));
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V exp2_of_any(D d, V x) {
  const V below = min_or_second(d, hn::Set(d, 1025.0), x);
  return any_power(d, table_exp2_parts(d, max_or_second(d, hn::Set(d, -1076.0), below)));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2_by_table(D d, V x) {
  const auto ordinary = hn::Le(hn::Abs(x), hn::Set(d, 1000.0));
  if (HWY_UNLIKELY(!hn::AllTrue(d, ordinary))) return exp2_of_any(d, x);
  return ordinary_power(d, table_exp2_parts(d, x));
}

// x = 2^exponent m, m = (1 + r) / c with 1 / c in the middle of one of 16 parts of [1, 2]. The
// first c is 1 and the last 1/2, so that around x = 1 the result is that of r alone. c has six
// bits: r is exact, or nearly. `index` is for tables of log(1 / c), whose higher part has 42 bits:
// its sum with a multiple of the exponent is exact.
template <class D>
struct TableLogParts {
  hn::Vec<D> exponent, index, logarithm;  // log(1 + r)
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE TableLogParts<D> table_log_parts(D d, V x) {
  alignas(64) static constexpr double kC[16] = {
      1.0,      0x1.ep-1, 0x1.cp-1, 0x1.a8p-1, 0x1.98p-1, 0x1.8p-1, 0x1.7p-1,  0x1.6p-1,
      0x1.5p-1, 0x1.4p-1, 0x1.3p-1, 0x1.28p-1, 0x1.2p-1,  0x1.1p-1, 0x1.08p-1, 0x1p-1};
  static constexpr double kTerms[] = {-0x1p-1,
                                      0x1.55555555553dbp-2,
                                      -0x1.ffffffffff3dfp-3,
                                      0x1.9999999f9db4bp-3,
                                      -0x1.5555556208764p-3,
                                      0x1.2492144938972p-3,
                                      -0x1.ffff66f5cad59p-4,
                                      0x1.c8745392998bp-4,
                                      -0x1.9b195ab5ca4ap-4};  // (log(1 + r) - r) / r^2
  const V mantissa = V{_mm512_getmant_pd(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan)};
  const V index = hn::MulAdd(mantissa, hn::Set(d, 15.0), hn::Set(d, 0x1.8p52 - 15));
  const V r = hn::MulSub(mantissa, look_up(d, kC, index), hn::Set(d, 1.0));
  const V logarithm = hn::MulAdd(hn::Mul(r, r), polynomial(d, r, kTerms), r);
  return {V{_mm512_getexp_pd(x.raw)}, index, logarithm};
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log2_by_table(D d, V x) {
  alignas(64) static constexpr double kHigh[16] = {0.0,
                                                   0x1.7d60496cf8p-4,
                                                   0x1.8a8980abfap-3,
                                                   0x1.169c05363fp-2,
                                                   0x1.4f6fbb2cecp-2,
                                                   0x1.a8ff97181p-2,
                                                   0x1.e7df5fe538p-2,
                                                   0x1.14c560fe688p-1,
                                                   0x1.37222bb707p-1,
                                                   0x1.5b2c3da197p-1,
                                                   0x1.810fa51bf6p-1,
                                                   0x1.94c287492cp-1,
                                                   0x1.a8ff9718108p-1,
                                                   0x1.d338120a6d8p-1,
                                                   0x1.e9452c8a71p-1,
                                                   1.0};
  alignas(64) static constexpr double kLow[16] = {0.0,
                                                  0x1.da6339da288fcp-43,
                                                  0x1.d32666a9b7e2ep-43,
                                                  0x1.5872350f805d6p-46,
                                                  0x1.661e393a16b95p-44,
                                                  0x1.4bc302ffa76fbp-43,
                                                  0x1.5669df6a2b592p-43,
                                                  0x1.7c407050799bfp-44,
                                                  0x1.1ee969a95f529p-43,
                                                  0x1.1d406db502403p-44,
                                                  0x1.7f5dc57266758p-43,
                                                  0x1.36c101ee1344p-43,
                                                  0x1.2f0c0bfe9dbecp-44,
                                                  0x1.674c199d63ecfp-43,
                                                  0x1.3c6764fc87b4ap-48,
                                                  0.0};
  const TableLogParts<D> p = table_log_parts(d, x);
  const V scale = hn::Set(d, 0x1.71547652b82fep0);
  const V low = hn::MulAdd(p.logarithm, scale, look_up(d, kLow, p.index));
  return hn::Add(hn::Add(p.exponent, look_up(d, kHigh, p.index)), low);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log10_by_table(D d, V x) {
  alignas(64) static constexpr double kHigh[16] = {0.0,
                                                   0x1.cb38fccd8p-6,
                                                   0x1.db11ed7668p-5,
                                                   0x1.4f7aad9bbcp-4,
                                                   0x1.93e7de0fcp-4,
                                                   0x1.ffbfc2bbc4p-4,
                                                   0x1.25ba8215aep-3,
                                                   0x1.4d43f8275ap-3,
                                                   0x1.76a45cbb7ep-3,
                                                   0x1.a209a84fbcp-3,
                                                   0x1.cfa8e765cap-3,
                                                   0x1.e76124046ap-3,
                                                   0x1.ffbfc2bbc6p-3,
                                                   0x1.194b3bdef6p-2,
                                                   0x1.2691ecc29fp-2,
                                                   0x1.34413509f7p-2};
  alignas(64) static constexpr double kLow[16] = {0.0,
                                                  0x1.7fb6d2d6528c7p-43,
                                                  0x1.5fa196e1e0ddap-44,
                                                  0x1.75da8a5871b9ap-45,
                                                  0x1.f3fc5e5fcd7d1p-43,
                                                  0x1.c01bac1be2586p-43,
                                                  0x1.7fc20693a07c3p-43,
                                                  0x1.20ca9a2bcc728p-45,
                                                  0x1.bfb1de334b1cbp-45,
                                                  0x1.fef311f12b358p-44,
                                                  0x1.b71e549d1f992p-43,
                                                  0x1.3f2f0ee00f825p-43,
                                                  0x1.80375837c4b0cp-43,
                                                  0x1.73bf1482108b6p-43,
                                                  0x1.09ca54daae9f9p-48,
                                                  0x1.3fde623e2566bp-43};
  const TableLogParts<D> p = table_log_parts(d, x);
  const V high =
      hn::MulAdd(p.exponent, hn::Set(d, 0x1.34413509f7000p-2), look_up(d, kHigh, p.index));
  const V low =
      hn::MulAdd(p.exponent, hn::Set(d, 0x1.3fde623e2566bp-43), look_up(d, kLow, p.index));
  return hn::Add(high, hn::MulAdd(p.logarithm, hn::Set(d, 0x1.bcb7b1526e50ep-2), low));
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();

#endif  // HWY_AVX3

#endif  // include guard per target
