#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mindtorch/base/error.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::ops {

enum class ValueKind : uint8_t {
  kNone,
  kTensor,
  kTensorList,
  kScalar,
  kInt,
  kFloat,
  kBool,
  kIntList,
  kFloatList,
  kDType,
  kDevice,
  kMemoryFormat,
  kString,
  kGenerator,
};

// One argument of an op, borrowed from the caller for the length of the call. Every layer of the
// dispatcher sees ops as a list of these; typed functions are unpacked by templates (boxing.h).
class Value {
 public:
  Value() : kind_(ValueKind::kNone), int_(0) {}
  // An undefined tensor is None.
  Value(const Tensor& tensor)
      : kind_(tensor.defined() ? ValueKind::kTensor : ValueKind::kNone) {  // NOLINT
    tensor_ = &tensor;
  }
  Value(TensorList list) : kind_(ValueKind::kTensorList) {  // NOLINT
    list_ = {list.data(), list.size()};
  }
  Value(const Scalar& scalar) : kind_(ValueKind::kScalar), scalar_(scalar) {}  // NOLINT
  Value(int64_t value) : kind_(ValueKind::kInt), int_(value) {}                // NOLINT
  Value(double value) : kind_(ValueKind::kFloat), float_(value) {}             // NOLINT
  Value(bool value) : kind_(ValueKind::kBool), int_(value) {}                  // NOLINT
  Value(IntList list) : kind_(ValueKind::kIntList) {                           // NOLINT
    list_ = {list.data(), list.size()};
  }
  Value(std::span<const double> list) : kind_(ValueKind::kFloatList) {  // NOLINT
    list_ = {list.data(), list.size()};
  }
  Value(DType dtype) : kind_(ValueKind::kDType), dtype_(dtype) {}                   // NOLINT
  Value(Device device) : kind_(ValueKind::kDevice), device_(device) {}              // NOLINT
  Value(MemoryFormat format) : kind_(ValueKind::kMemoryFormat), format_(format) {}  // NOLINT
  Value(std::string_view text) : kind_(ValueKind::kString) {                        // NOLINT
    list_ = {text.data(), text.size()};
  }
  Value(Generator* generator)  // NOLINT
      : kind_(generator == nullptr ? ValueKind::kNone : ValueKind::kGenerator),
        generator_(generator) {}
  template <typename T>
  Value(const std::optional<T>& value) : Value() {  // NOLINT
    if (value) *this = Value(*value);
  }

  ValueKind kind() const { return kind_; }
  bool is_none() const { return kind_ == ValueKind::kNone; }

  // The undefined tensor stands for None.
  const Tensor& tensor() const { return kind_ == ValueKind::kTensor ? *tensor_ : undefined(); }
  TensorList tensor_list() const {
    return std::span<const Tensor>{static_cast<const Tensor*>(list_.data), list_.size};
  }
  const Scalar& scalar() const { return scalar_; }
  int64_t to_int() const { return int_; }
  double to_float() const { return float_; }
  bool to_bool() const { return int_ != 0; }
  IntList int_list() const {
    return std::span<const int64_t>(static_cast<const int64_t*>(list_.data), list_.size);
  }
  std::span<const double> float_list() const {
    return {static_cast<const double*>(list_.data), list_.size};
  }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  MemoryFormat memory_format() const { return format_; }
  std::string_view string() const { return {static_cast<const char*>(list_.data), list_.size}; }
  Generator* generator() const { return kind_ == ValueKind::kGenerator ? generator_ : nullptr; }

 private:
  MT_API static const Tensor& undefined();

  struct List {
    const void* data;
    size_t size;
  };

  ValueKind kind_;
  union {
    const Tensor* tensor_;
    List list_;
    Scalar scalar_;
    int64_t int_;
    double float_;
    DType dtype_;
    Device device_;
    MemoryFormat format_;
    Generator* generator_;
  };
};

using Args = std::span<const Value>;

// What an op gives back: tensors, or one number for the few ops that answer with a Python number.
struct Outputs {
  SmallVector<Tensor, 2> tensors;
  Scalar scalar;
};

}  // namespace mindtorch::ops
