// Sorting, selection, searching and cumulative ops.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

// Values, and where they came from.
SpecList values_and_indices(Shape sizes, const Tensor& self) {
  TensorSpec indices = contiguous_spec(sizes, DType::kInt64, self.device());
  return {contiguous_spec(std::move(sizes), self.dtype(), self.device()), std::move(indices)};
}

// Sorted tensors keep the order of dimensions.
SpecList sort(const Tensor& self, int64_t dim, bool) {
  wrap_dim(dim, self.dim());
  return {spec_like(self, self.dtype()), spec_like(self, DType::kInt64)};
}
SpecList sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  return sort(self, dim, descending);
}
TensorSpec argsort(const Tensor& self, int64_t dim, bool) {
  wrap_dim(dim, self.dim());
  return spec_like(self, DType::kInt64);
}
TensorSpec argsort_stable(const Tensor& self, bool, int64_t dim, bool descending) {
  return argsort(self, dim, descending);
}

SpecList topk(const Tensor& self, int64_t k, int64_t dim, bool, bool) {
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const int64_t length = self.dim() == 0 ? 1 : self.sizes()[d];
  MT_CHECK(k >= 0 && k <= length, RuntimeError, "selected index k out of range");
  MT_CHECK(self.dtype() != DType::kBool, RuntimeError, "topk does not support bool dtypes on CPU");
  Shape sizes = self.sizes();
  if (!sizes.empty()) sizes[d] = k;
  return values_and_indices(std::move(sizes), self);
}

Shape without_dim(const char* name, const Tensor& self, int64_t dim, bool keepdim) {
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  Shape sizes = self.sizes();
  if (sizes.empty()) return sizes;
  MT_CHECK(sizes[d] != 0, IndexError, name, "(): Expected reduction dim ", d,
           " to have non-zero size.");
  if (keepdim) {
    sizes[d] = 1;
  } else {
    sizes.erase(sizes.begin() + d);
  }
  return sizes;
}

SpecList kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim);
  Shape sizes = without_dim("kthvalue", self, dim, keepdim);
  MT_CHECK(k >= 1 && k <= length, RuntimeError,
           "kthvalue(): selected number k out of range for dimension ", wrap_dim(dim, self.dim()));
  return values_and_indices(std::move(sizes), self);
}
void check_median(const char* kernel, const Tensor& self) {
  const bool computes = self.numel() > 0 && !self.device().is_meta();
  MT_CHECK(!computes || self.dtype() != DType::kBool, NotImplementedError, "\"", kernel,
           "\" not implemented for 'Bool'");
}
SpecList median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  Shape sizes = without_dim("median", self, dim, keepdim);
  check_median("median_out", self);
  return values_and_indices(std::move(sizes), self);
}
SpecList mode(const Tensor& self, int64_t dim, bool keepdim) {
  return values_and_indices(without_dim("mode", self, dim, keepdim), self);
}
TensorSpec median(const Tensor& self) {
  check_median("median_cpu", self);
  return contiguous_spec({}, self.dtype(), self.device());
}

TensorSpec searchsorted(const Tensor& sorted_sequence,
                        const Tensor& self,
                        bool out_int32,
                        bool right,
                        std::optional<std::string_view> side,
                        const Tensor& sorter) {
  MT_CHECK(!side || *side == "left" || *side == "right", RuntimeError,
           "torch.searchsorted(): side can only be 'left' or 'right' but got ", side.value_or(""));
  MT_CHECK(!side || !right || *side == "right", RuntimeError,
           "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
           "right was True");
  MT_CHECK(sorted_sequence.dim() > 0, RuntimeError,
           "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
           "dimension");
  MT_CHECK(
      sorted_sequence.dim() == 1 || self.dim() > 0, RuntimeError,
      "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension "
      "is 1, but we got boundaries tensor dim(",
      sorted_sequence.dim(), ") and input value's dim(0) numel(1)");
  if (sorted_sequence.dim() > 1) {
    bool fits = self.dim() == sorted_sequence.dim();
    for (int64_t d = 0; fits && d + 1 < self.dim(); ++d) {
      fits = self.size(d) == sorted_sequence.size(d);
    }
    MT_CHECK(fits, RuntimeError,
             "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
             "dimensions of boundaries tensor and input value tensor must match, but we got "
             "boundaries tensor ",
             to_string(sorted_sequence.sizes()), " and input value tensor ",
             to_string(self.sizes()));
  }
  if (sorter.defined()) {
    MT_CHECK(sorter.sizes() == sorted_sequence.sizes(), RuntimeError,
             "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
             "tensor ",
             to_string(sorted_sequence.sizes()), "and got sorter tensor ",
             to_string(sorter.sizes()));
    MT_CHECK(sorter.dtype() == DType::kInt64, RuntimeError,
             "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
             legacy_name(sorter.dtype()));
  }
  return contiguous_spec(self.sizes(), out_int32 ? DType::kInt32 : DType::kInt64,
                         sorted_sequence.device());
}

TensorSpec histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  MT_CHECK(bins > 0, RuntimeError, "torch.histogram(): bins must be > 0, but got ", bins,
           " for dimension 0");
  for (const Scalar* bound : {&min, &max}) check_in_range(*bound, self.dtype());
  return contiguous_spec({bins}, self.dtype(), self.device());
}

// Integers add and multiply up in int64.
template <bool kProduct>
TensorSpec cumulative(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  wrap_dim(dim, self.dim());
  const DType natural = is_integral(self.dtype(), true) ? DType::kInt64 : self.dtype();
  const bool computes = self.dim() > 0 && self.numel() > 0 && !self.device().is_meta();
  MT_CHECK(!computes || dtype.value_or(natural) != DType::kBool, NotImplementedError,
           kProduct ? "\"cumprod" : "\"cumsum", "_out_cpu\" not implemented for 'Bool'");
  return contiguous_spec(self.sizes(), dtype.value_or(natural), self.device());
}
SpecList cumulative_extreme(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  return values_and_indices(self.sizes(), self);
}
TensorSpec logcumsumexp(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  MT_CHECK(is_floating_point(self.dtype()), NotImplementedError,
           "\"logcumsumexp_out_cpu\" not implemented for '", legacy_name(self.dtype()), "'");
  return contiguous_spec(self.sizes(), self.dtype(), self.device());
}

constexpr const char* kWrongIndexDtype =
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
    "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype $O "
    "and out_int32 flag is ${out_int32}";
constexpr const char* kBadInplace =
    "Bad in-place call: input tensor dtype $o and output tensor dtype $r should match";

}  // namespace

void define_sort(Registry& ops) {
  ops.define<sort>(
         "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")
      .names_dims()
      .variants(kOutVariant)
      .doc("Sorts along a dimension; equal elements keep their order.",
           ">>> torch.sort(torch.tensor([3, 1, 2])).values\ntensor([1, 2, 3])");
  ops.define<sort_stable>(
         "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor "
         "values, Tensor indices)")
      .device_example("i.sort(stable=True)")
      .names_dims()
      .variants(kOutVariant);
  ops.define("msort(Tensor self) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("Sorts along the first dimension.",
           ">>> torch.msort(torch.tensor([2, 1]))\ntensor([1, 2])");
  ops.define<argsort>("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")
      .names_dims()
      .doc("The indices that sort a dimension.",
           ">>> torch.argsort(torch.tensor([3, 1, 2]))\ntensor([1, 2, 0])");
  ops.define<argsort_stable>(
         "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor")
      .device_example("i.argsort(stable=True)")
      .names_dims();
  ops.define<topk>(
         "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor "
         "values, Tensor indices)")
      .names_dims()
      .variants(kOutVariant)
      .doc("The k largest or smallest elements along a dimension.",
           ">>> torch.topk(torch.tensor([3, 1, 2]), 2).values\ntensor([3, 2])");
  ops.define<kthvalue>(
         "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor "
         "indices)")
      .names_dims()
      .variants(kOutVariant)
      .doc("The k-th smallest element along a dimension.",
           ">>> torch.kthvalue(torch.tensor([3, 1, 2]), 2).values\ntensor(2)");
  ops.define<median>("median(Tensor self) -> Tensor")
      .doc("The lower median of all elements.",
           ">>> torch.median(torch.tensor([3, 1, 2]))\ntensor(2)");
  ops.define<median_dim>(
         "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .device_example("x.median(1)")
      .names_dims()
      .variants(kOutVariant);
  ops.define<median>("nanmedian(Tensor self) -> Tensor")
      .doc("The lower median of the elements that are not NaN.",
           ">>> torch.nanmedian(torch.tensor([3., float('nan'), 1.]))\ntensor(1.)");
  ops.define<median_dim>(
         "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
         "indices)")
      .device_example("x.nanmedian(1)")
      .names_dims()
      .variants(kOutVariant);
  ops.define<mode>(
         "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "expected scalar type '$R' but got '$O' for values output")
      .doc("The most frequent element along a dimension.",
           ">>> torch.mode(torch.tensor([3, 1, 3])).values\ntensor(3)");
  ops.define(
         "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
         "return_counts=False) -> (Tensor, Tensor, Tensor)")
      .device_example("i.unique(return_inverse=True, return_counts=True)")
      .dynamic()
      .function_only();
  ops.define(
         "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
         "return_counts=False) -> (Tensor, Tensor, Tensor)")
      .device_example("x.unique(dim=0)")
      .dynamic()
      .function_only();
  ops.define(
         "_unique_consecutive(Tensor self, bool return_inverse=False, bool "
         "return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)")
      .device_example("i.unique_consecutive()")
      .dynamic()
      .function_only();
  ops.define<searchsorted>(
         "searchsorted(Tensor sorted_sequence, Operand self, *, bool out_int32=False, bool "
         "right=False, str? side=None, Tensor? sorter=None) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, kWrongIndexDtype)
      .function_only()
      .doc("Where elements would go in a sorted sequence.",
           ">>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))\ntensor([1, 2])");
  ops.define(
         "bucketize(Operand self, Tensor boundaries, *, bool out_int32=False, bool "
         "right=False) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, kWrongIndexDtype)
      .function_only()
      .doc("The bucket of each element, by sorted boundaries.",
           ">>> torch.bucketize(torch.tensor([3, 4]), torch.tensor([1, 3, 5]))\ntensor([1, 2])");
  ops.define(
         "isin.Tensor_Tensor(Operand elements, Operand test_elements, *, bool "
         "assume_unique=False, bool invert=False) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .function_only()
      .doc("Which elements occur in `test_elements`.",
           ">>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2]))\n"
           "tensor([False,  True, False])");
  ops.define("bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor")
      .dynamic()
      .doc("How often each non-negative integer occurs.",
           ">>> torch.bincount(torch.tensor([0, 2, 2]))\ntensor([1, 0, 2])");
  ops.define<histc>("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")
      .checks_values()
      .variants(kOutVariant)
      .doc("Counts of elements in bins of equal width.",
           ">>> torch.histc(torch.tensor([1., 2., 1.]), bins=2, min=0, max=3)\ntensor([2., 1.])");
  ops.define<cumulative<false>>("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .names_dims()
      .variants(kInplaceAndOut)
      .accumulates_in(AccumulateIn::kOutDType)
      .out_dtype(TargetDType::kCastUnlessGiven)
      .inplace_dtype(TargetDType::kSame, kBadInplace)
      .doc("Sums of all elements so far.",
           ">>> torch.cumsum(torch.tensor([1, 2, 3]), 0)\ntensor([1, 3, 6])");
  ops.define<cumulative<true>>("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
      .autocast_on_accelerators(AutocastPolicy::kFloat32Result)
      .names_dims()
      .variants(kInplaceAndOut)
      .accumulates_in(AccumulateIn::kOutDType)
      .out_dtype(TargetDType::kCastUnlessGiven)
      .inplace_dtype(TargetDType::kSame, kBadInplace)
      .doc("Products of all elements so far.",
           ">>> torch.cumprod(torch.tensor([1, 2, 3]), 0)\ntensor([1, 2, 6])");
  ops.define<cumulative_extreme>("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)")
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "expected scalar_type $R but found $O")
      .doc("The largest element so far.",
           ">>> torch.cummax(torch.tensor([1, 3, 2]), 0).values\ntensor([1, 3, 3])");
  ops.define<cumulative_extreme>("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)")
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "expected scalar_type $R but found $O")
      .doc("The smallest element so far.",
           ">>> torch.cummin(torch.tensor([3, 1, 2]), 0).values\ntensor([3, 1, 1])");
  ops.define<logcumsumexp>("logcumsumexp(Tensor self, int dim) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame, "expected scalar_type $R but found $O")
      .doc("log of the sum of exponentials so far.",
           ">>> torch.logcumsumexp(torch.tensor([0., 0.]), 0)\ntensor([0.0000, 0.6931])");
  ops.define(
         "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> "
         "Tensor")
      .doc("Differences of neighbours.", ">>> torch.diff(torch.tensor([1, 4, 9]))\ntensor([3, 5])");
}

}  // namespace mindtorch::ops
