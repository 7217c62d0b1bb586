#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/base/location.h"
#include "mindtorch/ops/fusion.h"
#include "mindtorch/ops/kernel.h"
#include "mindtorch/ops/schema.h"
#include "mindtorch/ops/spec.h"

namespace mindtorch::autograd {
struct BackwardRule;
}

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

// How an op that is not pointwise can be part of a fused group.
enum class FusionKind : uint8_t {
  kNone,
  kMemory,  // uninitialised memory: nothing to compute
  kFill,    // one number in every element: Op::fill
  kCopy,    // the elements of its last operand
  kRows,    // a function of the rows of its operand: Op::rows
};

// The number that an op fills its result with: an argument, or the same always.
struct FillTrait {
  int8_t argument = -1;
  Scalar constant;
};

// Which function of rows an op computes, and which arguments name the dims that make a row and the
// correction of a variance (-1: none).
struct RowTrait {
  RowFunction function = RowFunction::kNone;
  int8_t dim = -1;
  int8_t correction = -1;
};

// Which dtypes a tensor that is written into, out= or self of an in-place form, may have besides
// the result's.
enum class TargetDType : uint8_t {
  kSame,             // no other
  kCast,             // all that the result can be cast to
  kCastUnlessGiven,  // the same, and no other where dtype= is given
  kBoolOrByte,
  kFloating,
};

// And torch's words for what is refused: $R is the result's dtype and $O the tensor's, as torch
// names them (Float), $r and $o as C++ does (float), ${name} is an argument. Empty: the usual
// words.
struct TargetTrait {
  TargetDType accepts = TargetDType::kCast;
  std::string refusal;
};

// Which dtype takes the place of dtype=None where out= is given.
enum class AccumulateIn : uint8_t {
  kOwnDType,
  kOutDType,
  kOutDTypeOfFloats,  // where self and out= are of floats
};

// Which arguments hold what an op copies into self, from any device, and whether it may return
// before the copy has arrived (-1: it does not copy).
struct CopyTrait {
  int8_t source = -1;
  int8_t non_blocking = -1;
};

// The in-place op that draws the same numbers in the order of out='s memory, and what it is given
// after self.
struct DrawTrait {
  std::string inplace_op;
  SmallVector<Value, 4> (*arguments)(Args) = nullptr;
};

// What autocast makes of an op's floating-point arguments, float64 left out.
enum class AutocastPolicy : uint8_t {
  kNone,
  kLowerPrecision,  // all become autocast's dtype
  kFloat32,         // all become float32
  kFloat32Result,   // dtype=None becomes float32
  kWidest,          // all become float32 where one is, else autocast's dtype
  kRefused,         // torch calls it unsafe
};
struct AutocastTrait {
  AutocastPolicy cpu = AutocastPolicy::kNone;
  AutocastPolicy accelerator = AutocastPolicy::kNone;
};

// torch's name for the node of an op, where it is not made of the op's own; and with a Python
// number in the place of the second operand or of the first, where that is another overload in
// torch.
struct NodeNames {
  std::string_view of_tensor;
  std::string_view of_number;
  std::string_view of_first_number;
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
  uint64_t written = 0;              // bit i: argument i is written, as its schema says
  bool random = false;               // draws from a generator
  bool allows_overlap = false;       // writes one value: an expanded self is fine
  bool contiguous_copy = false;      // the functional form of a mutation gives a contiguous tensor
  bool checks_values = false;        // may refuse what its operands hold
  bool checks_divisor = false;       // refuses an integer divisor of 0
  bool joins = false;                // puts the tensors of a list into one, which none may overlap
  bool fills_any_shape = false;      // keeps the shape of an out= of as many elements
  bool broadcasts_with_out = false;  // its first argument takes the shape of out=
  bool names_dims = false;  // numbers that name dims of its tensors: vmap moves them by one
  AccumulateIn accumulates_in = AccumulateIn::kOwnDType;
  AutocastTrait autocast{};
  CopyTrait copy{};
  FusionKind fusion = FusionKind::kNone;
  FillTrait fill{};
  RowTrait rows{};
  // No gradient flows through it, whatever the dtype of its results.
  bool differentiable = true;
  // How many of its results, the last ones, are notes that a device's kernel leaves for others of
  // its own, in a form that only it knows: Kernel::auxiliary.
  uint8_t auxiliary = 0;
  // Its derivative, where it is not a pointwise op's (autograd/derivatives).
  const autograd::BackwardRule* backward = nullptr;
  const Op* base = nullptr;  // the primary form of a derived one

  // The shape rule, by kind.
  InferFn infer = nullptr;
  ViewFn view = nullptr;
  ResolveFn resolve = nullptr;
  CheckFn check = nullptr;
  CompositeFn composite = nullptr;

  // By device.
  Kernel kernels[kDeviceTypeCount];
  // Computes it on any device, by other ops: calls that a device's kernel does not take.
  ImplFn fallback = nullptr;

  // What may be written into. Behind all that every call reads.
  TargetTrait out{};
  TargetTrait inplace{};
  DrawTrait draw{};
  NodeNames node_names{};

  Location location{};
  Location composite_location{};     // or of the fallback
  std::vector<std::string> aliases;  // other Python names: "subtract" of sub
  std::string doc;                   // one sentence
  std::string example;               // a doctest
  std::string device_example;        // what the doctor of a device runs instead

  const Kernel& kernel(DeviceType type) const { return kernels[static_cast<int>(type)]; }
  // self of an in-place form or a mutation, or its first list.
  bool writes_first() const { return (written & 1) != 0; }
  // Whether a device has a kernel for it. The meta device runs all that has a shape rule.
  bool has_kernel(DeviceType type) const {
    return type == DeviceType::kMeta ? kind != OpKind::kDynamic : bool(kernel(type));
  }
};

// Calls visit(tensor) for the tensors of the arguments whose bits are set.
template <typename Visit>
void each_tensor(uint64_t arguments, Args args, const Visit& visit) {
  for (; arguments != 0; arguments &= arguments - 1) {
    const Value& value = args[static_cast<size_t>(std::countr_zero(arguments))];
    if (MT_LIKELY(value.kind() == ValueKind::kTensor)) {
      visit(value.tensor());
    } else {
      for (const Tensor& tensor : value.tensor_list()) visit(tensor);
    }
  }
}

}  // namespace mindtorch::ops
