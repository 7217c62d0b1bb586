// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/fft/panel.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <cstddef>
#include <utility>

#include "mindtorch/backends/cpu/fft/complex-inl.h"
#include "mindtorch/backends/cpu/fft/panel.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace {
// --- where passes read and write ---

// Working memory: a vector of real parts, then one of imaginary parts.
template <typename T>
struct FromWork {
  const T* data;
  HWY_INLINE Complex<T> operator()(size_t row) const {
    const hn::ScalableTag<T> d;
    const T* const at = data + row * 2 * hn::Lanes(d);
    return {hn::Load(d, at), hn::Load(d, at + hn::Lanes(d))};
  }
};
template <typename T>
struct ToWork {
  T* data;
  HWY_INLINE void operator()(size_t row, Complex<T> x) const {
    const hn::ScalableTag<T> d;
    T* const at = data + row * 2 * hn::Lanes(d);
    hn::Store(x.re, d, at);
    hn::Store(x.im, d, at + hn::Lanes(d));
  }
};
template <typename T>
struct FromLines {
  const PanelInput<T>& from;
  HWY_INLINE Complex<T> operator()(size_t row) const {
    const Complex<T> x = load(from.data + static_cast<int64_t>(row) * from.stride);
    return {x.re, hn::Mul(x.im, hn::Set(hn::ScalableTag<T>(), from.sign))};
  }
};
template <typename T>
struct ToLines {
  const PanelOutput<T>& to;
  HWY_INLINE void operator()(size_t row, Complex<T> x) const {
    const hn::ScalableTag<T> d;
    store(Complex<T>{hn::Mul(x.re, hn::Set(d, to.scale)),
                     hn::Mul(x.im, hn::Set(d, to.imaginary_scale))},
          to.data + static_cast<int64_t>(row) * to.stride);
  }
};
template <typename T>
struct ToTurnedLines {
  const PanelOutput<T>& to;
  HWY_INLINE void operator()(size_t row, Complex<T> x) const {
    const hn::ScalableTag<T> d;
    const T* const turn = to.twiddles + row * 2 * hn::Lanes(d);
    store(x * Complex<T>{hn::LoadU(d, turn), hn::LoadU(d, turn + hn::Lanes(d))},
          to.data + static_cast<int64_t>(row) * to.stride);
  }
};

// --- transforms of a few elements in registers ---

template <typename T>
HWY_INLINE void transform2(Complex<T>& a, Complex<T>& b) {
  const Complex<T> sum = a + b;
  b = a - b;
  a = sum;
}

template <typename T>
HWY_INLINE void transform4(Complex<T>& a, Complex<T>& b, Complex<T>& c, Complex<T>& d) {
  transform2(a, c);
  transform2(b, d);
  const Complex<T> odd = c;
  transform2(a, b);
  c = b;
  b = minus_i(odd, d);
  d = plus_i(odd, d);
}

// Odd lengths: elements j and R - j meet the same cosine and opposite sines.
template <int R, typename T>
HWY_INLINE void transform_odd(Complex<T> (&x)[R], const T* roots) {
  constexpr int kHalf = (R - 1) / 2;
  const hn::ScalableTag<T> d;
  Complex<T> sums[kHalf], differences[kHalf];
  const Complex<T> first = x[0];
  HWY_UNROLL(8)
  for (int j = 0; j < kHalf; ++j) {
    sums[j] = x[j + 1] + x[R - 1 - j];
    differences[j] = x[j + 1] - x[R - 1 - j];
    x[0] = x[0] + sums[j];
  }
  HWY_UNROLL(8)
  for (int k = 1; k <= kHalf; ++k) {
    const V<T> sine = hn::Set(d, roots[2 * k + 1]);
    Complex<T> even = first;
    Complex<T> odd = {hn::Mul(differences[0].re, sine), hn::Mul(differences[0].im, sine)};
    HWY_UNROLL(8)
    for (int j = 0; j < kHalf; ++j) {
      const T* const root = roots + 2 * ((j + 1) * k % R);
      const V<T> c = hn::Set(d, root[0]);
      even = {hn::MulAdd(sums[j].re, c, even.re), hn::MulAdd(sums[j].im, c, even.im)};
      if (j == 0) continue;
      const V<T> s = hn::Set(d, root[1]);
      odd = {hn::MulAdd(differences[j].re, s, odd.re), hn::MulAdd(differences[j].im, s, odd.im)};
    }
    x[k] = minus_i(even, odd);
    x[R - k] = plus_i(even, odd);
  }
}

template <int R, typename T>
HWY_INLINE void transform(Complex<T> (&x)[R], const T* roots) {
  if constexpr (R == 2) {
    transform2(x[0], x[1]);
  } else if constexpr (R == 4) {
    transform4(x[0], x[1], x[2], x[3]);
  } else if constexpr (R == 8) {
    transform4(x[0], x[2], x[4], x[6]);
    transform4(x[1], x[3], x[5], x[7]);
    const V<T> root = hn::Set(hn::ScalableTag<T>(), static_cast<T>(0.70710678118654752440));
    const Complex<T> a = {hn::Mul(hn::Add(x[3].re, x[3].im), root),
                          hn::Mul(hn::Sub(x[3].im, x[3].re), root)};
    const Complex<T> b = times_minus_i(x[5]);
    const Complex<T> c = {hn::Mul(hn::Sub(x[7].im, x[7].re), root),
                          hn::Mul(hn::Neg(hn::Add(x[7].re, x[7].im)), root)};
    const Complex<T> even[4] = {x[0], x[2], x[4], x[6]};
    const Complex<T> odd[4] = {x[1], a, b, c};
    HWY_UNROLL(4)
    for (int k = 0; k < 4; ++k) {
      x[k] = even[k] + odd[k];
      x[k + 4] = even[k] - odd[k];
    }
  } else {
    transform_odd<R>(x, roots);
  }
}

template <int R, typename T, typename From, typename To>
void run_pass(const Pass<T>& pass, const From& from, const To& to) {
  const hn::ScalableTag<T> d;
  const auto groups = static_cast<size_t>(pass.groups);
  const auto stride = static_cast<size_t>(pass.stride);
  const T* twiddles = pass.twiddles.data();
  const T* const roots = pass.roots.data();
  for (size_t p = 0; p < groups; ++p, twiddles += 2 * (R - 1)) {
    for (size_t q = 0; q < stride; ++q) {
      Complex<T> x[R];
      HWY_UNROLL(16)
      for (size_t k = 0; k < R; ++k) x[k] = from(q + stride * (p + groups * k));
      transform<R>(x, roots);
      const size_t first = q + stride * (R * p);
      to(first, x[0]);
      HWY_UNROLL(16)
      for (size_t k = 1; k < R; ++k) {
        const T* const w = twiddles + 2 * (k - 1);
        if (p > 0) x[k] = x[k] * Complex<T>{hn::Set(d, w[0]), hn::Set(d, w[1])};
        to(first + stride * k, x[k]);
      }
    }
  }
}

// A large odd radix: outputs k and R - k, kBlock values of k at once.
template <int kBlock, typename T, typename To>
HWY_INLINE void odd_outputs(const Pass<T>& pass,
                            const T* sums,
                            const T* differences,
                            Complex<T> first,
                            size_t k,
                            size_t p,
                            size_t at,
                            const To& to) {
  const hn::ScalableTag<T> d;
  const auto radix = static_cast<size_t>(pass.radix);
  const size_t half = (radix - 1) / 2;
  Complex<T> even[kBlock], odd[kBlock];
  size_t turn[kBlock];
  HWY_UNROLL(4)
  for (size_t b = 0; b < kBlock; ++b) {
    even[b] = first;
    odd[b] = {hn::Zero(d), hn::Zero(d)};
    turn[b] = 0;
  }
  for (size_t j = 0; j < half; ++j) {
    const Complex<T> sum = FromWork<T>{sums}(j);
    const Complex<T> difference = FromWork<T>{differences}(j);
    HWY_UNROLL(4)
    for (size_t b = 0; b < kBlock; ++b) {
      turn[b] += k + b;
      if (turn[b] >= radix) turn[b] -= radix;
      const V<T> c = hn::Set(d, pass.roots[2 * turn[b]]);
      const V<T> s = hn::Set(d, pass.roots[2 * turn[b] + 1]);
      even[b] = {hn::MulAdd(sum.re, c, even[b].re), hn::MulAdd(sum.im, c, even[b].im)};
      odd[b] = {hn::MulAdd(difference.re, s, odd[b].re), hn::MulAdd(difference.im, s, odd[b].im)};
    }
  }
  const auto put = [&](size_t output, Complex<T> x) {
    const T* const w = pass.twiddles.data() + 2 * (p * (radix - 1) + output - 1);
    to(at + static_cast<size_t>(pass.stride) * output,
       x * Complex<T>{hn::Set(d, w[0]), hn::Set(d, w[1])});
  };
  HWY_UNROLL(4)
  for (size_t b = 0; b < kBlock; ++b) {
    put(k + b, minus_i(even[b], odd[b]));
    put(radix - k - b, plus_i(even[b], odd[b]));
  }
}

template <typename T, typename From, typename To>
void run_odd_pass(const Pass<T>& pass, const From& from, const To& to) {
  constexpr size_t kHalfMost = (kMostRadix - 1) / 2;
  HWY_ALIGN T sums[kHalfMost * 2 * hn::MaxLanes(hn::ScalableTag<T>())];
  HWY_ALIGN T differences[kHalfMost * 2 * hn::MaxLanes(hn::ScalableTag<T>())];
  const auto radix = static_cast<size_t>(pass.radix);
  const auto groups = static_cast<size_t>(pass.groups);
  const auto stride = static_cast<size_t>(pass.stride);
  const size_t half = (radix - 1) / 2;
  for (size_t p = 0; p < groups; ++p) {
    for (size_t q = 0; q < stride; ++q) {
      const Complex<T> first = from(q + stride * p);
      Complex<T> total = first;
      for (size_t j = 1; j <= half; ++j) {
        const Complex<T> a = from(q + stride * (p + groups * j));
        const Complex<T> b = from(q + stride * (p + groups * (radix - j)));
        total = total + (a + b);
        ToWork<T>{sums}(j - 1, a + b);
        ToWork<T>{differences}(j - 1, a - b);
      }
      const size_t at = q + stride * (radix * p);
      to(at, total);
      size_t k = 1;
      for (; k + 3 <= half; k += 4) {
        odd_outputs<4>(pass, sums, differences, first, k, p, at, to);
      }
      for (; k <= half; ++k) odd_outputs<1>(pass, sums, differences, first, k, p, at, to);
    }
  }
}

template <typename T, typename From, typename To>
void run_any_pass(const Pass<T>& pass, const From& from, const To& to) {
  switch (pass.radix) {
    case 2:
      return run_pass<2>(pass, from, to);
    case 3:
      return run_pass<3>(pass, from, to);
    case 4:
      return run_pass<4>(pass, from, to);
    case 5:
      return run_pass<5>(pass, from, to);
    case 7:
      return run_pass<7>(pass, from, to);
    case 8:
      return run_pass<8>(pass, from, to);
    default:
      return run_odd_pass(pass, from, to);
  }
}

template <typename T, typename From>
void run_last_pass(const Pass<T>& pass, const From& from, const PanelOutput<T>& to) {
  if (to.twiddles != nullptr) return run_any_pass(pass, from, ToTurnedLines<T>{to});
  run_any_pass(pass, from, ToLines<T>{to});
}

template <typename T>
void run(const PanelPlan<T>& plan, const PanelInput<T>& from, const PanelOutput<T>& to, T* work) {
  const size_t count = plan.passes.size();
  if (count == 1) return run_last_pass(plan.passes[0], FromLines<T>{from}, to);
  T* other = work + 2 * hn::Lanes(hn::ScalableTag<T>()) * static_cast<size_t>(plan.length);
  run_any_pass(plan.passes[0], FromLines<T>{from}, ToWork<T>{work});
  for (size_t i = 1; i + 1 < count; ++i) {
    run_any_pass(plan.passes[i], FromWork<T>{work}, ToWork<T>{other});
    std::swap(work, other);
  }
  run_last_pass(plan.passes[count - 1], FromWork<T>{work}, to);
}

template <typename T>
int64_t lanes() {
  return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

// One set of functions for each type and instruction set.
int64_t lanes_float32() { return lanes<float>(); }
void run_float32(const PanelPlan<float>& plan,
                 const PanelInput<float>& from,
                 const PanelOutput<float>& to,
                 float* work) {
  run<float>(plan, from, to, work);
}
int64_t lanes_float64() { return lanes<double>(); }
void run_float64(const PanelPlan<double>& plan,
                 const PanelInput<double>& from,
                 const PanelOutput<double>& to,
                 double* work) {
  run<double>(plan, from, to, work);
}

}  // namespace
}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::fft {

HWY_EXPORT(lanes_float32);
HWY_EXPORT(run_float32);
template <>
int64_t panel_lines<float>() {
  static const int64_t lines = HWY_DYNAMIC_DISPATCH(lanes_float32)();
  return lines;
}
template <>
void transform_panel(const PanelPlan<float>& plan,
                     const PanelInput<float>& from,
                     const PanelOutput<float>& to,
                     float* work) {
  HWY_DYNAMIC_DISPATCH(run_float32)(plan, from, to, work);
}

HWY_EXPORT(lanes_float64);
HWY_EXPORT(run_float64);
template <>
int64_t panel_lines<double>() {
  static const int64_t lines = HWY_DYNAMIC_DISPATCH(lanes_float64)();
  return lines;
}
template <>
void transform_panel(const PanelPlan<double>& plan,
                     const PanelInput<double>& from,
                     const PanelOutput<double>& to,
                     double* work) {
  HWY_DYNAMIC_DISPATCH(run_float64)(plan, from, to, work);
}

}  // namespace mindtorch::cpu::fft
#endif  // HWY_ONCE
