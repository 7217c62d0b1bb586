// Reductions: sums, extremes, moments, truth, norms.
#include <cmath>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

Shape reduced_sizes(const Tensor& self, uint64_t mask, bool keepdim) {
  Shape sizes;
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    if ((mask >> i & 1) == 0) {
      sizes.push_back(self.sizes()[i]);
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

TensorSpec reduced(const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) {
  return contiguous_spec(reduced_sizes(self, dim_mask(dim, self.dim()), keepdim), dtype,
                         self.device());
}

// Integers add up in int64.
DType sum_dtype(const Tensor& self, std::optional<DType> dtype) {
  if (dtype) return *dtype;
  return is_integral(self.dtype(), true) ? DType::kInt64 : self.dtype();
}

TensorSpec sum(const Tensor& self,
               std::optional<IntList> dim,
               bool keepdim,
               std::optional<DType> dtype) {
  return reduced(self, dim, keepdim, sum_dtype(self, dtype));
}

TensorSpec mean(const Tensor& self,
                std::optional<IntList> dim,
                bool keepdim,
                std::optional<DType> dtype) {
  const DType result = dtype.value_or(self.dtype());
  MT_CHECK(is_differentiable(result), RuntimeError, "mean(): could not infer output dtype. ",
           dtype ? "Optional dtype" : "Input dtype",
           " must be either a floating point or complex dtype. Got: ", legacy_name(result));
  return reduced(self, dim, keepdim, result);
}

TensorSpec prod(const Tensor& self,
                std::optional<int64_t> dim,
                bool keepdim,
                std::optional<DType> dtype) {
  const int64_t one = dim.value_or(0);
  return reduced(self, dim ? std::optional<IntList>(IntList(&one, 1)) : std::nullopt, keepdim,
                 sum_dtype(self, dtype));
}

// An extreme of nothing does not exist.
void check_not_empty(const char* name, const Tensor& self, std::optional<IntList> dim) {
  const uint64_t mask = dim_mask(dim, self.dim());
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    MT_CHECK((mask >> i & 1) == 0 || self.sizes()[i] != 0, IndexError, name,
             "(): Expected reduction dim ", i, " to have non-zero size.");
  }
}

template <bool kMax>
TensorSpec extreme(const Tensor& self, std::optional<IntList> dim, bool keepdim) {
  MT_CHECK((dim && !dim->empty()) || self.numel() > 0, RuntimeError, kMax ? "amax" : "amin",
           "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
           "reduction dim with the 'dim' argument.");
  check_not_empty(kMax ? "amax" : "amin", self, dim);
  return reduced(self, dim, keepdim, self.dtype());
}

SpecList aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const int64_t one = dim.value_or(0);
  const std::optional<IntList> dims = dim ? std::optional<IntList>(IntList(&one, 1)) : std::nullopt;
  MT_CHECK(dim || self.numel() > 0, RuntimeError,
           "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
           "identity.");
  check_not_empty("aminmax", self, dims);
  return {reduced(self, dims, keepdim, self.dtype()), reduced(self, dims, keepdim, self.dtype())};
}

template <bool kMax>
TensorSpec extreme_all(const Tensor& self) {
  MT_CHECK(self.numel() > 0, RuntimeError, kMax ? "max" : "min",
           "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
           "reduction dim with the 'dim' argument.");
  return contiguous_spec({}, self.dtype(), self.device());
}

template <bool kMax>
SpecList extreme_dim(const Tensor& self, int64_t dim, bool keepdim) {
  const IntList dims(&dim, 1);
  check_not_empty(kMax ? "max" : "min", self, dims);
  return {reduced(self, dims, keepdim, self.dtype()), reduced(self, dims, keepdim, DType::kInt64)};
}

template <bool kMax>
TensorSpec arg_extreme(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  MT_CHECK(self.dtype() != DType::kBool, RuntimeError, kMax ? "argmax" : "argmin",
           "(): does not support bool input");
  if (!dim) {
    MT_CHECK(self.numel() > 0, IndexError, kMax ? "argmax" : "argmin",
             "(): Expected reduction dim to be specified for input.numel() == 0.");
    return reduced(self, std::nullopt, keepdim, DType::kInt64);
  }
  const IntList dims(&*dim, 1);
  check_not_empty(kMax ? "argmax" : "argmin", self, dims);
  return reduced(self, dims, keepdim, DType::kInt64);
}

// uint8 answers in uint8, and an empty list of dims reduces nothing, as in torch.
TensorSpec truth(const Tensor& self, std::optional<IntList> dim, bool keepdim) {
  const DType dtype = self.dtype() == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
  if (dim && dim->empty()) return contiguous_spec(self.sizes(), dtype, self.device());
  return reduced(self, dim, keepdim, dtype);
}

void check_moments(const char* name, const Tensor& self) {
  MT_CHECK(is_differentiable(self.dtype()), RuntimeError, name,
           " only support floating point and complex dtypes");
}

TensorSpec var(const Tensor& self,
               std::optional<IntList> dim,
               std::optional<Scalar>,
               bool keepdim) {
  check_moments("std and var", self);
  return reduced(self, dim, keepdim, real_dtype(self.dtype()));
}

template <const char* kName>
SpecList var_mean(const Tensor& self,
                  std::optional<IntList> dim,
                  std::optional<Scalar>,
                  bool keepdim) {
  check_moments(kName, self);
  return {reduced(self, dim, keepdim, real_dtype(self.dtype())),
          reduced(self, dim, keepdim, self.dtype())};
}

constexpr char kVarMean[] = "var_mean";
constexpr char kStdMean[] = "std_mean";

TensorSpec vector_norm(const Tensor& self,
                       const Scalar& ord,
                       std::optional<IntList> dim,
                       bool keepdim,
                       std::optional<DType> dtype) {
  const DType result = dtype.value_or(self.dtype());
  MT_CHECK(is_differentiable(result), RuntimeError,
           "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
           legacy_name(result));
  MT_CHECK(promote_types(self.dtype(), result) == result, RuntimeError,
           "linalg.vector_norm: the dtype of the input (", legacy_name(self.dtype()),
           ") should be convertible without narrowing to the specified dtype (",
           legacy_name(result), ")");
  // The norms made of a smallest or largest element do not exist for none.
  const double p = ord.to_double();
  if (self.numel() == 0 && (p < 0 || std::isinf(p))) {
    MT_CHECK(dim && !dim->empty(), RuntimeError, "linalg.vector_norm cannot compute the ", p,
             " norm on an empty tensor because the operation does not have an identity");
    const uint64_t mask = dim_mask(dim, self.dim());
    for (size_t i = 0; i < self.sizes().size(); ++i) {
      MT_CHECK((mask >> i & 1) == 0 || self.sizes()[i] != 0, RuntimeError,
               "linalg.vector_norm cannot compute the ", p, " norm on the dimension ", i,
               "because this dimension is empty and the operation does not have an identity");
    }
  }
  return reduced(self, dim, keepdim, real_dtype(result));
}

TensorSpec logsumexp(const Tensor& self, IntList dim, bool keepdim) {
  if (dim.empty() && !keepdim && self.numel() != 0 && self.dim() > 0) {
    MT_THROW(RuntimeError, "output with shape [] doesn't match the broadcast shape ",
             to_string(Shape(self.sizes().size(), 1)));
  }
  return reduced(self, dim, keepdim, float_dtype(self.dtype()));
}

TensorSpec softmax_backward(const Tensor&, const Tensor& output, int64_t, DType input_dtype) {
  return contiguous_spec(output.sizes(), input_dtype, output.device());
}
template <bool kLog>
TensorSpec softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const bool is_last = wrap_dim(dim, self.dim()) + 1 >= self.dim();
  const DType result = dtype.value_or(self.dtype());
  MT_CHECK(is_floating_point(result) || self.numel() == 0, NotImplementedError,
           kLog ? "\"log_softmax" : "\"softmax", is_last ? "_lastdim" : "",
           "_kernel_impl\" not implemented for '", legacy_name(result), "'");
  return contiguous_spec(self.sizes(), result, self.device());
}

}  // namespace

void define_reduce(Registry& ops) {
  ops.define<sum>(
         "sum.dim_IntList(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
         "dtype=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .names_dims()
      .reduces_rows(RowFunction::kSum, "dim")
      .variants(kOutVariant)
      .accumulates_in(AccumulateIn::kOutDType)
      .out_dtype(TargetDType::kCastUnlessGiven)
      .doc("The sum of all elements, or along `dim`.",
           ">>> torch.sum(torch.tensor([1, 2]))\ntensor(3)");
  ops.define<sum>(
         "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
         "Tensor")
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCastUnlessGiven)
      .doc("The sum with NaN taken as 0.",
           ">>> torch.nansum(torch.tensor([1., float('nan')]))\ntensor(1.)");
  ops.define<mean>(
         "mean.dim(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
         "-> "
         "Tensor")
      .names_dims()
      .reduces_rows(RowFunction::kMean, "dim")
      .variants(kOutVariant)
      .accumulates_in(AccumulateIn::kOutDTypeOfFloats)
      .out_dtype(TargetDType::kCastUnlessGiven,
                 "mean.dtype_out(): input types can't be cast to the desired output type $O")
      .doc("The mean of all elements, or along `dim`.",
           ">>> torch.mean(torch.tensor([1., 2.]))\ntensor(1.5000)");
  ops.define<prod>(
         "prod.dim_int(Tensor self, int? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
         "-> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .names_dims()
      .variants(kOutVariant)
      .accumulates_in(AccumulateIn::kOutDType)
      .out_dtype(TargetDType::kCastUnlessGiven)
      .doc("The product of all elements, or along `dim`.",
           ">>> torch.prod(torch.tensor([2, 3]))\ntensor(6)");
  ops.define<extreme<true>>("amax(Tensor self, int[1]? dim=[], bool keepdim=False) -> Tensor")
      .names_dims()
      .reduces_rows(RowFunction::kAmax, "dim")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame,
                 "Expected the dtype for input and out to match, but got $R for input's dtype and "
                 "$O for out's dtype.")
      .doc("The largest element, over one or several dims.",
           ">>> torch.amax(torch.tensor([[1, 5], [2, 3]]), 1)\ntensor([5, 3])");
  ops.define<extreme<false>>("amin(Tensor self, int[1]? dim=[], bool keepdim=False) -> Tensor")
      .names_dims()
      .reduces_rows(RowFunction::kAmin, "dim")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame,
                 "Expected the dtype for input and out to match, but got $R for input's dtype and "
                 "$O for out's dtype.")
      .doc("The smallest element, over one or several dims.",
           ">>> torch.amin(torch.tensor([[1, 5], [2, 3]]), 1)\ntensor([1, 2])");
  ops.define<aminmax>(
         "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)")
      .names_dims()
      .variants(kOutVariant)
      .doc("The smallest and the largest element.",
           ">>> torch.aminmax(torch.tensor([1, 5])).max\ntensor(5)");
  ops.define<extreme_all<true>>("max(Tensor self) -> Tensor")
      .variants(kOutVariant)
      .doc("The largest element.", ">>> torch.max(torch.tensor([1, 5]))\ntensor(5)");
  ops.define<extreme_all<false>>("min(Tensor self) -> Tensor")
      .variants(kOutVariant)
      .doc("The smallest element.", ">>> torch.min(torch.tensor([1, 5]))\ntensor(1)");
  ops.define<extreme_dim<true>>(
         "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .device_example("x.max(1)")
      .names_dims()
      .reduces_rows(RowFunction::kAmax, "dim")
      .variants(kOutVariant);
  ops.define<extreme_dim<false>>(
         "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .device_example("x.min(1)")
      .names_dims()
      .reduces_rows(RowFunction::kAmin, "dim")
      .variants(kOutVariant);
  ops.define<arg_extreme<true>>("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .doc("The index of the largest element.",
           ">>> torch.argmax(torch.tensor([1, 5]))\ntensor(1)");
  ops.define<arg_extreme<false>>("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .doc("The index of the smallest element.",
           ">>> torch.argmin(torch.tensor([1, 5]))\ntensor(0)");
  ops.define<truth>("any.dims(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kBoolOrByte, "any only supports bool tensor for result, got: $O")
      .doc("Whether some element is not 0.", ">>> torch.any(torch.tensor([0, 1]))\ntensor(True)");
  ops.define<truth>("all.dims(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kBoolOrByte, "all only supports bool tensor for result, got: $O")
      .doc("Whether no element is 0.", ">>> torch.all(torch.tensor([0, 1]))\ntensor(False)");
  ops.define("var(Tensor self, bool unbiased) -> Tensor").device_example("x.var(False)");
  ops.define("var.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast)
      .device_example("x.var(1, unbiased=False)");
  ops.define<var>(
         "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> Tensor")
      .names_dims()
      .reduces_rows(RowFunction::kVar, "dim", "correction")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast)
      .doc("The variance, with `correction` (1) taken off the count.",
           ">>> torch.var(torch.tensor([1., 2., 3.]))\ntensor(1.)");
  ops.define("std(Tensor self, bool unbiased) -> Tensor").device_example("x.std(False)");
  ops.define("std.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast)
      .device_example("x.std(1, unbiased=False)");
  ops.define<var>(
         "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> Tensor")
      .names_dims()
      .reduces_rows(RowFunction::kStd, "dim", "correction")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast)
      .doc("The standard deviation, with `correction` (1) taken off the count.",
           ">>> torch.std(torch.tensor([1., 2., 3.]))\ntensor(1.)");
  ops.define("var_mean(Tensor self, bool unbiased) -> (Tensor, Tensor)")
      .device_example("torch.var_mean(x, False)")
      .function_only();
  ops.define(
         "var_mean.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> (Tensor, "
         "Tensor)")
      .device_example("torch.var_mean(x, 1, unbiased=False)")
      .function_only();
  ops.define("std_mean(Tensor self, bool unbiased) -> (Tensor, Tensor)")
      .device_example("torch.std_mean(x, False)")
      .function_only();
  ops.define(
         "std_mean.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> (Tensor, "
         "Tensor)")
      .device_example("torch.std_mean(x, 1, unbiased=False)")
      .function_only();
  ops.define<var_mean<kVarMean>>(
         "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> (Tensor, Tensor)")
      .names_dims()
      .function_only()
      .doc("Variance and mean together.",
           ">>> torch.var_mean(torch.tensor([1., 2., 3.]))\n(tensor(1.), tensor(2.))");
  ops.define<var_mean<kStdMean>>(
         "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> (Tensor, Tensor)")
      .names_dims()
      .function_only()
      .doc("Standard deviation and mean together.",
           ">>> torch.std_mean(torch.tensor([1., 2., 3.]))\n(tensor(1.), tensor(2.))");
  ops.define<vector_norm>(
         "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
         "ScalarType? dtype=None) -> Tensor")
      .device_example("torch.linalg.vector_norm(x)")
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .names_dims()
      .variants(kOutVariant)
      .function_only();
  ops.define<logsumexp>("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kFloating,
                 "logsumexp(): Expected floating point type for result tensor, but got: $O")
      .also({"special_logsumexp"})
      .doc("log(sum(exp(x))), without overflow.",
           ">>> torch.logsumexp(torch.tensor([0., 0.]), 0)\ntensor(0.6931)");
  ops.define<softmax<false>>("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .names_dims()
      .reduces_rows(RowFunction::kSoftmax, "dim")
      .variants(kOutVariant)
      .doc("Exponentials that add up to 1 along `dim`.",
           ">>> torch.softmax(torch.tensor([0., 0.]), 0)\ntensor([0.5000, 0.5000])");
  ops.define<softmax<true>>(
         "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .names_dims()
      .reduces_rows(RowFunction::kLogSoftmax, "dim")
      .variants(kOutVariant)
      .doc("The logarithm of softmax.",
           ">>> torch.log_softmax(torch.tensor([0., 0.]), 0)\ntensor([-0.6931, -0.6931])");
  ops.define<softmax_backward>(
         "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
         "input_dtype) -> Tensor")
      .device_example("grad(image.softmax(-1).square().sum(), image)")
      .names_dims()
      .internal()
      .not_differentiable();
  ops.define<softmax_backward>(
         "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
         "input_dtype) -> Tensor")
      .device_example("grad(image.log_softmax(-1).square().sum(), image)")
      .names_dims()
      .internal()
      .not_differentiable();
  ops.define(
         "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
         "-> Tensor")
      .doc("The mean of the elements that are not NaN.",
           ">>> torch.nanmean(torch.tensor([1., float('nan')]))\ntensor(1.)");
  ops.define("count_nonzero(Tensor self, int? dim=None) -> Tensor")
      .doc("How many elements are not 0.",
           ">>> torch.count_nonzero(torch.tensor([0, 1]))\ntensor(1)");
  ops.define("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")
      .doc("How many elements are not 0, along some dimensions.",
           ">>> torch.ones(2, 3).count_nonzero((0, 1))\ntensor(6)");
  ops.define("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32)
      .doc("The p-norm of self - other.",
           ">>> torch.dist(torch.tensor([3., 4.]), torch.tensor([0., 0.]))\ntensor(5.)");
  ops.define("equal(Tensor self, Tensor other) -> bool")
      .doc("Whether both have the same size and elements.",
           ">>> torch.equal(torch.tensor([1]), torch.tensor([1]))\nTrue");
  ops.define(
         "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
         "equal_nan=False) -> Tensor")
      .doc("Where |self - other| <= atol + rtol * |other|.",
           ">>> torch.isclose(torch.tensor([1.]), torch.tensor([1.]))\ntensor([True])");
  ops.define(
         "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
         "equal_nan=False) -> bool")
      .doc("Whether all elements are close.",
           ">>> torch.allclose(torch.tensor([1.]), torch.tensor([1.]))\nTrue");
}

}  // namespace mindtorch::ops
