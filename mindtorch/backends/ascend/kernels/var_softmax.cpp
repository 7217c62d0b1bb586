// Reductions of several steps: variances, norms, logsumexp, softmax.
#include <cmath>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/reduce.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;

Shape kept_sizes(const Tensor& self, IntList dims) {
  Shape sizes = self.sizes();
  for (const int64_t dim : dims) {
    if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = 1;
  }
  return sizes;
}

Tensor summed(ops::Launch& on, const Tensor& self, IntList dims) {
  Tensor out = make_like(on, kept_sizes(self, dims), self.dtype());
  call(on, MT_ACLNN(aclnnReduceSum), self, dims, true, self.dtype(), out);
  return out;
}

// Stores a result that kept the reduced dims.
void store_reduced(ops::Launch& on, const Tensor& result, const Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnInplaceCopy), out,
       result.alias(out.sizes(), contiguous_strides(out.sizes()), 0));
}

// A variance, or its root, and perhaps the mean.
struct Variance {
  bool root;
  const Tensor& value;
  const Tensor* mean;
};

// CANN takes whole corrections and no float64; these steps take any.
void variance_in_steps(
    ops::Launch& on, const Tensor& self, IntList dims, double correction, const Variance& out) {
  const DType dtype = self.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Tensor input = on_device(on, self, dtype);
  const Tensor mean = make_like(on, kept_sizes(self, dims), dtype);
  call(on, MT_ACLNN(aclnnMean), input, dims, true, dtype, mean);
  const Tensor distance = computed(on, Pointwise::kSub, input, mean);
  const Tensor squares = summed(on, computed(on, Pointwise::kMul, distance, distance), dims);
  double count = 1;
  for (const int64_t dim : dims) count *= static_cast<double>(self.size(dim));
  const double freedom = std::max(0.0, count - correction);
  Tensor result = computed(on, Pointwise::kDiv, squares, Scalar(freedom));
  if (out.root) result = computed(on, Pointwise::kSqrt, result);
  store_reduced(on, result, out.value);
  if (out.mean != nullptr) store_reduced(on, mean, *out.mean);
}

void variance(ops::Launch& on,
              const Tensor& self,
              const Dims& dim,
              const std::optional<Scalar>& given,
              bool keepdim,
              const Variance& out) {
  const Shape all = all_or(dim, self.dim());
  const IntList dims(all);
  const double correction = given ? given->to_double() : 1.0;
  const auto whole = static_cast<int64_t>(correction);
  if (self.numel() == 0) {
    for (const Tensor* each : {&out.value, out.mean}) {
      if (each == nullptr || each->numel() == 0) continue;
      call(on, MT_ACLNN(aclnnInplaceFillScalar), *each, typed(Scalar(NAN), each->dtype()));
    }
    return;
  }
  if (self.dtype() == DType::kFloat64 || static_cast<double>(whole) != correction) {
    return variance_in_steps(on, self, dims, correction, out);
  }
  if (out.mean == nullptr) {
    if (out.root) return call(on, MT_ACLNN(aclnnStd), self, dims, whole, keepdim, out.value);
    return call(on, MT_ACLNN(aclnnVarCorrection), self, dims, whole, keepdim, out.value);
  }
  if (out.root) {
    return call(on, MT_ACLNN(aclnnStdMeanCorrection), self, dims, whole, keepdim, out.value,
                *out.mean);
  }
  call(on, MT_ACLNN(aclnnVarMean), self, dims, whole, keepdim, out.value, *out.mean);
}

template <bool kRoot>
void var(ops::Launch& on,
         const Tensor& self,
         Dims dim,
         std::optional<Scalar> correction,
         bool keepdim,
         Tensor& out) {
  variance(on, self, dim, correction, keepdim, {kRoot, out, nullptr});
}
template <bool kRoot>
void var_mean(ops::Launch& on,
              const Tensor& self,
              Dims dim,
              std::optional<Scalar> correction,
              bool keepdim,
              Tensor& out,
              Tensor& mean) {
  variance(on, self, dim, correction, keepdim, {kRoot, out, &mean});
}

// |x| ** p, summed, to the power of 1 / p, and the limits of that for 0 and infinity.
Tensor norm_in_steps(ops::Launch& on, const Tensor& input, double p, IntList dims) {
  const Tensor magnitude = computed(on, Pointwise::kAbs, input);
  if (std::isinf(p)) {
    Tensor out = make_like(on, kept_sizes(input, dims), input.dtype());
    if (p > 0) {
      call(on, MT_ACLNN(aclnnAmax), magnitude, dims, true, out);
    } else {
      call(on, MT_ACLNN(aclnnAmin), magnitude, dims, true, out);
    }
    return out;
  }
  if (p == 0) {
    const Tensor set = computed(on, Pointwise::kNe, input, Scalar(0.0));
    return summed(on, on_device(on, set, input.dtype()), dims);
  }
  if (p == 1) return summed(on, magnitude, dims);
  if (p == 2) {
    const Tensor squares = summed(on, computed(on, Pointwise::kMul, input, input), dims);
    return computed(on, Pointwise::kSqrt, squares);
  }
  const Tensor powers = summed(on, computed(on, Pointwise::kPow, magnitude, Scalar(p)), dims);
  return computed(on, Pointwise::kPow, powers, Scalar(1.0 / p));
}

void vector_norm(ops::Launch& on,
                 const Tensor& self,
                 const Scalar& ord,
                 Dims dim,
                 bool keepdim,
                 std::optional<DType>,
                 Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  const Tensor input = on_device(on, self, out.dtype());
  if (std::isnan(ord.to_double())) {
    // Nothing has norm 0, and one element its magnitude, whatever the order.
    if (input.numel() == 0) return call(on, MT_ACLNN(aclnnInplaceZero), out);
    if (input.numel() == out.numel() && (self.dim() > 0 || !dim || dim->empty())) {
      return store_reduced(on, computed(on, Pointwise::kAbs, input), out);
    }
  }
  if (out.dtype() == DType::kFloat64) {
    return store_reduced(on, norm_in_steps(on, input, ord.to_double(), dims), out);
  }
  call(on, MT_ACLNN(aclnnNorm), input, typed(ord, DType::kFloat32), IntList(dims), keepdim, out);
}

// log(sum(exp(x - m))) + m, where m is the largest x, or 0 if that is not finite.
Tensor logsumexp_in_steps(ops::Launch& on, const Tensor& input, IntList dims) {
  const Tensor largest = make_like(on, kept_sizes(input, dims), input.dtype());
  if (input.numel() == 0) {
    call(on, MT_ACLNN(aclnnInplaceFillScalar), largest, typed(Scalar(-INFINITY), input.dtype()));
    return largest;
  }
  call(on, MT_ACLNN(aclnnAmax), input, dims, true, largest);
  const Tensor is_finite = computed(on, Pointwise::kIsFinite, largest);
  const Tensor zero = on_device(on, Tensor::wrapped_number(0.0), input.dtype());
  const Tensor shift = computed(on, Pointwise::kWhere, is_finite, largest, zero);
  const Tensor exponentials =
      computed(on, Pointwise::kExp, computed(on, Pointwise::kSub, input, shift));
  const Tensor sums = computed(on, Pointwise::kLog, summed(on, exponentials, dims));
  return computed(on, Pointwise::kAdd, sums, shift);
}
void logsumexp(ops::Launch& on, const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  const Shape dims = all_or(dim, self.dim());
  const Tensor input = on_device(on, self, out.dtype());
  if (out.dtype() == DType::kFloat64) {
    return store_reduced(on, logsumexp_in_steps(on, input, dims), out);
  }
  call(on, MT_ACLNN(aclnnLogSumExp), input, IntList(dims), keepdim, out);
}

void softmax(ops::Launch& on, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnSoftmax), on_device(on, self, out.dtype()), dim, out);
}
void log_softmax(
    ops::Launch& on, const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclnnLogSoftmax), on_device(on, self, out.dtype()), dim, out);
}

void softmax_backward(ops::Launch& on,
                      const Tensor& grad_output,
                      const Tensor& output,
                      int64_t dim,
                      DType,
                      Tensor& out) {
  if (out.numel() == 0) return;
  compute_in(on, output.dtype(), out, [&](const Tensor& target) {
    call(on, MT_ACLNN(aclnnSoftmaxBackward), grad_output, output, dim, target);
  });
}
void log_softmax_backward(ops::Launch& on,
                          const Tensor& grad_output,
                          const Tensor& output,
                          int64_t dim,
                          DType,
                          Tensor& out) {
  if (out.numel() == 0) return;
  compute_in(on, output.dtype(), out, [&](const Tensor& target) {
    call(on, MT_ACLNN(aclnnLogSoftmaxBackward), grad_output, output, dim, target);
  });
}

}  // namespace

void register_var_softmax(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<var<false>>(kNpu, "var.correction");
  registry.kernel<var<true>>(kNpu, "std.correction");
  registry.kernel<var_mean<false>>(kNpu, "var_mean.correction");
  registry.kernel<var_mean<true>>(kNpu, "std_mean.correction");
  registry.kernel<vector_norm>(kNpu, "linalg_vector_norm");
  registry.kernel<logsumexp>(kNpu, "logsumexp");
  registry.kernel<softmax>(kNpu, "softmax.int");
  registry.kernel<log_softmax>(kNpu, "log_softmax.int");
  registry.kernel<softmax_backward>(kNpu, "_softmax_backward_data");
  registry.kernel<log_softmax_backward>(kNpu, "_log_softmax_backward_data");
}

}  // namespace mindtorch::ascend
