#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "mindtorch/ops/kernel.h"

namespace mindtorch::ops {

// What a pattern was found on, by the names of its expression. While it is judged, tensors have
// no memory; those of the same storage share one. While it runs, only its variables and results are
// there.
class MT_API PatternCall {
 public:
  // Undefined: an optional operand that is not given.
  const Tensor& operator[](std::string_view name) const;
  double number(std::string_view name) const;

  std::span<const std::pair<std::string_view, double>> numbers() const { return numbers_; }

  void add(std::string_view name, Tensor tensor) { tensors_.emplace_back(name, std::move(tensor)); }
  void add(std::string_view name, double number) { numbers_.emplace_back(name, number); }

 private:
  std::vector<std::pair<std::string_view, Tensor>> tensors_;
  std::vector<std::pair<std::string_view, double>> numbers_;
};

// Note [Call patterns]
// Recorded calls that a device can run as one: its engine states them as data, and a planner looks
// for them in a trace. `expression` is a list of assignments, the last one being the result:
//
//   square = mul(x, x); out = rsqrt(add~(mean(square, dim=-1, keepdim=true), $eps))
//
//   name(...)      a call of the pointwise function, or of the op, of that name; its operands in
//                  order, then the arguments that are not tensors. An argument that is not
//                  mentioned has its default; dim=-1 is also the dim that this counts to;
//                  argument=$x keeps its value as a number, argument=* takes any.
//   name~(a, b)    the operands in either order
//   cast(x)        a copy of the same sizes, perhaps of another dtype or layout
//   view(x)        x itself, or x in other sizes over the same contiguous memory
//   alias(x)       x itself, or any other look at its memory: `accepts` must judge which
//   call?(x)       the call, or x itself
//   x, x?          any tensor of the device; x? may be left out. The same name is the same tensor
//   2.0, $eps      a Python number: of that value, or any
//   name! = ...    a result that others may use as well
//
// A value in between must not be seen by anyone else. `accepts` states the rest of the contract:
// shapes, dtypes, layouts; it may add numbers that `launch` needs, which runs it.
struct CallPattern {
  std::string_view name;
  std::string_view expression;
  bool (*accepts)(PatternCall& call);
  void (*launch)(Launch& on, const PatternCall& call);
  std::string_view calls;  // the device's ops, for people, with spaces between
  std::string_view proof;  // the test that shows it
};

// The patterns of a device, in order of preference; an empty list: none. `patterns` is asked when
// ops of the device are first planned.
using CallPatterns = std::span<const CallPattern>;
MT_API void set_call_patterns(DeviceType device, CallPatterns (*patterns)());
MT_API CallPatterns call_patterns(DeviceType device);

}  // namespace mindtorch::ops
