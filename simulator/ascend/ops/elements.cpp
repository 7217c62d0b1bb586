#include "simulator/ascend/ops/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simulator/ascend/nnopbase/objects.h"

namespace sim {
namespace {

// Element types that are not C++'s own.
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
struct Bool {
  uint8_t value;
};
struct HalfComplex {
  Half real;
  Half imag;
};

template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;

template <class To, class From>
To convert(From from) {
  if constexpr (std::is_same_v<From, Half>) {
    return convert<To>(from_half(from.bits));
  } else if constexpr (std::is_same_v<From, Bfloat>) {
    return convert<To>(from_bfloat(from.bits));
  } else if constexpr (std::is_same_v<From, Bool>) {
    return convert<To>(static_cast<int64_t>(from.value != 0));
  } else if constexpr (std::is_same_v<From, HalfComplex>) {
    return convert<To>(Complex64(from_half(from.real.bits), from_half(from.imag.bits)));
  } else if constexpr (std::is_same_v<To, Half>) {
    return Half{to_half(convert<float>(from))};
  } else if constexpr (std::is_same_v<To, Bfloat>) {
    return Bfloat{to_bfloat(convert<float>(from))};
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool{static_cast<uint8_t>(from != From{})};
  } else if constexpr (std::is_same_v<To, HalfComplex>) {
    const auto value = convert<Complex64>(from);
    return {Half{to_half(value.real())}, Half{to_half(value.imag())}};
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>) {
      using Part = typename To::value_type;
      return To(static_cast<Part>(from.real()), static_cast<Part>(from.imag()));
    } else {
      return convert<To>(from.real());
    }
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(from));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(from)) return 0;
    constexpr auto kLeast = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto kMost = static_cast<From>(std::numeric_limits<To>::max());
    if (from <= kLeast) return std::numeric_limits<To>::min();
    if (from >= kMost) return std::numeric_limits<To>::max();
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

// Calls f with a value of the C++ type of `dtype`.
template <class F>
void with_element(DType dtype, F&& f) {
  switch (dtype) {
    case ACL_FLOAT:
      return f(float{});
    case ACL_FLOAT16:
      return f(Half{});
    case ACL_BF16:
      return f(Bfloat{});
    case ACL_DOUBLE:
      return f(double{});
    case ACL_INT8:
      return f(int8_t{});
    case ACL_UINT8:
      return f(uint8_t{});
    case ACL_INT16:
      return f(int16_t{});
    case ACL_UINT16:
      return f(uint16_t{});
    case ACL_INT32:
      return f(int32_t{});
    case ACL_UINT32:
      return f(uint32_t{});
    case ACL_INT64:
      return f(int64_t{});
    case ACL_UINT64:
      return f(uint64_t{});
    case ACL_BOOL:
      return f(Bool{});
    case ACL_COMPLEX32:
      return f(HalfComplex{});
    case ACL_COMPLEX64:
      return f(Complex64{});
    case ACL_COMPLEX128:
      return f(Complex128{});
    default:
      return;
  }
}

// `n` elements that lie `step` bytes apart. A step that the compiler knows makes a loop that it can
// vectorise.
template <class T, int64_t kStep, class C>
void load_every(const char* at, int64_t step, int64_t n, C* values) {
  for (int64_t i = 0; i < n; ++i) {
    T element;
    std::memcpy(&element, at + i * (kStep ? kStep : step), sizeof(T));
    values[i] = convert<C>(element);
  }
}

template <class T, class C>
void load_run(const char* at, int64_t step, int64_t n, C* values) {
  if (step == sizeof(T)) return load_every<T, sizeof(T)>(at, step, n, values);
  load_every<T, 0>(at, step, n, values);
}

template <class T, int64_t kStep, class C>
void store_every(char* at, int64_t step, int64_t n, const C* values) {
  for (int64_t i = 0; i < n; ++i) {
    const T element = convert<T>(values[i]);
    std::memcpy(at + i * (kStep ? kStep : step), &element, sizeof(T));
  }
}

template <class T, class C>
void store_run(char* at, int64_t step, int64_t n, const C* values) {
  if (step == sizeof(T)) return store_every<T, sizeof(T)>(at, step, n, values);
  store_every<T, 0>(at, step, n, values);
}

}  // namespace

template <class C>
void load(const View& view, int64_t first, int64_t n, C* values) {
  if (n == 0) return;
  Cursor cursor(view, first);
  with_element(view.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t done = 0; done < n;) {
      const int64_t run = std::min(cursor.run(), n - done);
      load_run<T>(cursor.get(), cursor.step(), run, values + done);
      done += run;
      cursor.advance(run);
    }
  });
}

template <class C>
void store(const View& view, int64_t first, int64_t n, const C* values) {
  if (n == 0) return;
  Cursor cursor(view, first);
  with_element(view.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t done = 0; done < n;) {
      const int64_t run = std::min(cursor.run(), n - done);
      store_run<T>(cursor.get(), cursor.step(), run, values + done);
      done += run;
      cursor.advance(run);
    }
  });
}

#define SIM_ELEMENTS(C)                                     \
  template void load<C>(const View&, int64_t, int64_t, C*); \
  template void store<C>(const View&, int64_t, int64_t, const C*);
SIM_ELEMENTS(float)
SIM_ELEMENTS(double)
SIM_ELEMENTS(int64_t)
SIM_ELEMENTS(uint64_t)
SIM_ELEMENTS(Complex64)
SIM_ELEMENTS(Complex128)
#undef SIM_ELEMENTS

void cast_elements(const View& to, const View& from) {
  const View source = from.shape == to.shape ? from : from.expand(to.shape);
  if (to.dtype == from.dtype) return copy_elements(to, source);
  constexpr int64_t kBlock = 512;
  with_compute(from.dtype, [&](auto zero) {
    using C = decltype(zero);
    C values[kBlock];
    const int64_t total = to.numel();
    for (int64_t first = 0; first < total; first += kBlock) {
      const int64_t n = std::min(kBlock, total - first);
      load(source, first, n, values);
      store(to, first, n, values);
    }
  });
}

}  // namespace sim
