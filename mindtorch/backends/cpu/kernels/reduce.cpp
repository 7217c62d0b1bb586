#include <algorithm>
#include <cmath>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/reduce.h"
#include "mindtorch/backends/cpu/strided_loop.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/tensor/complex_view.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kResultGrain = 16 * 1024;  // results a thread should finish at least

using Dims = std::optional<IntList>;
using OneDim = std::optional<int64_t>;

uint64_t mask_of(const Tensor& self, OneDim dim) {
  if (!dim) return dim_mask(std::nullopt, self.dim());
  return dim_mask(IntList(&*dim, 1), self.dim());
}

int64_t reduced_count(const Tensor& self, uint64_t mask) {
  int64_t count = 1;
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    if ((mask >> i & 1) != 0) count *= self.sizes()[i];
  }
  return count;
}

Tensor converted(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype) return self;
  const Tensor result = Tensor::make(self.sizes(), dtype);
  copy(self, result);
  return result;
}

// Runs a reduction whose result comes in the accumulate dtype, then `finish` on the accumulators,
// then rounds once into `out`.
template <typename Finish>
void accumulate(
    Row function, const Tensor& self, uint64_t mask, const Tensor& out, const Finish& finish) {
  const DType acc = accumulate_dtype(self.dtype());
  const bool is_direct = acc == out.dtype();
  const Tensor sums = is_direct ? out : Tensor::make(out.sizes(), acc);
  reduce_rows(function, self, mask, sums.data_ptr());
  parallel_for(0, out.numel(), kResultGrain, [&](int64_t begin, int64_t end) {
    char* part = sums.data<char>() + begin * sums.element_size();
    finish(part, end - begin);
    if (is_direct) return;
    find_cast(acc, out.dtype())(part, out.data<char>() + begin * out.element_size(), end - begin);
  });
}

constexpr auto kNothing = [](void*, int64_t) {};

// torch converts to the asked dtype first; for integers a wider sum gives the same.
Tensor summand(const Tensor& self, std::optional<DType> dtype) {
  if (!is_common(self.dtype()) && !is_complex(self.dtype())) {
    return converted(self, dtype.value_or(DType::kInt64));
  }
  if (!dtype || *dtype == self.dtype()) return self;
  if (*dtype == DType::kInt64 && is_integral(self.dtype(), true)) return self;
  return converted(self, *dtype);
}

void sum(
    ops::Launch&, const Tensor& self, Dims dim, bool, std::optional<DType> dtype, Tensor& out) {
  const Tensor input = summand(self, dtype);
  const uint64_t mask = dim_mask(dim, self.dim());
  if (is_complex(input.dtype())) {
    return accumulate(Row::kSum, parts_of(input), mask, parts_of(out), kNothing);
  }
  accumulate(Row::kSum, input, mask, out, kNothing);
}

void nansum(ops::Launch& launch,
            const Tensor& self,
            Dims dim,
            bool keepdim,
            std::optional<DType> dtype,
            Tensor& out) {
  if (!is_floating_point(self.dtype())) return sum(launch, self, dim, keepdim, dtype, out);
  const Tensor numbers = Tensor::make(self.sizes(), self.dtype());
  ops::PointwiseCall call(ops::Pointwise::kNanToNum, self.dtype(), self.dtype());
  call.on(self)
      .param(0, 0.0)
      .param(1, std::numeric_limits<double>::infinity())
      .param(2, -std::numeric_limits<double>::infinity());
  if (numbers.numel() > 0) run_pointwise(launch, call, numbers);
  sum(launch, numbers, dim, keepdim, dtype, out);
}

void mean(
    ops::Launch&, const Tensor& self, Dims dim, bool, std::optional<DType> dtype, Tensor& out) {
  const uint64_t mask = dim_mask(dim, self.dim());
  const auto count = static_cast<double>(reduced_count(self, mask));
  const Tensor summands = summand(self, dtype);
  const bool is_complex = mindtorch::is_complex(summands.dtype());
  const Tensor input = is_complex ? parts_of(summands) : summands;
  const bool is_double = accumulate_dtype(input.dtype()) == DType::kFloat64;
  accumulate(Row::kSum, input, mask, is_complex ? parts_of(out) : out, [&](void* sums, int64_t n) {
    if (is_double) {
      auto* values = static_cast<double*>(sums);
      for (int64_t i = 0; i < n; ++i) values[i] /= count;
    } else {
      auto* values = static_cast<float*>(sums);
      for (int64_t i = 0; i < n; ++i) values[i] /= static_cast<float>(count);
    }
  });
}

// All elements in the order of memory, each into the product that it belongs to.
void complex_product(const Tensor& self, uint64_t mask, const Tensor& out) {
  visit_any_dtype(self.dtype(), [&]<typename T>() {
    if constexpr (is_complex(DTypeOf<T>::value) && !std::is_same_v<T, ComplexHalf>) {
      std::fill_n(out.data<T>(), out.numel(), T{1});
      Shape strides(self.sizes().size(), 0);
      int64_t step = 1;
      for (size_t i = strides.size(); i-- > 0;) {
        if ((mask >> i & 1) != 0) continue;
        strides[i] = step;
        step *= self.sizes()[i];
      }
      if (self.numel() == 0) return;
      StridedLoop<2> loop;
      loop.add(self, self.sizes());
      loop.add(out.alias(self.sizes(), std::move(strides), out.storage_offset()), self.sizes());
      loop.prepare(self.sizes());
      loop.for_lines(0, loop.outer_size(), [&](char* const* at) {
        for (int64_t i = 0; i < loop.inner_size(); ++i) {
          *reinterpret_cast<T*>(at[1] + i * loop.strides_bytes[1][0]) *=
              *reinterpret_cast<const T*>(at[0] + i * loop.strides_bytes[0][0]);
        }
      });
    }
  });
}

void prod(
    ops::Launch&, const Tensor& self, OneDim dim, bool, std::optional<DType> dtype, Tensor& out) {
  const Tensor input = summand(self, dtype);
  if (is_complex(input.dtype())) return complex_product(input, mask_of(self, dim), out);
  accumulate(Row::kProd, input, mask_of(self, dim), out, kNothing);
}

template <Row kFunction>
void extreme(ops::Launch&, const Tensor& self, Dims dim, bool, Tensor& out) {
  reduce_rows(kFunction, self, dim_mask(dim, self.dim()), out.data_ptr());
}

template <Row kFunction>
void extreme_all(ops::Launch&, const Tensor& self, Tensor& out) {
  reduce_rows(kFunction, self, dim_mask(std::nullopt, self.dim()), out.data_ptr());
}

void aminmax(ops::Launch&, const Tensor& self, OneDim dim, bool, Tensor& min, Tensor& max) {
  reduce_rows(Row::kMin, self, mask_of(self, dim), min.data_ptr());
  reduce_rows(Row::kMax, self, mask_of(self, dim), max.data_ptr());
}

template <Row kFunction>
void extreme_dim(
    ops::Launch&, const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  reduce_arg(kFunction, self, mask_of(self, dim), values.data_ptr(), indices.data<int64_t>());
}

template <Row kFunction>
void arg_extreme(ops::Launch&, const Tensor& self, OneDim dim, bool, Tensor& out) {
  if (!dim || self.dim() < 2) {
    reduce_rows(kFunction, self, mask_of(self, dim), out.data_ptr());
    return;
  }
  const Tensor values = Tensor::make(out.sizes(), self.dtype());
  reduce_arg(kFunction, self, mask_of(self, dim), values.data_ptr(), out.data<int64_t>());
}

template <Row kFunction>
void truth(ops::Launch&, const Tensor& self, Dims dim, bool, Tensor& out) {
  if (dim && dim->empty()) return copy(converted(self, DType::kBool), out);
  const Tensor input = is_common(self.dtype()) ? self : converted(self, DType::kBool);
  reduce_rows(kFunction, input, dim_mask(dim, self.dim()), out.data_ptr());  // bool and uint8 agree
}

// Variances and means of the kept elements; either output may be absent.
void moments(const Tensor& self,
             Dims dim,
             const std::optional<Scalar>& correction,
             bool root,
             const Tensor& spread,
             const Tensor* mean) {
  const bool is_complex = mindtorch::is_complex(self.dtype());
  const auto count = static_cast<size_t>(spread.numel()) * (is_complex ? 2 : 1);
  const auto found = std::make_unique<Moments[]>(count);
  const uint64_t mask = dim_mask(dim, self.dim());
  reduce_rows(Row::kMoments, is_complex ? parts_of(self) : self, mask, found.get());
  const double less = correction ? correction->to_double() : 1.0;
  const auto store = [&](const Tensor& to, const auto& value_of) {
    visit_dtype(to.dtype(), [&]<typename T>() {
      if constexpr (!std::is_integral_v<T>) {
        using Rounded = std::conditional_t<std::is_same_v<T, double>, double, float>;
        T* const values = to.data<T>();
        parallel_for(0, to.numel(), kResultGrain / 4, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            values[i] = T(static_cast<Rounded>(value_of(found[static_cast<size_t>(i)])));
          }
        });
      }
    });
  };
  if (mean != nullptr) {
    store(is_complex ? parts_of(*mean) : *mean, [](const Moments& m) {
      return m.count == 0 ? std::numeric_limits<double>::quiet_NaN() : m.mean;
    });
  }
  // The spread of complex numbers is that of both parts together.
  for (size_t i = 0; is_complex && i < count / 2; ++i) {
    const double m2 = found[2 * i].m2 + found[2 * i + 1].m2;
    found[i] = {.mean = found[2 * i].mean, .m2 = m2, .count = found[2 * i].count};
  }
  store(spread, [&](const Moments& m) {
    const double degrees = std::max(0.0, static_cast<double>(m.count) - less);
    // Nothing has no variance, also where a negative correction would leave degrees of freedom.
    const double variance =
        m.count == 0 ? std::numeric_limits<double>::quiet_NaN() : m.m2 / degrees;
    return root ? std::sqrt(variance) : variance;
  });
}

template <bool kRoot>
void var(ops::Launch&,
         const Tensor& self,
         Dims dim,
         std::optional<Scalar> correction,
         bool,
         Tensor& out) {
  moments(self, dim, correction, kRoot, out, nullptr);
}

template <bool kRoot>
void var_mean(ops::Launch&,
              const Tensor& self,
              Dims dim,
              std::optional<Scalar> correction,
              bool,
              Tensor& out,
              Tensor& mean) {
  moments(self, dim, correction, kRoot, out, &mean);
}

// |x| ** p, summed, to the power of 1 / p, and the limits of that for 0 and infinity.
void vector_norm(ops::Launch& launch,
                 const Tensor& self,
                 const Scalar& ord,
                 Dims dim,
                 bool,
                 std::optional<DType> dtype,
                 Tensor& out) {
  Tensor input = dtype ? converted(self, *dtype) : self;
  if (is_complex(input.dtype())) {
    const DType parts = real_dtype(input.dtype());
    const Tensor lengths = Tensor::make(input.sizes(), parts);
    ops::PointwiseCall call(ops::Pointwise::kAbs, input.dtype(), parts);
    if (lengths.numel() > 0) run_pointwise(launch, call.on(input), lengths);
    input = lengths;
  }
  const uint64_t mask = dim_mask(dim, self.dim());
  const double p = ord.to_double();
  const bool is_double = accumulate_dtype(input.dtype()) == DType::kFloat64;
  const auto on_sums = [&](const auto& function) {
    return [&](void* sums, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        if (is_double) {
          static_cast<double*>(sums)[i] = function(static_cast<double*>(sums)[i]);
        } else {
          static_cast<float*>(sums)[i] =
              static_cast<float>(function(double{static_cast<float*>(sums)[i]}));
        }
      }
    };
  };
  if (p == 2) {
    const auto root = [](double x) { return std::sqrt(x); };
    return accumulate(Row::kSumSquares, input, mask, out, on_sums(root));
  }
  if (p == 1) return accumulate(Row::kSumAbs, input, mask, out, kNothing);
  const auto apply = [&](ops::Pointwise function, const Tensor& operand, DType result,
                         const Tensor* other = nullptr) {
    const Tensor value = Tensor::make(operand.sizes(), result);
    ops::PointwiseCall call(function, operand.dtype(), result);
    call.on(operand);
    if (other != nullptr) call.on(*other);
    if (value.numel() > 0) run_pointwise(launch, call, value);
    return value;
  };
  if (p == 0) {
    const Tensor zero = Tensor::wrapped_number(0.0);
    const Tensor set = apply(ops::Pointwise::kNe, input, DType::kBool, &zero);
    return accumulate(Row::kSum, converted(set, input.dtype()), mask, out, kNothing);
  }
  const Tensor magnitude = apply(ops::Pointwise::kAbs, input, input.dtype());
  // The norm of one element is its magnitude, whatever the order; torch asks dims for that.
  const bool is_single = input.numel() == out.numel() && (self.dim() > 0 || !dim || dim->empty());
  if (std::isinf(p) || is_single) {
    return reduce_rows(p > 0 ? Row::kMax : Row::kMin, magnitude, mask, out.data_ptr());
  }
  const Tensor exponent = Tensor::wrapped_number(p);
  const Tensor wide =
      magnitude.dtype() == DType::kFloat64 ? magnitude : converted(magnitude, DType::kFloat32);
  const Tensor powers = apply(ops::Pointwise::kPow, wide, wide.dtype(), &exponent);
  // The norm of nothing is 0, which no power of 0 gives where p is NaN.
  const bool is_empty = input.numel() == 0;
  const auto root = [=](double x) { return is_empty ? 0 : std::pow(x, 1.0 / p); };
  accumulate(Row::kSum, powers, mask, out, on_sums(root));
}

void logsumexp(ops::Launch&, const Tensor& self, IntList dim, bool, Tensor& out) {
  const Tensor input = is_floating_point(self.dtype()) ? self : converted(self, out.dtype());
  accumulate(Row::kLogsumexp, input, dim_mask(dim, self.dim()), out, kNothing);
}

}  // namespace

void register_reduce(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<sum>(kCpu, "sum.dim_IntList").takes(kAllOrComplex | kWideUnsignedTypes);
  registry.kernel<nansum>(kCpu, "nansum");
  registry.kernel<mean>(kCpu, "mean.dim").takes(kAllOrComplex);
  registry.kernel<prod>(kCpu, "prod.dim_int").takes(kAllOrComplex | kWideUnsignedTypes);
  registry.kernel<extreme<Row::kMax>>(kCpu, "amax");
  registry.kernel<extreme<Row::kMin>>(kCpu, "amin");
  registry.kernel<aminmax>(kCpu, "aminmax");
  registry.kernel<extreme_all<Row::kMax>>(kCpu, "max");
  registry.kernel<extreme_all<Row::kMin>>(kCpu, "min");
  registry.kernel<extreme_dim<Row::kArgmax>>(kCpu, "max.dim");
  registry.kernel<extreme_dim<Row::kArgmin>>(kCpu, "min.dim");
  registry.kernel<arg_extreme<Row::kArgmax>>(kCpu, "argmax");
  registry.kernel<arg_extreme<Row::kArgmin>>(kCpu, "argmin");
  registry.kernel<truth<Row::kAny>>(kCpu, "any.dims").takes(kAnyType);
  registry.kernel<truth<Row::kAll>>(kCpu, "all.dims").takes(kAnyType);
  registry.kernel<var<false>>(kCpu, "var.correction").takes(kAllOrComplex);
  registry.kernel<var<true>>(kCpu, "std.correction").takes(kAllOrComplex);
  registry.kernel<var_mean<false>>(kCpu, "var_mean.correction").takes(kAllOrComplex);
  registry.kernel<var_mean<true>>(kCpu, "std_mean.correction").takes(kAllOrComplex);
  registry.kernel<vector_norm>(kCpu, "linalg_vector_norm").takes(kAllOrComplex);
  registry.kernel<logsumexp>(kCpu, "logsumexp");
}

}  // namespace mindtorch::cpu
