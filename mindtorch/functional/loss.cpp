// Losses that compare with classes: torch's rules around the ops that compute them.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/reduction.h"

namespace mindtorch::functional {
namespace {

int64_t class_dim(const Tensor& self) { return self.dim() == 1 ? 0 : 1; }

// A number for each class, as large as an input of so many dims.
Tensor along_classes(const Tensor& weight, const Tensor& self) {
  Shape sizes(static_cast<size_t>(self.dim()), 1);
  sizes[static_cast<size_t>(class_dim(self))] = -1;
  return view(weight, sizes);
}

// The losses, or their sum, or mean, and what a mean divides by.
std::tuple<Tensor, Tensor> nll(const Tensor& self,
                               const Tensor& target,
                               const Tensor& weight,
                               int64_t reduction,
                               int64_t ignore_index) {
  MT_CHECK(self.dim() > 0, ValueError, "Expected 1 or more dimensions (got 0)");
  if (self.dim() == 1) {
    MT_CHECK(target.dim() != 1 || target.size(0) == 1, ValueError,
             "For 1D input, 1D target must have size 1, but got target size: ", target.numel());
  } else {
    const int64_t given = target.dim() == 0 ? 0 : target.size(0);
    MT_CHECK(self.size(0) == given, ValueError, "Expected input batch_size (", self.size(0),
             ") to match target batch_size (", given, ").");
  }
  if (self.dim() <= 2) return nll_loss_forward(self, target, weight, reduction, ignore_index);
  Shape wanted = self.sizes();
  wanted.erase(wanted.begin() + 1);
  MT_CHECK(self.dim() == 4 || equal(wanted, target.sizes()), RuntimeError, "Expected target size ",
           to_string(wanted), ", got ", to_string(target.sizes()));
  return nll_loss2d_forward(self, target, weight, reduction, ignore_index);
}

Tensor nll_loss_nd(const Tensor& self,
                   const Tensor& target,
                   const Tensor& weight,
                   int64_t reduction,
                   int64_t ignore_index) {
  return std::get<0>(nll(self, target, weight, reduction, ignore_index));
}

Tensor with_probabilities(const Tensor& self,
                          const Tensor& target,
                          const Tensor& weight,
                          ops::Reduction reduction,
                          double label_smoothing) {
  MT_CHECK(is_floating_point(target.dtype()), RuntimeError,
           "Expected floating point type for target with class probabilities, got ",
           legacy_name(target.dtype()));
  const int64_t dim = class_dim(self);
  const int64_t classes = self.dim() == 0 ? 1 : self.size(dim);
  Tensor share = target;
  if (label_smoothing > 0) {
    const auto least = Scalar(label_smoothing / static_cast<double>(classes));
    share = add(mul(target, Scalar(1 - label_smoothing)), least);
  }
  Tensor losses = mul(log_softmax(self, dim), share);
  if (weight.defined()) losses = mul(losses, along_classes(weight, self));
  if (reduction == ops::Reduction::kNone) return neg(sum(losses, IntList{dim}, false));
  const Tensor total = neg(sum(losses));
  if (reduction == ops::Reduction::kSum) return total;
  MT_CHECK(
      reduction == ops::Reduction::kMean, RuntimeError,
      "Invalid reduction type encountered in cross_entropy: ", static_cast<int64_t>(reduction));
  const int64_t rows = classes == 0 ? 0 : self.numel() / classes;
  return div(total, Scalar(static_cast<double>(rows)));
}

// A part of the weight of a target is spread over all classes.
Tensor with_smoothing(const Tensor& self,
                      const Tensor& target,
                      const Tensor& weight,
                      int64_t reduction,
                      int64_t ignore_index,
                      double label_smoothing) {
  const int64_t dim = class_dim(self);
  const Tensor logs = log_softmax(self, dim);
  const auto [loss, total_weight] = nll(logs, target, weight, reduction, ignore_index);
  const Tensor weighted = weight.defined() ? mul(logs, along_classes(weight, self)) : logs;
  const Tensor losses = masked_fill(neg(sum(weighted, IntList{dim}, false)),
                                    eq(target, Scalar(ignore_index)), Scalar(0));
  Tensor spread = losses;
  if (reduction != static_cast<int64_t>(ops::Reduction::kNone)) spread = sum(losses);
  if (reduction == static_cast<int64_t>(ops::Reduction::kMean)) spread = div(spread, total_weight);
  const double share = label_smoothing / static_cast<double>(self.size(dim));
  return add(mul(loss, Scalar(1 - label_smoothing)), mul(spread, Scalar(share)));
}

Tensor cross_entropy_loss(const Tensor& self,
                          const Tensor& target,
                          const Tensor& weight,
                          int64_t reduction,
                          int64_t ignore_index,
                          double label_smoothing) {
  MT_CHECK(label_smoothing >= 0 && label_smoothing <= 1, RuntimeError,
           "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  if (equal(self.sizes(), target.sizes())) {
    MT_CHECK(ignore_index < 0, RuntimeError,
             "ignore_index is not supported for floating point target");
    return with_probabilities(self, target, weight, static_cast<ops::Reduction>(reduction),
                              label_smoothing);
  }
  if (label_smoothing > 0) {
    return with_smoothing(self, target, weight, reduction, ignore_index, label_smoothing);
  }
  return mindtorch::nll_loss_nd(log_softmax(self, class_dim(self)), target, weight, reduction,
                                ignore_index);
}

}  // namespace

void compose_loss(ops::Registry& registry) {
  registry.composite<nll_loss_nd>("nll_loss_nd");
  registry.composite<cross_entropy_loss>("cross_entropy_loss");
}

}  // namespace mindtorch::functional
