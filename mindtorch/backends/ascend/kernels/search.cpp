// Places in sorted sequences, and counts.
#include <cmath>

#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;

struct Extremes {
  Scalar least;
  Scalar most;
};
// Waits for them. `self` has elements.
Extremes extremes(ops::Launch& on, const Tensor& self) {
  const Tensor both = make_like(on, {2}, self.dtype());
  const Tensor least = both.alias({}, {}, 0);
  const Tensor most = both.alias({}, {}, 1);
  call(on, MT_ACLNN(aclnnMin), self, least);
  call(on, MT_ACLNN(aclnnMax), self, most);
  return {item(on, least), item(on, most)};
}

void searchsorted(ops::Launch& on,
                  const Tensor& sorted_sequence,
                  const Tensor& self,
                  bool out_int32,
                  bool right,
                  std::optional<std::string_view> side,
                  const Tensor& sorter,
                  Tensor& out) {
  if (out.numel() == 0) return;
  if (sorter.defined() && sorter.numel() != 0) {
    const Extremes range = extremes(on, sorter);
    MT_CHECK(range.least.to_int() >= 0 && range.most.to_int() < sorted_sequence.size(-1),
             RuntimeError, "torch.searchsorted(): sorter index out of range");
  }
  // Compared in the dtype that holds both: 3.5 lies between the integers 3 and 4.
  constexpr DTypes kSearched = kInts | bit(DType::kFloat32) | bit(DType::kFloat16) | kDouble;
  const DType dtype = computable(on, "searchsorted", result_type(sorted_sequence, self), kSearched);
  call(on, MT_ACLNN(aclnnSearchSorted), on_device(on, sorted_sequence, dtype),
       on_device(on, self, dtype), out_int32, side ? *side == "right" : right, sorter, out);
}

Tensor bincount(ops::Launch& on, const Tensor& self, const Tensor& weights, int64_t minlength) {
  MT_CHECK(is_integral(self.dtype()), NotImplementedError, "\"bincount_cpu\" not implemented for '",
           legacy_name(self.dtype()), "'");
  MT_CHECK(minlength >= 0, RuntimeError, "minlength should be >= 0");
  MT_CHECK(self.dim() == 1, RuntimeError,
           "bincount only supports 1-d non-negative integral inputs.");
  MT_CHECK(!weights.defined() || (weights.dim() == 1 && weights.numel() == self.numel()),
           RuntimeError, "weights should be 1-d and have the same length as input");
  int64_t bins = minlength;
  if (self.numel() != 0) {
    const Extremes range = extremes(on, self);
    MT_CHECK(range.least.to_int() >= 0, RuntimeError,
             "bincount only supports 1-d non-negative integral inputs.");
    bins = std::max(minlength, range.most.to_int() + 1);
  }
  DType dtype = DType::kInt64;
  Tensor by;
  if (weights.defined()) {
    dtype = weights.dtype() == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
    by = on_device(on, weights, dtype);
  }
  const Tensor out = make_like(on, {bins}, dtype);
  if (bins == 0) return out;
  if (self.numel() == 0) {
    call(on, MT_ACLNN(aclnnInplaceZero), out);
  } else {
    call(on, MT_ACLNN(aclnnBincount), self, by, minlength, out);
  }
  return out;
}

// Every step is rounded to the dtype, as torch does, so that no element changes its bin.
void histc(ops::Launch& on,
           const Tensor& self,
           int64_t bins,
           const Scalar& min,
           const Scalar& max,
           Tensor& out) {
  double low = min.to_double();
  double high = max.to_double();
  if (low == high && self.numel() != 0) {
    const Extremes range = extremes(on, self);
    low = range.least.to_double();
    high = range.most.to_double();
  }
  MT_CHECK(std::isfinite(low) && std::isfinite(high), RuntimeError, "torch.histc: range of [", low,
           ", ", high, "] is not finite");
  if (low == high) {
    low -= 1;
    high += 1;
  }
  MT_CHECK(low < high, RuntimeError, "torch.histc: max must be larger than min");

  const DType dtype = is_floating_point(self.dtype()) ? self.dtype() : DType::kFloat32;
  const auto number = [&](double value) {
    return on_device(on, Tensor::wrapped_number(value), dtype);
  };
  const Tensor first = number(low);
  const Tensor last = number(high);
  const Tensor values = flattened(on, on_device(on, self, dtype));
  const Tensor counts = make_like(on, {bins}, DType::kInt64);
  call(on, MT_ACLNN(aclnnInplaceZero), counts);
  if (values.numel() != 0) {
    const Tensor inside =
        computed(on, Pointwise::kLogicalAnd, computed(on, Pointwise::kGe, values, first),
                 computed(on, Pointwise::kLe, values, last));
    // Elements outside count 0 in the first bin.
    const Tensor valid = computed(on, Pointwise::kWhere, inside, values, first);
    const Tensor distance = computed(on, Pointwise::kSub, valid, first);
    const Tensor scaled =
        computed(on, Pointwise::kMul, distance, number(static_cast<double>(bins)));
    const Tensor place =
        computed(on, Pointwise::kDiv, scaled, computed(on, Pointwise::kSub, last, first));
    const Tensor bin =
        computed(on, Pointwise::kMinimum, on_device(on, place, DType::kInt64), Scalar(bins - 1));
    call(on, MT_ACLNN(aclnnScatterAdd), counts, int64_t{0}, bin,
         on_device(on, inside, DType::kInt64), counts);
  }
  call(on, MT_ACLNN(aclnnInplaceCopy), out, counts);
}

}  // namespace

void register_search(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.kernel<searchsorted>(kNpu, "searchsorted");
  registry.dynamic_kernel<bincount>(kNpu, "bincount");
  // As in torch, accelerators count integers, too.
  registry.kernel<histc>(kNpu, "histc").takes(kAny & ~kBool);
}

}  // namespace mindtorch::ascend
