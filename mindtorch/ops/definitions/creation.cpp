// New tensors from sizes and numbers.
#include <cmath>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_sizes(IntList sizes) { numel(sizes); }

TensorSpec new_spec(IntList size, std::optional<DType> dtype, std::optional<Device> device) {
  check_sizes(size);
  return contiguous_spec(Shape(size), dtype.value_or(default_dtype()), device.value_or(Device()));
}

TensorSpec empty(IntList size,
                 std::optional<DType> dtype,
                 std::optional<Device> device,
                 std::optional<MemoryFormat> memory_format) {
  TensorSpec spec = new_spec(size, dtype, device);
  if (memory_format && *memory_format != MemoryFormat::kContiguous) {
    spec.strides = strides_for(size, *memory_format);
  }
  return spec;
}

TensorSpec empty_strided(IntList size,
                         IntList stride,
                         std::optional<DType> dtype,
                         std::optional<Device> device) {
  MT_CHECK(size.size() == stride.size(), RuntimeError, "dimensionality of sizes (", size.size(),
           ") must match dimensionality of strides (", stride.size(), ")");
  TensorSpec spec = new_spec(size, dtype, device);
  spec.strides = Shape(stride);
  return spec;
}

TensorSpec zeros(IntList size, std::optional<DType> dtype, std::optional<Device> device) {
  for (const int64_t length : size) {
    MT_CHECK(length >= 0, RuntimeError, "zeros: Dimension size must be non-negative.");
  }
  return new_spec(size, dtype, device);
}

// A number that many elements are set to. As in torch, a single element of a 16-bit float takes
// what rounding makes of the number, infinity where it must.
void check_fill(const Scalar& value, DType dtype, int64_t count) {
  if (count != 1 || number_dtype(dtype) == dtype) check_in_range(value, dtype);
}

TensorSpec full(IntList size,
                const Scalar& fill_value,
                std::optional<DType> dtype,
                std::optional<Device> device) {
  const DType inferred = fill_value.is_floating_point() ? default_dtype()
                         : fill_value.is_complex()      ? complex_dtype(default_dtype())
                                                        : fill_value.dtype();
  TensorSpec spec = new_spec(size, dtype.value_or(inferred), device);
  check_fill(fill_value, spec.dtype, numel(spec.sizes));
  return spec;
}

TensorSpec scalar_tensor(const Scalar& s,
                         std::optional<DType> dtype,
                         std::optional<Device> device) {
  TensorSpec spec = new_spec({}, dtype, device);
  check_fill(s, spec.dtype, 1);
  return spec;
}

TensorSpec eye_m(int64_t n, int64_t m, std::optional<DType> dtype, std::optional<Device> device) {
  MT_CHECK(n >= 0, RuntimeError, "n must be greater or equal to 0, got ", n);
  MT_CHECK(m >= 0, RuntimeError, "m must be greater or equal to 0, got ", m);
  return new_spec({n, m}, dtype, device);
}

TensorSpec eye(int64_t n, std::optional<DType> dtype, std::optional<Device> device) {
  return eye_m(n, n, dtype, device);
}

void check_range(const Scalar& start, const Scalar& end, const Scalar& step) {
  const double from = start.to_double();
  const double to = end.to_double();
  const double by = step.to_double();
  MT_CHECK(by > 0 || by < 0, RuntimeError, "step must be nonzero");
  MT_CHECK(std::isfinite(from) && std::isfinite(to), RuntimeError, "unsupported range: ", from,
           " -> ", to);
  MT_CHECK(by > 0 ? to >= from : to <= from, RuntimeError,
           "upper bound and lower bound inconsistent with step sign");
}

TensorSpec range_spec(double count, DType dtype, std::optional<Device> device) {
  MT_CHECK(count >= 0 && count < 0x1p63, RuntimeError, "invalid size, possible overflow?");
  return new_spec({static_cast<int64_t>(count)}, dtype, device);
}

// Whole numbers beyond 2^53 are counted exactly.
TensorSpec whole_range(const Scalar& start,
                       const Scalar& end,
                       const Scalar& step,
                       bool includes_end,
                       DType dtype,
                       std::optional<Device> device) {
  const auto from = static_cast<__int128>(start.to_int());
  const auto to = static_cast<__int128>(end.to_int());
  const auto by = static_cast<__int128>(step.to_int());
  MT_CHECK(by != 0, ValueError, "step must be nonzero");
  const __int128 past = includes_end ? by : by - (by > 0 ? 1 : -1);
  const __int128 count = (to - from + past) / by;
  MT_CHECK(count <= INT64_MAX, RuntimeError, "invalid size, possible overflow?");
  return new_spec({static_cast<int64_t>(count)}, dtype, device);
}

TensorSpec arange_step(const Scalar& start,
                       const Scalar& end,
                       const Scalar& step,
                       std::optional<DType> dtype,
                       std::optional<Device> device) {
  const bool fractional =
      start.is_floating_point() || end.is_floating_point() || step.is_floating_point();
  const DType result = dtype.value_or(fractional ? default_dtype() : DType::kInt64);
  MT_CHECK(result != DType::kBool, NotImplementedError,
           "\"arange_cpu\" not implemented for 'Bool'");
  check_range(start, end, step);
  if (result != DType::kInt64) {
    const double count = std::ceil((end.to_double() - start.to_double()) / step.to_double());
    return range_spec(count, result, device);
  }
  return whole_range(start, end, step, false, result, device);
}

TensorSpec arange(const Scalar& end, std::optional<DType> dtype, std::optional<Device> device) {
  return arange_step(0, end, 1, dtype, device);
}

// Unlike arange, the end belongs to it.
TensorSpec range(const Scalar& start,
                 const Scalar& end,
                 const Scalar& step,
                 std::optional<DType> dtype,
                 std::optional<Device> device) {
  const DType result = dtype.value_or(default_dtype());
  MT_CHECK(result != DType::kBool, NotImplementedError, "\"range_cpu\" not implemented for 'Bool'");
  check_range(start, end, step);
  if (is_integral(result)) {
    // Integers are cut off before they are counted.
    for (const Scalar* number : {&start, &end, &step}) check_in_range(*number, DType::kInt64);
    return whole_range(start, end, step, true, result, device);
  }
  for (const Scalar* number : {&start, &end, &step}) check_in_range(*number, number_dtype(result));
  const double count = std::floor((end.to_double() - start.to_double()) / step.to_double());
  return range_spec(count + 1, result, device);
}

TensorSpec spaced(std::string_view kernel,
                  const Scalar& start,
                  const Scalar& end,
                  int64_t steps,
                  std::optional<DType> dtype,
                  std::optional<Device> device) {
  MT_CHECK(steps >= 0, RuntimeError, "number of steps must be non-negative");
  const bool is_complex = start.is_complex() || end.is_complex();
  const DType result =
      dtype.value_or(is_complex ? complex_dtype(default_dtype()) : default_dtype());
  MT_CHECK(result != DType::kBool, NotImplementedError, "\"", kernel,
           "\" not implemented for 'Bool'");
  if (steps == 1) {
    check_fill(start, result, steps);
  } else if (steps > 1) {
    check_in_range(start, result);
    check_in_range(end, result);
  }
  return new_spec({steps}, result, device);
}

TensorSpec linspace(const Scalar& start,
                    const Scalar& end,
                    int64_t steps,
                    std::optional<DType> dtype,
                    std::optional<Device> device) {
  return spaced("linspace_cpu", start, end, steps, dtype, device);
}

TensorSpec logspace(const Scalar& start,
                    const Scalar& end,
                    int64_t steps,
                    double,
                    std::optional<DType> dtype,
                    std::optional<Device> device) {
  return spaced("logspace_cpu", start, end, steps, dtype, device);
}

// How many elements of a row x col matrix are not above the diagonal `offset`, which is from -row -
// 1 to col.
__int128 lower_count(__int128 row, __int128 col, __int128 offset) {
  // Rows that end at the diagonal, after those it has not reached and before those it has passed.
  const __int128 first = std::clamp<__int128>(-offset, 0, row);
  const __int128 last = std::clamp<__int128>(col - offset, first, row);
  return (last - first) * (first + last + 1 + 2 * offset) / 2 + (row - last) * col;
}

TensorSpec triangle_indices(std::string_view name,
                            int64_t row,
                            int64_t col,
                            int64_t offset,
                            std::optional<DType> dtype,
                            std::optional<Device> device) {
  const DType result = dtype.value_or(DType::kInt64);
  MT_CHECK(row >= 0, RuntimeError, "row must be non-negative, got", row);
  MT_CHECK(col >= 0, RuntimeError, "col must be non-negative, got", col);
  MT_CHECK(result == DType::kInt32 || result == DType::kInt64, NotImplementedError, "\"", name,
           "\" not implemented for '", legacy_name(result), "'");
  const int64_t diagonal = std::clamp(offset, -row, col);
  const __int128 count = name == "tril_indices"
                             ? lower_count(row, col, diagonal)
                             : static_cast<__int128>(row) * col -
                                   lower_count(row, col, static_cast<__int128>(diagonal) - 1);
  MT_CHECK(count <= INT64_MAX, RuntimeError, name, ": a ", row, " x ", col,
           " matrix has more elements than can be counted");
  return new_spec({2, static_cast<int64_t>(count)}, result, device);
}

TensorSpec tril_indices(int64_t row,
                        int64_t col,
                        int64_t offset,
                        std::optional<DType> dtype,
                        std::optional<Device> device) {
  return triangle_indices("tril_indices", row, col, offset, dtype, device);
}

TensorSpec triu_indices(int64_t row,
                        int64_t col,
                        int64_t offset,
                        std::optional<DType> dtype,
                        std::optional<Device> device) {
  return triangle_indices("triu_indices", row, col, offset, dtype, device);
}

void fill(const Tensor& self, const Scalar& value) {
  check_fill(value, self.dtype(), self.numel());
}
void fill_tensor(const Tensor&, const Tensor& value) {
  MT_CHECK(value.dim() == 0, RuntimeError,
           "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
           " dimensions.");
}
void zero(const Tensor&) {}

void define_sized(Registry& ops) {
  ops.define<empty>(
         "empty.memory_format(int[] size, *, ScalarType? dtype=None, Device? device=None, "
         "MemoryFormat? memory_format=None) -> Tensor")
      .fusion(FusionKind::kMemory)
      .variants(kOutVariant)
      .function_only()
      .doc("A tensor of the given size with no set values.",
           ">>> torch.empty(2, 3).shape\ntorch.Size([2, 3])");
  ops.define<empty_strided>(
         "empty_strided(int[] size, int[] stride, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .fusion(FusionKind::kMemory)
      .function_only()
      .doc("A tensor of the given size and strides with no set values.",
           ">>> torch.empty_strided((2, 3), (1, 2)).stride()\n(1, 2)");
  ops.define(
         "empty_permuted(int[] size, int[] physical_layout, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .function_only()
      .doc("A tensor with no set values whose dims lie in memory in the given order.",
           ">>> torch.empty_permuted((2, 3), (1, 0)).stride()\n(1, 2)");
  ops.define<zeros>("zeros(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
      .fills_with(Scalar(0))
      .allows_overlap()
      .variants(kOutVariant)
      .function_only()
      .doc("A tensor of the given size filled with 0.", ">>> torch.zeros(2)\ntensor([0., 0.])");
  ops.define<new_spec>("ones(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
      .fills_with(Scalar(1))
      .allows_overlap()
      .variants(kOutVariant)
      .function_only()
      .doc("A tensor of the given size filled with 1.", ">>> torch.ones(2)\ntensor([1., 1.])");
  ops.define<full>(
         "full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None) -> "
         "Tensor")
      .fills_with("fill_value")
      .allows_overlap()
      .variants(kOutVariant)
      .function_only()
      .doc("A tensor of the given size with every element set to `fill_value`.",
           ">>> torch.full((2,), 7)\ntensor([7, 7])");
  ops.define<scalar_tensor>(
         "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
      .fills_with("s")
      .function_only()
      .doc("A 0-dim tensor of the default dtype.", ">>> torch.scalar_tensor(2)\ntensor(2.)");
  ops.define<eye>("eye(int n, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .function_only()
      .doc("The identity matrix.", ">>> torch.eye(2)\ntensor([[1., 0.],\n        [0., 1.]])");
  ops.define<eye_m>("eye.m(int n, int m, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
      .device_example("torch.eye(2, 3)")
      .variants(kOutVariant)
      .function_only();
}

void define_ranges(Registry& ops) {
  ops.define<arange>("arange(Scalar end, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .fills_any_shape()
      .function_only()
      .doc("The numbers from `start` to `end`, which is left out, `step` apart.",
           ">>> torch.arange(1, 4)\ntensor([1, 2, 3])");
  ops.define<arange_step>(
         "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .device_example("torch.arange(1, 9, 3)")
      .variants(kOutVariant)
      .fills_any_shape()
      .function_only();
  ops.define<range>(
         "range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .fills_any_shape()
      .function_only()
      .doc("The numbers from `start` to `end` inclusive; arange is its modern form.",
           ">>> torch.range(1, 3)\ntensor([1., 2., 3.])");
  ops.define<linspace>(
         "linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .fills_any_shape()
      .function_only()
      .doc("`steps` numbers from `start` to `end`, evenly spaced.",
           ">>> torch.linspace(0, 1, 3)\ntensor([0.0000, 0.5000, 1.0000])");
  ops.define<logspace>(
         "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, "
         "ScalarType? dtype=None, Device? device=None) -> Tensor")
      .variants(kOutVariant)
      .fills_any_shape()
      .function_only()
      .doc("`base` to the powers of `start` to `end`, evenly spaced.",
           ">>> torch.logspace(0, 2, 3)\ntensor([  1.,  10., 100.])");
  ops.define<tril_indices>(
         "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .function_only()
      .doc("Row and column of each element on and below a diagonal.",
           ">>> torch.tril_indices(2, 2)\ntensor([[0, 1, 1],\n        [0, 0, 1]])");
  ops.define<triu_indices>(
         "triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .function_only()
      .doc("Row and column of each element on and above a diagonal.",
           ">>> torch.triu_indices(2, 2)\ntensor([[0, 0, 1],\n        [0, 1, 1]])");
  ops.define("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")
      .function_only()
      .doc("The powers of each element of a vector, highest first.",
           ">>> torch.vander(torch.tensor([2, 3]), 3)\ntensor([[4, 2, 1],\n        [9, 3, 1]])");
}

// In the likeness of a tensor: its dtype, device and, for the _like forms, order of dims.
void define_likenesses(Registry& ops) {
  ops.define(
         "empty_like(Tensor self, *, ScalarType? dtype=None, Device? device=None, "
         "MemoryFormat? memory_format=None) -> Tensor")
      .function_only()
      .doc("A tensor like `self` with no set values.",
           ">>> torch.empty_like(torch.zeros(2, 3)).shape\ntorch.Size([2, 3])");
  ops.define(
         "zeros_like(Tensor self, *, ScalarType? dtype=None, Device? device=None, "
         "MemoryFormat? memory_format=None) -> Tensor")
      .function_only()
      .doc("A tensor like `self` filled with 0.",
           ">>> torch.zeros_like(torch.tensor([1, 2]))\ntensor([0, 0])");
  ops.define(
         "ones_like(Tensor self, *, ScalarType? dtype=None, Device? device=None, "
         "MemoryFormat? memory_format=None) -> Tensor")
      .function_only()
      .doc("A tensor like `self` filled with 1.",
           ">>> torch.ones_like(torch.tensor([3, 4]))\ntensor([1, 1])");
  ops.define(
         "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, "
         "Device? device=None, MemoryFormat? memory_format=None) -> Tensor")
      .function_only()
      .doc("A tensor like `self` filled with `fill_value`.",
           ">>> torch.full_like(torch.tensor([1, 2]), 7)\ntensor([7, 7])");
  ops.define(
         "new_empty(Tensor self, int[] size, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .names_dims()
      .method_only()
      .doc("A tensor of another size with the dtype and device of `self`.",
           ">>> torch.zeros(2, dtype=torch.int8).new_empty(3).dtype\ntorch.int8");
  ops.define(
         "new_empty_strided(Tensor self, int[] size, int[] stride, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .method_only()
      .doc("A tensor of another size and strides with the dtype and device of `self`.",
           ">>> torch.zeros(2).new_empty_strided((2, 3), (1, 2)).stride()\n(1, 2)");
  ops.define(
         "new_zeros(Tensor self, int[] size, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .names_dims()
      .method_only()
      .doc("A tensor of zeros with the dtype and device of `self`.",
           ">>> torch.tensor([1]).new_zeros(2)\ntensor([0, 0])");
  ops.define(
         "new_ones(Tensor self, int[] size, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .names_dims()
      .method_only()
      .doc("A tensor of ones with the dtype and device of `self`.",
           ">>> torch.tensor([7]).new_ones(2)\ntensor([1, 1])");
  ops.define(
         "new_full(Tensor self, int[] size, Scalar fill_value, *, ScalarType? dtype=None, "
         "Device? device=None) -> Tensor")
      .names_dims()
      .method_only()
      .doc("A tensor filled with `fill_value`, with the dtype and device of `self`.",
           ">>> torch.tensor([7]).new_full((2,), 3)\ntensor([3, 3])");
}

}  // namespace

void define_creation(Registry& ops) {
  define_sized(ops);
  define_ranges(ops);
  define_likenesses(ops);
  // First the tensor form: as a number, a 0-dim tensor would be refused where it overflows.
  ops.define<fill_tensor>("fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)")
      .variants(kFunctionalVariant)
      .doc("Sets every element to the value of a 0-dim tensor.",
           ">>> torch.zeros(2).fill_(torch.tensor(3))\ntensor([3., 3.])");
  ops.define<fill>("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)")
      .names_dims()
      .fills_with("value")
      .allows_overlap()
      .variants(kFunctionalVariant)
      .doc("Sets every element to `value`.", ">>> torch.empty(2).fill_(3)\ntensor([3., 3.])");
  ops.define<zero>("zero_(Tensor(a!) self) -> Tensor(a!)")
      .names_dims()
      .fills_with(Scalar(0))
      .allows_overlap()
      .doc("Sets every element to 0.", ">>> torch.ones(2).zero_()\ntensor([0., 0.])");
}

}  // namespace mindtorch::ops
