// Losses that compare with values, probabilities or rankings.
#include <numbers>

#include "mindtorch/dispatch/eager/layers.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/ops/reduction.h"

namespace mindtorch::functional {
namespace {

Tensor reduced(const Tensor& losses, int64_t reduction) {
  switch (static_cast<ops::Reduction>(reduction)) {
    case ops::Reduction::kMean:
      return mean(losses);
    case ops::Reduction::kSum:
      return sum(losses);
    default:
      return losses;
  }
}

[[noreturn]] void refuse_dtype(const char* kernel, DType dtype) {
  MT_THROW(NotImplementedError, "\"", kernel, "\" not implemented for '", legacy_name(dtype), "'");
}

// Most losses take another number for none, as torch's do; these have no result for one.
void check_reduction(const char* loss, int64_t reduction) {
  MT_CHECK(reduction >= static_cast<int64_t>(ops::Reduction::kNone) &&
               reduction <= static_cast<int64_t>(ops::Reduction::kSum),
           RuntimeError, loss, ": reduction must be 0 (none), 1 (mean) or 2 (sum), but got ",
           reduction);
}

// And these take it for a sum.
int64_t or_sum(int64_t reduction) {
  const auto known = static_cast<ops::Reduction>(reduction);
  const bool is_known = known == ops::Reduction::kNone || known == ops::Reduction::kMean;
  return is_known ? reduction : static_cast<int64_t>(ops::Reduction::kSum);
}

Tensor weighted(const Tensor& losses, const Tensor& weight) {
  return weight.defined() ? mul(losses, weight) : losses;
}

// 0 below 0.
Tensor positive_part(const Tensor& values) {
  MT_CHECK(!is_complex(values.dtype()), NotImplementedError,
           "clamp is not supported for complex types");
  return clamp_min(values, Scalar(0));
}
Tensor from(const Scalar& number, const Tensor& values) { return rsub(values, number); }

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  check_reduction("mse_loss", reduction);
  const DType dtype = result_type(self, target);
  if (!is_floating_point(dtype)) refuse_dtype("mse_cpu", dtype);
  return reduced(_squared_difference(self, target), reduction);
}

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced(abs(sub(self, target)), reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  MT_CHECK(beta >= 0, RuntimeError, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return mindtorch::l1_loss(self, target, reduction);
  check_reduction("smooth_l1_loss", reduction);
  return reduced(_smooth_l1(self, target, beta), reduction);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  MT_CHECK(delta > 0, RuntimeError, "huber_loss does not support non-positive values for delta.");
  const DType dtype = result_type(self, target);
  if (!is_floating_point(dtype)) refuse_dtype("huber_cpu", dtype);
  const Tensor losses = _smooth_l1(self, target, delta);
  return reduced(delta == 1 ? losses : mul(losses, Scalar(delta)), reduction);
}

Tensor poisson_nll_loss(const Tensor& input,
                        const Tensor& target,
                        bool log_input,
                        bool full,
                        double eps,
                        int64_t reduction) {
  Tensor losses = log_input ? sub(exp(input), mul(target, input))
                            : sub(input, mul(target, log(add(input, Scalar(eps)))));
  if (full) {
    const Tensor last = mul(log(mul(target, Scalar(2 * std::numbers::pi))), Scalar(0.5));
    const Tensor stirling = add(sub(mul(target, log(target)), target), last);
    losses = add(losses, masked_fill(stirling, le(target, Scalar(1)), Scalar(0)));
  }
  return reduced(losses, reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  MT_CHECK(!is_complex(self.dtype()) && !is_complex(target.dtype()), RuntimeError,
           "kl_div: Complex inputs not supported.");
  MT_CHECK(is_floating_point(self.dtype()) && is_floating_point(target.dtype()), RuntimeError,
           "kl_div: Integral inputs not supported.");
  return reduced(log_target ? mul(exp(target), sub(target, self))
                            : sub(xlogy(target, target), mul(target, self)),
                 reduction);
}

Tensor hinge_embedding_loss(const Tensor& self,
                            const Tensor& target,
                            double margin,
                            int64_t reduction) {
  const Tensor zero = zeros_like(self);
  const auto gap = [&] {
    if (!is_integral(self.dtype(), true)) return from(Scalar(margin), self);
    return sub(full({}, Scalar(margin), self.dtype(), self.device()), self);  // as torch has it
  };
  const Tensor lacking = positive_part(gap());
  return reduced(
      add(where(eq(target, Scalar(1)), zero, lacking), where(eq(target, Scalar(-1)), zero, self)),
      reduction);
}

Tensor margin_ranking_loss(const Tensor& input1,
                           const Tensor& input2,
                           const Tensor& target,
                           double margin,
                           int64_t reduction) {
  MT_CHECK(input1.dim() == input2.dim() && input1.dim() == target.dim(), RuntimeError,
           "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
           "input1: torch.Size(",
           to_string(input1.sizes()), "), input2: torch.Size(", to_string(input2.sizes()),
           "), target: torch.Size(", to_string(target.sizes()), ") ");
  const Tensor lacking = add(mul(neg(target), sub(input1, input2)), Scalar(margin));
  return reduced(positive_part(lacking), reduction);
}

Tensor sum_of_last(const Tensor& values) { return sum(values, IntList{-1}); }

Tensor cosine_embedding_loss(const Tensor& input1,
                             const Tensor& input2,
                             const Tensor& target,
                             double margin,
                             int64_t reduction) {
  const int64_t dims = target.dim();
  MT_CHECK(dims <= 1 && input1.dim() == dims + 1 && input2.dim() == dims + 1, RuntimeError,
           dims == 1 ? "1D target tensor expects 2D" : "0D target tensor expects 1D",
           " input tensors, but found inputs with sizes ", to_string(input1.sizes()), " and ",
           to_string(input2.sizes()), ".");
  const Scalar epsilon(1e-12);  // keeps the root of a zero vector from an infinite slope
  const Tensor first = add(sum_of_last(mul(input1, input1)), epsilon);
  const Tensor second = add(sum_of_last(mul(input2, input2)), epsilon);
  const Tensor cosine = div(sum_of_last(mul(input1, input2)), sqrt(mul(first, second)));
  const Tensor zero = zeros_like(cosine);
  const Tensor near = where(eq(target, Scalar(1)), from(Scalar(1), cosine), zero);
  const Tensor far =
      where(eq(target, Scalar(-1)), positive_part(sub(cosine, Scalar(margin))), zero);
  return reduced(add(near, far), reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor,
                           const Tensor& positive,
                           const Tensor& negative,
                           double margin,
                           double p,
                           double eps,
                           bool swap,
                           int64_t reduction) {
  MT_CHECK(margin > 0, ValueError, "margin must be greater than 0, got ", margin);
  const auto distance = [&](const Tensor& x1, const Tensor& x2) {
    return mindtorch::pairwise_distance(x1, x2, p, eps);
  };
  Tensor far = distance(anchor, negative);
  if (swap) far = minimum(far, distance(positive, negative));
  const Tensor lacking = sub(add(distance(anchor, positive), Scalar(margin)), far);
  return reduced(positive_part(lacking), reduction);
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  check_reduction("soft_margin_loss", reduction);
  const Tensor gaps = mul(neg(self), target);
  // Torch writes the product to the place of -self.
  MT_CHECK(gaps.sizes() == self.sizes(), RuntimeError, "output with shape ",
           to_string(self.sizes()), " doesn't match the broadcast shape ", to_string(gaps.sizes()));
  MT_CHECK(!is_integral(self.dtype(), true), RuntimeError, "result type ",
           is_integral(gaps.dtype(), true) ? "Float" : legacy_name(gaps.dtype()),
           " can't be cast to the desired output type ", legacy_name(self.dtype()));
  return reduced(log1p(exp(_to_copy(gaps, self.dtype()))), reduction);
}

Tensor binary_cross_entropy(const Tensor& self,
                            const Tensor& target,
                            const Tensor& weight,
                            int64_t reduction) {
  return reduced(weighted(_binary_cross_entropy(self, target), weight), reduction);
}

bool is_batched(const Tensor& tensor) {
  return (tensor.impl()->layers & dispatch::bit(dispatch::Layer::kBatching)) != 0;
}

Tensor binary_cross_entropy_with_logits(const Tensor& self,
                                        const Tensor& target,
                                        const Tensor& weight,
                                        const Tensor& pos_weight,
                                        int64_t reduction) {
  Tensor losses = neg_(log_sigmoid(self));
  if (pos_weight.defined()) {
    losses = mul(losses, add(mul(target, sub(pos_weight, Scalar(1))), Scalar(1)));
  }
  const Tensor missed = from(Scalar(1), target);
  // In place, where the result is of the same kind: no backward pass needs the logarithms.
  if (losses.dtype() == self.dtype() && self.dtype() == target.dtype() && !is_batched(self) &&
      !is_batched(target) && losses.sizes() == target.sizes()) {
    losses = addcmul_(losses, missed, self);
  } else {
    losses = add(losses, mul(missed, self));
  }
  return reduced(weighted(losses, weight), reduction);
}

// Scores of classes, perhaps of a batch, and what is said of their dtypes.
void check_scores(const Tensor& self) {
  const int64_t dims = self.dim();
  const bool fits = dims == 0 || (dims <= 2 && self.size(-1) != 0);
  MT_CHECK(fits, RuntimeError,
           "Expected non-empty vector or matrix with optional 0-dim batch size, ",
           "but got: ", to_string(self.sizes()));
}
void check_score_dtypes(const char* kernel, const Tensor& self, const Tensor& target) {
  // torch's kernels for the CPU have no half precision.
  const bool is_too_short = self.element_size() < 4 && self.device().is_cpu();
  if (!is_floating_point(self.dtype()) || is_too_short) refuse_dtype(kernel, self.dtype());
  MT_CHECK(target.dtype() == DType::kInt64, RuntimeError, "expected scalar type Long but found ",
           legacy_name(target.dtype()));
}

// Classes that a loop on the host would find out of range. An accelerator says so later, and inside
// vmap the values of one sample cannot be looked at: gather checks those.
void check_classes(const Tensor& target, int64_t least, int64_t classes, const char* text) {
  if (target.numel() == 0 || !target.device().is_host() || is_batched(target)) return;
  const bool fits = item(min(target)).to_int() >= least && item(max(target)).to_int() < classes;
  MT_CHECK(fits, RuntimeError, text);
}

Tensor multi_margin_loss(const Tensor& self,
                         const Tensor& target,
                         const Scalar& p,
                         const Scalar& margin,
                         const Tensor& weight,
                         int64_t reduction) {
  const double power = p.to_double();
  MT_CHECK(power == 1 || power == 2, ValueError, "only p == 1 and p == 2 supported");
  MT_CHECK(!weight.defined() || weight.dim() == 1, ValueError, "weight must be one-dimensional");
  check_scores(self);
  const Tensor rows = self.dim() > 1 ? self : view(contiguous(self), {1, -1});
  MT_CHECK(target.dim() <= 1 && target.numel() == rows.size(0), RuntimeError,
           "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
           "samples (batch size). Expected target size [",
           rows.size(0), "], but got ", to_string(target.sizes()), ". Input has shape ",
           to_string(self.sizes()), ".");
  MT_CHECK(!weight.defined() || weight.numel() == rows.size(1), RuntimeError,
           "inconsistent weight size, expected ", rows.size(1), " but got ",
           to_string(weight.sizes()));
  check_score_dtypes("multi_margin_loss_cpu_kernel", self, target);
  MT_CHECK(!weight.defined() || weight.dtype() == self.dtype(), RuntimeError,
           "expected scalar type ", legacy_name(self.dtype()), " but found ",
           legacy_name(weight.dtype()));
  check_classes(target, 0, rows.size(1), "target out of range");
  const Tensor classes = view(target, {-1, 1});
  Tensor losses = positive_part(add(from(margin, gather(rows, 1, classes)), rows));
  if (power == 2) losses = mul(losses, losses);
  if (weight.defined()) {
    losses = mul(losses, unsqueeze(index_select(weight, 0, view(target, {-1})), 1));
  }
  losses = div(sum(scatter(losses, 1, classes, Scalar(0)), IntList{1}),
               Scalar(static_cast<double>(rows.size(1))));
  return reduced(self.dim() > 1 ? losses : select(losses, 0, 0), or_sum(reduction));
}

// The targets of a row end at the first that is below 0.
Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  check_scores(self);
  const bool has_batch = self.dim() == 2;
  const bool fits = has_batch ? self.sizes() == target.sizes()
                              : target.dim() <= 1 && target.numel() == self.numel();
  MT_CHECK(fits, RuntimeError, "inconsistent target size: ", to_string(target.sizes()),
           " for input of size: ", to_string(self.sizes()));
  check_score_dtypes("multilabel_margin_loss_forward_out_frame", self, target);
  if (self.dim() == 0 || target.dim() == 0) {
    return mindtorch::multilabel_margin_loss(view(self, {1}), view(target, {1}), reduction);
  }
  check_classes(target, -1, self.size(-1), "argument #2 'target' is out of range");
  const Tensor counts = cumprod(_to_copy(ge(target, Scalar(0)), self.dtype()), -1);
  const Tensor places = clamp_min(target, Scalar(0));
  const Tensor is_target = gt(scatter_add(zeros_like(self), -1, places, counts), Scalar(0));
  const Tensor at_targets = unsqueeze(gather(self, -1, places), -1);
  Tensor gaps = positive_part(add(from(Scalar(1), at_targets), unsqueeze(self, -2)));
  gaps = masked_fill(mul(gaps, unsqueeze(counts, -1)), unsqueeze(is_target, -2), Scalar(0));
  const auto classes = static_cast<double>(self.size(-1));
  return reduced(div(sum(gaps, IntList{-1, -2}), Scalar(classes)), or_sum(reduction));
}

}  // namespace

void compose_value_losses(ops::Registry& registry) {
  registry.composite<mse_loss>("mse_loss");
  registry.composite<l1_loss>("l1_loss");
  registry.composite<smooth_l1_loss>("smooth_l1_loss");
  registry.composite<huber_loss>("huber_loss");
  registry.composite<poisson_nll_loss>("poisson_nll_loss");
  registry.composite<kl_div>("kl_div");
  registry.composite<hinge_embedding_loss>("hinge_embedding_loss");
  registry.composite<margin_ranking_loss>("margin_ranking_loss");
  registry.composite<cosine_embedding_loss>("cosine_embedding_loss");
  registry.composite<triplet_margin_loss>("triplet_margin_loss");
  registry.composite<soft_margin_loss>("soft_margin_loss");
  registry.composite<binary_cross_entropy>("binary_cross_entropy");
  registry.composite<binary_cross_entropy_with_logits>("binary_cross_entropy_with_logits");
  registry.composite<multi_margin_loss>("multi_margin_loss");
  registry.composite<multilabel_margin_loss>("multilabel_margin_loss");
}

}  // namespace mindtorch::functional
