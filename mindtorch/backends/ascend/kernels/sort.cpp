// Sorting and selection, line by line.
#include <algorithm>
#include <limits>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;

struct Sorted {
  Tensor values;
  Tensor indices;
};

// int64 that order as float64 does, which CANN's sorts do not take: its bits, those of negative
// numbers turned round. -0 is 0, NaN comes last.
Tensor order_keys(ops::Launch& on, const Tensor& self) {
  const Tensor unsigned_zero = computed(on, Pointwise::kAdd, self, Scalar(0.0));
  const Tensor bits = Tensor::over(unsigned_zero.storage(), DType::kInt64, unsigned_zero.sizes(),
                                   unsigned_zero.strides(), 0);
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Tensor turned = computed(on, Pointwise::kBitwiseXor, bits, Scalar(most));
  const Tensor is_negative = computed(on, Pointwise::kLt, bits, Scalar(int64_t{0}));
  const Tensor keys = computed(on, Pointwise::kWhere, is_negative, turned, bits);
  const Tensor last = on_device(on, Tensor::wrapped_number(Scalar(most)), DType::kInt64);
  return computed(on, Pointwise::kWhere, computed(on, Pointwise::kIsNan, self), last, keys);
}

// Equal elements keep their order, whatever the caller asks for.
void sort_into(ops::Launch& on,
               const Tensor& self,
               int64_t dim,
               bool descending,
               const Tensor& values,
               const Tensor& indices) {
  if (values.numel() == 0) return;
  constexpr bool kStable = true;
  if (self.dtype() != DType::kFloat64) {
    return call(on, MT_ACLNN(aclnnSort), self, kStable, dim, descending, values, indices);
  }
  const Tensor keys = order_keys(on, self);
  const Tensor sorted = make_like(on, self.sizes(), DType::kInt64);
  call(on, MT_ACLNN(aclnnSort), keys, kStable, dim, descending, sorted, indices);
  call(on, MT_ACLNN(aclnnGather), self, dim, indices, values);
}

Sorted sorted_lines(ops::Launch& on, const Tensor& self, int64_t dim) {
  Sorted result{make_like(on, self.sizes(), self.dtype()),
                make_like(on, self.sizes(), DType::kInt64)};
  sort_into(on, self, dim, false, result.values, result.indices);
  return result;
}

void sort_stable(ops::Launch& on,
                 const Tensor& self,
                 std::optional<bool>,
                 int64_t dim,
                 bool descending,
                 Tensor& values,
                 Tensor& indices) {
  sort_into(on, self, dim, descending, values, indices);
}
void sort(ops::Launch& on,
          const Tensor& self,
          int64_t dim,
          bool descending,
          Tensor& values,
          Tensor& indices) {
  sort_into(on, self, dim, descending, values, indices);
}
void argsort_stable(
    ops::Launch& on, const Tensor& self, bool, int64_t dim, bool descending, Tensor& out) {
  const Tensor values = make_like(on, self.sizes(), self.dtype());
  sort_into(on, self, dim, descending, values, out);
}
void argsort(ops::Launch& on, const Tensor& self, int64_t dim, bool descending, Tensor& out) {
  argsort_stable(on, self, true, dim, descending, out);
}
void topk(ops::Launch& on,
          const Tensor& self,
          int64_t k,
          int64_t dim,
          bool largest,
          bool sorted,
          Tensor& values,
          Tensor& indices) {
  if (values.numel() == 0) return;
  if (self.dim() == 0) k = 1;  // a number has itself, also for k = 0
  call(on, MT_ACLNN(aclnnTopk), self, k, dim, largest, sorted, values, indices);
}

// A view of `self` with `dim` as the last; a number is a line of one.
Tensor with_dim_last(const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return unsqueezed(self, 0);
  Shape sizes = self.sizes();
  Shape strides = self.strides();
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  for (Shape* list : {&sizes, &strides}) {
    std::rotate(list->begin() + d, list->begin() + d + 1, list->end());
  }
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

// Stores one element of each sorted line, the one whose place `at` says (int64, last dim 1).
void store_at(ops::Launch& on,
              const Sorted& lines,
              const Tensor& at,
              const Tensor& values,
              const Tensor& indices) {
  const auto store = [&](const Tensor& from, const Tensor& to) {
    const Tensor found = gathered(on, from, -1, at);
    call(on, MT_ACLNN(aclnnInplaceCopy), to,
         found.alias(to.sizes(), contiguous_strides(to.sizes()), 0));
  };
  store(lines.values, values);
  if (indices.defined()) store(lines.indices, indices);
}

void kthvalue(ops::Launch& on,
              const Tensor& self,
              int64_t k,
              int64_t dim,
              bool keepdim,
              Tensor& values,
              Tensor& indices) {
  if (values.numel() == 0) return;
  if (self.dtype() == DType::kFloat64) {
    const Sorted lines = sorted_lines(on, with_dim_last(self, dim), -1);
    Shape one = lines.values.sizes();
    one.back() = 1;
    const Tensor at = make_like(on, one, DType::kInt64);
    call(on, MT_ACLNN(aclnnInplaceFillScalar), at, typed(Scalar(k - 1), DType::kInt64));
    return store_at(on, lines, at, values, indices);
  }
  const DType dtype = computable(on, "kthvalue", self.dtype(), kFloats | kInts);
  compute_in(on, dtype, values, [&](const Tensor& found) {
    call(on, MT_ACLNN(aclnnKthvalue), on_device(on, self, dtype), k, dim, keepdim, found, indices);
  });
}

// Of float64, which CANN's medians do not take. NaNs come last in the order: with `skip_nan` they
// do not count, else a line with one has it for its median.
void median_of_doubles(ops::Launch& on,
                       const Tensor& self,
                       bool skip_nan,
                       const Tensor& values,
                       const Tensor& indices) {
  const Sorted lines = sorted_lines(on, self, -1);
  const Tensor is_nan = on_device(on, computed(on, Pointwise::kIsNan, self), DType::kInt64);
  Shape one = self.sizes();
  one.back() = 1;
  const int64_t last = self.size(-1) - 1;
  const int64_t dim = -1;
  const Tensor nans = make_like(on, one, DType::kInt64);
  call(on, MT_ACLNN(aclnnReduceSum), is_nan, IntList(&dim, 1), true, DType::kInt64, nans);
  const auto number = [&](int64_t value) {
    return on_device(on, Tensor::wrapped_number(Scalar(value)), DType::kInt64);
  };
  Tensor at;
  if (skip_nan) {
    const Tensor rest = computed(on, Pointwise::kSub, number(last), nans);
    const Tensor some = computed(on, Pointwise::kMaximum, rest, Scalar(int64_t{0}));
    at = computed(on, Pointwise::kFloorDivide, some, Scalar(int64_t{2}));
  } else {
    const Tensor has_nan = computed(on, Pointwise::kGt, nans, Scalar(int64_t{0}));
    at = computed(on, Pointwise::kWhere, has_nan, number(last), number(last / 2));
  }
  store_at(on, lines, at, values, indices);
}

template <bool kSkipNan>
void median_dim(ops::Launch& on,
                const Tensor& self,
                int64_t dim,
                bool keepdim,
                Tensor& values,
                Tensor& indices) {
  if (values.numel() == 0) return;
  if (self.dtype() == DType::kFloat64) {
    return median_of_doubles(on, with_dim_last(self, dim), kSkipNan, values, indices);
  }
  const DType dtype = computable(on, "median", self.dtype(), kFloats | kInts);
  const Tensor input = on_device(on, self, dtype);
  compute_in(on, dtype, values, [&](const Tensor& found) {
    if (kSkipNan && is_floating_point(dtype)) {
      call(on, MT_ACLNN(aclnnNanMedianDim), input, dim, keepdim, found, indices);
    } else {
      call(on, MT_ACLNN(aclnnMedianDim), input, dim, keepdim, found, indices);
    }
  });
}
template <bool kSkipNan>
void median(ops::Launch& on, const Tensor& self, Tensor& out) {
  if (self.numel() == 0) {
    return call(on, MT_ACLNN(aclnnInplaceFillScalar), out,
                typed(ops::median_of_nothing(out.dtype()), out.dtype()));
  }
  if (self.dtype() == DType::kFloat64) {
    return median_of_doubles(on, flattened(on, self), kSkipNan, out, Tensor());
  }
  const DType dtype = computable(on, "median", self.dtype(), kFloats | kInts);
  const Tensor input = on_device(on, self, dtype);
  compute_in(on, dtype, out, [&](const Tensor& found) {
    if (kSkipNan && is_floating_point(dtype)) {
      call(on, MT_ACLNN(aclnnNanMedian), input, found);
    } else {
      call(on, MT_ACLNN(aclnnMedian), input, found);
    }
  });
}

// CANN has none. In a sorted line, equal elements lie between where the search for them from the
// left and from the right ends; the first of the longest such runs is the smallest value, and its
// last element was the last in the line.
void mode(ops::Launch& on, const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  if (values.numel() == 0) return;
  const DType dtype = computable(on, "mode", self.dtype(), (kFloats & ~kHalves) | kDouble | kInts);
  const Tensor moved = with_dim_last(on_device(on, self, dtype), dim);
  const Sorted lines = sorted_lines(on, moved, -1);
  const auto search = [&](bool right) {
    const Tensor places = make_like(on, moved.sizes(), DType::kInt64);
    call(on, MT_ACLNN(aclnnSearchSorted), lines.values, lines.values, false, right, Tensor(),
         places);
    return places;
  };
  const Tensor ends = search(true);
  const Tensor counts = computed(on, Pointwise::kSub, ends, search(false));
  Shape one = moved.sizes();
  one.back() = 1;
  const Tensor longest = make_like(on, one, DType::kInt64);
  call(on, MT_ACLNN(aclnnArgMax), counts, int64_t{-1}, true, longest);
  const Tensor end = gathered(on, ends, -1, longest);
  const Tensor last = computed(on, Pointwise::kSub, end, Scalar(int64_t{1}));
  // A line of NaNs has no run; its first stands for it.
  const Tensor at = computed(on, Pointwise::kMaximum, last, Scalar(int64_t{0}));
  store_at(on, lines, at, values, indices);
}

}  // namespace

void register_sort(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<sort>(kNpu, "sort");
  registry.kernel<sort_stable>(kNpu, "sort.stable");
  registry.kernel<argsort>(kNpu, "argsort");
  registry.kernel<argsort_stable>(kNpu, "argsort.stable");
  registry.kernel<topk>(kNpu, "topk");
  registry.kernel<kthvalue>(kNpu, "kthvalue");
  registry.kernel<median<false>>(kNpu, "median");
  registry.kernel<median_dim<false>>(kNpu, "median.dim");
  registry.kernel<median<true>>(kNpu, "nanmedian");
  registry.kernel<median_dim<true>>(kNpu, "nanmedian.dim");
  registry.kernel<mode>(kNpu, "mode");
}

}  // namespace mindtorch::ascend
