// Convolution and its transpose over any number of dimensions.
#include <algorithm>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::ops {
namespace {

struct Settings {
  Shape stride;
  Shape padding;
  Shape dilation;
  bool transposed;
  Shape output_padding;
  int64_t groups;
};

std::string times(IntList sizes) {
  std::string text = "(";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : " x ") + std::to_string(sizes[i]);
  }
  return text + ")";
}

// One number stands for all dimensions.
Shape per_dimension(const char* name, IntList list, size_t count) {
  if (list.size() == 1) return Shape(count, list[0]);
  MT_CHECK(list.size() == count, RuntimeError, "expected ", name,
           " to be a single integer value or a list of ", count,
           " values to match the convolution dimensions, but got ", name, "=", to_string(list));
  return Shape(list);
}

bool any_below(IntList values, int64_t least) {
  return std::ranges::any_of(values, [&](int64_t value) { return value < least; });
}

void check_settings(const Settings& s) {
  MT_CHECK(!any_below(s.padding, 0), RuntimeError, "negative padding is not supported");
  MT_CHECK(!any_below(s.output_padding, 0), RuntimeError,
           "negative output_padding is not supported");
  MT_CHECK(!any_below(s.stride, 1), RuntimeError, "non-positive stride is not supported");
  MT_CHECK(!any_below(s.dilation, 0), RuntimeError, "dilation should be greater than zero");
  MT_CHECK(!any_below(s.dilation, 1), RuntimeError, "non-positive dilation is not supported");
  MT_CHECK(s.groups > 0, RuntimeError, "non-positive groups is not supported");
}

void check_channels(const Tensor& input,
                    const Tensor& weight,
                    const Tensor& bias,
                    const Settings& s) {
  const std::string of_weight = to_string(weight.sizes());
  const auto rank = weight.dim();
  MT_CHECK(input.dim() == rank, RuntimeError, "Expected ", rank, "-dimensional input for ", rank,
           "-dimensional weight ", of_weight, ", but got ", input.dim(),
           "-dimensional input of size ", to_string(input.sizes()), " instead");
  MT_CHECK(weight.size(0) >= s.groups, RuntimeError, "Given groups=", s.groups,
           ", expected weight to be at least ", s.groups,
           " at dimension 0, but got weight of size ", of_weight, " instead");
  MT_CHECK(weight.size(0) % s.groups == 0, RuntimeError, "Given groups=", s.groups,
           ", expected weight to be divisible by ", s.groups,
           " at dimension 0, but got weight of size [", of_weight, "] instead");
  const std::string given = s.transposed
                                ? mindtorch::detail::concat("Given transposed=1, weight")
                                : mindtorch::detail::concat("Given groups=", s.groups, ", weight");
  const int64_t wanted = s.transposed ? weight.size(0) : weight.size(1) * s.groups;
  MT_CHECK(input.size(1) == wanted, RuntimeError, given, " of size ", of_weight, ", expected input",
           to_string(input.sizes()), " to have ", wanted, " channels, but got ", input.size(1),
           " channels instead");
  if (!bias.defined()) return;
  const int64_t outputs = s.transposed ? weight.size(1) * s.groups : weight.size(0);
  MT_CHECK(bias.dim() == 1 && bias.size(0) == outputs, RuntimeError,
           s.transposed ? "Given transposed=1, weight of size " : "Given weight of size ",
           of_weight, ", expected bias to be 1-dimensional with ", outputs,
           " elements, but got bias of size ", to_string(bias.sizes()), " instead");
}

void check_convolution_dtypes(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const auto type = [](const Tensor& tensor) { return limits(tensor.dtype()).type_name; };
  MT_CHECK(input.dtype() == weight.dtype(), RuntimeError, "expected scalar type ",
           legacy_name(input.dtype()), " but found ", legacy_name(weight.dtype()));
  MT_CHECK(!bias.defined() || bias.dtype() == input.dtype(), RuntimeError, "Input type (",
           type(input), ") and bias type (", bias.defined() ? type(bias) : "",
           ") should be the same");
  MT_CHECK(input.dtype() != DType::kBool, NotImplementedError,
           "\"slow_conv2d_cpu\" not implemented for 'Bool'");
}

void check_kernel(const Tensor& weight) {
  const size_t n = weight.sizes().size() - 2;
  bool has_elements = true;
  std::string text;
  static constexpr const char* kNames[] = {"depth", "height", "width"};
  if (n == 1) text = " kernel_height: 1";  // torch looks at it as an image of one row
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = weight.sizes()[i + 2];
    has_elements &= size > 0;
    text += mindtorch::detail::concat(" kernel_", n <= 3 ? kNames[3 - n + i] : "size", ": ", size);
  }
  MT_CHECK(has_elements, RuntimeError, "kernel size should be greater than zero, but got", text);
}

void check_window(const Tensor& input, const Tensor& weight, const Settings& s) {
  Shape padded;
  Shape kernel;
  bool fits = true;
  for (size_t i = 0; i < s.stride.size(); ++i) {
    padded.push_back(input.sizes()[i + 2] + 2 * s.padding[i]);
    kernel.push_back(s.dilation[i] * (weight.sizes()[i + 2] - 1) + 1);
    fits &= padded[i] >= kernel[i];
  }
  MT_CHECK(fits, RuntimeError, "Calculated padded input size per channel: ", times(padded),
           ". Kernel size: ", times(kernel),
           ". Kernel size can't be greater than actual input size");
}

void check_output_padding(const Settings& s) {
  const size_t n = s.stride.size();
  bool fits = true;
  for (size_t i = 0; i < n; ++i) {
    fits &= s.output_padding[i] < s.stride[i] || s.output_padding[i] < s.dilation[i];
  }
  if (fits) return;
  static constexpr const char* kNames[] = {"depth", "height", "width"};
  std::string text;
  for (const auto& [name, values] :
       {std::pair<const char*, const Shape&>{"output_padding", s.output_padding},
        {"stride", s.stride},
        {"dilation", s.dilation}}) {
    for (size_t i = 0; i < n; ++i) {
      const char* side = n <= 3 ? kNames[3 - n + i] : "size";
      text += mindtorch::detail::concat(" ", name, "_", side, ": ", values[i]);
    }
  }
  MT_THROW(RuntimeError, "output padding must be smaller than either stride or dilation, but got",
           text);
}

Shape output_sizes(const Tensor& input, const Tensor& weight, const Settings& s) {
  Shape sizes = {input.size(0), s.transposed ? weight.size(1) * s.groups : weight.size(0)};
  if (!s.transposed && input.size(1) == 0) sizes[1] = 0;  // torch's rule
  for (size_t i = 0; i < s.stride.size(); ++i) {
    const int64_t window = s.dilation[i] * (weight.sizes()[i + 2] - 1) + 1;
    const int64_t in = input.sizes()[i + 2];
    sizes.push_back(s.transposed
                        ? (in - 1) * s.stride[i] - 2 * s.padding[i] + window + s.output_padding[i]
                        : (in + 2 * s.padding[i] - window) / s.stride[i] + 1);
  }
  return sizes;
}

// A transposed convolution of a batch that is not empty has elements, as those of torch's own
// kernels have. Lines are images of one row.
void check_output(IntList input, IntList output, bool transposed) {
  const int64_t least = transposed && input[0] != 0 ? 1 : 0;
  if (!any_below(output.subspan(2), least)) return;
  const auto places = [](IntList sizes) {
    Shape all(sizes.begin() + 2, sizes.end());
    if (all.size() == 1) all.insert(all.begin(), 1);
    return times(all);
  };
  MT_THROW(RuntimeError, "Given input size per channel: ", places(input),
           ". Calculated output size per channel: ", places(output), ". Output size is too small");
}

// Channels come last in the result where they do in one of the operands.
TensorSpec laid_out(Shape sizes, const Tensor& first, const Tensor& second) {
  MemoryFormat format = suggested_format(first);
  if (format == MemoryFormat::kContiguous) format = suggested_format(second);
  TensorSpec spec = contiguous_spec(std::move(sizes), first.dtype(), first.device());
  if (format == MemoryFormat::kChannelsLast) spec.strides = strides_for(spec.sizes, format);
  return spec;
}

TensorSpec convolution(const Tensor& input,
                       const Tensor& weight,
                       const Tensor& bias,
                       IntList stride,
                       IntList padding,
                       IntList dilation,
                       bool transposed,
                       IntList output_padding,
                       int64_t groups) {
  MT_CHECK(weight.dim() >= 3, RuntimeError, "weight should have at least three dimensions");
  const size_t n = weight.sizes().size() - 2;
  const Settings s = {per_dimension("stride", stride, n),
                      per_dimension("padding", padding, n),
                      per_dimension("dilation", dilation, n),
                      transposed,
                      per_dimension("output_padding", output_padding, n),
                      groups};
  check_settings(s);
  check_channels(input, weight, bias, s);
  check_kernel(weight);
  if (transposed) {
    check_output_padding(s);
  } else {
    check_window(input, weight, s);
  }
  MT_CHECK(n <= 3, RuntimeError, "convolution: only 1 to 3 dimensions are supported, got ", n);
  check_convolution_dtypes(input, weight, bias);
  MT_CHECK(input.numel() != 0 || input.size(0) == 0 || input.size(1) == 0, RuntimeError,
           "Only zero batch or zero channel inputs are supported, but got input shape: ",
           to_string(input.sizes()));
  const Shape sizes = output_sizes(input, weight, s);
  check_output(input.sizes(), sizes, transposed);
  return laid_out(sizes, input, weight);
}

// What is not wanted is empty.
SpecList convolution_backward(const Tensor& grad_output,
                              const Tensor& input,
                              const Tensor& weight,
                              IntList stride,
                              IntList padding,
                              IntList dilation,
                              bool transposed,
                              IntList output_padding,
                              int64_t groups,
                              bool needs_input,
                              bool needs_weight,
                              bool needs_bias) {
  const TensorSpec result =
      convolution(input, weight, {}, stride, padding, dilation, transposed, output_padding, groups);
  MT_CHECK(equal(grad_output.sizes(), result.sizes), RuntimeError, "Expected grad_output of size ",
           to_string(result.sizes), ", but got ", to_string(grad_output.sizes()));
  MT_CHECK(grad_output.dtype() == result.dtype, RuntimeError, "expected scalar type ",
           legacy_name(result.dtype), " but found ", legacy_name(grad_output.dtype()));
  const TensorSpec none = contiguous_spec({0}, grad_output.dtype(), grad_output.device());
  const int64_t outputs = transposed ? weight.size(1) * groups : weight.size(0);
  return {
      needs_input ? laid_out(input.sizes(), input, weight) : none,
      needs_weight ? laid_out(weight.sizes(), weight, input) : none,
      needs_bias ? contiguous_spec({outputs}, grad_output.dtype(), grad_output.device()) : none};
}

TensorSpec conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  MT_CHECK(self.dim() == 3, RuntimeError, "Input must have 3 dims: time, batch, in_channel");
  MT_CHECK(weight.dim() == 3, RuntimeError,
           "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
  MT_CHECK(bias.dim() == 1, RuntimeError, "Bias must be 1-D");
  MT_CHECK(self.size(2) == weight.size(1), RuntimeError,
           "Input dim 2 (input channels) is not == dim 1 in the weight tensor");
  MT_CHECK(weight.size(2) == bias.size(0), RuntimeError,
           "Bias size must equal dim 2 in the weight tensor (output channels).");
  const int64_t time = self.size(0) + 2 * pad - weight.size(0) + 1;
  return contiguous_spec({time, self.size(1), weight.size(2)}, self.dtype(), self.device());
}

}  // namespace

void define_convolution(Registry& ops) {
  ops.define<convolution>(
         "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
         "int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kLowerPrecision)
      .function_only()
      .doc("Convolution, or its transpose, over 1 to 3 dimensions.",
           ">>> torch.convolution(torch.ones(1, 1, 4), torch.ones(1, 1, 2), None, [1], [0], [1],\n"
           "...                   False, [0], 1)\n"
           "tensor([[[2., 2., 2.]]])");
  ops.define<convolution_backward>(
         "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[] stride, "
         "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
         "bool needs_input, bool needs_weight, bool needs_bias) -> (Tensor, Tensor, Tensor)")
      .device_example("grad(F.conv2d(image, kernel).sum(), (image, kernel))")
      .internal();
  ops.define<conv_tbc>("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction)
      .doc(
          "A convolution over time of (time, batch, channels).",
          ">>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()\n"
          "tensor([2., 2.])");
  ops.define(
         "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, "
         "int[1] padding=0, int[1] dilation=1, int groups=1) -> Tensor")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction)
      .doc("The sums of windows of the input, weighed by each filter, plus bias.",
           ">>> torch.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2))\n"
           "tensor([[[2., 2.]]])");
  ops.define(
         "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, "
         "str padding='valid', int[1] dilation=1, int groups=1) -> Tensor")
      .device_example("torch.conv1d(image[:, :, 0], kernel[:, :, 0], padding='same')")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction);
  ops.define(
         "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, "
         "int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor")
      .device_example("torch.conv2d(image, kernel)")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction)
      .doc("The sums of windows of the input, weighed by each filter, plus bias.");
  ops.define(
         "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, "
         "str padding='valid', int[2] dilation=1, int groups=1) -> Tensor")
      .device_example("torch.conv2d(image, kernel, padding='same')")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction);
  ops.define(
         "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, "
         "int[3] padding=0, int[3] dilation=1, int groups=1) -> Tensor")
      .device_example("torch.conv3d(image.view(2, 1, 1, 4, 4), kernel[None])")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction)
      .doc("The sums of windows of the input, weighed by each filter, plus bias.");
  ops.define(
         "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, "
         "str padding='valid', int[3] dilation=1, int groups=1) -> Tensor")
      .device_example("torch.conv3d(image.view(2, 1, 1, 4, 4), kernel[None], padding='same')")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction);
  ops.define(
         "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, "
         "int[1] stride=1, int[1] padding=0, int[1] output_padding=0, int groups=1, "
         "int[1] dilation=1) -> Tensor")
      .device_example("torch.conv_transpose1d(image[:, :, 0], kernel[:, :, 0])")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction)
      .doc("The transpose of conv1d: every element spread by each filter, and added up.");
  ops.define(
         "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, "
         "int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, "
         "int[2] dilation=1) -> Tensor")
      .device_example("torch.conv_transpose2d(image, kernel)")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction)
      .doc("The transpose of conv2d: every element spread by each filter, and added up.");
  ops.define(
         "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, "
         "int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, "
         "int[3] dilation=1) -> Tensor")
      .device_example("torch.conv_transpose3d(image.view(2, 1, 1, 4, 4), kernel[None])")
      .autocast(AutocastPolicy::kLowerPrecision)
      .place(kFunction | kNnFunction)
      .doc("The transpose of conv3d: every element spread by each filter, and added up.");
}

}  // namespace mindtorch::ops
