// Hyperbolic functions and their inverses.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/hyperbolic.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/math-inl.h"
#include "mindtorch/backends/cpu/tiles/sigmoid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// clang-format off
struct LibrarySinh { template <class T> T operator()(T x) const { return std::sinh(x); } };
struct LibraryCosh { template <class T> T operator()(T x) const { return std::cosh(x); } };
struct LibraryTanh { template <class T> T operator()(T x) const { return std::tanh(x); } };
struct LibraryAsinh { template <class T> T operator()(T x) const { return std::asinh(x); } };
struct LibraryAcosh { template <class T> T operator()(T x) const { return std::acosh(x); } };
struct LibraryAtanh { template <class T> T operator()(T x) const { return std::atanh(x); } };
// clang-format on

#if HWY_TARGET != HWY_SCALAR

// The others of float32 go through float64.
template <class InDouble>
struct Widened {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(InDouble(), d, a);
  }
};

// A quarter of e^x has room where e^x overflows. Beyond 40 its reciprocal no longer counts.
struct Sinh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = min_or_second(d, hn::Set(d, 710.5), hn::Abs(a));
    const auto n = math::reduce_exp(d, x);
    const V scale = math::power_of_two(d, hn::Sub(n.whole, hn::Set(d, 2.0)));
    const V p = math::expm1_of_rest(d, n.rest);
    const V quarter = hn::MulAdd(scale, p, hn::Sub(scale, hn::Set(d, 0.25)));
    const V half = hn::Add(quarter, quarter);
    const V bottom = hn::MulAdd(half, hn::Set(d, 2.0), hn::Set(d, 1.0));
    const V sum = hn::Add(half, hn::Div(half, bottom));
    return hn::CopySign(hn::IfThenElse(hn::Gt(x, hn::Set(d, 40.0)), half, sum), a);
  }
};
struct Cosh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = min_or_second(d, hn::Set(d, 710.5), hn::Abs(a));
    const auto n = math::reduce_exp(d, x);
    const V scale = math::power_of_two(d, hn::Sub(n.whole, hn::Set(d, 2.0)));
    const V quarter = hn::Mul(scale, math::exp_of_rest<true>(d, n.rest));
    const V half = hn::Add(quarter, quarter);
    return hn::Add(half, hn::Div(hn::Set(d, 0.25), half));
  }
};

// Of float32: polynomials up to 1; beyond, float64 to the accuracy that float32 needs.
template <int kSign>
struct HalfSumOfPowers {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = min_or_second(d, hn::Set(d, 100.0), hn::Abs(a));
    const V half = hn::Mul(math::short_exp(d, x), hn::Set(d, 0.5));
    const V rest = hn::Div(hn::Set(d, 0.25), half);
    return kSign < 0 ? hn::CopySign(hn::Sub(half, rest), a) : hn::Add(half, rest);
  }
};
struct SinhFloat {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    static constexpr float kTerms[] = {0x1.555556p-3f, 0x1.11113p-7f, 0x1.a00094p-13f,
                                       0x1.79d77cp-19f};
    const V z = hn::Mul(a, a);
    const V close = hn::MulAdd(hn::Mul(math::polynomial(d, z, kTerms), z), a, a);
    const auto is_close = hn::Le(hn::Abs(a), hn::Set(d, 1.0f));
    if (hn::AllTrue(d, is_close)) return close;
    return hn::IfThenElse(is_close, close, math::through_double(HalfSumOfPowers<-1>(), d, a));
  }
};
struct CoshFloat {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    static constexpr float kTerms[] = {1.0f, 0.5f, 0x1.55558p-5f, 0x1.6bfc64p-10f, 0x1.a9fa8ep-16f};
    const V close = math::polynomial(d, hn::Mul(a, a), kTerms);
    const auto is_close = hn::Le(hn::Abs(a), hn::Set(d, 1.0f));
    if (hn::AllTrue(d, is_close)) return close;
    return hn::IfThenElse(is_close, close, math::through_double(HalfSumOfPowers<1>(), d, a));
  }
};

// log(x + sqrt(x^2 + 1)) with the 1 of the logarithm taken out, so that small x keeps its digits;
// log(2x) where the square would overflow.
struct Asinh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = hn::Set(d, 1.0);
    const V x = hn::Abs(a);
    const auto large = hn::Gt(x, hn::Set(d, 0x1p28));
    const V square = hn::Mul(x, x);
    const V root = hn::Sqrt(hn::Add(square, one));
    const V above_one = hn::Add(x, hn::Div(square, hn::Add(one, root)));
    const V logarithm = math::log1p(d, hn::IfThenElse(large, hn::Sub(x, one), above_one));
    const V ln2 = hn::IfThenElseZero(large, hn::Set(d, 0x1.62e42fefa39efp-1));
    return hn::CopySign(hn::Add(logarithm, ln2), a);
  }
};
struct Acosh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = hn::Set(d, 1.0);
    const auto large = hn::Gt(a, hn::Set(d, 0x1p28));
    const V t = hn::Sub(a, one);
    const V above_one = hn::Add(t, hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t))));
    const V logarithm = math::log1p(d, hn::IfThenElse(large, t, above_one));
    const V ln2 = hn::IfThenElseZero(large, hn::Set(d, 0x1.62e42fefa39efp-1));
    return hn::IfThenElse(hn::Lt(a, one), math::nan(d), hn::Add(logarithm, ln2));
  }
};

// On |x|, so that the logarithm's argument stays above 1.
struct Atanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V x = hn::Abs(a);
    const V odds = hn::Div(hn::Add(x, x), hn::Sub(math::constant(d, 1), x));
    return hn::CopySign(hn::Mul(math::log1p(d, odds), math::constant(d, 0.5)), a);
  }
};

#endif

template <class T>
void enter_hyperbolic(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kSinh, kDType, &scalar_tile<LibrarySinh, T, 1>);
  table.add(Pointwise::kCosh, kDType, &scalar_tile<LibraryCosh, T, 1>);
  table.add(Pointwise::kTanh, kDType, &scalar_tile<LibraryTanh, T, 1>);
  table.add(Pointwise::kAsinh, kDType, &scalar_tile<LibraryAsinh, T, 1>);
  table.add(Pointwise::kAcosh, kDType, &scalar_tile<LibraryAcosh, T, 1>);
  table.add(Pointwise::kAtanh, kDType, &scalar_tile<LibraryAtanh, T, 1>);
}

}  // namespace

void hyperbolic(TileTable& table) {
  enter_hyperbolic<float>(table);
  enter_hyperbolic<double>(table);
#if HWY_TARGET != HWY_SCALAR
  table.add(Pointwise::kTanh, DType::kFloat32, &map_tile<Tanh, float>);
  table.add(Pointwise::kTanh, DType::kFloat64, &map_tile<Tanh, double, 2>);
  table.add(Pointwise::kSinh, DType::kFloat32, &map_tile<SinhFloat, float, 2>);
  table.add(Pointwise::kSinh, DType::kFloat64, &map_tile<Sinh, double, 1>);
  table.add(Pointwise::kCosh, DType::kFloat32, &map_tile<CoshFloat, float, 2>);
  table.add(Pointwise::kCosh, DType::kFloat64, &map_tile<Cosh, double, 1>);
  table.add(Pointwise::kAsinh, DType::kFloat32, &map_tile<Widened<Asinh>, float, 1>);
  table.add(Pointwise::kAsinh, DType::kFloat64, &map_tile<Asinh, double, 1>);
  table.add(Pointwise::kAcosh, DType::kFloat32, &map_tile<Widened<Acosh>, float, 1>);
  table.add(Pointwise::kAcosh, DType::kFloat64, &map_tile<Acosh, double, 1>);
  table.add(Pointwise::kAtanh, DType::kFloat32, &map_tile<Atanh, float, 2>);
  table.add(Pointwise::kAtanh, DType::kFloat64, &map_tile<Atanh, double, 1>);
#endif
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(hyperbolic);
void add_hyperbolic(TileTable& table) { HWY_DYNAMIC_DISPATCH(hyperbolic)(table); }
}  // namespace mindtorch::cpu
#endif
