// The loss of sequences without an alignment (CTC), and its gradient.
#include <limits>

#include "simulator/ascend/ops/loss.h"

using namespace sim;

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double top = std::max(a, b);
  return top == kNever ? kNever : top + std::log(std::exp(a - top) + std::exp(b - top));
}

// One sample: its log-probabilities, and its labels with a blank around each.
struct Sample {
  int64_t steps = 0;
  std::vector<int64_t> states;
  std::function<double(int64_t step, int64_t label)> log_prob;

  int64_t label(int64_t state) const { return states[at(state)]; }
  int64_t last() const { return static_cast<int64_t>(states.size()) - 1; }
  // Two labels in a row that are equal need the blank between them.
  bool may_skip_to(int64_t state) const { return state >= 2 && label(state) != label(state - 2); }
};

using Table = std::vector<std::vector<double>>;  // [step][state]

// The likelihood of each state, over all ways that lead to it.
Table forward(const Sample& s) {
  Table alpha(at(s.steps), std::vector<double>(s.states.size(), kNever));
  for (int64_t t = 0; t < s.steps; ++t) {
    for (int64_t k = 0; k <= s.last(); ++k) {
      double ways = t == 0 && k < 2 ? 0 : kNever;
      if (t > 0) {
        const auto& before = alpha[at(t - 1)];
        ways = before[at(k)];
        if (k > 0) ways = log_add(ways, before[at(k - 1)]);
        if (s.may_skip_to(k)) ways = log_add(ways, before[at(k - 2)]);
      }
      alpha[at(t)][at(k)] = ways + s.log_prob(t, s.label(k));
    }
  }
  return alpha;
}

// The same from the end; the state's own step counts here too.
Table backward(const Sample& s) {
  Table beta(at(s.steps), std::vector<double>(s.states.size(), kNever));
  for (int64_t t = s.steps; t-- > 0;) {
    for (int64_t k = 0; k <= s.last(); ++k) {
      double ways = t == s.steps - 1 && k >= s.last() - 1 ? 0 : kNever;
      if (t < s.steps - 1) {
        const auto& after = beta[at(t + 1)];
        ways = after[at(k)];
        if (k < s.last()) ways = log_add(ways, after[at(k + 1)]);
        if (k + 2 <= s.last() && s.may_skip_to(k + 2)) ways = log_add(ways, after[at(k + 2)]);
      }
      beta[at(t)][at(k)] = ways + s.log_prob(t, s.label(k));
    }
  }
  return beta;
}

// The tensors of a batch, [steps, batch, classes]; labels as [batch, most] or one after the other.
struct Batch {
  Operand log_probs, targets;
  std::vector<int64_t> steps, labels;
  int64_t blank = 0;
  int64_t most = 0;  // labels of a sample

  int64_t samples() const { return log_probs.shape()[1]; }
  int64_t classes() const { return log_probs.shape()[2]; }
  Sample sample(const Launch& launch, int64_t n) const {
    const auto all = load_all<int64_t>(get(launch, targets));
    int64_t first = 0;
    if (targets.rank() == 2) first = n * targets.shape()[1];
    for (int64_t k = 0; targets.rank() == 1 && k < n; ++k) first += labels[at(k)];
    Sample s;
    s.steps = steps[at(n)];
    for (int64_t k = 0; k < labels[at(n)]; ++k) {
      s.states.insert(s.states.end(), {blank, all[at(first + k)]});
    }
    s.states.push_back(blank);
    const View probs = get(launch, log_probs).select(1, n);
    for (const int64_t label : s.states) {
      if (label < 0 || label >= probs.size(1)) {
        throw DeviceFault{507015, "targets has the class " + std::to_string(label)};
      }
    }
    s.log_prob = [probs](int64_t step, int64_t label) {
      double value = 0;
      load(probs, step * probs.size(1) + label, 1, &value);
      return value;
    };
    return s;
  }
};

Batch check_batch(Planner& p,
                  const aclTensor* log_probs,
                  const aclTensor* targets,
                  const aclIntArray* input_lengths,
                  const aclIntArray* target_lengths,
                  const char* target_lengths_name,
                  int64_t blank) {
  Batch b;
  b.log_probs = p.input(log_probs, "logProbs", kF32 | kF64);
  b.targets = p.input(targets, "targets", kIndex | kBool | kF32 | kF16);
  b.steps = p.array(input_lengths, "inputLengths");
  b.labels = p.array(target_lengths, target_lengths_name);
  b.blank = blank;
  p.check_rank(b.log_probs, 3, 3);
  p.check_rank(b.targets, 1, 2);
  const size_t n = at(b.samples());
  p.check(
      b.steps.size() == n && b.labels.size() == n,
      "inputLengths and " + std::string(target_lengths_name) + " must have one for each sample");
  p.check(blank >= 0 && blank < b.classes(), "blank is not a class");
  int64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    p.check(b.steps[i] >= 0 && b.steps[i] <= b.log_probs.shape()[0],
            "inputLengths has a value out of range");
    p.check(b.labels[i] >= 0, std::string(target_lengths_name) + " has a negative value");
    b.most = std::max(b.most, b.labels[i]);
    sum += b.labels[i];
  }
  if (b.targets.rank() == 1) p.check_shape(b.targets, {sum});
  if (b.targets.rank() == 2) {
    p.check(b.targets.shape()[0] == b.samples() && b.targets.shape()[1] >= b.most,
            "targets must have a row for each sample");
  }
  return b;
}

void check_alpha(Planner& p, const Batch& b, const Operand& alpha) {
  p.check_rank(alpha, 3, 3);
  p.check(alpha.shape()[0] == b.samples() && alpha.shape()[1] == b.log_probs.shape()[0] &&
              alpha.shape()[2] >= 2 * b.most + 1,
          p.name(alpha) + " must have the shape [batch, steps, 2 * labels + 1]");
}

}  // namespace

extern "C" {

SIM_SIGNATURE(CtcLoss,
              const aclTensor* logProbs,
              const aclTensor* targets,
              const aclIntArray* inputLengths,
              const aclIntArray* targetlengths,
              int64_t blank,
              bool,
              aclTensor* negLogLikelihoodOut,
              aclTensor* logAlphaOut) {
  return plan("aclnnCtcLoss", workspaceSize, executor, [&](Planner& p) {
    const Batch b =
        check_batch(p, logProbs, targets, inputLengths, targetlengths, "targetlengths", blank);
    const Operand loss = p.output(negLogLikelihoodOut, "negLogLikelihoodOut", kF32 | kF64);
    const Operand alpha = p.output(logAlphaOut, "logAlphaOut", kF32 | kF64);
    p.check_shape(loss, {b.samples()});
    check_alpha(p, b, alpha);
    if (b.samples() == 0) return;
    p.run([=](Launch& launch) {
      for (int64_t n = 0; n < b.samples(); ++n) {
        const Sample s = b.sample(launch, n);
        const Table found = forward(s);
        const View rows = get(launch, alpha).select(0, n);
        for (int64_t t = 0; t < rows.size(0); ++t) {
          auto line = t < s.steps ? found[at(t)] : std::vector<double>{};
          line.resize(at(rows.size(1)), kNever);
          store(rows, t * rows.size(1), rows.size(1), line.data());
        }
        double likelihood =
            s.steps == 0 ? (s.last() == 0 ? 0 : kNever) : found.back()[at(s.last())];
        if (s.steps > 0 && s.last() > 0) {
          likelihood = log_add(likelihood, found.back()[at(s.last() - 1)]);
        }
        likelihood = -likelihood;
        store(get(launch, loss), n, 1, &likelihood);
      }
    });
  });
}

SIM_SIGNATURE(CtcLossBackward,
              const aclTensor* gradOut,
              const aclTensor* logProbs,
              const aclTensor* targets,
              const aclIntArray* inputLengths,
              const aclIntArray* targetLengths,
              const aclTensor* negLogLikelihood,
              const aclTensor* logAlpha,
              int64_t blank,
              bool zeroInfinity,
              aclTensor* out) {
  return plan("aclnnCtcLossBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOut, "gradOut", kF32 | kF64);
    const Batch b =
        check_batch(p, logProbs, targets, inputLengths, targetLengths, "targetLengths", blank);
    const Operand loss = p.input(negLogLikelihood, "negLogLikelihood", kF32 | kF64);
    const Operand alpha = p.input(logAlpha, "logAlpha", kF32 | kF64);
    const Operand result = p.output(out, "out", kF32 | kF64);
    p.check_shape(g, {b.samples()});
    p.check_shape(loss, {b.samples()});
    check_alpha(p, b, alpha);
    p.check_shape(result, b.log_probs.shape());
    if (result.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto grads = load_all<double>(get(launch, g));
      const auto losses = load_all<double>(get(launch, loss));
      for (int64_t n = 0; n < b.samples(); ++n) {
        const Sample s = b.sample(launch, n);
        const Table beta = backward(s);
        const View to = get(launch, result).select(1, n);
        const bool none = zeroInfinity && std::isinf(losses[at(n)]);
        for (int64_t t = 0; t < to.size(0); ++t) {
          std::vector<double> line(at(b.classes()), none || t >= s.steps ? 0 : kNever);
          if (!none && t < s.steps) {
            const auto alphas = load_all<double>(get(launch, alpha).select(0, n).select(0, t));
            for (int64_t k = 0; k <= s.last(); ++k) {
              double& ways = line[at(s.label(k))];
              ways = log_add(ways, alphas[at(k)] + beta[at(t)][at(k)]);
            }
            for (int64_t c = 0; c < b.classes(); ++c) {
              const double own = s.log_prob(t, c);
              line[at(c)] =
                  (std::exp(own) - std::exp(line[at(c)] + losses[at(n)] - own)) * grads[at(n)];
            }
          }
          store(to, t * to.size(1), to.size(1), line.data());
        }
      }
    });
  });
}
}
