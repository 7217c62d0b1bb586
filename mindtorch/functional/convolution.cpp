// conv1d to conv_transpose3d: torch's rules around the one op that computes them.
#include <algorithm>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

bool is_batched(const Tensor& input, int64_t n, const char* name) {
  MT_CHECK(input.dim() == n + 1 || input.dim() == n + 2, RuntimeError, "Expected ", n + 1,
           "D (unbatched) or ", n + 2, "D (batched) input to ", name,
           ", but got input of size: ", to_string(input.sizes()));
  return input.dim() == n + 2;
}

// An input without a batch is a batch of one.
template <typename Compute>
Tensor as_batch(const Tensor& input, int64_t n, const char* name, const Compute& compute) {
  if (is_batched(input, n, name)) return compute(input);
  return squeeze(compute(unsqueeze(input, 0)), 0);
}

constexpr const char* kNames[] = {"conv1d", "conv2d", "conv3d"};
constexpr const char* kTransposedNames[] = {"conv_transpose1d", "conv_transpose2d",
                                            "conv_transpose3d"};

template <int64_t kN>
Tensor conv(const Tensor& input,
            const Tensor& weight,
            const Tensor& bias,
            IntList stride,
            IntList padding,
            IntList dilation,
            int64_t groups) {
  return as_batch(input, kN, kNames[kN - 1], [&](const Tensor& batch) {
    return convolution(batch, weight, bias, stride, padding, dilation, false, {0}, groups);
  });
}

// Zeros around the input so that the result is as large. Where the two sides differ, the larger one
// is behind, and the difference must be written out.
Tensor conv_same(const Tensor& input,
                 const Tensor& weight,
                 const Tensor& bias,
                 IntList stride,
                 IntList dilation,
                 int64_t groups) {
  const int64_t n = weight.dim() - 2;
  MT_CHECK(n > 0, RuntimeError, "weight should have at least three dimensions");
  MT_CHECK(stride.size() == 1 || static_cast<int64_t>(stride.size()) == n, RuntimeError,
           "stride cannot broadcast to ", n, " dimensions");
  MT_CHECK(dilation.size() == 1 || static_cast<int64_t>(dilation.size()) == n, RuntimeError,
           "dilation cannot broadcast to ", n, " dimensions");
  for (const int64_t each : stride) {
    MT_CHECK(each == 1, RuntimeError, "padding='same' is not supported for strided convolutions");
  }
  Shape both;
  Shape behind;  // as pad takes it: the last dimension first, both of its sides
  for (int64_t i = 0; i < n; ++i) {
    const int64_t total =
        dilation[dilation.size() == 1 ? 0 : static_cast<size_t>(i)] * (weight.size(i + 2) - 1);
    both.push_back(total / 2);
    behind.insert(behind.begin(), total % 2);
    behind.insert(behind.begin(), 0);
  }
  const bool is_even = std::ranges::all_of(behind, [](int64_t each) { return each == 0; });
  const Tensor padded = is_even ? input : constant_pad_nd(input, behind, Scalar(0));
  return convolution(padded, weight, bias, stride, both, dilation, false, {0}, groups);
}

template <int64_t kN>
Tensor conv_padding(const Tensor& input,
                    const Tensor& weight,
                    const Tensor& bias,
                    IntList stride,
                    std::string_view padding,
                    IntList dilation,
                    int64_t groups) {
  return as_batch(input, kN, kNames[kN - 1], [&](const Tensor& batch) {
    if (padding == "same") return conv_same(batch, weight, bias, stride, dilation, groups);
    MT_CHECK(padding == "valid", RuntimeError, "Invalid padding string: '", padding, "'");
    return convolution(batch, weight, bias, stride, {0}, dilation, false, {0}, groups);
  });
}

template <int64_t kN>
Tensor conv_transpose(const Tensor& input,
                      const Tensor& weight,
                      const Tensor& bias,
                      IntList stride,
                      IntList padding,
                      IntList output_padding,
                      int64_t groups,
                      IntList dilation) {
  return as_batch(input, kN, kTransposedNames[kN - 1], [&](const Tensor& batch) {
    return convolution(batch, weight, bias, stride, padding, dilation, true, output_padding,
                       groups);
  });
}

}  // namespace

void compose_convolution(ops::Registry& registry) {
  registry.composite<conv<1>>("conv1d");
  registry.composite<conv<2>>("conv2d");
  registry.composite<conv<3>>("conv3d");
  registry.composite<conv_padding<1>>("conv1d.padding");
  registry.composite<conv_padding<2>>("conv2d.padding");
  registry.composite<conv_padding<3>>("conv3d.padding");
  registry.composite<conv_transpose<1>>("conv_transpose1d");
  registry.composite<conv_transpose<2>>("conv_transpose2d.input");
  registry.composite<conv_transpose<3>>("conv_transpose3d.input");
}

}  // namespace mindtorch::functional
