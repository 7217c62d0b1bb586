#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mindtorch/ops/value.h"

namespace mindtorch::ops {

// Reads one boxed argument as the type a typed function declares for it.
template <typename T>
struct Unbox;

template <>
struct Unbox<const Tensor&> {
  static const Tensor& from(const Value& value) { return value.tensor(); }
};
template <>
struct Unbox<TensorList> {
  static TensorList from(const Value& value) { return value.tensor_list(); }
};
template <>
struct Unbox<const Scalar&> {
  static const Scalar& from(const Value& value) { return value.scalar(); }
};
template <>
struct Unbox<int64_t> {
  static int64_t from(const Value& value) { return value.to_int(); }
};
template <>
struct Unbox<double> {
  static double from(const Value& value) { return value.to_float(); }
};
template <>
struct Unbox<bool> {
  static bool from(const Value& value) { return value.to_bool(); }
};
template <>
struct Unbox<IntList> {
  static IntList from(const Value& value) { return value.int_list(); }
};
template <>
struct Unbox<std::span<const double>> {
  static std::span<const double> from(const Value& value) { return value.float_list(); }
};
template <>
struct Unbox<DType> {
  static DType from(const Value& value) { return value.dtype(); }
};
template <>
struct Unbox<Device> {
  static Device from(const Value& value) { return value.device(); }
};
template <>
struct Unbox<MemoryFormat> {
  static MemoryFormat from(const Value& value) { return value.memory_format(); }
};
template <>
struct Unbox<std::string_view> {
  static std::string_view from(const Value& value) { return value.string(); }
};
template <>
struct Unbox<Generator*> {
  static Generator* from(const Value& value) { return value.generator(); }
};
template <>
struct Unbox<std::optional<Scalar>> {
  static std::optional<Scalar> from(const Value& value) {
    return value.is_none() ? std::nullopt : std::optional<Scalar>(value.scalar());
  }
};
template <typename T>
struct Unbox<std::optional<T>> {
  static std::optional<T> from(const Value& value) {
    return value.is_none() ? std::nullopt : std::optional<T>(Unbox<T>::from(value));
  }
};

// True for the types a schema argument can have; output parameters (Tensor&) are not.
template <typename T>
inline constexpr bool kIsOutput = std::is_same_v<T, Tensor&>;

template <typename... T>
struct TypeList {};

namespace detail {

template <auto Function, typename Result, typename... Params, size_t... I>
Result unbox_and_call(Result (*)(Params...), Args args, std::index_sequence<I...>) {
  return Function(Unbox<Params>::from(args[I])...);
}

}  // namespace detail

template <typename Result, typename... Params>
constexpr size_t param_count(Result (*)(Params...)) {
  return sizeof...(Params);
}

// Calls a typed function with boxed arguments.
template <auto Function>
auto call_boxed(Args args) {
  return detail::unbox_and_call<Function>(Function, args,
                                          std::make_index_sequence<param_count(Function)>{});
}

}  // namespace mindtorch::ops
