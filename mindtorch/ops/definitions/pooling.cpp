// Pooling: the largest element or the mean of windows of the last 2 or 3 dimensions.
#include <algorithm>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::ops {
namespace {

template <size_t kN>
constexpr const char* kCount = kN == 2 ? "two" : "three";

std::string by(IntList sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : "x") + std::to_string(sizes[i]);
  }
  return text;
}

void check_numeric(const char* name, const Tensor& self, bool supported) {
  MT_CHECK(supported, NotImplementedError, "\"", name, "\" not implemented for '",
           legacy_name(self.dtype()), "'");
}

struct Window {
  Shape kernel;
  Shape stride;
  Shape padding;
  Shape dilation;
};

template <size_t kN>
Window window(const char* op, IntList kernel, IntList stride, IntList padding, IntList dilation) {
  const auto expanded = [&](IntList list) {
    return list.size() == 1 ? Shape(kN, list[0]) : Shape(list);
  };
  const auto fits = [](IntList list) { return list.size() == 1 || list.size() == kN; };
  const char* const must = std::string_view(op) == "avg_pool3d" ? " must be " : " must either be ";
  MT_CHECK(fits(kernel), RuntimeError, op, ": kernel_size", must, "a single int, or a tuple of ",
           kCount<kN>, " ints");
  MT_CHECK(stride.empty() || fits(stride), RuntimeError, op, ": stride", must,
           "omitted, a single int, or a tuple of ", kCount<kN>, " ints");
  MT_CHECK(fits(padding), RuntimeError, op, ": padding", must, "a single int, or a tuple of ",
           kCount<kN>, " ints");
  MT_CHECK(fits(dilation), RuntimeError, op,
           ": dilation must be either a single int, or a tuple of ", kCount<kN>, " ints");
  const Shape sizes = expanded(kernel);
  return {sizes, stride.empty() ? sizes : expanded(stride), expanded(padding), expanded(dilation)};
}

template <size_t kN>
void check_rank(const Tensor& self) {
  const auto rank = self.sizes().size();
  MT_CHECK(rank == kN + 1 || rank == kN + 2, RuntimeError, "non-empty ", kN + 1, "D or ", kN + 2,
           "D (batch mode) tensor expected for input");
}

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

int64_t output_size(const Window& w, size_t i, int64_t in, bool ceil_mode) {
  const int64_t kernel = w.kernel[i];
  const int64_t stride = w.stride[i];
  const int64_t pad = w.padding[i];
  const int64_t dilation = w.dilation[i];
  MT_CHECK(stride != 0, RuntimeError, "stride should not be zero");
  MT_CHECK(pad >= 0, RuntimeError, "pad must be non-negative, but got pad: ", pad);
  MT_CHECK(pad <= ((kernel - 1) * dilation + 1) / 2, RuntimeError,
           "pad should be at most half of effective kernel size, but got pad=", pad,
           ", kernel_size=", kernel, " and dilation=", dilation);
  const int64_t room = in + 2 * pad - dilation * (kernel - 1) - 1;
  const int64_t out = floor_div(room + (ceil_mode ? stride - 1 : 0), stride) + 1;
  // The last window must begin inside the input or before it.
  return ceil_mode && (out - 1) * stride >= in + pad ? out - 1 : out;
}

// Leading dims, then one size for each of the last kN.
template <size_t kN>
Shape with_last(const Tensor& self, IntList last) {
  Shape sizes(IntList(self.sizes()).first(self.sizes().size() - kN));
  for (const int64_t size : last) sizes.push_back(size);
  return sizes;
}

TensorSpec laid_out(const Tensor& self, Shape sizes, DType dtype, bool any_rank = true) {
  TensorSpec spec = contiguous_spec(std::move(sizes), dtype, self.device());
  const MemoryFormat format = suggested_format(self);
  const bool last = format == MemoryFormat::kChannelsLast ||
                    (any_rank && format == MemoryFormat::kChannelsLast3d);
  if (last) spec.strides = strides_for(spec.sizes, format);
  return spec;
}

template <size_t kN>
Shape pooled_sizes(const Tensor& self, const Window& w, bool ceil_mode) {
  const IntList in = IntList(self.sizes()).last(kN);
  Shape out;
  for (size_t i = 0; i < kN; ++i) out.push_back(output_size(w, i, in[i], ceil_mode));
  for (size_t i = 0; i < kN; ++i) {
    MT_CHECK(w.kernel[i] > 0, RuntimeError,
             "kernel size should be greater than zero, but got kH: ", w.kernel[kN - 2],
             " kW: ", w.kernel[kN - 1]);
    MT_CHECK(w.stride[i] > 0, RuntimeError,
             "stride should be greater than zero, but got dH: ", w.stride[kN - 2],
             " dW: ", w.stride[kN - 1]);
    MT_CHECK(w.dilation[i] > 0, RuntimeError,
             "dilation should be greater than zero, but got dilationH: ", w.dilation[kN - 2],
             " dilationW: ", w.dilation[kN - 1]);
  }
  const IntList sizes = self.sizes();
  const bool filled = std::ranges::all_of(sizes.last(kN + 1), [](int64_t n) { return n != 0; });
  MT_CHECK(
      filled, RuntimeError, "Expected ", kN + 1, "D or ", kN + 2,
      "D (batch mode) tensor with optional 0 dim batch size for input, but got:", to_string(sizes));
  const bool fits = std::ranges::all_of(out, [](int64_t n) { return n >= 1; });
  const std::string channels = std::to_string(sizes[sizes.size() - kN - 1]) + "x";
  MT_CHECK(fits, RuntimeError, "Given input size: (", channels, by(in),
           "). Calculated output size: (", channels, by(out), "). Output size is too small");
  return with_last<kN>(self, out);
}

// A gradient, or the indices that belong to it, must look like the result of the op.
void check_like(const char* name, const Tensor& tensor, const TensorSpec& result) {
  MT_CHECK(equal(tensor.sizes(), result.sizes), RuntimeError, "Expected ", name, " of size ",
           to_string(result.sizes), ", but got ", to_string(tensor.sizes()));
  MT_CHECK(tensor.dtype() == result.dtype, RuntimeError, "Expected ", name, " to be of dtype ",
           legacy_name(result.dtype), ", but got ", legacy_name(tensor.dtype()));
}

template <size_t kN>
SpecList max_pool(const Tensor& self,
                  IntList kernel_size,
                  IntList stride,
                  IntList padding,
                  IntList dilation,
                  bool ceil_mode) {
  const char* const name = kN == 2 ? "max_pool2d" : "max_pool3d";
  const Window w = window<kN>(name, kernel_size, stride, padding, dilation);
  check_rank<kN>(self);
  const Shape sizes = pooled_sizes<kN>(self, w, ceil_mode);
  check_numeric(name, self, self.dtype() != DType::kBool);
  return {laid_out(self, sizes, self.dtype()), laid_out(self, sizes, DType::kInt64)};
}
template <size_t kN>
TensorSpec max_pool_backward(const Tensor& grad_output,
                             const Tensor& self,
                             IntList kernel_size,
                             IntList stride,
                             IntList padding,
                             IntList dilation,
                             bool ceil_mode,
                             const Tensor& indices) {
  const SpecList pooled = max_pool<kN>(self, kernel_size, stride, padding, dilation, ceil_mode);
  check_like("grad_output", grad_output, pooled[0]);
  check_like("indices", indices, pooled[1]);
  return laid_out(self, self.sizes(), grad_output.dtype());
}

template <size_t kN>
TensorSpec avg_pool(const Tensor& self,
                    IntList kernel_size,
                    IntList stride,
                    IntList padding,
                    bool ceil_mode,
                    bool,
                    std::optional<int64_t> divisor_override) {
  const char* const name = kN == 2 ? "avg_pool2d" : "avg_pool3d";
  const Window w = window<kN>(name, kernel_size, stride, padding, IntList{1});
  MT_CHECK(divisor_override.value_or(1) != 0, RuntimeError, "divisor must be not zero");
  if (kN == 2 && self.dim() < 3) wrap_dim(-3, self.dim());  // refuses it
  check_rank<kN>(self);
  if constexpr (kN == 3) {
    const IntList in = IntList(self.sizes()).last(3);
    bool fits = true;
    for (size_t i = 0; i < 3; ++i) {
      output_size(w, i, in[i], ceil_mode);
      fits &= in[i] >= w.kernel[i];
    }
    MT_CHECK(fits, RuntimeError, "input image (T: ", in[0], " H: ", in[1], " W: ", in[2],
             ") smaller than kernel size (kT: ", w.kernel[0], " kH: ", w.kernel[1],
             " kW: ", w.kernel[2], ")");
  }
  const Shape sizes = pooled_sizes<kN>(self, w, ceil_mode);
  check_numeric(name, self, is_floating_point(self.dtype()) || self.dtype() == DType::kInt64);
  return laid_out(self, sizes, self.dtype(), false);
}
template <size_t kN>
TensorSpec avg_pool_backward(const Tensor& grad_output,
                             const Tensor& self,
                             IntList kernel_size,
                             IntList stride,
                             IntList padding,
                             bool ceil_mode,
                             bool count_include_pad,
                             std::optional<int64_t> divisor_override) {
  check_like("grad_output", grad_output,
             avg_pool<kN>(self, kernel_size, stride, padding, ceil_mode, count_include_pad,
                          divisor_override));
  return laid_out(self, self.sizes(), grad_output.dtype(), false);
}

template <size_t kN>
void check_adaptive(const char* name, const Tensor& self, const char* separator) {
  const auto rank = self.sizes().size();
  MT_CHECK(rank == kN + 1 || rank == kN + 2, RuntimeError, name, "(): Expected ", kN + 1, "D or ",
           kN + 2, "D tensor, but got", separator, " ", to_string(self.sizes()));
  for (size_t i = rank - kN; i < rank; ++i) {
    MT_CHECK(self.sizes()[i] != 0, RuntimeError, name,
             "(): Expected input to have non-zero size for non-batch dimensions, but input has "
             "sizes ",
             to_string(self.sizes()), " with dimension ", i, " being empty");
  }
}

template <size_t kN>
TensorSpec adaptive_avg_pool(const Tensor& self, IntList output_size) {
  const char* const name = kN == 2 ? "adaptive_avg_pool2d" : "adaptive_avg_pool3d";
  MT_CHECK(output_size.size() == kN, RuntimeError, name, ": output_size must be ", kN);
  for (const int64_t size : output_size) {
    const std::string list = to_string(output_size);
    MT_CHECK(size >= 0, RuntimeError, name,
             ": elements of output_size must be greater than or equal to 0 but received {",
             list.substr(1, list.size() - 2), "}");
  }
  check_adaptive<kN>(name, self, "");
  check_numeric(name, self, is_floating_point(self.dtype()));
  return laid_out(self, with_last<kN>(self, output_size), self.dtype(), false);
}
// The sizes that an adaptive pooling was asked for, read from the gradient of its result.
template <size_t kN>
IntList asked_sizes(const Tensor& grad_output) {
  MT_CHECK(grad_output.sizes().size() >= kN, RuntimeError, "grad_output has too few dimensions");
  return IntList(grad_output.sizes()).last(kN);
}

template <size_t kN>
TensorSpec adaptive_avg_pool_backward(const Tensor& grad_output, const Tensor& self) {
  check_like("grad_output", grad_output, adaptive_avg_pool<kN>(self, asked_sizes<kN>(grad_output)));
  return laid_out(self, self.sizes(), grad_output.dtype(), false);
}

template <size_t kN>
SpecList adaptive_max_pool(const Tensor& self, IntList output_size) {
  const char* const name = kN == 2 ? "adaptive_max_pool2d" : "adaptive_max_pool3d";
  MT_CHECK(output_size.size() == kN, RuntimeError, name,
           "(): internal error: output_size.size() must be ", kN);
  check_adaptive<kN>(name, self, ":");
  const Shape sizes = with_last<kN>(self, output_size);
  for (const int64_t size : output_size) {
    MT_CHECK(size >= 0, RuntimeError, "Trying to create tensor with negative dimension ", size,
             ": ", to_string(sizes));
  }
  check_numeric(name, self, is_floating_point(self.dtype()));
  return {laid_out(self, sizes, self.dtype(), false), laid_out(self, sizes, DType::kInt64, false)};
}
template <size_t kN>
TensorSpec adaptive_max_pool_backward(const Tensor& grad_output,
                                      const Tensor& self,
                                      const Tensor& indices) {
  const SpecList pooled = adaptive_max_pool<kN>(self, asked_sizes<kN>(grad_output));
  check_like("grad_output", grad_output, pooled[0]);
  check_like("indices", indices, pooled[1]);
  return laid_out(self, self.sizes(), grad_output.dtype(), false);
}

}  // namespace

void define_pooling(Registry& ops) {
  ops.define<max_pool<2>>(
         "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
         "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)")
      .device_example("F.max_pool2d(image, 2, return_indices=True)")
      .internal();
  ops.define<max_pool<3>>(
         "max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
         "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)")
      .device_example("F.max_pool3d(volume, 2, return_indices=True)")
      .internal();
  ops.define<max_pool_backward<2>>(
         "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
         "int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> "
         "Tensor")
      .device_example("grad(F.max_pool2d(image, 2).sum(), image)")
      .internal();
  ops.define<max_pool_backward<3>>(
         "max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, "
         "int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> "
         "Tensor")
      .device_example("grad(F.max_pool3d(volume, 2).sum(), image)")
      .internal();
  ops.define(
         "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "
         "int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)")
      .device_example("F.max_pool1d(image[0], 2, return_indices=True)")
      .function_only()
      .doc("The largest elements of windows of the last dimension, and where they are.");
  ops.define(
         "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
         "int[1] dilation=1, bool ceil_mode=False) -> Tensor")
      .function_only()
      .doc("The largest elements of windows of the last dimension.",
           ">>> torch.max_pool1d(torch.tensor([[1., 3., 2., 0.]]), 2)\n"
           "tensor([[3., 2.]])");
  ops.define(
         "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
         "int[2] dilation=1, bool ceil_mode=False) -> Tensor")
      .device_example("torch.max_pool2d(image, 2)")
      .function_only()
      .doc("The largest elements of windows of the last two dimensions.");
  ops.define(
         "max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
         "int[3] dilation=1, bool ceil_mode=False) -> Tensor")
      .device_example("torch.max_pool3d(volume, 2)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .function_only()
      .doc("The largest elements of windows of the last three dimensions.");
  ops.define(
         "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
         "bool ceil_mode=False, bool count_include_pad=True) -> Tensor")
      .place(kFunction | kNnFunction)
      .doc("The means of windows of the last dimension.",
           ">>> torch.avg_pool1d(torch.tensor([[1., 3., 2., 0.]]), 2)\n"
           "tensor([[2., 1.]])");
  ops.define<avg_pool<2>>(
         "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
         "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> "
         "Tensor")
      .device_example("F.avg_pool2d(image, 2)")
      .nn_function()
      .doc("The means of windows of the last two dimensions.");
  ops.define<avg_pool<3>>(
         "avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
         "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> "
         "Tensor")
      .device_example("F.avg_pool3d(volume, 2)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .nn_function()
      .doc("The means of windows of the last three dimensions.");
  ops.define<avg_pool_backward<2>>(
         "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
         "int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> "
         "Tensor")
      .device_example("grad(F.avg_pool2d(image, 2).sum(), image)")
      .internal();
  ops.define<avg_pool_backward<3>>(
         "avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, "
         "int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> "
         "Tensor")
      .device_example("grad(F.avg_pool3d(volume, 2).sum(), image)")
      .internal();
  ops.define("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor")
      .place(kFunction | kNnFunction)
      .doc("The means of output_size windows that cover the last dimension.",
           ">>> torch.adaptive_avg_pool1d(torch.tensor([[1., 3., 2., 0.]]), 1)\n"
           "tensor([[1.5000]])");
  ops.define<adaptive_avg_pool<2>>(
         "_adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor")
      .device_example("F.adaptive_avg_pool2d(image, 2)")
      .internal();
  ops.define<adaptive_avg_pool<3>>(
         "_adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("F.adaptive_avg_pool3d(volume, 2)")
      .internal();
  ops.define("adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor")
      .device_example("torch.ops.aten.adaptive_avg_pool2d(image, [2, 2])")
      .internal();
  ops.define("adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .device_example("torch.ops.aten.adaptive_avg_pool3d(volume, [2, 2, 2])")
      .internal();
  ops.define<adaptive_avg_pool_backward<2>>(
         "_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor")
      .device_example("grad(F.adaptive_avg_pool2d(image, 2).sum(), image)")
      .internal();
  ops.define<adaptive_avg_pool_backward<3>>(
         "_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor")
      .device_example("grad(F.adaptive_avg_pool3d(volume, 2).sum(), image)")
      .internal();
  ops.define("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)")
      .device_example("torch.adaptive_max_pool1d(image[0], 2)")
      .function_only()
      .doc(
          "The largest elements of output_size windows that cover the last dimension, and where "
          "they are.");
  ops.define<adaptive_max_pool<2>>(
         "adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)")
      .device_example("F.adaptive_max_pool2d(image, 2, return_indices=True)")
      .internal();
  ops.define<adaptive_max_pool<3>>(
         "adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)")
      .device_example("F.adaptive_max_pool3d(volume, 2, return_indices=True)")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .internal();
  ops.define<adaptive_max_pool_backward<2>>(
         "adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor")
      .device_example("grad(F.adaptive_max_pool2d(image, 2).sum(), image)")
      .internal();
  ops.define<adaptive_max_pool_backward<3>>(
         "adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor")
      .device_example("grad(F.adaptive_max_pool3d(volume, 2).sum(), image)")
      .internal();
}

}  // namespace mindtorch::ops
