// gather, scatter and its reductions: every element has an index of its own along one dim.
#include <limits>

#include "mindtorch/backends/cpu/kernels/indexed.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::cpu {
namespace {

void gather(ops::Launch&, const Tensor& self, int64_t dim, const Tensor& index, bool, Tensor& out) {
  const Tensor places = checked_places(self, dim, index);
  gather_indexed(Indexed(self, dim, places, out));
}

// `source` is a tensor, or a 0-dim tensor that stands for a value.
void scatter_into(
    Combine how, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  if (index.numel() == 0) return;
  const bool is_short = self.dtype() == DType::kFloat16 || self.dtype() == DType::kBFloat16;
  if (is_short && how != Combine::kSet) {
    // Many small steps in 16 bits would lose what one rounding keeps.
    const Tensor places = checked_places(self, dim, index);
    if (scatter_rounding_once(how, Indexed(self, dim, places, source))) return;
    const Tensor wide = Tensor::make(self.sizes(), DType::kFloat32);
    copy(self, wide);
    scatter_indexed(how, Indexed(wide, dim, places, source));
    return copy(wide, self);
  }
  const Tensor places = checked_places(self, dim, index);
  scatter_indexed(how, Indexed(self, dim, places, source));
}

Tensor value_tensor(const Tensor& self, const Scalar& value) {
  const Tensor one = Tensor::make({}, self.dtype());
  write_element(one.data_ptr(), self.dtype(), value);
  return one;
}

Combine by_name(std::string_view reduce) {
  return reduce == "add" ? Combine::kAdd : Combine::kMultiply;
}

void scatter_src(
    ops::Launch&, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_into(Combine::kSet, self, dim, index, src);
}
void scatter_value(
    ops::Launch&, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  scatter_into(Combine::kSet, self, dim, index, value_tensor(self, value));
}
void scatter_src_reduce(ops::Launch&,
                        const Tensor& self,
                        int64_t dim,
                        const Tensor& index,
                        const Tensor& src,
                        std::string_view reduce) {
  scatter_into(by_name(reduce), self, dim, index, src);
}
void scatter_value_reduce(ops::Launch&,
                          const Tensor& self,
                          int64_t dim,
                          const Tensor& index,
                          const Scalar& value,
                          std::string_view reduce) {
  scatter_into(by_name(reduce), self, dim, index, value_tensor(self, value));
}
void scatter_add(
    ops::Launch&, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_into(Combine::kAdd, self, dim, index, src);
}

// The element that changes nothing under `how`.
Scalar identity(Combine how, DType dtype) {
  switch (how) {
    case Combine::kMultiply:
      return 1;
    case Combine::kMax:
    case Combine::kMin: {
      const bool max = how == Combine::kMax;
      if (is_floating_point(dtype)) {
        const double inf = std::numeric_limits<double>::infinity();
        return max ? -inf : inf;
      }
      return visit_dtype(dtype, [&]<typename T>() -> Scalar {
        if constexpr (std::is_integral_v<T>) {
          return max ? Scalar(std::numeric_limits<T>::lowest())
                     : Scalar(std::numeric_limits<T>::max());
        } else {
          return 0;
        }
      });
    }
    default:
      return 0;
  }
}

void scatter_reduce(ops::Launch&,
                    const Tensor& self,
                    int64_t dim,
                    const Tensor& index,
                    const Tensor& src,
                    std::string_view reduce,
                    bool include_self) {
  const Combine how = reduce == "prod"          ? Combine::kMultiply
                      : reduce.ends_with("max") ? Combine::kMax
                      : reduce.ends_with("min") ? Combine::kMin
                                                : Combine::kAdd;
  if (!include_self) {
    scatter_into(Combine::kSet, self, dim, index, value_tensor(self, identity(how, self.dtype())));
  }
  scatter_into(how, self, dim, index, src);
  if (reduce != "mean") return;
  const Tensor counts = Tensor::make(self.sizes(), self.dtype());
  copy(value_tensor(self, include_self ? 1 : 0), counts);
  scatter_into(Combine::kAdd, counts, dim, index, value_tensor(self, 1));
  // A place that was not written keeps its value.
  const Tensor whole = as_contiguous(self);
  visit_dtype(self.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < whole.numel(); ++i) {
      T& value = whole.data<T>()[i];
      const T count = counts.data<T>()[i];
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        value = T(static_cast<float>(value) / std::max(1.0f, static_cast<float>(count)));
      } else if constexpr (std::is_floating_point_v<T>) {
        value /= std::max(T(1), count);
      } else if constexpr (!std::is_same_v<T, bool>) {
        const T divisor = count == 0 ? T(1) : count;  // below 0 where it wrapped, as the sum did
        const auto quotient = static_cast<T>(value / divisor);
        const bool rounds_down = value % divisor != 0 && (value < 0) != (divisor < 0);
        value = static_cast<T>(rounds_down ? quotient - 1 : quotient);
      }
    }
  });
  if (!whole.is_same(self)) copy(whole, self);
}

}  // namespace

void register_scatter(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<gather>(kCpu, "gather").takes(kAnyType);
  registry.kernel<scatter_src>(kCpu, "scatter_.src").takes(kAnyType);
  registry.kernel<scatter_value>(kCpu, "scatter_.value").takes(kAnyType);
  registry.kernel<scatter_src_reduce>(kCpu, "scatter_.reduce");
  registry.kernel<scatter_value_reduce>(kCpu, "scatter_.value_reduce");
  registry.kernel<scatter_add>(kCpu, "scatter_add_").takes(kAllOrComplex);
  registry.kernel<scatter_reduce>(kCpu, "scatter_reduce_.two");
}

}  // namespace mindtorch::cpu
