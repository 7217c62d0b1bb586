#include "mindtorch/dispatch/trace/argument.h"

#include <bit>
#include <cstring>

namespace mindtorch::dispatch {
namespace {

uint64_t to_bits(double value) { return std::bit_cast<uint64_t>(value); }

uint64_t to_bits(const Scalar& scalar) {
  return scalar.is_floating_point() ? to_bits(scalar.to_double())
                                    : static_cast<uint64_t>(scalar.to_int());
}

Scalar to_scalar(const Argument& argument) {
  switch (static_cast<Scalar::Kind>(argument.scalar_kind)) {
    case Scalar::Kind::kBool:
      return Scalar(argument.bits != 0);
    case Scalar::Kind::kInt:
      return Scalar(static_cast<int64_t>(argument.bits));
    case Scalar::Kind::kFloat:
      return Scalar(std::bit_cast<double>(argument.bits));
  }
  return {};
}

uint64_t to_bits(Device device) {
  return static_cast<uint64_t>(device.type) << 8 | static_cast<uint8_t>(device.index);
}

template <typename T>
std::span<const T> list_of(const Argument& argument, const Payload& payload) {
  return {reinterpret_cast<const T*>(payload.data() + argument.first), argument.length};
}

}  // namespace

EncodedArgument encode(const ops::Value& value) {
  EncodedArgument encoded{};
  Argument& argument = encoded.argument;
  argument.kind = value.kind();
  const auto keep_list = [&](const auto& list) {
    argument.length = static_cast<uint32_t>(list.size());
    encoded.list = std::as_bytes(std::span(list.data(), list.size()));
  };
  switch (value.kind()) {
    case ops::ValueKind::kNone:
    case ops::ValueKind::kTensor:
    case ops::ValueKind::kTensorList:
      break;
    case ops::ValueKind::kScalar:
      argument.scalar_kind = static_cast<uint8_t>(value.scalar().kind());
      argument.bits = to_bits(value.scalar());
      break;
    case ops::ValueKind::kInt:
      argument.bits = static_cast<uint64_t>(value.to_int());
      break;
    case ops::ValueKind::kFloat:
      argument.bits = to_bits(value.to_float());
      break;
    case ops::ValueKind::kBool:
      argument.bits = value.to_bool();
      break;
    case ops::ValueKind::kIntList:
      keep_list(value.int_list());
      break;
    case ops::ValueKind::kFloatList:
      keep_list(value.float_list());
      break;
    case ops::ValueKind::kString:
      keep_list(value.string());
      break;
    case ops::ValueKind::kDType:
      argument.bits = static_cast<uint64_t>(value.dtype());
      break;
    case ops::ValueKind::kDevice:
      argument.bits = to_bits(value.device());
      break;
    case ops::ValueKind::kMemoryFormat:
      argument.bits = static_cast<uint64_t>(value.memory_format());
      break;
    case ops::ValueKind::kGenerator:
      argument.bits = reinterpret_cast<uintptr_t>(value.generator());
      break;
  }
  return encoded;
}

Argument add_to(Payload& payload, const EncodedArgument& encoded) {
  Argument argument = encoded.argument;
  if (encoded.list.empty()) return argument;
  argument.first = static_cast<uint32_t>(payload.size());
  payload.insert(payload.end(), encoded.list.begin(), encoded.list.end());
  payload.resize((payload.size() + 7) / 8 * 8);
  return argument;
}

bool equals(const Argument& argument, const Payload& payload, const EncodedArgument& encoded) {
  const Argument& other = encoded.argument;
  return argument.kind == other.kind && argument.scalar_kind == other.scalar_kind &&
         argument.bits == other.bits && argument.length == other.length &&
         (encoded.list.empty() || std::memcmp(payload.data() + argument.first, encoded.list.data(),
                                              encoded.list.size()) == 0);
}

ops::Value decode(const Argument& argument, const Payload& payload) {
  switch (argument.kind) {
    case ops::ValueKind::kNone:
    case ops::ValueKind::kTensor:
    case ops::ValueKind::kTensorList:
      return {};
    case ops::ValueKind::kScalar:
      return ops::Value(to_scalar(argument));
    case ops::ValueKind::kInt:
      return ops::Value(static_cast<int64_t>(argument.bits));
    case ops::ValueKind::kFloat:
      return ops::Value(std::bit_cast<double>(argument.bits));
    case ops::ValueKind::kBool:
      return ops::Value(argument.bits != 0);
    case ops::ValueKind::kIntList:
      return ops::Value(IntList(list_of<int64_t>(argument, payload)));
    case ops::ValueKind::kFloatList:
      return ops::Value(list_of<double>(argument, payload));
    case ops::ValueKind::kString: {
      const std::span text = list_of<char>(argument, payload);
      return ops::Value(std::string_view(text.data(), text.size()));
    }
    case ops::ValueKind::kDType:
      return ops::Value(static_cast<DType>(argument.bits));
    case ops::ValueKind::kDevice:
      return ops::Value(Device(static_cast<DeviceType>(argument.bits >> 8),
                               static_cast<int8_t>(argument.bits & 0xff)));
    case ops::ValueKind::kMemoryFormat:
      return ops::Value(static_cast<MemoryFormat>(argument.bits));
    case ops::ValueKind::kGenerator:
      return ops::Value(reinterpret_cast<Generator*>(argument.bits));
  }
  return {};
}

}  // namespace mindtorch::dispatch
