// Hyperbolic functions and their inverses.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/hyperbolic.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/math-inl.h"

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

// On |x|; beyond the clamp the result is 1. float32 has a polynomial for the small arguments, where
// 1 - 2 / (e^2x + 1) would cancel. float64 uses t / (t + 2) with t = e^2x - 1 instead, and puts
// back what the sum t + 2 rounded away.
struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V one = math::constant(d, 1);
    const V two = math::constant(d, 2);
    const V x = min_or_second(d, math::constant(d, 10.0f, 20.0), hn::Abs(a));
    const auto n = math::reduce_exp(d, hn::Add(x, x));
    const V scale = math::power_of_two(d, n.whole);
    if constexpr (math::kIsFloat32<D>) {
      static constexpr float kTerms[] = {-0x1.55554ap-2f, 0x1.110ceep-3f, -0x1.b91e7ep-5f,
                                         0x1.58e516p-6f, -0x1.99218ap-8f};
      const V square = hn::Mul(x, x);
      const V small = hn::MulAdd(hn::Mul(math::polynomial(d, square, kTerms), square), x, x);
      const V e = math::exp_of_rest(d, n.rest);
      const V large = hn::Sub(one, hn::Div(two, hn::MulAdd(e, scale, one)));
      return hn::CopySign(hn::IfThenElse(hn::Lt(x, hn::Set(d, 0.55f)), small, large), a);
    } else {
      const V t = hn::MulAdd(scale, math::expm1_of_rest(d, n.rest), hn::Sub(scale, one));
      const V sum = hn::Add(t, two);
      const V lost = hn::Sub(t, hn::Sub(sum, two));
      const V quotient = hn::Div(t, sum);
      // The clamp bounds sum from below by 2: dividing by it is close to scaling what is lost.
      const V corrected = hn::NegMulAdd(hn::Mul(quotient, lost), hn::Div(one, sum), quotient);
      return hn::CopySign(corrected, a);
    }
  }
};

// Most others of float32 go through float64, where their textbook forms are accurate enough: none
// loses more than half of its 53 bits.
struct Sinh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(InDouble(), d, a);
  }
  struct InDouble {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V a) const {
      const V t = math::expm1(d, hn::Abs(a));
      const V sum = hn::Add(t, hn::Div(t, hn::Add(t, hn::Set(d, 1.0))));
      // expm1 of infinity would give inf / inf.
      const V safe = hn::IfThenElse(hn::Eq(t, math::infinity(d)), t, sum);
      return hn::CopySign(hn::Mul(safe, hn::Set(d, 0.5)), a);
    }
  };
};
struct Cosh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(InDouble(), d, a);
  }
  struct InDouble {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V a) const {
      const V e = math::exp(d, hn::Abs(a));
      const V half = hn::Set(d, 0.5);
      return hn::MulAdd(e, half, hn::Div(half, e));
    }
  };
};
struct Asinh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(InDouble(), d, a);
  }
  struct InDouble {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V a) const {
      const V x = hn::Abs(a);
      const V root = hn::Sqrt(hn::MulAdd(x, x, hn::Set(d, 1.0)));
      const V large = math::log(d, hn::Add(x, root));
      // Below 2^-12 the sum keeps too little of x; two terms of the series are exact to 2^-50.
      const V small = hn::NegMulAdd(hn::Mul(x, hn::Set(d, 1.0 / 6)), hn::Mul(x, x), x);
      const V result = hn::IfThenElse(hn::Lt(x, hn::Set(d, 0x1p-12)), small, large);
      return hn::CopySign(result, a);
    }
  };
};
struct Acosh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return math::through_double(InDouble(), d, a);
  }
  struct InDouble {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V a) const {
      const V one = hn::Set(d, 1.0);
      const V root = hn::Sqrt(hn::Mul(hn::Sub(a, one), hn::Add(a, one)));
      const V result = math::log(d, hn::Add(a, root));
      return hn::IfThenElse(hn::Lt(a, one), math::nan(d), result);
    }
  };
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
void enter(TileTable& table) {
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
  enter<float>(table);
  enter<double>(table);
#if HWY_TARGET != HWY_SCALAR
  table.add(Pointwise::kTanh, DType::kFloat32, &map_tile<Tanh, float>);
  table.add(Pointwise::kTanh, DType::kFloat64, &map_tile<Tanh, double, 2>);
  table.add(Pointwise::kSinh, DType::kFloat32, &map_tile<Sinh, float, 1>);
  table.add(Pointwise::kCosh, DType::kFloat32, &map_tile<Cosh, float, 1>);
  table.add(Pointwise::kAsinh, DType::kFloat32, &map_tile<Asinh, float, 1>);
  table.add(Pointwise::kAcosh, DType::kFloat32, &map_tile<Acosh, float, 1>);
  table.add(Pointwise::kAtanh, DType::kFloat32, &map_tile<Atanh, float, 2>);
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
