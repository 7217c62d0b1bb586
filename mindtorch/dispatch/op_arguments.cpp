#include "mindtorch/dispatch/op_arguments.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace mindtorch::dispatch {
namespace {

using ops::Value;
using ops::ValueKind;

// Each argument is its kind and then what its kind needs; lists begin with their length.
class Writer {
 public:
  explicit Writer(EncodedArguments& numbers) : numbers_(numbers) {}

  void add(const Value& value) {
    put(static_cast<int64_t>(value.kind()));
    switch (value.kind()) {
      case ValueKind::kTensor:
        return put(value.tensor());
      case ValueKind::kTensorList:
        put(static_cast<int64_t>(value.tensor_list().size()));
        for (const Tensor& tensor : value.tensor_list()) put(tensor);
        return;
      case ValueKind::kScalar:
        return put(value.scalar());
      case ValueKind::kInt:
        return put(Scalar(value.to_int()));
      case ValueKind::kFloat:
        return put(Scalar(value.to_float()));
      case ValueKind::kBool:
        return put(Scalar(value.to_bool()));
      case ValueKind::kIntList:
        put(static_cast<int64_t>(value.int_list().size()));
        for (const int64_t each : value.int_list()) put(each);
        return;
      case ValueKind::kFloatList:
        put(static_cast<int64_t>(value.float_list().size()));
        for (const double each : value.float_list()) put(std::bit_cast<int64_t>(each));
        return;
      case ValueKind::kDType:
        return put(static_cast<int64_t>(value.dtype()));
      case ValueKind::kMemoryFormat:
        return put(static_cast<int64_t>(value.memory_format()));
      case ValueKind::kDevice:
        return put(value.device().str());
      case ValueKind::kString:
        return put(value.string());
      case ValueKind::kNone:
      case ValueKind::kGenerator:
        return;
    }
  }

 private:
  void put(int64_t number) { numbers_.push_back(number); }
  void put(const Tensor& tensor) {
    if (!tensor.defined()) return put(int64_t{-1});
    put(tensor.dim());
    put(static_cast<int64_t>(tensor.dtype()));
    for (const int64_t size : tensor.sizes()) put(size);
    for (const int64_t stride : tensor.strides()) put(stride);
  }
  void put(const Scalar& scalar) {
    put(static_cast<int64_t>(scalar.kind()));
    if (scalar.is_integral()) {
      put(scalar.to_int());
    } else {
      put(std::bit_cast<int64_t>(scalar.to_double()));
      if (scalar.is_complex()) put(std::bit_cast<int64_t>(scalar.imag()));
    }
  }
  void put(std::string_view text) {
    put(static_cast<int64_t>(text.size()));
    for (size_t at = 0; at < text.size(); at += sizeof(int64_t)) {
      int64_t bytes = 0;
      const std::string_view part = text.substr(at, sizeof(bytes));
      std::memcpy(&bytes, part.data(), part.size());
      put(bytes);
    }
  }

  EncodedArguments& numbers_;
};

class Reader {
 public:
  explicit Reader(std::span<const int64_t> numbers) : numbers_(numbers) {}

  bool is_at_end() const { return numbers_.empty(); }
  OpArgument next() {
    OpArgument argument;
    argument.kind = static_cast<ValueKind>(take());
    switch (argument.kind) {
      case ValueKind::kTensor:
        argument.tensors.push_back(tensor());
        break;
      case ValueKind::kTensorList:
        for (int64_t left = take(); left > 0; --left) argument.tensors.push_back(tensor());
        break;
      case ValueKind::kScalar:
      case ValueKind::kInt:
      case ValueKind::kFloat:
      case ValueKind::kBool:
        argument.number = scalar();
        break;
      case ValueKind::kIntList:
        for (int64_t left = take(); left > 0; --left) argument.integers.push_back(take());
        break;
      case ValueKind::kFloatList:
        for (int64_t left = take(); left > 0; --left) argument.floats.push_back(take_float());
        break;
      case ValueKind::kDType:
      case ValueKind::kMemoryFormat:
        argument.integers.push_back(take());
        break;
      case ValueKind::kDevice:
      case ValueKind::kString:
        argument.text = text();
        break;
      case ValueKind::kNone:
      case ValueKind::kGenerator:
        break;
    }
    return argument;
  }

 private:
  int64_t take() {
    const int64_t number = numbers_[0];
    numbers_ = numbers_.subspan(1);
    return number;
  }
  double take_float() { return std::bit_cast<double>(take()); }
  std::vector<int64_t> take(int64_t count) {
    const auto taken = numbers_.first(static_cast<size_t>(count));
    numbers_ = numbers_.subspan(taken.size());
    return {taken.begin(), taken.end()};
  }
  TensorArgument tensor() {
    TensorArgument argument;
    const int64_t dim = take();
    if (dim < 0) return argument;
    argument.dtype = static_cast<DType>(take());
    argument.sizes = take(dim);
    argument.strides = take(dim);
    return argument;
  }
  Scalar scalar() {
    switch (static_cast<Scalar::Kind>(take())) {
      case Scalar::Kind::kBool:
        return take() != 0;
      case Scalar::Kind::kInt:
        return take();
      case Scalar::Kind::kUnsigned:
        return static_cast<uint64_t>(take());
      case Scalar::Kind::kFloat:
        return take_float();
      case Scalar::Kind::kComplex:
        break;
    }
    const double real = take_float();
    return std::complex<double>(real, take_float());
  }
  std::string text() {
    std::string text(static_cast<size_t>(take()), '\0');
    for (size_t at = 0; at < text.size(); at += sizeof(int64_t)) {
      const int64_t bytes = take();
      std::memcpy(text.data() + at, &bytes, std::min(sizeof(bytes), text.size() - at));
    }
    return text;
  }

  std::span<const int64_t> numbers_;
};

}  // namespace

void encode_arguments(ops::Args args, EncodedArguments& numbers) {
  Writer writer(numbers);
  for (const Value& value : args) writer.add(value);
}

std::vector<OpArgument> decode_arguments(std::span<const int64_t> numbers) {
  std::vector<OpArgument> arguments;
  for (Reader reader(numbers); !reader.is_at_end();) arguments.push_back(reader.next());
  return arguments;
}

}  // namespace mindtorch::dispatch
