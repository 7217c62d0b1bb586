#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mindtorch/ops/schema.h"
#include "mindtorch/ops/value.h"

namespace mindtorch::ops {

// Which schema parameters a C++ parameter can stand for. A Value does not check how it is read, so
// signatures are compared with the schema when the library loads.
struct ParamRule {
  uint32_t types = 0;  // a bit for each ArgType
  bool takes_none = false;

  constexpr bool accepts(const Param& param) const {
    return (types >> static_cast<int>(param.type) & 1) != 0 && (takes_none || !param.optional);
  }
};

template <typename... Types>
constexpr uint32_t bits(Types... types) {
  return (0u | ... | (1u << static_cast<int>(types)));
}

// Reads one boxed argument as the type a typed function declares for it.
template <typename T>
struct Unbox;

template <>
struct Unbox<const Tensor&> {
  static constexpr ParamRule kRule{bits(ArgType::kTensor, ArgType::kOperand), true};
  static const Tensor& from(const Value& value) { return value.tensor(); }
};
template <>
struct Unbox<TensorList> {
  static constexpr ParamRule kRule{bits(ArgType::kTensorList, ArgType::kOptionalTensorList)};
  static TensorList from(const Value& value) { return value.tensor_list(); }
};
template <>
struct Unbox<const Scalar&> {
  static constexpr ParamRule kRule{bits(ArgType::kScalar)};
  static const Scalar& from(const Value& value) { return value.scalar(); }
};
template <>
struct Unbox<int64_t> {
  static constexpr ParamRule kRule{bits(ArgType::kInt)};
  static int64_t from(const Value& value) { return value.to_int(); }
};
template <>
struct Unbox<double> {
  static constexpr ParamRule kRule{bits(ArgType::kFloat)};
  static double from(const Value& value) { return value.to_float(); }
};
template <>
struct Unbox<bool> {
  static constexpr ParamRule kRule{bits(ArgType::kBool)};
  static bool from(const Value& value) { return value.to_bool(); }
};
template <>
struct Unbox<IntList> {
  static constexpr ParamRule kRule{bits(ArgType::kIntList)};
  static IntList from(const Value& value) { return value.int_list(); }
};
template <>
struct Unbox<std::span<const double>> {
  static constexpr ParamRule kRule{bits(ArgType::kFloatList)};
  static std::span<const double> from(const Value& value) { return value.float_list(); }
};
template <>
struct Unbox<DType> {
  static constexpr ParamRule kRule{bits(ArgType::kDType)};
  static DType from(const Value& value) { return value.dtype(); }
};
template <>
struct Unbox<Device> {
  static constexpr ParamRule kRule{bits(ArgType::kDevice)};
  static Device from(const Value& value) { return value.device(); }
};
template <>
struct Unbox<MemoryFormat> {
  static constexpr ParamRule kRule{bits(ArgType::kMemoryFormat)};
  static MemoryFormat from(const Value& value) { return value.memory_format(); }
};
template <>
struct Unbox<std::string_view> {
  static constexpr ParamRule kRule{bits(ArgType::kString)};
  static std::string_view from(const Value& value) { return value.string(); }
};
template <>
struct Unbox<Generator*> {
  static constexpr ParamRule kRule{bits(ArgType::kGenerator), true};
  static Generator* from(const Value& value) { return value.generator(); }
};
template <>
struct Unbox<std::optional<Scalar>> {
  static constexpr ParamRule kRule{bits(ArgType::kScalar), true};
  static std::optional<Scalar> from(const Value& value) {
    return value.is_none() ? std::nullopt : std::optional<Scalar>(value.scalar());
  }
};
template <typename T>
struct Unbox<std::optional<T>> {
  static constexpr ParamRule kRule{Unbox<T>::kRule.types, true};
  static std::optional<T> from(const Value& value) {
    return value.is_none() ? std::nullopt : std::optional<T>(Unbox<T>::from(value));
  }
};

// Outputs of a kernel: they stand for no schema parameter.
template <>
struct Unbox<Tensor&> {
  static constexpr ParamRule kRule{};
};
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

template <typename... Params>
inline constexpr std::array<ParamRule, sizeof...(Params)> kParamRules{Unbox<Params>::kRule...};

using Signature = std::span<const ParamRule>;

template <typename Result, typename... Params>
constexpr Signature signature(Result (*)(Params...)) {
  return kParamRules<Params...>;
}

// Calls a typed function with boxed arguments.
template <auto Function>
auto call_boxed(Args args) {
  return detail::unbox_and_call<Function>(Function, args,
                                          std::make_index_sequence<signature(Function).size()>{});
}

}  // namespace mindtorch::ops
