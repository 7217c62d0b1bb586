// Division, remainders, powers and divisors of integers. There is no vector instruction for integer
// division; quotients of up to 32 bits go through floating point, where the compiler vectorises
// them.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/divide_int.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE T wrapping_mul(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <class T>
HWY_INLINE T wrapping_sub(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// a / b towards zero; the smallest integer by -1 wraps to itself. The float quotient of integers
// that it holds exactly lies too close to the true one to cross a whole number. kNear: of int64,
// both have at most kNearBits bits.
constexpr int kNearBits = 52;
template <bool kNear, class T>
HWY_INLINE T quotient(T a, T b) {
  if constexpr (sizeof(T) <= 2) {
    return static_cast<T>(static_cast<int32_t>(static_cast<float>(a) / static_cast<float>(b)));
  } else if constexpr (sizeof(T) == 4 || kNear) {
    return static_cast<T>(static_cast<double>(a) / static_cast<double>(b));
  } else {
    return b == -1 ? wrapping_sub(T{0}, a) : static_cast<T>(a / b);
  }
}

template <bool kNear>
struct TruncDivide {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return quotient<kNear>(a, b);
  }
};
template <bool kNear>
struct Fmod {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return wrapping_sub(a, wrapping_mul(quotient<kNear>(a, b), b));
  }
};
template <bool kNear>
struct FloorDivide {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    const T q = quotient<kNear>(a, b);
    if constexpr (std::is_signed_v<T>) {
      const T rest = wrapping_sub(a, wrapping_mul(q, b));
      const bool differ = (rest != 0) & ((rest ^ b) < 0);
      return static_cast<T>(q - (differ ? 1 : 0));
    } else {
      return q;
    }
  }
};
template <bool kNear>
struct Remainder {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    const T rest = wrapping_sub(a, wrapping_mul(quotient<kNear>(a, b), b));
    if constexpr (std::is_signed_v<T>) {
      const bool differ = (rest != 0) & ((rest ^ b) < 0);
      return static_cast<T>(rest + (differ ? b : T{0}));
    } else {
      return rest;
    }
  }
};

// scalar_tile for int64 in blocks: where all numbers of a block are near zero, the division is one
// of float64, which is done on vectors.
template <template <bool> class Op>
void long_division_tile(const void* const* inputs,
                        void* to,
                        int64_t n,
                        const PointwiseParams& params) {
  constexpr int64_t kBlock = 512;
  const auto* a = static_cast<const int64_t*>(inputs[0]);
  const auto* b = static_cast<const int64_t*>(inputs[1]);
  auto* out = static_cast<int64_t*>(to);
  const auto bits_beyond = [](int64_t v) { return (v ^ v >> 63) >> kNearBits; };
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    int64_t far = 0;
    for (int64_t i = begin; i < begin + count; ++i) far |= bits_beyond(a[i]) | bits_beyond(b[i]);
    const void* const block[] = {a + begin, b + begin};
    if (far == 0) {
      scalar_tile<Op<true>, int64_t, 2>(block, out + begin, count, params);
    } else {
      scalar_tile<Op<false>, int64_t, 2>(block, out + begin, count, params);
    }
  }
}

// The division, after a look at the divisors: nothing is written when one of them is zero.
template <template <bool> class Op, class T>
void division_tile(const void* const* inputs, void* to, int64_t n, const PointwiseParams& params) {
  const T* divisors = static_cast<const T*>(inputs[1]);
  int zeros = 0;
  for (int64_t i = 0; i < n; ++i) zeros |= divisors[i] == 0 ? 1 : 0;
  if (HWY_UNLIKELY(zeros != 0)) throw RuntimeError("ZeroDivisionError");
  if constexpr (sizeof(T) == 8) {
    long_division_tile<Op>(inputs, to, n, params);
  } else {
    scalar_tile<Op<false>, T, 2>(inputs, to, n, params);
  }
}

// Wraps on overflow. A negative exponent gives what the exact power truncates to; 0 gives 0.
struct Pow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V base, V exponent) const {
    using T = hn::TFromD<D>;
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, T{1});
    V result = one;
    V factor = base;
    V rest = max_or_second(d, exponent, zero);
    while (!hn::AllTrue(d, hn::Eq(rest, zero))) {
      const auto odd = hn::Eq(hn::And(rest, one), one);
      result = hn::IfThenElse(odd, multiply(d, result, factor), result);
      factor = multiply(d, factor, factor);
      rest = hn::ShiftRight<1>(rest);
    }
    if constexpr (hwy::IsSigned<T>()) {
      const V minus_one = hn::Set(d, T{-1});
      const auto even = hn::Eq(hn::And(exponent, one), zero);
      const V turned = hn::IfThenElse(even, one, base);
      const auto is_unit = hn::Or(hn::Eq(base, one), hn::Eq(base, minus_one));
      const V inverse = hn::IfThenElseZero(is_unit, turned);
      result = hn::IfThenElse(hn::Lt(exponent, zero), inverse, result);
    }
    return result;
  }
};

// One exponent for all: the squarings and products are those of its bits.
struct PowScalar {
  explicit PowScalar(const PointwiseParams& p) : exponent(p.i[0]) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    V result = hn::Set(d, hn::TFromD<D>{1});
    for (int64_t rest = exponent; rest > 0; rest >>= 1) {
      if ((rest & 1) != 0) result = multiply(d, result, a);
      a = multiply(d, a, a);
    }
    return result;
  }
  int64_t exponent;
};

template <class T>
HWY_INLINE uint64_t magnitude(T a) {
  if constexpr (std::is_signed_v<T>) {
    return a < 0 ? uint64_t{0} - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  } else {
    return a;
  }
}
HWY_INLINE uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (a != 0) {
    const uint64_t rest = b % a;
    b = a;
    a = rest;
  }
  return b;
}
struct Gcd {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return static_cast<T>(common_divisor(magnitude(a), magnitude(b)));
  }
};
struct Lcm {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    const uint64_t divisor = common_divisor(magnitude(a), magnitude(b));
    if (divisor == 0) return 0;
    // On overflow torch's result is the magnitude of the wrapped product, in int at least.
    using Wide = std::conditional_t<sizeof(T) < sizeof(int), int, T>;
    const Wide product = static_cast<Wide>(magnitude(a) / divisor * magnitude(b));
    return static_cast<T>(magnitude(product));
  }
};

template <class T>
void enter_divide_int(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kTruncDivide, kDType, &division_tile<TruncDivide, T>);
  table.add(Pointwise::kFmod, kDType, &division_tile<Fmod, T>);
  table.add(Pointwise::kFloorDivide, kDType, &division_tile<FloorDivide, T>);
  table.add(Pointwise::kRemainder, kDType, &division_tile<Remainder, T>);
  table.add(Pointwise::kPow, kDType, &map_tile<Pow, T, 1>);
  table.add(Pointwise::kPowScalar, kDType, &pow_scalar_tile<T, &map_tile<PowScalar, T, 2>>);
  table.add(Pointwise::kGcd, kDType, &scalar_tile<Gcd, T, 2>);
  table.add(Pointwise::kLcm, kDType, &scalar_tile<Lcm, T, 2>);
}

}  // namespace

void divide_int(TileTable& table) {
  enter_divide_int<uint8_t>(table);
  enter_divide_int<int8_t>(table);
  enter_divide_int<int16_t>(table);
  enter_divide_int<int32_t>(table);
  enter_divide_int<int64_t>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(divide_int);
void add_divide_int(TileTable& table) { HWY_DYNAMIC_DISPATCH(divide_int)(table); }
}  // namespace mindtorch::cpu
#endif
