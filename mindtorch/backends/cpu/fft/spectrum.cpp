// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/fft/spectrum.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>
#include <cstddef>

#include "mindtorch/backends/cpu/fft/complex-inl.h"
#include "mindtorch/backends/cpu/fft/spectrum.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace {

template <typename T>
int64_t lanes() {
  return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}
template <typename T>
HWY_INLINE Complex<T> reversed(Complex<T> x) {
  const hn::ScalableTag<T> d;
  return {hn::Reverse(d, x.re), hn::Reverse(d, x.im)};
}
template <typename T>
HWY_INLINE V<T> half_of_one() {
  return hn::Set(hn::ScalableTag<T>(), T(0.5));
}

// The first `count` numbers, as those of a whole vector.
template <typename T>
HWY_INLINE Complex<T> load_first(const T* from, int64_t count) {
  T padded[2 * hn::MaxLanes(hn::ScalableTag<T>())] = {};
  std::copy_n(from, 2 * count, padded);
  return load(padded);
}
template <typename T>
HWY_INLINE void store_first(Complex<T> x, T* to, int64_t count) {
  T padded[2 * hn::MaxLanes(hn::ScalableTag<T>())];
  store(x, padded);
  std::copy_n(padded, 2 * count, to);
}
// The `count` numbers before `end`, the last one first.
template <typename T>
HWY_INLINE Complex<T> load_mirrored(const T* end, int64_t count) {
  T padded[2 * hn::MaxLanes(hn::ScalableTag<T>())] = {};
  std::copy_n(end - 2 * count, 2 * count, padded + 2 * (lanes<T>() - count));
  return reversed(load(padded));
}
template <typename T>
HWY_INLINE void store_mirrored(Complex<T> x, T* end, int64_t count) {
  T padded[2 * hn::MaxLanes(hn::ScalableTag<T>())];
  store(reversed(x), padded);
  std::copy_n(padded + 2 * (lanes<T>() - count), 2 * count, end - 2 * count);
}

template <typename T>
void multiply(int64_t count, const T* a, const T* b, T* to, bool conjugated) {
  const V<T> sign = hn::Set(hn::ScalableTag<T>(), conjugated ? T(-1) : T(1));
  const auto product = [&](Complex<T> x, Complex<T> y) {
    const Complex<T> made = x * y;
    return Complex<T>{made.re, hn::Mul(made.im, sign)};
  };
  int64_t i = 0;
  for (; i + lanes<T>() <= count; i += lanes<T>()) {
    store(product(load(a + 2 * i), load(b + 2 * i)), to + 2 * i);
  }
  const int64_t left = count - i;
  if (left == 0) return;
  store_first(product(load_first(a + 2 * i, left), load_first(b + 2 * i, left)), to + 2 * i, left);
}

// Calls pair(from(k), from(size - k), turn(k), low, high) for 1 <= k <= size / 2, to store low at k
// and high at size - k.
template <typename T, typename Pair>
HWY_INLINE void for_pairs(int64_t size, const T* turns, const T* from, T* to, const Pair& pair) {
  Complex<T> low, high;
  int64_t k = 1;
  for (; 2 * (k + lanes<T>() - 1) < size; k += lanes<T>()) {
    const int64_t mirror = size - k - lanes<T>() + 1;
    pair(load(from + 2 * k), reversed(load(from + 2 * mirror)), load(turns + 2 * k), low, high);
    store(low, to + 2 * k);
    store(reversed(high), to + 2 * mirror);
  }
  const int64_t left = size / 2 - k + 1;
  if (left <= 0) return;
  pair(load_first(from + 2 * k, left), load_mirrored(from + 2 * (size - k + 1), left),
       load_first(turns + 2 * k, left), low, high);
  store_mirrored(high, to + 2 * (size - k + 1), left);
  store_first(low, to + 2 * k, left);
}

// Z(k) = E + i O and conj(Z(half - k)) = E - i O, where E and O are the spectra of the even and the
// odd elements. X(k) = E + w O, and X(half - k) = conj(E - w O).
template <typename T>
void untangle(int64_t half, const T* turns, T* line) {
  const T re = line[0];
  const T im = line[1];
  const auto pair = [](Complex<T> z, Complex<T> mirrored, Complex<T> w, auto& low, auto& high) {
    const Complex<T> other = conjugate(mirrored);
    const Complex<T> even = (z + other) * half_of_one<T>();
    const Complex<T> odd = times_minus_i((z - other) * half_of_one<T>()) * w;
    low = even + odd;
    high = conjugate(even - odd);
  };
  for_pairs(half, turns, line, line, pair);
  line[0] = re + im;
  line[2 * half] = re - im;
  line[1] = line[2 * half + 1] = 0;
}

template <typename T>
void tangle(int64_t half, const T* turns, const T* from, T* to) {
  const auto pair = [](Complex<T> x, Complex<T> mirrored, Complex<T> w, auto& low, auto& high) {
    const Complex<T> other = conjugate(mirrored);
    const Complex<T> even = x + other;
    const Complex<T> odd = (x - other) * conjugate(w);
    low = plus_i(even, odd);
    high = conjugate(minus_i(even, odd));
  };
  for_pairs(half, turns, from, to, pair);
  to[0] = from[0] + from[2 * half];
  to[1] = from[0] - from[2 * half];
}

// Z = A + i B, and the spectra of real lines are symmetric: A(length - k) = conj(A(k)).
template <typename T>
void separate(int64_t length, const T* z, T* a, T* b) {
  const auto put = [&](int64_t k, int64_t count, Complex<T> x, Complex<T> mirrored) {
    const Complex<T> other = conjugate(mirrored);
    store_first((x + other) * half_of_one<T>(), a + 2 * k, count);
    if (b == nullptr) return;
    store_first(times_minus_i((x - other) * half_of_one<T>()), b + 2 * k, count);
  };
  a[0] = z[0];
  a[1] = 0;
  if (b != nullptr) {
    b[0] = z[1];
    b[1] = 0;
  }
  for (int64_t k = 1; 2 * k < length; k += lanes<T>()) {
    const int64_t count = std::min(lanes<T>(), (length + 1) / 2 - k);
    put(k, count, load_first(z + 2 * k, count), load_mirrored(z + 2 * (length - k + 1), count));
  }
}

template <typename T>
void join(int64_t length, const T* a, const T* b, T* z) {
  z[0] = a[0];
  z[1] = b == nullptr ? 0 : b[0];
  const Complex<T> none = {hn::Zero(hn::ScalableTag<T>()), hn::Zero(hn::ScalableTag<T>())};
  for (int64_t k = 1; 2 * k < length; k += lanes<T>()) {
    const int64_t count = std::min(lanes<T>(), (length + 1) / 2 - k);
    const Complex<T> x = load_first(a + 2 * k, count);
    const Complex<T> y = b == nullptr ? none : load_first(b + 2 * k, count);
    store_first(plus_i(x, y), z + 2 * k, count);
    store_mirrored(plus_i(conjugate(x), conjugate(y)), z + 2 * (length - k + 1), count);
  }
}

template <typename T>
void separate_panel(int64_t length, const T* z, T* pairs) {
  const int64_t row = 2 * lanes<T>();
  for (int64_t k = 0; 2 * k <= length; ++k) {
    const Complex<T> x = load(z + k * row);
    const Complex<T> other = conjugate(load(z + (k == 0 ? 0 : length - k) * row));
    const Complex<T> a = (x + other) * half_of_one<T>();
    const Complex<T> b = times_minus_i((x - other) * half_of_one<T>());
    hn::StoreInterleaved4(a.re, a.im, b.re, b.im, hn::ScalableTag<T>(), pairs + 2 * k * row);
  }
}

// What real lines do not have, imaginary parts of the first and of the middle element, is ignored.
template <typename T>
void join_panel(int64_t length, const T* pairs, T* z) {
  const int64_t row = 2 * lanes<T>();
  for (int64_t k = 0; 2 * k <= length; ++k) {
    Complex<T> a, b;
    hn::LoadInterleaved4(hn::ScalableTag<T>(), pairs + 2 * k * row, a.re, a.im, b.re, b.im);
    if (k == 0 || 2 * k == length) {
      store(Complex<T>{a.re, b.re}, z + k * row);
    } else {
      store(plus_i(a, b), z + k * row);
      store(plus_i(conjugate(a), conjugate(b)), z + (length - k) * row);
    }
  }
}

template <typename T>
bool is_finite(int64_t count, const T* numbers) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d);
  auto found = zero;  // NaN where a number is not finite
  int64_t i = 0;
  for (; i + lanes<T>() <= count; i += lanes<T>()) {
    found = hn::MulAdd(hn::LoadU(d, numbers + i), zero, found);
  }
  T rest = 0;
  for (; i < count; ++i) rest += numbers[i] * T(0);
  return rest == 0 && hn::AllTrue(d, hn::Eq(found, zero));
}

template <typename T>
constexpr SpectrumFunctions<T> kFunctions = {multiply<T>,   untangle<T>, tangle<T>,
                                             separate<T>,   join<T>,     separate_panel<T>,
                                             join_panel<T>, is_finite<T>};

const SpectrumFunctions<float>* spectrum_float32() { return &kFunctions<float>; }
const SpectrumFunctions<double>* spectrum_float64() { return &kFunctions<double>; }

}  // namespace
}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::fft {

HWY_EXPORT(spectrum_float32);
HWY_EXPORT(spectrum_float64);

template <>
const SpectrumFunctions<float>& spectrum_functions() {
  static const auto& functions = *HWY_DYNAMIC_DISPATCH(spectrum_float32)();
  return functions;
}
template <>
const SpectrumFunctions<double>& spectrum_functions() {
  static const auto& functions = *HWY_DYNAMIC_DISPATCH(spectrum_float64)();
  return functions;
}

}  // namespace mindtorch::cpu::fft
#endif  // HWY_ONCE
