// Elements picked by index tensors and masks.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/tensor/accelerators.h"
#include "mindtorch/tensor/overlap.h"

namespace mindtorch::ops {
namespace {

void check_index_dtype(const char* name, const Tensor& index) {
  MT_CHECK(index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32, RuntimeError, name,
           "(): Expected dtype int32 or int64 for index");
}

void check_long(const char* name, const Tensor& index) {
  MT_CHECK(index.numel() == 0 || index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32,
           RuntimeError, name, "(): Expected dtype int32/int64 for index");
}

// Index tensors of one shape, all int64, for some of self's dims. The result has the index shape
// where the indexed dims were when those are neighbours, else in front.
TensorSpec index(const Tensor& self, TensorList indices) {
  MT_CHECK(static_cast<int64_t>(indices.size()) <= self.dim(), IndexError,
           "too many indices for tensor of dimension ", self.dim());
  Shape index_shape;
  size_t first = indices.size();
  size_t last = 0;
  size_t count = 0;
  bool is_nothing = false;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].defined()) continue;
    index_shape = indices[i].sizes();
    is_nothing |= self.sizes()[i] == 0;
    first = std::min(first, i);
    last = i;
    ++count;
  }
  MT_CHECK(!is_nothing || numel(index_shape) == 0, IndexError,
           "index is out of bounds for dimension with size 0");
  const bool neighbours = count == last - first + 1;
  Shape sizes;
  if (!neighbours) sizes = index_shape;
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    if (i == first && neighbours) {
      for (const int64_t size : index_shape) sizes.push_back(size);
    }
    if (i >= indices.size() || !indices[i].defined()) sizes.push_back(self.sizes()[i]);
  }
  TensorSpec spec = contiguous_spec(std::move(sizes), self.dtype(), self.device());
  const bool is_plain = self.numel() != 0 && has_plain_strides(self.sizes(), self.strides());
  if (count == 0 || is_plain) return spec;
  // The dims that stay lie as they lay in self, those of the indices as in the indices.
  Shape strides[2] = {Shape(spec.sizes.size(), 0), Shape(spec.sizes.size(), 0)};
  const size_t place = neighbours ? first : 0;
  const Shape index_strides = contiguous_strides(index_shape);
  std::copy(index_strides.begin(), index_strides.end(), strides[1].begin() + place);
  size_t at = neighbours ? 0 : index_shape.size();
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    if (i == first && neighbours) at += index_shape.size();
    if (i >= indices.size() || !indices[i].defined()) strides[0][at++] = self.strides()[i];
  }
  spec.strides = agreed_strides(strides, 2, spec.sizes);
  return spec;
}

void index_put(const Tensor& self, TensorList indices, const Tensor& values, bool) {
  check_no_overlap(self, values);
  for (const Tensor& index : indices) {
    if (index.defined()) check_no_overlap(self, index);
  }
  const TensorSpec spec = index(self, indices);
  MT_CHECK(broadcasts_to(values.sizes(), spec.sizes), RuntimeError,
           "shape mismatch: value tensor of shape ", to_string(values.sizes()),
           " cannot be broadcast to indexing result of shape ", to_string(spec.sizes));
  MT_CHECK(self.dtype() == values.dtype(), RuntimeError,
           "Index put requires the source and destination dtypes match, got ",
           legacy_name(self.dtype()), " for the destination and ", legacy_name(values.dtype()),
           " for the source.");
}

PointwiseCall masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  MT_CHECK(value.dim() == 0, RuntimeError,
           "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  MT_CHECK(mask.dtype() == DType::kBool, RuntimeError,
           "masked_fill_ only supports boolean masks, but got mask with dtype ",
           limits(mask.dtype()).type_name);
  check_number_in(value, self.dtype());
  return PointwiseCall(Pointwise::kWhere, self.dtype(), self.dtype(), mask, value, self);
}

TensorSpec index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  if (!self.device().is_meta()) {  // torch looks at no more than the index's size there
    MT_CHECK(index.dim() <= 1, IndexError, "index_select(): Index is supposed to be a vector");
    MT_CHECK(self.dim() > 0 || index.numel() == 1, RuntimeError,
             "index_select(): Index to scalar can have only 1 value, got ", index.numel(),
             " value(s)");
    check_index_dtype("index_select", index);
  }
  Shape sizes = self.sizes();
  if (!sizes.empty()) sizes[d] = index.numel();
  return contiguous_spec(std::move(sizes), self.dtype(), self.device());
}

Shape without(const Shape& sizes, size_t dim) {
  Shape rest = sizes;
  if (!rest.empty()) rest.erase(rest.begin() + std::min(dim, rest.size() - 1));
  return rest;
}

void index_add(const Tensor& self,
               int64_t dim,
               const Tensor& index,
               const Tensor& source,
               const Scalar& alpha) {
  const int64_t d = wrap_dim(dim, self.dim());
  MT_CHECK(index.dim() <= 1, IndexError,
           "index_add_(): Index is supposed to be a vector, but got dim: ", index.dim(),
           " with type: ", legacy_name(index.dtype()), " and size: ", to_string(index.sizes()));
  MT_CHECK(
      index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32, RuntimeError,
      "index_add_(): Expected dtype int32/int64 for index but got: ", legacy_name(index.dtype()));
  MT_CHECK(self.dtype() == source.dtype(), RuntimeError, "index_add_(): self (",
           legacy_name(self.dtype()), ") and source (", legacy_name(source.dtype()),
           ") must have the same scalar type");
  MT_CHECK(d == 0 || d < source.dim(), RuntimeError, "index_add_(): Indexing dim ", d,
           " is out of bounds of the source tensor with dim ", source.dim());
  if (index.numel() != (source.dim() == 0 ? 1 : source.size(d))) {
    MT_THROW(RuntimeError, "index_add_(): Number of indices (", index.numel(),
             ") should be equal to source.size(dim): (", source.size(d), "), for dim: ", d);
  }
  const auto at = static_cast<size_t>(d);
  const bool fits =
      self.dim() == 0 || source.dim() == 0
          ? self.dim() <= 1 && source.dim() <= 1
          : source.dim() == self.dim() && without(source.sizes(), at) == without(self.sizes(), at);
  MT_CHECK(fits, RuntimeError,
           "source tensor shape must match self tensor shape, excluding the specified dimension. "
           "Got self.shape = ",
           to_string(self.sizes()), " source.shape = ", to_string(source.sizes()));
  check_in_range(alpha, self.dtype());
}

std::string joined(const Shape& sizes) {
  const std::string text = to_string(sizes);
  return text.substr(1, text.size() - 2);
}

void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  MT_CHECK(index.dim() <= 1, IndexError, "index_copy_(): Index should have dimension 1 or 0 (got ",
           index.dim(), ")");
  MT_CHECK(source.dim() != 0 || index.numel() == 1, IndexError,
           "index_copy_(): When source is scalar, index should have one element (got ",
           index.numel(), ")");
  MT_CHECK(source.dim() == self.dim() || source.dim() == 0 || self.dim() == 0, IndexError,
           "index_copy_(): When source and destination are not scalars, their dimensionality must "
           "match. Source dimensionality (",
           source.dim(), "), destination dimensionality (", self.dim(), ")");
  MT_CHECK(is_index_dtype(index.dtype(), self.device()), RuntimeError,
           "index_copy_(): Expected a long tensor for index, but got ", legacy_name(index.dtype()));
  MT_CHECK(self.dtype() == source.dtype(), RuntimeError,
           "index_copy_(): self and source expected to have the same dtype, but got (self) ",
           legacy_name(self.dtype()), " and (source) ", legacy_name(source.dtype()));
  const Shape self_slice = without(self.sizes(), d);
  const Shape source_slice = without(source.sizes(), d);
  MT_CHECK(self_slice == source_slice, RuntimeError,
           "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
           "slice shape: ",
           joined(self_slice), " at dimension ", d,
           " and source slice shape: ", joined(source_slice), " at dimension 0.");
  const int64_t length = source.dim() == 0 ? 1 : source.sizes()[d];
  MT_CHECK(index.numel() == length, IndexError, "index_copy_(): Number of indices (", index.numel(),
           ") should be equal to source.size(dim) (", length, ")");
}

void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  MT_CHECK(value.dim() == 0, RuntimeError,
           "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  MT_CHECK(is_index_dtype(index.dtype(), self.device()), IndexError,
           "index_fill_(): Expected dtype int64 for index.");
  wrap_dim(dim, self.dim());
  MT_CHECK(index.dim() <= 1, RuntimeError, "Index has to be a vector/scalar");
  check_number_in(value, self.dtype());
}

int64_t size_at(const Tensor& tensor, int64_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.size(dim);
}
int64_t rank(const Tensor& tensor) { return std::max<int64_t>(tensor.dim(), 1); }

TensorSpec gather(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_long("gather", index);
  if (index.numel() > 0) {
    MT_CHECK(rank(index) == rank(self), RuntimeError,
             "Index tensor must have the same number of dimensions as input tensor");
    for (int64_t i = 0; i < index.dim(); ++i) {
      MT_CHECK(i == d || index.size(i) <= size_at(self, i), RuntimeError,
               "Size does not match at dimension ", i, " expected index ", to_string(index.sizes()),
               " to be no larger than self ", to_string(self.sizes()), " apart from dimension ", d);
    }
  }
  return contiguous_spec(index.sizes(), self.dtype(), self.device());
}

// `src` is null for a number.
void scatter_checks(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_long("scatter", index);
  MT_CHECK(src == nullptr || self.dtype() == src->dtype(), RuntimeError,
           "scatter(): Expected self.dtype to be equal to src.dtype");
  if (index.numel() == 0) return;
  MT_CHECK(rank(index) == rank(self), RuntimeError,
           "Index tensor must have the same number of dimensions as self tensor");
  MT_CHECK(src == nullptr || rank(index) == rank(*src), RuntimeError,
           "Index tensor must have the same number of dimensions as src tensor");
  bool fits = true;
  for (int64_t i = 0; i < index.dim(); ++i) {
    fits &= i == d || index.size(i) <= size_at(self, i);
    fits &= src == nullptr || index.size(i) <= size_at(*src, i);
  }
  if (fits) return;
  MT_THROW(RuntimeError, "Expected index ", to_string(index.sizes()), " to be no larger than self ",
           to_string(self.sizes()), " apart from dimension ", d,
           src == nullptr ? std::string()
                          : " and to be no larger size than src " + to_string(src->sizes()));
}

void scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_checks(self, dim, index, &src);
}
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  scatter_checks(self, dim, index, nullptr);
  check_in_range(value, self.dtype());
}
void check_reduce(std::string_view reduce) {
  MT_CHECK(reduce == "add" || reduce == "multiply", RuntimeError,
           "reduce argument must be either add or multiply.");
}
void scatter_src_reduce(const Tensor& self,
                        int64_t dim,
                        const Tensor& index,
                        const Tensor& src,
                        std::string_view reduce) {
  scatter_checks(self, dim, index, &src);
  check_reduce(reduce);
}
void scatter_value_reduce(const Tensor& self,
                          int64_t dim,
                          const Tensor& index,
                          const Scalar& value,
                          std::string_view reduce) {
  scatter_checks(self, dim, index, nullptr);
  check_reduce(reduce);
  check_in_range(value, self.dtype());
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_checks(self, dim, index, &src);
}
void scatter_reduce(const Tensor& self,
                    int64_t dim,
                    const Tensor& index,
                    const Tensor& src,
                    std::string_view reduce,
                    bool) {
  scatter_checks(self, dim, index, &src);
  MT_CHECK(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" ||
               reduce == "amin" || reduce == "max" || reduce == "min",
           RuntimeError, "reduce argument must be either sum, prod, mean, amax or amin, got ",
           reduce);
}

TensorSpec take(const Tensor& self, const Tensor& index) {
  MT_CHECK(is_index_dtype(index.dtype(), self.device()), RuntimeError,
           "take(): Expected a long tensor for index, but got ", legacy_name(index.dtype()));
  MT_CHECK(self.numel() > 0 || index.numel() == 0, IndexError,
           "take(): tried to take from an empty tensor");
  return contiguous_spec(index.sizes(), self.dtype(), self.device());
}

}  // namespace

void define_indexing(Registry& ops) {
  ops.define<index>("_index(Tensor self, Tensor?[] indices) -> Tensor")
      .device_example("x[rows]")
      .internal();
  ops.define<index_put>(
         "_index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
         "Tensor(a!)")
      .device_example("x.index_put((rows,), torch.tensor(5.0))")
      .allows_overlap()
      .internal();
  ops.define("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor")
      .device_example("x[rows, rows]")
      .internal();
  ops.define(
         "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
         "Tensor(a!)")
      .doc("Writes `values` where the index tensors point, or adds them.",
           ">>> torch.zeros(3).index_put_((torch.tensor([1]),), torch.tensor(5.))\n"
           "tensor([0., 5., 0.])");
  ops.define(
         "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
         "Tensor")
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .doc("A copy with `values` where the index tensors point.",
           ">>> torch.zeros(3).index_put((torch.tensor([1]),), torch.tensor(5.))\n"
           "tensor([0., 5., 0.])");
  ops.define<masked_fill>("_masked_fill(Tensor self, Tensor mask, Operand value) -> Tensor")
      .device_example("x.masked_fill(x > 2, 0.0)")
      .node_name("MaskedFillBackward1", "MaskedFillBackward0")
      .allows_overlap()
      .variants(kInplaceVariant)
      .internal();
  ops.define("masked_fill_(Tensor(a!) self, Tensor mask, Operand value) -> Tensor(a!)")
      .method_only()
      .doc("Writes `value` where `mask` is true.",
           ">>> torch.tensor([1, 2]).masked_fill_(torch.tensor([True, False]), 0)\ntensor([0, 2])");
  ops.define("masked_fill(Tensor self, Tensor mask, Operand value) -> Tensor")
      .doc("`value` where `mask` is true.",
           ">>> torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), 0)\ntensor([0, 2])");
  ops.define("masked_select(Tensor self, Tensor mask) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame,
                 "masked_select(): self and result must have the same scalar type")
      .doc("The elements where `mask` is true, in one dimension.",
           ">>> torch.tensor([1, 2]).masked_select(torch.tensor([False, True]))\ntensor([2])");
  ops.define("_masked_select(Tensor self, Tensor mask) -> Tensor")
      .device_example("x.masked_select(x > 2)")
      .dynamic()
      .internal();
  ops.define("masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)")
      .doc("Writes the elements of `source`, one after the other, where `mask` is true.",
           ">>> torch.zeros(2).masked_scatter_(torch.tensor([False, True]), torch.tensor([5.]))\n"
           "tensor([0., 5.])");
  ops.define("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor")
      .doc("A copy with the elements of `source` where `mask` is true.",
           ">>> torch.zeros(2).masked_scatter(torch.tensor([False, True]), torch.tensor([5.]))\n"
           "tensor([0., 5.])");
  ops.define("nonzero(Tensor self) -> Tensor")
      .dynamic()
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame,
                 "nonzero: Expected out tensor to have scalar type $R but got scalar type$O")
      .doc("The indices of all elements that are not 0, one row each.",
           ">>> torch.nonzero(torch.tensor([0, 3, 4]))\ntensor([[1],\n        [2]])");
  ops.define("nonzero_numpy(Tensor self) -> Tensor[]")
      .device_example("i.nonzero(as_tuple=True)")
      .internal();
  ops.define("argwhere(Tensor self) -> Tensor")
      .doc("The indices of all elements that are not 0, one row each.",
           ">>> torch.argwhere(torch.tensor([0, 3]))\ntensor([[1]])");
  ops.define<index_select>("index_select(Tensor self, int dim, Tensor index) -> Tensor")
      .variants(kOutVariant)
      .doc("The slices of `dim` that `index` names.",
           ">>> torch.tensor([10, 20, 30]).index_select(0, torch.tensor([2, 0]))\n"
           "tensor([30, 10])");
  ops.define<index_add>(
         "index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> "
         "Tensor(a!)")
      .variants(kFunctionalVariant | kOutVariant)
      .contiguous_copy()
      .doc("Adds slices of `source` to the slices that `index` names.",
           ">>> torch.zeros(3).index_add_(0, torch.tensor([1]), torch.ones(1))\n"
           "tensor([0., 1., 0.])");
  ops.define<index_copy>(
         "index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)")
      .variants(kFunctionalVariant | kOutVariant)
      .autocast_on_cpu(AutocastPolicy::kWidest)
      .contiguous_copy()
      .doc("Copies slices of `source` to the slices that `index` names.",
           ">>> torch.zeros(3).index_copy_(0, torch.tensor([1]), torch.ones(1))\n"
           "tensor([0., 1., 0.])");
  ops.define<index_fill>(
         "index_fill_(Tensor(a!) self, int dim, Tensor index, Operand value) -> Tensor(a!)")
      .variants(kFunctionalVariant)
      .doc("Sets the slices that `index` names to `value`.",
           ">>> torch.zeros(3).index_fill_(0, torch.tensor([1]), 7)\ntensor([0., 7., 0.])");
  ops.define<gather>(
         "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")
      .names_dims()
      .variants(kOutVariant)
      .doc("Elements along `dim`, each picked by its own index.",
           ">>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[0], [1]]))\n"
           "tensor([[1],\n        [4]])");
  ops.define<scatter_src>(
         "scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)")
      .names_dims()
      .variants(kFunctionalVariant | kOutVariant)
      .contiguous_copy()
      .doc("Writes each element of `src` along `dim` where its index says.",
           ">>> torch.zeros(3).scatter_(0, torch.tensor([2]), torch.tensor([5.]))\n"
           "tensor([0., 0., 5.])");
  ops.define<scatter_value>(
         "scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)")
      .device_example("x.scatter(0, places, 1.5)")
      .names_dims()
      .variants(kFunctionalVariant | kOutVariant)
      .contiguous_copy();
  ops.define<scatter_src_reduce>(
         "scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> "
         "Tensor(a!)")
      .device_example("x.scatter(0, places, x, reduce='add')")
      .names_dims()
      .variants(kFunctionalVariant | kOutVariant)
      .contiguous_copy();
  ops.define<scatter_value_reduce>(
         "scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str "
         "reduce) -> Tensor(a!)")
      .device_example("x.scatter(0, places, 2.0, reduce='multiply')")
      .names_dims()
      .variants(kFunctionalVariant | kOutVariant)
      .contiguous_copy();
  ops.define<scatter_add>(
         "scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)")
      .names_dims()
      .variants(kFunctionalVariant | kOutVariant)
      .autocast_on_accelerators(AutocastPolicy::kWidest)
      .contiguous_copy()
      .doc("Adds each element of `src` along `dim` where its index says.",
           ">>> torch.zeros(2).scatter_add_(0, torch.tensor([1, 1]), torch.ones(2))\n"
           "tensor([0., 2.])");
  ops.define<scatter_reduce>(
         "scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, "
         "bool include_self=True) -> Tensor(a!)")
      .names_dims()
      .variants(kFunctionalVariant | kOutVariant)
      .contiguous_copy()
      .doc("Reduces the elements of `src` into the places that their indices name.",
           ">>> torch.zeros(2).scatter_reduce_(0, torch.tensor([1, 1]), torch.ones(2), 'sum')\n"
           "tensor([0., 2.])");
  ops.define("one_hot(Tensor self, int num_classes=-1) -> Tensor")
      .nn_function()
      .device_example("F.one_hot(rows, 3)")
      .doc("A new last dimension with 1 at the index that the element names, else 0.",
           ">>> F.one_hot(torch.tensor([0, 2]), 3)\n"
           "tensor([[1, 0, 0],\n"
           "        [0, 0, 1]])");
  ops.define("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame)
      .doc("gather with broadcasting; without `dim` over all elements.",
           ">>> torch.take_along_dim(torch.tensor([10, 20]), torch.tensor([1]))\ntensor([20])");
  ops.define<take>("take(Tensor self, Tensor index) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kSame,
                 "take(): self and out expected to have the same dtype, but got self.dtype = $R "
                 "and out.dtype = $O")
      .doc("Elements by their number in row-major order.",
           ">>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([3]))\ntensor([4])");
  ops.define(
         "put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)")
      .method_only()
      .doc("Writes elements by their number in row-major order.",
           ">>> torch.zeros(2).put_(torch.tensor([1]), torch.tensor([5.]))\ntensor([0., 5.])");
  ops.define("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor")
      .doc("A copy with elements written by their number in row-major order.",
           ">>> torch.zeros(2).put(torch.tensor([1]), torch.tensor([5.]))\ntensor([0., 5.])");
  ops.define("where(Tensor condition) -> Tensor[]")
      .device_example("torch.where(x > 2)")
      .function_only();
}

}  // namespace mindtorch::ops
