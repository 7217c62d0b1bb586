#include <cstring>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/ops/reduction.h"

namespace mindtorch::cpu {
namespace {

using ops::Reduction;

constexpr int64_t kLossGrain = 4 * 1024;
constexpr int64_t kFillBytes = 128 * 1024;

// Where the class that a target names is in a contiguous input of [batch, classes, inner].
class Classes {
 public:
  Classes(const Tensor& self, const Tensor& target, int64_t ignore_index)
      : targets_(as_index(target)), ignored_(ignore_index) {
    const IntList sizes = self.sizes();
    const size_t dim = sizes.size() == 1 ? 0 : 1;
    classes_ = sizes[dim];
    inner_ = numel(sizes.subspan(dim + 1));
  }
  int64_t count() const { return targets_.numel(); }
  // body(target number, class, element of the input) for those in a range that count.
  template <typename Body>
  void visit(int64_t begin, int64_t end, const Body& body) const {
    const auto* const target = targets_.data<int64_t>();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t own = target[i];
      if (own == ignored_) continue;
      MT_CHECK(own >= 0 && own < classes_, IndexError, "Target ", own, " is out of bounds.");
      body(i, own, (i / inner_ * classes_ + own) * inner_ + i % inner_);
    }
  }

 private:
  Tensor targets_;
  int64_t ignored_;
  int64_t classes_;
  int64_t inner_;
};

// Runs body<T, Wide>() for the dtype of an input; others are refused by the rule.
template <typename Body>
void visit_float(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kFloat32:
      return body.template operator()<float, float>();
    case DType::kFloat64:
      return body.template operator()<double, double>();
    case DType::kFloat16:
      return body.template operator()<Half, float>();
    default:
      return body.template operator()<BFloat16, float>();
  }
}

template <typename T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

void nll_loss(ops::Launch&,
              const Tensor& self,
              const Tensor& target,
              const Tensor& weight,
              int64_t reduction,
              int64_t ignore_index,
              Tensor& out,
              Tensor& total_weight) {
  const Tensor input = as_contiguous(self);
  const Tensor weights = weight.defined() ? as_contiguous(weight) : weight;
  const Classes classes(self, target, ignore_index);
  visit_float(self.dtype(), [&]<typename T, typename W>() {
    const T* const x = input.data<T>();
    const T* const w = data_or_null<T>(weights);
    const auto weight_of = [&](int64_t own) {
      return w == nullptr ? W{1} : static_cast<W>(w[own]);
    };
    if (reduction == static_cast<int64_t>(Reduction::kNone)) {
      T* const each = out.data<T>();
      parallel_for(0, classes.count(), kLossGrain, [&](int64_t begin, int64_t end) {
        std::fill(each + begin, each + end, T(W{0}));
        classes.visit(begin, end, [&](int64_t i, int64_t own, int64_t at) {
          each[i] = T(-weight_of(own) * static_cast<W>(x[at]));
        });
      });
      *total_weight.data<T>() = T(W{0});
      return;
    }
    // Partial sums of as many terms each, so that the number of threads does not change them.
    struct Sums {
      double loss = 0;
      double weight = 0;
    };
    std::vector<Sums> parts(static_cast<size_t>(ceil_div(classes.count(), kLossGrain)));
    parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        Sums sums;
        const int64_t first = part * kLossGrain;
        const int64_t last = std::min(first + kLossGrain, classes.count());
        classes.visit(first, last, [&](int64_t, int64_t own, int64_t at) {
          const auto by = static_cast<double>(weight_of(own));
          sums.loss -= by * static_cast<double>(x[at]);
          sums.weight += by;
        });
        parts[static_cast<size_t>(part)] = sums;
      }
    });
    Sums total;
    for (const Sums& part : parts) {
      total.loss += part.loss;
      total.weight += part.weight;
    }
    const bool is_mean = reduction == static_cast<int64_t>(Reduction::kMean);
    *out.data<T>() = T(static_cast<W>(is_mean ? total.loss / total.weight : total.loss));
    *total_weight.data<T>() = T(static_cast<W>(total.weight));
  });
}

void nll_loss_backward(ops::Launch&,
                       const Tensor& grad_output,
                       const Tensor& self,
                       const Tensor& target,
                       const Tensor& weight,
                       int64_t reduction,
                       int64_t ignore_index,
                       const Tensor& total_weight,
                       Tensor& out) {
  const Tensor grads = as_contiguous(grad_output);
  const Tensor weights = weight.defined() ? as_contiguous(weight) : weight;
  const Classes classes(self, target, ignore_index);
  parallel_for(0, out.numel() * out.element_size(), kFillBytes, [&](int64_t begin, int64_t end) {
    std::memset(out.data<char>() + begin, 0, static_cast<size_t>(end - begin));
  });
  visit_float(self.dtype(), [&]<typename T, typename W>() {
    const T* const grad = grads.data<T>();
    const T* const w = data_or_null<T>(weights);
    T* const result = out.data<T>();
    const bool is_none = reduction == static_cast<int64_t>(Reduction::kNone);
    const W share = reduction == static_cast<int64_t>(Reduction::kMean)
                        ? W{1} / static_cast<W>(*total_weight.data<T>())
                        : W{1};
    parallel_for(0, classes.count(), kLossGrain, [&](int64_t begin, int64_t end) {
      classes.visit(begin, end, [&](int64_t i, int64_t own, int64_t at) {
        const W by = w == nullptr ? share : share * static_cast<W>(w[own]);
        result[at] = T(-by * static_cast<W>(grad[is_none ? i : 0]));
      });
    });
  });
}

}  // namespace

void register_loss(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<nll_loss>(kCpu, "nll_loss_forward");
  registry.kernel<nll_loss>(kCpu, "nll_loss2d_forward");
  registry.kernel<nll_loss_backward>(kCpu, "nll_loss_backward");
  registry.kernel<nll_loss_backward>(kCpu, "nll_loss2d_backward");
}

}  // namespace mindtorch::cpu
