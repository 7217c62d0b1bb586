// New tensors from sizes and numbers.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_sizes(IntList sizes) { numel(sizes); }

TensorSpec empty(IntList size,
                 std::optional<DType> dtype,
                 std::optional<Device> device,
                 std::optional<MemoryFormat> memory_format) {
  check_sizes(size);
  TensorSpec spec{Shape(size), dtype.value_or(default_dtype()), device.value_or(Device()),
                  std::nullopt};
  if (memory_format && *memory_format != MemoryFormat::kContiguous) {
    spec.strides = strides_for(size, *memory_format);
  }
  return spec;
}

TensorSpec empty_strided(IntList size,
                         IntList stride,
                         std::optional<DType> dtype,
                         std::optional<Device> device) {
  check_sizes(size);
  return {Shape(size), dtype.value_or(default_dtype()), device.value_or(Device()), Shape(stride)};
}

TensorSpec full(IntList size,
                const Scalar& fill_value,
                std::optional<DType> dtype,
                std::optional<Device> device) {
  check_sizes(size);
  const DType inferred = fill_value.is_floating_point() ? default_dtype() : fill_value.dtype();
  return contiguous_spec(Shape(size), dtype.value_or(inferred), device.value_or(Device()));
}

void fill(const Tensor&, const Scalar&) {}
void zero(const Tensor&) {}

}  // namespace

void define_creation(Registry& ops) {
  ops.define<empty>(
         "empty.memory_format(int[] size, *, ScalarType? dtype=None, Device? device=None, "
         "MemoryFormat? memory_format=None) -> Tensor")
      .variants(kOutVariant)
      .function_only()
      .doc("A tensor of the given size with no set values.",
           ">>> torch.empty(2, 3).shape\ntorch.Size([2, 3])");
  ops.define<empty_strided>(
         "empty_strided(int[] size, int[] stride, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .function_only()
      .doc("A tensor of the given size and strides with no set values.",
           ">>> torch.empty_strided((2, 3), (1, 2)).stride()\n(1, 2)");
  ops.define<full>(
         "full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None) -> "
         "Tensor")
      .variants(kOutVariant)
      .function_only()
      .doc("A tensor of the given size with every element set to `fill_value`.",
           ">>> torch.full((2,), 7)\ntensor([7, 7])");
  ops.define<fill>("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)")
      .variants(kFunctionalVariant)
      .doc("Sets every element to `value`.", ">>> torch.empty(2).fill_(3)\ntensor([3., 3.])");
  ops.define<zero>("zero_(Tensor(a!) self) -> Tensor(a!)")
      .method_only()
      .doc("Sets every element to 0.", ">>> torch.ones(2).zero_()\ntensor([0., 0.])");
}

}  // namespace mindtorch::ops
