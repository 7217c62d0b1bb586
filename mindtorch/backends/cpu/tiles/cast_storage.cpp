// Conversions of the dtypes that few kernels compute in: complex numbers, wide unsigned integers
// and 8-bit floats, among each other and with the common ones.

#include <complex>
#include <type_traits>
#include <utility>

#include "mindtorch/backends/cpu/tiles/table.h"
#include "mindtorch/tensor/dtype_set.h"

namespace mindtorch::cpu {
namespace {

template <typename T>
inline constexpr bool kIsComplex = is_complex(DTypeOf<T>::value);

// A number, or a pair of them, that the language knows.
template <typename T>
auto plain(T value) {
  if constexpr (std::is_same_v<T, ComplexHalf>) {
    return std::complex<float>(value.real, value.imag);
  } else if constexpr (std::is_arithmetic_v<T> || kIsComplex<T>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <typename To, typename From>
To to_integer(From value) {
  if constexpr (std::is_integral_v<From>) {
    return static_cast<To>(value);
  } else {
    if (std::is_same_v<To, uint64_t> && value >= From{0x1p63} && value < From{0x1p64}) {
      return static_cast<To>(static_cast<uint64_t>(value));
    }
    // Out of range and NaN: the lowest integer, then the low bits; short ones go through int32.
    constexpr bool kIsShort = sizeof(To) < 4 || std::is_same_v<To, int32_t>;
    constexpr From kLimit = kIsShort ? From{0x1p31} : From{0x1p63};
    if (!(value >= -kLimit && value < kLimit)) {
      return static_cast<To>(kIsShort ? int64_t{INT32_MIN} : INT64_MIN);
    }
    return static_cast<To>(static_cast<int64_t>(value));
  }
}

template <typename To, typename From>
To convert(From from) {
  const auto value = plain(from);
  using Value = std::remove_const_t<decltype(value)>;
  if constexpr (std::is_same_v<To, bool>) {
    return value != Value{};
  } else if constexpr (std::is_same_v<To, ComplexHalf>) {
    const auto number = convert<std::complex<float>>(from);
    return {Half(number.real()), Half(number.imag())};
  } else if constexpr (kIsComplex<To>) {
    using Part = typename To::value_type;
    if constexpr (kIsComplex<Value>) {
      return {static_cast<Part>(value.real()), static_cast<Part>(value.imag())};
    } else {
      return {static_cast<Part>(value), Part{0}};
    }
  } else if constexpr (kIsComplex<Value>) {
    return convert<To>(value.real());
  } else if constexpr (std::is_integral_v<To>) {
    return to_integer<To>(value);
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else {
    return To(static_cast<float>(value));
  }
}

template <typename From, typename To>
void cast(const void* from, void* to, int64_t n) {
  const auto* in = static_cast<const From*>(from);
  auto* out = static_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
}

template <DType kFrom, DType kTo>
void enter_one(TileTable& table) {
  if constexpr (!is_common(kFrom) || !is_common(kTo)) {
    table.casts[static_cast<int>(kFrom)][static_cast<int>(kTo)] =
        &cast<typename CppType<kFrom>::type, typename CppType<kTo>::type>;
  }
}

template <DType kFrom, int... kTo>
void enter_from(TileTable& table, std::integer_sequence<int, kTo...>) {
  (enter_one<kFrom, static_cast<DType>(kTo)>(table), ...);
}

template <int... kFrom>
void enter_cast_storage(TileTable& table, std::integer_sequence<int, kFrom...> all) {
  (enter_from<static_cast<DType>(kFrom)>(table, all), ...);
}

}  // namespace

void add_storage_casts(TileTable& table) {
  enter_cast_storage(table, std::make_integer_sequence<int, kDTypeCount>());
}

}  // namespace mindtorch::cpu
