#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mindtorch/base/location.h"
#include "mindtorch/ops/fusion.h"
#include "mindtorch/ops/kernel.h"
#include "mindtorch/ops/schema.h"
#include "mindtorch/ops/spec.h"

namespace mindtorch::ops {

// How an op gets its result.
enum class OpKind : uint8_t {
  kKernel,     // shape rule, then a kernel fills new outputs
  kPointwise,  // a PointwiseCall; a device's pointwise engine or a kernel of its own runs it
  kView,       // another look at the first argument's storage; no kernel
  kMutation,   // checks, then a kernel writes into the first argument
  kDynamic,    // the kernel makes outputs whose shape depends on values
  kComposite,  // written in terms of other ops, in functional/
};

// Which form of a definition an op is. Forms other than kPrimary are derived, never written.
enum class OpForm : uint8_t {
  kPrimary,
  kInplace,     // add_ of add: writes into self
  kOut,         // add(..., out=)
  kFunctional,  // index_add of index_add_: clones self first
};

// What a planner knows of an op's result, and may compute in another way.
enum class Meaning : uint8_t {
  kOther,
  kMemory,  // bytes that nobody has written
  kFill,    // one number in every element
  kCopy,    // the elements of its last operand
  kRows,    // `row_function` of rows of its operand
};

// Where Python users find it.
enum PythonPlace : uint8_t {
  kFunction = 1,    // torch.add
  kMethod = 2,      // Tensor.add
  kNnFunction = 4,  // torch.nn.functional.gelu
};

using InferFn = void (*)(Args, SpecList&);
using ViewFn = ViewSpec (*)(Args);
using ResolveFn = PointwiseCall (*)(Args);
using CheckFn = void (*)(Args);
using CompositeFn = void (*)(Args, Outputs&);

// One op in one form. Made once when the library loads, then never changed.
struct Op {
  Schema schema;
  OpKind kind = OpKind::kComposite;
  OpForm form = OpForm::kPrimary;
  uint8_t python_place = kFunction | kMethod;
  bool any_device = false;       // arguments may be on different devices (copy_)
  bool random = false;           // draws from a generator
  bool allows_overlap = false;   // writes one value: an expanded self is fine
  bool contiguous_copy = false;  // the functional form of a mutation gives a contiguous tensor
  bool checks_values = false;    // may refuse what its operands hold
  Meaning meaning = Meaning::kOther;
  RowFunction row_function = RowFunction::kNone;
  const Op* base = nullptr;  // the primary form of a derived one

  // The meta stage, by kind.
  InferFn infer = nullptr;
  ViewFn view = nullptr;
  ResolveFn resolve = nullptr;
  CheckFn check = nullptr;
  CompositeFn composite = nullptr;

  // The plan and impl stages, by device.
  Kernel kernels[kDeviceTypeCount];

  Location location{};
  Location composite_location{};
  std::vector<std::string> aliases;  // other Python names: "subtract" of sub
  std::string doc;                   // one sentence
  std::string example;               // a doctest

  const Kernel& kernel(DeviceType type) const { return kernels[static_cast<int>(type)]; }
};

}  // namespace mindtorch::ops
