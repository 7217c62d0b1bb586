// Functions of complex numbers, from the C++ library; and the angle of real ones.

#include <cmath>
#include <complex>
#include <numbers>

#include "mindtorch/backends/cpu/tiles/table.h"

namespace mindtorch::cpu {
namespace {

using ops::Pointwise;
using ops::PointwiseParams;

template <typename T>
using Complex = std::complex<T>;

template <typename T, auto kFunction, typename Result = Complex<T>>
void map(const void* const* inputs, void* out, int64_t n, const PointwiseParams&) {
  const auto* a = static_cast<const Complex<T>*>(inputs[0]);
  auto* to = static_cast<Result*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = kFunction(a[i]);
}

template <typename T>
T real_angle(T a) {
  return a != a ? a : std::signbit(a) && a != 0 ? std::numbers::pi_v<T> : T{0};
}
template <typename T>
void angles(const void* const* inputs, void* out, int64_t n, const PointwiseParams&) {
  const auto* a = static_cast<const T*>(inputs[0]);
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = real_angle(a[i]);
}

template <typename T>
Complex<T> unit(Complex<T> a) {
  const T length = std::abs(a);
  return length == 0 ? Complex<T>{} : a / length;
}
template <typename T>
Complex<T> log_in_base(Complex<T> a, T factor) {
  const Complex<T> natural = std::log(a);
  return {natural.real() * factor, natural.imag() * factor};
}
// Without the digits that 1 + a loses where a is small.
template <typename T>
Complex<T> log1p(Complex<T> a) {
  const T x = a.real();
  const T y = a.imag();
  if (std::fabs(x) >= T{0.5} || std::fabs(y) >= T{0.5}) return std::log(T{1} + a);
  return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, T{1} + x)};
}
template <typename T>
Complex<T> expm1(Complex<T> a) {
  const T x = a.real();
  const T half = std::sin(a.imag() / 2);
  const T growth = std::expm1(x);
  return {growth * std::cos(a.imag()) - 2 * half * half, std::exp(x) * std::sin(a.imag())};
}
template <typename T>
Complex<T> sinc(Complex<T> a) {
  if (a == Complex<T>{}) return T{1};
  const Complex<T> angle = a * std::numbers::pi_v<T>;
  return std::sin(angle) / angle;
}

template <typename T>
Complex<T> power(Complex<T> base, Complex<T> exponent) {
  if (exponent == Complex<T>{}) return T{1};
  if (base == Complex<T>{} && exponent.imag() == 0) {
    if (exponent.real() > 0) return {};
    const T nan = std::numeric_limits<T>::quiet_NaN();
    return {std::numeric_limits<T>::infinity(), nan};
  }
  return std::pow(base, exponent);
}
template <typename T>
void powers(const void* const* inputs, void* out, int64_t n, const PointwiseParams&) {
  const auto* a = static_cast<const Complex<T>*>(inputs[0]);
  const auto* b = static_cast<const Complex<T>*>(inputs[1]);
  auto* to = static_cast<Complex<T>*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = power(a[i], b[i]);
}
template <typename T>
void power_of_number(const void* const* inputs,
                     void* out,
                     int64_t n,
                     const PointwiseParams& params) {
  const auto* a = static_cast<const Complex<T>*>(inputs[0]);
  auto* to = static_cast<Complex<T>*>(out);
  const Complex<T> exponent(static_cast<T>(params.f[0]), static_cast<T>(params.imag[0]));
  for (int64_t i = 0; i < n; ++i) to[i] = power(a[i], exponent);
}

template <typename T>
void enter_complex_functions(TileTable& table) {
  using C = Complex<T>;
  constexpr DType kDType = DTypeOf<C>::value;
  const auto add = [&](Pointwise function, TileFn tile) { table.add(function, kDType, tile); };
  add(Pointwise::kAbs, &map<T, [](C a) { return std::abs(a); }, T>);
  add(Pointwise::kAngle, &map<T, [](C a) { return std::arg(a); }, T>);
  add(Pointwise::kSign, &map<T, [](C a) { return unit(a); }>);
  add(Pointwise::kSqrt, &map<T, [](C a) { return std::sqrt(a); }>);
  add(Pointwise::kRsqrt, &map<T, [](C a) { return T{1} / std::sqrt(a); }>);
  add(Pointwise::kExp, &map<T, [](C a) { return std::exp(a); }>);
  add(Pointwise::kExp2, &map<T, [](C a) { return std::exp(a * std::numbers::ln2_v<T>); }>);
  add(Pointwise::kExpm1, &map<T, [](C a) { return expm1(a); }>);
  add(Pointwise::kLog, &map<T, [](C a) { return std::log(a); }>);
  add(Pointwise::kLog2, &map<T, [](C a) { return log_in_base(a, std::numbers::log2e_v<T>); }>);
  add(Pointwise::kLog10, &map<T, [](C a) { return log_in_base(a, std::numbers::log10e_v<T>); }>);
  add(Pointwise::kLog1p, &map<T, [](C a) { return log1p(a); }>);
  add(Pointwise::kSinc, &map<T, [](C a) { return sinc(a); }>);
  add(Pointwise::kSin, &map<T, [](C a) { return std::sin(a); }>);
  add(Pointwise::kCos, &map<T, [](C a) { return std::cos(a); }>);
  add(Pointwise::kTan, &map<T, [](C a) { return std::tan(a); }>);
  add(Pointwise::kAsin, &map<T, [](C a) { return std::asin(a); }>);
  add(Pointwise::kAcos, &map<T, [](C a) { return std::acos(a); }>);
  add(Pointwise::kAtan, &map<T, [](C a) { return std::atan(a); }>);
  add(Pointwise::kSinh, &map<T, [](C a) { return std::sinh(a); }>);
  add(Pointwise::kCosh, &map<T, [](C a) { return std::cosh(a); }>);
  add(Pointwise::kTanh, &map<T, [](C a) { return std::tanh(a); }>);
  add(Pointwise::kAsinh, &map<T, [](C a) { return std::asinh(a); }>);
  add(Pointwise::kAcosh, &map<T, [](C a) { return std::acosh(a); }>);
  add(Pointwise::kAtanh, &map<T, [](C a) { return std::atanh(a); }>);
  add(Pointwise::kSigmoid, &map<T, [](C a) { return T{1} / (T{1} + std::exp(-a)); }>);
  add(Pointwise::kSilu, &map<T, [](C a) { return a / (T{1} + std::exp(-a)); }>);
  add(Pointwise::kPow, &powers<T>);
  add(Pointwise::kPowScalar, &power_of_number<T>);
  table.add(Pointwise::kAngle, DTypeOf<T>::value, &angles<T>);
}

}  // namespace

void add_complex_functions(TileTable& table) {
  enter_complex_functions<float>(table);
  enter_complex_functions<double>(table);
}

}  // namespace mindtorch::cpu
