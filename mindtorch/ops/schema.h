#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/scalar.h"

namespace mindtorch::ops {

enum class ArgType : uint8_t {
  kTensor,
  kOperand,  // a tensor, or a Python number that promotes like one
  kTensorList,
  kOptionalTensorList,  // entries may be None
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

struct Param {
  std::string name;
  ArgType type;
  bool optional = false;  // None is a value
  bool keyword_only = false;
  bool mutated = false;   // "Tensor(a!)"
  int64_t list_size = 0;  // "int[2]": one int stands for two; -1: "Scalar[]", of tensors
  bool has_default = false;
  std::string default_text;  // as written in the schema: "1", "None", "'mean'", "[0, 1]"
};

enum class ReturnType : uint8_t { kTensor, kTensorList, kScalar, kInt, kBool, kFloat, kNothing };

struct Return {
  std::string name;  // "values" of a named tuple; empty when unnamed
  ReturnType type;
};

// Torch's schema language:
//   add.Tensor(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor
// `Operand` is ours: it marks the places where torch has a second overload for Python numbers.
struct Schema {
  std::string name;      // "add"
  std::string overload;  // "Tensor", or empty
  std::vector<Param> params;
  std::vector<Return> returns;

  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
  // Writes the schema back in its own language.
  MT_API std::string str() const;
  // Throws RuntimeError on a malformed text: definitions are checked when the library loads.
  MT_API static Schema parse(std::string_view text);
};

}  // namespace mindtorch::ops
