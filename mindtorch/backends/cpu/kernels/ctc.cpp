#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"

// Note [States of CTC]
// The labels of a sample with a blank before, between and behind them are the states that the input
// goes through, each for one step or more. Blanks may be left out, but not between equal labels.
namespace mindtorch::cpu {
namespace {

template <typename T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b) + exp(c))
template <typename T>
T log_sum(T a, T b, T c) {
  const T top = std::max({a, b, c});
  if (top == kNever<T>) return top;
  return top + std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top));
}

// One sample of a batch. Element (t, c) of its log-probabilities is at probs[t * step + c].
template <typename T>
struct Sample {
  const T* probs;
  int64_t step;
  int64_t steps;
  std::vector<int64_t> labels;  // of the states

  int64_t states() const { return static_cast<int64_t>(labels.size()); }
  T prob(int64_t t, int64_t state) const {
    return probs[t * step + labels[static_cast<size_t>(state)]];
  }
  // The state may follow the one before the last.
  bool may_skip_to(int64_t state) const {
    return state >= 2 &&
           labels[static_cast<size_t>(state)] != labels[static_cast<size_t>(state - 2)];
  }
};

template <typename T>
class Batch {
 public:
  Batch(const Tensor& log_probs,
        const Tensor& targets,
        IntList input_lengths,
        IntList target_lengths,
        int64_t blank)
      : probs_(as_contiguous(log_probs)),
        targets_(Tensor::make(targets.sizes(), DType::kInt64)),
        input_lengths_(input_lengths),
        target_lengths_(target_lengths),
        blank_(blank) {
    copy(targets, targets_);
    int64_t begin = 0;
    for (size_t i = 0; i < target_lengths.size(); ++i) {
      begins_.push_back(targets.dim() == 2 ? static_cast<int64_t>(i) * targets.size(1) : begin);
      begin += target_lengths[i];
    }
  }

  int64_t size() const { return probs_.size(1); }
  int64_t classes() const { return probs_.size(2); }
  int64_t steps() const { return probs_.size(0); }

  Sample<T> sample(int64_t number) const {
    const auto i = static_cast<size_t>(number);
    Sample<T> found = {
        probs_.data<T>() + number * classes(), size() * classes(), input_lengths_[i], {}};
    found.labels.reserve(static_cast<size_t>(2 * target_lengths_[i] + 1));
    found.labels.push_back(blank_);
    for (int64_t k = 0; k < target_lengths_[i]; ++k) {
      const int64_t label = targets_.data<int64_t>()[begins_[i] + k];
      MT_CHECK(label >= 0 && label < classes(), RuntimeError, "Target ", label,
               " is out of bounds.");
      found.labels.push_back(label);
      found.labels.push_back(blank_);
    }
    return found;
  }

 private:
  Tensor probs_, targets_;
  IntList input_lengths_, target_lengths_;
  int64_t blank_;
  std::vector<int64_t> begins_;
};

// The log-likelihood of each state at each step, over all ways that lead there; the loss.
template <typename T>
T run_forward(const Sample<T>& s, T* alpha, int64_t width) {
  const int64_t last = s.states() - 1;
  if (s.steps == 0) return last == 0 ? T{0} : -kNever<T>;
  for (int64_t k = 0; k < width; ++k)
    alpha[k] = k <= std::min<int64_t>(1, last) ? s.prob(0, k) : kNever<T>;
  for (int64_t t = 1; t < s.steps; ++t) {
    const T* const before = alpha + (t - 1) * width;
    T* const now = alpha + t * width;
    for (int64_t k = 0; k <= last; ++k) {
      now[k] = log_sum(before[k], k > 0 ? before[k - 1] : kNever<T>,
                       s.may_skip_to(k) ? before[k - 2] : kNever<T>) +
               s.prob(t, k);
    }
    std::fill(now + last + 1, now + width, kNever<T>);
  }
  const T* const end = alpha + (s.steps - 1) * width;
  return -log_sum(end[last], last > 0 ? end[last - 1] : kNever<T>, kNever<T>);
}

// The gradient of one sample; `grad` is zero so far, element (t, c) at grad[t * s.step + c].
template <typename T>
void run_backward(const Sample<T>& s,
                  const T* alpha,
                  int64_t width,
                  int64_t classes,
                  T loss,
                  T grad_loss,
                  T* grad) {
  const int64_t last = s.states() - 1;
  std::vector<T> beta(static_cast<size_t>(last + 1));
  std::vector<T> next(beta.size());
  std::vector<T> ways(static_cast<size_t>(classes));  // through each label at this step
  const auto add_way = [&](int64_t state, T log_likelihood) {
    T& total = ways[static_cast<size_t>(s.labels[static_cast<size_t>(state)])];
    total = log_sum(total, log_likelihood, kNever<T>);
  };
  for (int64_t t = s.steps; t-- > 0;) {
    std::fill(ways.begin(), ways.end(), kNever<T>);
    for (int64_t k = 0; k <= last; ++k) {
      const auto at = [&](int64_t state) { return next[static_cast<size_t>(state)]; };
      T behind;
      if (t == s.steps - 1) {
        behind = k >= last - 1 ? T{0} : kNever<T>;
      } else {
        behind = log_sum(at(k), k < last ? at(k + 1) : kNever<T>,
                         k + 2 <= last && s.may_skip_to(k + 2) ? at(k + 2) : kNever<T>);
      }
      beta[static_cast<size_t>(k)] = behind + s.prob(t, k);
      add_way(k, alpha[t * width + k] + beta[static_cast<size_t>(k)]);
    }
    // Both counted the label's own probability.
    for (int64_t c = 0; c < classes; ++c) {
      const T prob = s.probs[t * s.step + c];
      const T share = std::exp(ways[static_cast<size_t>(c)] + loss - prob);
      grad[t * s.step + c] = (std::exp(prob) - share) * grad_loss;
    }
    beta.swap(next);
  }
}

template <typename Run>
void in_float(DType dtype, const Run& run) {
  if (dtype == DType::kFloat64) return run.template operator()<double>();
  run.template operator()<float>();
}

// The log-likelihood of each state at each step: a state is a label or the blank before, between or
// behind labels.
ops::TensorSpec log_alpha_of(
    const Tensor& log_probs, const Tensor&, IntList, IntList target_lengths, int64_t, bool) {
  const int64_t most = *std::ranges::max_element(target_lengths);
  return {{log_probs.size(1), log_probs.size(0), 2 * most + 1},
          log_probs.dtype(),
          log_probs.device(),
          std::nullopt};
}

void ctc_loss(ops::Launch&,
              const Tensor& log_probs,
              const Tensor& targets,
              IntList input_lengths,
              IntList target_lengths,
              int64_t blank,
              bool,
              Tensor& neg_log_likelihood,
              Tensor& log_alpha) {
  in_float(log_probs.dtype(), [&]<typename T>() {
    const Batch<T> batch(log_probs, targets, input_lengths, target_lengths, blank);
    const int64_t width = log_alpha.size(2);
    std::fill_n(log_alpha.data<T>(), log_alpha.numel(), kNever<T>);
    parallel_for(0, batch.size(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        neg_log_likelihood.data<T>()[i] =
            run_forward(batch.sample(i), log_alpha.data<T>() + i * batch.steps() * width, width);
      }
    });
  });
}

void ctc_loss_backward(ops::Launch&,
                       const Tensor& grad,
                       const Tensor& log_probs,
                       const Tensor& targets,
                       IntList input_lengths,
                       IntList target_lengths,
                       const Tensor& neg_log_likelihood,
                       const Tensor& log_alpha,
                       int64_t blank,
                       bool zero_infinity,
                       Tensor& out) {
  in_float(log_probs.dtype(), [&]<typename T>() {
    const Batch<T> batch(log_probs, targets, input_lengths, target_lengths, blank);
    const Tensor grads = as_contiguous(grad);
    const Tensor losses = as_contiguous(neg_log_likelihood);
    const Tensor alpha = as_contiguous(log_alpha);
    const int64_t width = alpha.size(2);
    std::fill_n(out.data<T>(), out.numel(), T{0});
    parallel_for(0, batch.size(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T loss = losses.data<T>()[i];
        if (zero_infinity && loss == -kNever<T>) continue;
        run_backward(batch.sample(i), alpha.data<T>() + i * batch.steps() * width, width,
                     batch.classes(), loss, grads.data<T>()[i],
                     out.data<T>() + i * batch.classes());
      }
    });
  });
}

}  // namespace

void register_ctc(ops::Registry& registry) {
  registry.kernel<ctc_loss>(DeviceType::kCpu, "_ctc_loss").keeps<log_alpha_of>();
  registry.kernel<ctc_loss_backward>(DeviceType::kCpu, "_ctc_loss_backward");
}

}  // namespace mindtorch::cpu
