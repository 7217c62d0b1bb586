#pragma once

#include <span>
#include <string>

#include "mindtorch/base/small_vector.h"
#include "mindtorch/ops/expression.h"
#include "mindtorch/tensor/dtype_set.h"

namespace mindtorch::ops {

// The gradient of one operand: what backward adds for it.
struct Derivative {
  enum class Kind : uint8_t {
    kNone,        // the function has no derivative
    kZero,        // constant almost everywhere
    kGradient,    // the incoming gradient as it is
    kExpression,  // `function` of `inputs`
  };
  // Where an operand of the derivative comes from.
  enum class Input : uint8_t { kA, kB, kC, kGradient, kResult };

  Kind kind = Kind::kNone;
  Pointwise function{};
  SmallVector<Input, kMaxOperands> inputs;
};

// What the values of a function are.
enum class Values : uint8_t {
  kSame,  // of the dtype it computes in
  kBool,  // truth, whatever it computes in
  kReal,  // of complex numbers, the dtype of their parts
};

// How long an element takes.
enum class Cost : uint8_t {
  kMemory,    // memory is all that is waited for
  kCurve,     // an exponential, a division of whole numbers
  kLong,      // several of them
  kByNumber,  // a loop of its own
};

// How far a device's values may be from the function's, in units of the last place; 0.501 is
// rounded once. Errors of results below a floor count against that: absolute accuracy is all that
// cancellation leaves.
struct Tolerance {
  double ulp32 = 0.501;
  double ulp64 = 0.501;
  double floor32 = 0;
  double floor64 = 0;
  bool moderate = false;  // operands near the ends of the range lose digits, in torch as well
};

// All that is known of a function of numbers.
struct FunctionInfo {
  std::string name;
  uint8_t arity = 0;
  Values values = Values::kSame;
  Cost cost = Cost::kCurve;
  bool loops = false;         // as often as its operands say: hosts have it, devices may lack it
  uint8_t bool_operands = 0;  // a bit for each operand that is a condition
  // The dtypes it is computed in; others are refused on every device, as torch refuses them.
  DTypeSet dtypes = 0;
  std::string torch_kernel;  // what torch calls it in that refusal
  // Empty for primitives and loops.
  Expression value;
  // Of integers and bool, where that differs.
  Expression integer_value;
  Derivative derivatives[3];  // of the operands
  // Of complex operands, where that is not the formula for real numbers up to conjugates.
  Derivative complex_derivatives[2];
  Tolerance tolerance;

  // Neither made of others nor a loop: what every device brings along.
  bool is_primitive() const {
    const bool is_made_of_others =
        !value.empty() || ((dtypes & kFloatTypes) == 0 && !integer_value.empty());
    return !is_made_of_others && !loops;
  }
  const Expression& value_in(DType dtype) const {
    return is_differentiable(dtype) || integer_value.empty() ? value : integer_value;
  }
};

MT_API const FunctionInfo& function_info(Pointwise function);
// Its dtypes alone, for checks on every call.
MT_API DTypeSet function_dtypes(Pointwise function);

// Whether an operand is bool, whatever the function computes in.
inline bool takes_bool(Pointwise function, int operand) {
  if (function == Pointwise::kWhere) return operand == 0;
  return !is_built_in(function) && (function_info(function).bool_operands >> operand & 1) != 0;
}
inline bool gives_bool(Pointwise function) {
  return function_info(function).values == Values::kBool;
}
inline bool gives_real(Pointwise function) {
  return function_info(function).values == Values::kReal;
}

// Adds a function; for libraries that define ops of their own. Valid until the process ends.
MT_API Pointwise register_function(FunctionInfo info);
// One that this library declares, by name; those of other libraries are known to them alone.
MT_API Pointwise function_named(std::string_view name);
// How many there are: numbers [0, count) are valid.
MT_API int function_count();

}  // namespace mindtorch::ops
