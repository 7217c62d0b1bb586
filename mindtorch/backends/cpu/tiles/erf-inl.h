// The error function of float64 and its complement, on vectors.

#include "mindtorch/backends/cpu/tiles/lookup-inl.h"
#include "mindtorch/backends/cpu/tiles/math-inl.h"

#if defined(MT_TILES_ERF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_ERF_INL_H_
#undef MT_TILES_ERF_INL_H_
#else
#define MT_TILES_ERF_INL_H_
#endif

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE::math {

// e^(x^2) erfc(x) for x in [0, 27.5], as a quotient.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V scaled_erfc_top(D d, V x) {
  static constexpr double kTerms[] = {1.0,
                                      0x1.2c9c322aa1b3bp+1,
                                      0x1.5de21631ddc65p+1,
                                      0x1.04d94be686f5p+1,
                                      0x1.115aab52eb4cbp+0,
                                      0x1.a2db8606eedd6p-2,
                                      0x1.da9879d61d93dp-4,
                                      0x1.892b5b517d24fp-6,
                                      0x1.c99c92ecc5278p-9,
                                      0x1.544d35e2e43cdp-12,
                                      0x1.f15d8702d6f42p-17};
  return polynomial(d, x, kTerms);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V scaled_erfc_bottom(D d, V x) {
  static constexpr double kTerms[] = {1.0,
                                      0x1.bd0aecacb68f2p+1,
                                      0x1.6a07af27db8ccp+2,
                                      0x1.6c8deb9d61d34p+2,
                                      0x1.fa1cde88cb8a2p+1,
                                      0x1.fe02eda65f791p+0,
                                      0x1.7df1b80b15dccp-1,
                                      0x1.aae8c08622a2p-3,
                                      0x1.5ecb1c7dd05fep-5,
                                      0x1.96689c19cda62p-8,
                                      0x1.2d959e1baa2c5p-11,
                                      0x1.b8c74f87ee33fp-16};
  return polynomial(d, x, kTerms);
}

// factor e^(-half t^2) times that of x. The square is carried in two parts.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gaussian_tail(D d, V t, V half, V x, V factor) {
  const V square = hn::Mul(t, t);
  const V lost = hn::MulSub(t, t, square);
  auto n = reduce_exp(d, hn::Neg(hn::Mul(square, half)));
  n.rest = hn::NegMulAdd(lost, half, n.rest);
  const V top = hn::Mul(hn::Mul(scaled_erfc_top(d, x), factor), exp_of_rest<true>(d, n.rest));
  return scale_by_power(d, hn::Div(top, scaled_erfc_bottom(d, x)), n);
}

// erfc(x) for x >= 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erfc_of_positive(D d, V x) {
  const V one = hn::Set(d, 1.0);
  const V t = min_or_second(d, hn::Set(d, 27.4), x);  // where it has underflowed
  return gaussian_tail(d, t, one, t, one);
}

// erf(x) / x - 1 for |x| <= 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_series(D d, V x) {
  static constexpr double kTerms[] = {
      0x1.06eba8214db69p-3,  -0x1.812746b037a25p-2,  0x1.ce2f21a0458dp-4,   -0x1.b82ce31354872p-6,
      0x1.565bcd2c53588p-8,  -0x1.c02db92f81b0fp-11, 0x1.f9a3b8d56d625p-14, -0x1.f4dce695f0a0cp-17,
      0x1.ba687d32ed1a5p-20, -0x1.638b706892fdcp-23, 0x1.1302e1c3a82f2p-26, -0x1.c3fec4950a141p-30,
      0x1.3aa392cbbe66bp-33};
  return polynomial(d, hn::Mul(x, x), kTerms);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_of_small(D d, V x) {
  return hn::MulAdd(erf_series(d, x), x, x);
}

#if HWY_TARGET <= HWY_AVX3

// erf(x) for x >= 0: around each of 16 multiples of 13 / 32 a polynomial in the distance from it,
// without its constant term, which is in two parts. What the sum of the constant and the linear
// term loses is put back. Around 0 it is that of erf(x) - x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_by_table(D d, V x) {
  alignas(64) static constexpr double kHigh[16] = {0.0,
                                                   0x1.bccfec24855b8p-2,
                                                   0x1.7fb9bfaed8078p-1,
                                                   0x1.d4970f9ce00d9p-1,
                                                   0x1.f4f693b67bd77p-1,
                                                   0x1.fdea6e062d0c9p-1,
                                                   0x1.ffb5bdf67fe6fp-1,
                                                   0x1.fff86cfd3e657p-1,
                                                   0x1.ffff6f9f67e55p-1,
                                                   0x1.fffff82cdcf1bp-1,
                                                   0x1.ffffffb127525p-1,
                                                   0x1.fffffffdbff2ap-1,
                                                   0x1.fffffffff4188p-1,
                                                   0x1.ffffffffffd27p-1,
                                                   0x1.ffffffffffff8p-1,
                                                   0x1p0};
  alignas(64) static constexpr double kLow[16] = {0.0,
                                                  -0x1.47292aeeaa2fap-56,
                                                  0x1.66cf14bcad032p-56,
                                                  -0x1.56704fcbdd47dp-56,
                                                  -0x1.3a1ee1406c356p-56,
                                                  -0x1.64c6b684260bcp-56,
                                                  0x1.4e830346f6e7fp-62,
                                                  -0x1.2e06af13b7209p-56,
                                                  0x1.e1e4483ba034bp-55,
                                                  0x1.046bbe9a11838p-55,
                                                  0x1.504f382db4102p-55,
                                                  0x1.49438981074bfp-56,
                                                  0x1.7a2cb3d056eacp-55,
                                                  0x1.19e1a84064c3cp-56,
                                                  0x1.0160ef15c497dp-56,
                                                  -0x1.f755ea760487dp-58};
  alignas(64) static constexpr double kTerms[13][16] = {
      {0x1.06eba8214db69p-3, 0x1.e9d5a8e4c934ep-1, 0x1.2a8dcede3673bp-1, 0x1.059f59af7a906p-2,
       0x1.499d478bca735p-4, 0x1.2a875b5ffab56p-6, 0x1.84ba3004a50dp-9, 0x1.6be02102b352p-12,
       0x1.e9b5e8d00ce77p-16, 0x1.d9c73698fb1dcp-20, 0x1.4980cb3c80949p-24, 0x1.4979ac8b28927p-29,
       0x1.d9a880f306bd8p-35, 0x1.e9810295890ecp-41, 0x1.6ba91ac734786p-47, 0x1.846e9dda7a163p-54},
      {0.0, -0x1.8dfd9939e3796p-2, -0x1.e5267029187d4p-2, -0x1.3eda354ddd5ffp-2,
       -0x1.0bcfca21947cbp-3, -0x1.2f3178cd7aa1dp-5, -0x1.d9c2ea85a92a8p-8, -0x1.02b15777eb726p-10,
       -0x1.8de3cd290a7bep-14, -0x1.b11017e7d6508p-18, -0x1.4ea6ce6972fcp-22,
       -0x1.7015eec368185p-27, -0x1.20a2ae93c300fp-32, -0x1.43262ab3148bep-38,
       -0x1.028a390517f13p-44, -0x1.27e0422e1103dp-51},
      {-0x1.812746b0379d7p-2, -0x1.b588d8dc5bd1fp-3, 0x1.fe0796bb9cae9p-5, 0x1.57b85ad435f86p-3,
       0x1.d6631e1a28eb1p-4, 0x1.68d1c45b96f03p-5, 0x1.60898536e1059p-7, 0x1.cc1d886874d2bp-10,
       0x1.9aa489e3cac3bp-13, 0x1.fc0dfadc2ca26p-17, 0x1.b771d9b6f12bp-21, 0x1.0b4877915802cp-25,
       0x1.cb2a2e56238cap-31, 0x1.1756eae522fb8p-36, 0x1.e292863ba5ec9p-43, 0x1.2873f19cbb2a8p-49},
      {0.0, 0x1.62338788a9cb9p-3, 0x1.0fa23021b1ad8p-3, 0x1.8e90c2a15b1f6p-10,
       -0x1.974c03686e749p-5, -0x1.09648dd32ed31p-5, -0x1.5eb1c899ee439p-7, -0x1.1bff70664f7a4p-9,
       -0x1.2c7d5ef053f7ep-12, -0x1.ac4e1aa43f04cp-16, -0x1.a26c653f7f9edp-20,
       -0x1.1b44b64fb2053p-24, -0x1.0bc6ed09b38c4p-29, -0x1.6359d60fd8ccbp-35,
       -0x1.4c4e6a169a7efp-41, -0x1.b74ca2d41a2c7p-48},
      {0x1.ce2f21a03ccd9p-4, 0x1.26cf85bca3595p-5, -0x1.fa21ebca3f2c2p-5, -0x1.a2893b28cb9bfp-5,
       -0x1.17d430bd523a9p-9, 0x1.ad8b14807aa7p-7, 0x1.d854f73e6f977p-8, 0x1.fc0f76c95a8c2p-10,
       0x1.490a4d23186f5p-12, 0x1.131810aafc005p-15, 0x1.3302bb88f7e91p-19, 0x1.d23ff3ed0eb17p-24,
       0x1.e7ba5771cac02p-29, 0x1.626391d47935cp-34, 0x1.67e6e61e640c6p-40, 0x1.0094bf4c945e1p-46},
      {0.0, -0x1.a1bcaa9fce15fp-5, -0x1.31546d72dfbbap-6, 0x1.4d6af44a0bdf5p-6,
       0x1.d857f2d67a4e5p-7, -0x1.f00fa84728d14p-13, -0x1.897719afc6c6dp-9, -0x1.4a22285806a65p-10,
       -0x1.145464ea22d1bp-12, -0x1.1629d96718cb3p-15, -0x1.67f42e603b5bdp-19,
       -0x1.357d662e24783p-23, -0x1.6893418d5e32cp-28, -0x1.203eedf7d03ddp-33,
       -0x1.3f00b026414cdp-39, -0x1.ebe43bc5b89f6p-46},
      {-0x1.b82ce3050a702p-6, -0x1.5b4a789e8914p-9, 0x1.37e5467e05ba5p-6, 0x1.4ccee55d74b0cp-8,
       -0x1.954ab0fc2525dp-8, -0x1.87187606b804cp-9, 0x1.88cdc8ea7a0aap-12, 0x1.268885fff9871p-11,
       0x1.647f72120f538p-13, 0x1.c22a737505e6ap-16, 0x1.58b4add12077cp-19, 0x1.53a57375ac503p-23,
       0x1.bc2ac0d988f7ap-28, 0x1.88c0ddc41244ep-33, 0x1.db88d07a46dd9p-39, 0x1.8daa2a363e265p-45},
      {0.0, 0x1.6ee0c1db5a164p-7, 0x1.097c91439430ep-13, -0x1.83306d5d65c22p-8,
       -0x1.2e443e89c39ccp-11, 0x1.9a7e77c08be73p-10, 0x1.b325ae70f25b7p-12, -0x1.0fa2ebdb6de38p-13,
       -0x1.567479cc1bc7p-14, -0x1.24443c5acbbdap-16, -0x1.10f5729f57803p-19,
       -0x1.392168035493fp-23, -0x1.d011a171f1ff4p-28, -0x1.c8ce5f76a3832p-33,
       -0x1.2feb1ee6ac24ap-38, -0x1.1498414b2485ap-44},
      {0x1.565bbe749c6fap-8, -0x1.03d116e70e436p-11, -0x1.e82a86fcc679bp-9, 0x1.41356e4b3d897p-11,
       0x1.71cd81b065b37p-10, -0x1.0998bb3140f8cp-13, -0x1.3815568cac203p-12,
       -0x1.cb6149a7fdabfp-16, 0x1.b2c3340f06b9dp-16, 0x1.2bde7003a774dp-17, 0x1.66ca3352e84e3p-20,
       0x1.e9d35459f960dp-24, 0x1.a05f11084bf5cp-28, 0x1.cbbc0ac0f34c6p-33, 0x1.51dfae974cac1p-38,
       0x1.4fdf2e83f823dp-44},
      {0.0, -0x1.ff28135925ddap-10, 0x1.3165a4af27afep-11, 0x1.d85f9a94e654bp-11,
       -0x1.752ed7823b498p-12, -0x1.dbfc5abcaf78dp-13, 0x1.2b18442c16b6ep-14, 0x1.43daaecf51649p-15,
       -0x1.38934c186e917p-19, -0x1.cd8458a3b1877p-19, -0x1.84f033e53f2bbp-21,
       -0x1.465cd30d6ca9fp-24, -0x1.433a055f364ddp-28, -0x1.93ce9365f9cd5p-33,
       -0x1.4980317b15852p-38, -0x1.66cfdb64a1223p-44},
      {-0x1.c01d78ed8c4e6p-11, 0x1.d7d941de48d9ap-13, 0x1.125799fcdaf4p-11, -0x1.3a74f21bd6f94p-12,
       -0x1.0794a7253c4e1p-13, 0x1.b66dcca54952dp-14, 0x1.1ef0aee696817p-16, -0x1.03af30dec24f6p-16,
       -0x1.8085517832be3p-19, 0x1.b9fec0010702dp-21, 0x1.53bed17b9f62ep-22, 0x1.7222695446b13p-25,
       0x1.b4f2d44a6ba5bp-29, 0x1.38c3e9842b283p-33, 0x1.1dc56713bade1p-38, 0x1.571f8f47646c2p-44},
      {0.0, 0x1.20c92ab1f2cf7p-12, -0x1.45b645a7d838bp-13, -0x1.3cee582b10f6p-14,
       0x1.6aa59ecd82935p-14, -0x1.a96afdcd974afp-22, -0x1.27b61a6999ec9p-16, 0x1.6ff82f21d719dp-20,
       0x1.ff3c450cc93afp-20, 0x1.e854433cffc35p-26, -0x1.bf7120134278ep-24, -0x1.6788a094745c1p-26,
       -0x1.0973a281181c1p-29, -0x1.c0e43b7b8b8dep-34, -0x1.d690352093eedp-39,
       -0x1.3e6e63824318dp-44},
      {0x1.f0ad13c6e0fe7p-14, -0x1.8ef6280d69051p-15, -0x1.bb9491bb2e45bp-15, 0x1.d3ca4e3d6e13ep-15,
       -0x1.0419526e4b278p-18, -0x1.e11421a6ec74fp-17, 0x1.14f5153cff7f6p-18, 0x1.9ffececda2bf9p-20,
       -0x1.20ed70cbb75dap-21, -0x1.15889da78eeecp-23, 0x1.59d4455d183edp-26, 0x1.17a24ae80686cp-27,
       0x1.0cd390cf69024p-30, 0x1.0e02574972dafp-34, 0x1.42eefe3ec79cbp-39, 0x1.e738a11f99e33p-45}};
  const V magic = round_magic(d);
  const V limited = min_or_second(d, hn::Set(d, 6.25), x);  // where it has become 1
  const V index = hn::MulAdd(limited, hn::Set(d, 32.0 / 13), magic);
  const V n = hn::Sub(index, magic);
  const V h = hn::NegMulAdd(n, hn::Set(d, 13.0 / 32), limited);
  V sum = look_up(d, kTerms[12], index);
  for (size_t i = 12; i-- > 1;) sum = hn::MulAdd(sum, h, look_up(d, kTerms[i], index));
  const V constant = hn::IfThenElse(hn::Eq(n, hn::Zero(d)), x, look_up(d, kHigh, index));
  const V slope = look_up(d, kTerms[0], index);
  const V main = hn::MulAdd(slope, h, constant);
  const V lost = hn::MulSub(slope, h, hn::Sub(main, constant));
  const V low = hn::Add(lost, look_up(d, kLow, index));
  return hn::Add(main, hn::MulAdd(hn::Mul(sum, h), h, low));
}

#endif

}  // namespace mindtorch::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR

#endif  // include guard per target
