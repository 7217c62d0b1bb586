#include "mindtorch/dispatch/trace/argument.h"

#include <bit>
#include <cstring>

namespace mindtorch::dispatch {
namespace {

template <typename T>
std::span<const T> list_of(const Argument& argument, const Payload& payload) {
  return {reinterpret_cast<const T*>(payload.data() + argument.first), argument.length};
}

Scalar to_scalar(const Argument& argument, const Payload& payload) {
  switch (static_cast<Scalar::Kind>(argument.scalar_kind)) {
    case Scalar::Kind::kBool:
      return Scalar(argument.bits != 0);
    case Scalar::Kind::kInt:
      return Scalar(static_cast<int64_t>(argument.bits));
    case Scalar::Kind::kFloat:
      return Scalar(std::bit_cast<double>(argument.bits));
    case Scalar::Kind::kUnsigned:
      return Scalar(argument.bits);
    case Scalar::Kind::kComplex:
      return Scalar(std::complex<double>(std::bit_cast<double>(argument.bits),
                                         list_of<double>(argument, payload)[0]));
  }
  return {};
}

}  // namespace

Argument add_to(Payload& payload, const EncodedArgument& encoded) {
  Argument argument = encoded.argument;
  if (encoded.list.empty()) return argument;
  argument.first = static_cast<uint32_t>(payload.size());
  payload.insert(payload.end(), encoded.list.begin(), encoded.list.end());
  payload.resize((payload.size() + 7) / 8 * 8);
  return argument;
}

ops::Value decode(const Argument& argument, const Payload& payload) {
  switch (argument.kind) {
    case ops::ValueKind::kNone:
    case ops::ValueKind::kTensor:
    case ops::ValueKind::kTensorList:
      return {};
    case ops::ValueKind::kScalar:
      return ops::Value(to_scalar(argument, payload));
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
