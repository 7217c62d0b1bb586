// gather, scatter and its reductions: every element has an index of its own along one dim.
#include <cmath>
#include <cstring>

#include "mindtorch/backends/cpu/indexing.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

// One line of `dim` in each of three tensors, walked together over the index's shape.
struct Line {
  int64_t target;  // element offsets of the line's start
  int64_t index;
  int64_t source;
};

// Calls body(line) for the index's lines [begin, end).
template <typename Body>
void for_lines(const Tensor& index,
               size_t d,
               const Tensor& target,
               const Tensor* source,
               int64_t begin,
               int64_t end,
               const Body& body) {
  const size_t rank = index.sizes().size();
  for (int64_t number = begin; number < end; ++number) {
    Line line{0, 0, 0};
    int64_t rest = number;
    for (size_t i = rank; i-- > 0;) {
      if (i == d) continue;
      const int64_t at = rest % index.sizes()[i];
      rest /= index.sizes()[i];
      line.index += at * index.strides()[i];
      if (target.dim() > 0) line.target += at * target.strides()[i];
      if (source != nullptr && source->dim() > 0) line.source += at * source->strides()[i];
    }
    body(line);
  }
}

struct Walk {
  Tensor index;  // int64, contiguous
  size_t d;
  int64_t length;  // of the index along dim
  int64_t lines;
  int64_t target_size;
  int64_t target_stride;
  int64_t source_stride;

  Walk(const Tensor& target, int64_t dim, const Tensor& index_in, const Tensor* source)
      : index(as_index(index_in)), d(line_dim(target, dim)) {
    length = index.dim() == 0 ? 1 : index.sizes()[d];
    lines = length == 0 ? 0 : index.numel() / length;
    target_size = target.dim() == 0 ? 1 : target.sizes()[d];
    target_stride = target.dim() == 0 ? 0 : target.strides()[d];
    source_stride = source == nullptr || source->dim() == 0 ? 0 : source->strides()[d];
    const auto* at = index.data<int64_t>();
    const int64_t bad = check_positive_indices(at, index.numel(), target_size);
    MT_CHECK(bad < 0, RuntimeError, "index ", bad < 0 ? 0 : at[bad],
             " is out of bounds for dimension ", d, " with size ", target_size);
  }
  int64_t index_stride() const { return index.dim() == 0 ? 0 : index.strides()[d]; }
};

void gather(ops::Launch&, const Tensor& self, int64_t dim, const Tensor& index, bool, Tensor& out) {
  if (out.numel() == 0) return;
  const Walk walk(self, dim, index, &out);
  const auto move = [&]<typename T>(T) {
    const auto* from = static_cast<const T*>(self.data_ptr());
    auto* to = static_cast<T*>(out.data_ptr());
    const auto* at = walk.index.data<int64_t>();
    parallel_for(0, walk.lines, std::max<int64_t>(1, 16 * 1024 / walk.length),
                 [&](int64_t begin, int64_t end) {
                   for_lines(walk.index, walk.d, self, &out, begin, end, [&](const Line& line) {
                     const int64_t step = walk.index_stride();
                     const T* source = from + line.target;
                     const int64_t* places = at + line.index;
                     T* target = to + line.source;
                     if (step == 1 && walk.source_stride == 1 && walk.target_stride == 1) {
                       for (int64_t i = 0; i < walk.length; ++i) target[i] = source[places[i]];
                       return;
                     }
                     for (int64_t i = 0; i < walk.length; ++i) {
                       target[i * walk.source_stride] =
                           source[places[i * step] * walk.target_stride];
                     }
                   });
                 });
  };
  switch (self.element_size()) {
    case 1:
      return move(uint8_t{});
    case 2:
      return move(uint16_t{});
    case 4:
      return move(uint32_t{});
    default:
      return move(uint64_t{});
  }
}

enum class Combine { kSet, kAdd, kMultiply, kMax, kMin };

// Arithmetic of one element: 16-bit floats through float, integers wrap.
template <typename T>
inline T combine(Combine how, T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    if (how == Combine::kSet) return b;
    return T(combine(how, static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    switch (how) {
      case Combine::kSet:
        return b;
      case Combine::kAdd:
      case Combine::kMax:
        return a || b;
      default:
        return a && b;
    }
  } else {
    using U = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    switch (how) {
      case Combine::kSet:
        return b;
      case Combine::kAdd:
        return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case Combine::kMultiply:
        return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
      case Combine::kMax:
        if constexpr (std::is_floating_point_v<T>) {
          if (std::isnan(a)) return a;
          if (std::isnan(b)) return b;
        }
        return a > b ? a : b;
      case Combine::kMin:
        if constexpr (std::is_floating_point_v<T>) {
          if (std::isnan(a)) return a;
          if (std::isnan(b)) return b;
        }
        return a < b ? a : b;
    }
    return b;
  }
}

// `how` is known when this is compiled for the two common ways, and decided per element otherwise.
template <typename T, typename How>
void scatter_lines(How how, const Tensor& self, const Tensor& source, const Walk& walk) {
  auto* to = self.data<T>();
  const auto* from = source.data<T>();
  const auto* at = walk.index.data<int64_t>();
  const int64_t step = walk.index_stride();
  const int64_t target_stride = walk.target_stride;
  const int64_t source_stride = walk.source_stride;
  for_lines(walk.index, walk.d, self, &source, 0, walk.lines, [&](const Line& line) {
    T* targets = to + line.target;
    const T* values = from + line.source;
    const int64_t* places = at + line.index;
    for (int64_t i = 0; i < walk.length; ++i) {
      T& target = targets[places[i * step] * target_stride];
      target = combine<T>(how, target, values[i * source_stride]);
    }
  });
}

// `source` is a tensor, or a 0-dim tensor that stands for a value.
void scatter_into(
    Combine how, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  if (index.numel() == 0) return;
  const bool is_short = self.dtype() == DType::kFloat16 || self.dtype() == DType::kBFloat16;
  if (is_short && (how == Combine::kAdd || how == Combine::kMultiply)) {
    // Many small steps in 16 bits would lose what one rounding keeps.
    const Tensor wide = Tensor::make(self.sizes(), DType::kFloat32);
    const Tensor addends = Tensor::make(source.sizes(), DType::kFloat32);
    copy(self, wide);
    copy(source, addends);
    scatter_into(how, wide, dim, index, addends);
    return copy(wide, self);
  }
  const Walk walk(self, dim, index, &source);
  visit_dtype(self.dtype(), [&]<typename T>() {
    if (how == Combine::kSet) {
      scatter_lines<T>(std::integral_constant<Combine, Combine::kSet>(), self, source, walk);
    } else if (how == Combine::kAdd) {
      scatter_lines<T>(std::integral_constant<Combine, Combine::kAdd>(), self, source, walk);
    } else {
      scatter_lines<T>(how, self, source, walk);
    }
  });
}

Tensor value_tensor(const Tensor& self, const Scalar& value) {
  const Tensor one = Tensor::make({}, self.dtype());
  visit_dtype(self.dtype(), [&]<typename T>() { *one.data<T>() = value.to<T>(); });
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
  const Combine how = reduce == "prod"   ? Combine::kMultiply
                      : reduce == "amax" ? Combine::kMax
                      : reduce == "amin" ? Combine::kMin
                                         : Combine::kAdd;
  if (!include_self) {
    scatter_into(Combine::kSet, self, dim, index, value_tensor(self, identity(how, self.dtype())));
  }
  scatter_into(how, self, dim, index, src);
  if (reduce != "mean") return;
  const Tensor counts = Tensor::make(self.sizes(), self.dtype());
  copy(value_tensor(self, include_self ? 1 : 0), counts);
  scatter_into(Combine::kAdd, counts, dim, index, value_tensor(self, 1));
  // A place nobody wrote to keeps its value.
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
        const T divisor = std::max(T(1), count);
        const auto quotient = static_cast<T>(value / divisor);
        value = static_cast<T>(value % divisor != 0 && value < 0 ? quotient - 1 : quotient);
      }
    }
  });
  if (!whole.is_same(self)) copy(whole, self);
}

}  // namespace

void register_scatter(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<gather>(kCpu, "gather");
  registry.kernel<scatter_src>(kCpu, "scatter_.src");
  registry.kernel<scatter_value>(kCpu, "scatter_.value");
  registry.kernel<scatter_src_reduce>(kCpu, "scatter_.reduce");
  registry.kernel<scatter_value_reduce>(kCpu, "scatter_.value_reduce");
  registry.kernel<scatter_add>(kCpu, "scatter_add_");
  registry.kernel<scatter_reduce>(kCpu, "scatter_reduce_.two");
}

}  // namespace mindtorch::cpu
