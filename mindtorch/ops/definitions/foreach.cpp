// Ops over lists of tensors, torch._foreach_*: each is a pointwise op on every tensor of a list.
#include "mindtorch/ops/foreach.h"

#include <string>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/list_operands.h"

namespace mindtorch::ops {
namespace {

SpecList pointwise_list(TensorList a,
                        TensorList b,
                        TensorList c,
                        int64_t function,
                        int64_t compute,
                        int64_t result,
                        int64_t,
                        const Scalar&,
                        const Scalar&,
                        const Scalar&) {
  const ListOperands operands(static_cast<Pointwise>(function), a, b, c);
  SpecList specs;
  specs.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    PointwiseCall call(static_cast<Pointwise>(function), static_cast<DType>(compute),
                       static_cast<DType>(result));
    operands.add_to(call, i);
    specs.push_back(infer_pointwise(call));
  }
  return specs;
}

// Whoever calls these has looked at the tensors: functional/foreach.cpp.
void pointwise_list_(TensorList,
                     TensorList,
                     TensorList,
                     TensorList,
                     int64_t,
                     int64_t,
                     int64_t,
                     const Scalar&,
                     const Scalar&,
                     const Scalar&) {}
void copy_list_(TensorList, TensorList) {}
void zero_list_(TensorList) {}

SpecList norm_list(TensorList self, const Scalar&) {
  SpecList specs;
  specs.reserve(self.size());
  for (const Tensor& tensor : self) {
    specs.push_back(contiguous_spec({}, tensor.dtype(), tensor.device()));
  }
  return specs;
}

void define_pair(Registry& ops, const ForeachOp& op) {
  const auto schema = [&](const char* underscore, const char* self, const char* result) {
    std::string text = std::string(op.name) + underscore;
    if (!op.overload.empty()) text += "." + std::string(op.overload);
    text += "(" + std::string(self);
    if (!op.params.empty()) text += ", " + std::string(op.params);
    return text + ") -> " + result;
  };
  const std::string doc =
      std::string(op.base.substr(0, op.base.find('.'))) + " of each tensor of a list, in one pass.";
  ops.define(schema("", "Tensor[] self", "Tensor[]"), op.location).function_only().doc(doc);
  ops.define(schema("_", "Tensor(a!)[] self", "()"), op.location).function_only().doc(doc);
}

}  // namespace

void define_foreach(Registry& ops) {
  for (const ForeachOp& op : kForeachOps) define_pair(ops, op);
  ops.define("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]")
      .function_only()
      .doc("A number to the power of each tensor of a list.");
  ops.define("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]")
      .function_only()
      .doc("A copy of each tensor of a list.");
  ops.define("_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()")
      .function_only()
      .doc("Copies each tensor of a list into that of another, in one pass.");
  ops.define("_foreach_zero_(Tensor(a!)[] self) -> ()")
      .function_only()
      .doc("Sets each tensor of a list to 0, in one pass.");
  ops.define("_foreach_max(Tensor[] self) -> Tensor[]")
      .function_only()
      .doc("The largest element of each tensor of a list.");
  ops.define(
         "_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]")
      .function_only()
      .doc("The norm of each tensor of a list, in one pass.");

  // What they become where one call of a kernel can do them: see ListOperands. Numbers are of the
  // dtype that the function computes in.
  ops.define<pointwise_list>(
         "_pointwise_list(Tensor[] a, Tensor[] b, Tensor[] c, int function, int compute, "
         "int result, int unrounded, Scalar p0, Scalar p1, Scalar p2) -> Tensor[]")
      .device_example("torch._foreach_mul([x], [x])")
      .internal()
      .not_differentiable();
  ops.define<pointwise_list_>(
         "_pointwise_list_(Tensor(a!)[] self, Tensor[] a, Tensor[] b, Tensor[] c, int function, "
         "int compute, int unrounded, Scalar p0, Scalar p1, Scalar p2) -> ()")
      .device_example("torch._foreach_add_([x], 2)")
      .internal()
      .not_differentiable();
  ops.define<copy_list_>("_copy_list_(Tensor(a!)[] self, Tensor[] src) -> ()")
      .device_example("torch._foreach_copy_([x], [x + 1])")
      .internal()
      .not_differentiable();
  ops.define<zero_list_>("_zero_list_(Tensor(a!)[] self) -> ()")
      .device_example("torch._foreach_zero_([x])")
      .internal()
      .not_differentiable();
  ops.define<norm_list>("_norm_list(Tensor[] self, Scalar ord) -> Tensor[]")
      .device_example("torch._foreach_norm([x])")
      .internal()
      .not_differentiable();
}

}  // namespace mindtorch::ops
