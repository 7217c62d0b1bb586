// Normalisation by the root mean square, with its gradient, and quantised. All compute in float32.
#include "simulator/ascend/ops/norm.h"
#include "simulator/ascend/ops/quant.h"

using namespace sim;

namespace {

// 1 / sqrt(mean of squares + eps) of lines of `width`.
Values root_mean_square(const Values& x, size_t width, double eps) {
  Values rstd;
  for (size_t first = 0; first < x.size(); first += width) {
    double squares = 0;
    for (size_t i = first; i < first + width; ++i) squares += double{x[i]} * x[i];
    rstd.push_back(static_cast<float>(1 / std::sqrt(squares / static_cast<double>(width) + eps)));
  }
  return rstd;
}

void add_values(const Values& more, Values* x) {
  for (size_t i = 0; i < x->size(); ++i) (*x)[i] += more[i];
}

struct RmsArguments {
  const aclTensor* x1;
  const aclTensor* x2;  // added first; null: there is none
  const char* x_name;
  const aclTensor* gamma;
  double epsilon;
  const aclTensor* y;
  const aclTensor* rstd;
  const aclTensor* x_out;
  float offset;  // on gamma
};

aclnnStatus rms_norm(const char* op,
                     const RmsArguments& a,
                     bool adds,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand x = p.input(a.x1, a.x_name, kF);
    const Operand more = adds ? p.input(a.x2, "x2", kF) : Operand{};
    const Operand gamma = p.input(a.gamma, "gamma", kF);
    const Operand y = p.output(a.y, "yOut", kF);
    const Operand rstd = p.output(a.rstd, "rstdOut", kF32);
    const Operand sum = adds ? p.output(a.x_out, "xOut", kF) : Operand{};
    p.check(gamma.rank() >= 1 && gamma.rank() <= x.rank() &&
                std::equal(gamma.shape().rbegin(), gamma.shape().rend(), x.shape().rbegin()),
            "gamma must have the shape of the last dims of " + p.name(x));
    p.check_shape(y, x.shape());
    if (adds) {
      p.check_shape(more, x.shape());
      p.check_shape(sum, x.shape());
    }
    const int64_t width = gamma.numel();
    if (x.numel() == 0) return;
    check_count(p, rstd, x.numel() / width);
    const uint64_t scratch = p.workspace(x.numel() * 4);
    const float offset = a.offset;
    const double eps = a.epsilon;
    p.run([=](Launch& launch) {
      Values in = values(launch, x);
      const Values scale = values(launch, gamma);
      if (more) {
        add_values(values(launch, more), &in);
        put(launch, sum, in);
      }
      auto* const result = reinterpret_cast<float*>(launch.workspace(scratch));
      const Values rstds = root_mean_square(in, z(width), eps);
      for (size_t i = 0; i < in.size(); ++i) {
        result[i] = in[i] * rstds[i / z(width)] * (offset + scale[i % z(width)]);
      }
      store(get(launch, y), 0, x.numel(), result);
      put(launch, rstd, rstds);
    });
  });
}

// The normalised sum before it is quantised.
struct NormOfSum {
  Operand x1;
  Operand x2;
  Operand gamma;
  double epsilon;
  Operand sum;
};

NormOfSum check_sum_norm(
    Planner& p, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma, double epsilon) {
  NormOfSum s{p.input(x1, "x1", kF16 | kBF16),
              p.input(x2, "x2", kF16 | kBF16),
              p.input(gamma, "gamma", kF16 | kBF16),
              epsilon,
              {}};
  p.check_rank(s.x1, 1, 8);
  p.check_shape(s.x2, s.x1.shape());
  p.check_shape(s.gamma, {s.x1.shape().back()});
  return s;
}

Values sum_norm(const Launch& launch, const NormOfSum& s) {
  Values x = values(launch, s.x1);
  add_values(values(launch, s.x2), &x);
  put(launch, s.sum, x);
  const Values scale = values(launch, s.gamma);
  const Values rstd = root_mean_square(x, scale.size(), s.epsilon);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] *= rstd[i / scale.size()] * scale[i % scale.size()];
  }
  return x;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(RmsNorm,
              const aclTensor* x,
              const aclTensor* gamma,
              double epsilon,
              const aclTensor* yOut,
              const aclTensor* rstdOut) {
  return rms_norm("aclnnRmsNorm", {x, nullptr, "x", gamma, epsilon, yOut, rstdOut, nullptr, 0},
                  false, workspaceSize, executor);
}
SIM_SIGNATURE(GemmaRmsNorm,
              const aclTensor* x,
              const aclTensor* gamma,
              double epsilon,
              const aclTensor* yOut,
              const aclTensor* rstdOut) {
  return rms_norm("aclnnGemmaRmsNorm", {x, nullptr, "x", gamma, epsilon, yOut, rstdOut, nullptr, 1},
                  false, workspaceSize, executor);
}
SIM_SIGNATURE(AddRmsNorm,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* gamma,
              double epsilon,
              const aclTensor* yOut,
              const aclTensor* rstdOut,
              const aclTensor* xOut) {
  return rms_norm("aclnnAddRmsNorm", {x1, x2, "x1", gamma, epsilon, yOut, rstdOut, xOut, 0}, true,
                  workspaceSize, executor);
}
SIM_SIGNATURE(RmsNormGrad,
              const aclTensor* dy,
              const aclTensor* x,
              const aclTensor* rstd,
              const aclTensor* gamma,
              const aclTensor* dxOut,
              const aclTensor* dgammaOut) {
  return plan("aclnnRmsNormGrad", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(dy, "dy", kF);
    const Operand in = p.input(x, "x", kF);
    const Operand r = p.input(rstd, "rstd", kF32);
    const Operand w = p.input(gamma, "gamma", kF);
    const Operand dx = p.output(dxOut, "dxOut", kF);
    const Operand dw = p.output(dgammaOut, "dgammaOut", kF);
    p.check_shape(g, in.shape());
    p.check_shape(dx, in.shape());
    p.check_shape(dw, w.shape());
    if (in.numel() == 0) return;
    const size_t width = z(w.numel());
    check_count(p, r, in.numel() / w.numel());
    p.run([=](Launch& launch) {
      const Values xs = values(launch, in);
      const Values grads = values(launch, g);
      const Values rstds = values(launch, r);
      const Values scale = values(launch, w);
      Values sums(width);
      Values result(xs.size());
      for (size_t row = 0; row < rstds.size(); ++row) {
        double dot = 0;
        for (size_t i = 0; i < width; ++i) {
          const size_t k = row * width + i;
          sums[i] += grads[k] * xs[k] * rstds[row];
          dot += double{grads[k]} * scale[i] * xs[k] * rstds[row];
        }
        const double mean = dot / static_cast<double>(width);
        for (size_t i = 0; i < width; ++i) {
          const size_t k = row * width + i;
          result[k] =
              static_cast<float>(rstds[row] * (grads[k] * scale[i] - xs[k] * rstds[row] * mean));
        }
      }
      put(launch, dx, result);
      put(launch, dw, sums);
    });
  });
}

SIM_SIGNATURE(AddRmsNormQuant,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* gamma,
              const aclTensor* scales1,
              const aclTensor* scales2Optional,
              const aclTensor* zeroPoints1Optional,
              const aclTensor* zeroPoints2Optional,
              int64_t axis,
              double epsilon,
              bool divMode,
              const aclTensor* y1Out,
              const aclTensor* y2Out,
              const aclTensor* xOut) {
  return plan("aclnnAddRmsNormQuant", workspaceSize, executor, [&](Planner& p) {
    NormOfSum s = check_sum_norm(p, x1, x2, gamma, epsilon);
    const Types types = kF32 | kBF16;
    const Operand first = p.input(scales1, "scales1", types);
    const Operand second = p.optional(scales2Optional, "scales2Optional", types);
    const Operand zero1 = p.optional(zeroPoints1Optional, "zeroPoints1Optional", kI32 | kBF16);
    const Operand zero2 = p.optional(zeroPoints2Optional, "zeroPoints2Optional", kI32 | kBF16);
    p.check(axis == -1, "axis is " + std::to_string(axis) + ", expected is -1");
    const Operand y1 = p.output(y1Out, "y1Out", kI8);
    const Operand y2 = second ? p.output(y2Out, "y2Out", kI8) : Operand{};
    s.sum = p.output(xOut, "xOut", kF16 | kBF16);
    for (const Operand& each : {first, second, zero1, zero2}) check_count(p, each, s.gamma.numel());
    p.check_shape(y1, s.x1.shape());
    if (y2) p.check_shape(y2, s.x1.shape());
    p.check_shape(s.sum, s.x1.shape());
    if (s.x1.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values normal = sum_norm(launch, s);
      const auto quantized = [&](const Operand& scale, const Operand& zero) {
        const Values by = values(launch, scale);
        const Values shift = values(launch, zero);
        Values result(normal.size());
        for (size_t i = 0; i < normal.size(); ++i) {
          const float factor = by[i % by.size()];
          const float scaled = divMode ? normal[i] / factor : normal[i] * factor;
          result[i] = to_int8(scaled + repeated(shift, i, 0));
        }
        return result;
      };
      put(launch, y1, quantized(first, zero1));
      if (y2) put(launch, y2, quantized(second, zero2));
    });
  });
}
SIM_SIGNATURE(AddRmsNormDynamicQuant,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* gamma,
              const aclTensor* smoothScale1Optional,
              const aclTensor* smoothScale2Optional,
              double epsilon,
              const aclTensor* y1Out,
              const aclTensor* y2Out,
              const aclTensor* xOut,
              const aclTensor* scale1Out,
              const aclTensor* scale2Out) {
  return plan("aclnnAddRmsNormDynamicQuant", workspaceSize, executor, [&](Planner& p) {
    NormOfSum s = check_sum_norm(p, x1, x2, gamma, epsilon);
    const Operand first = p.optional(smoothScale1Optional, "smoothScale1Optional", kF16 | kBF16);
    const Operand second = p.optional(smoothScale2Optional, "smoothScale2Optional", kF16 | kBF16);
    p.check(first || !second, "smoothScale2Optional needs smoothScale1Optional");
    const Operand y1 = p.output(y1Out, "y1Out", kI8);
    const Operand y2 = second ? p.output(y2Out, "y2Out", kI8) : Operand{};
    s.sum = p.output(xOut, "xOut", kF16 | kBF16);
    const Operand scale1 = p.output(scale1Out, "scale1Out", kF32);
    const Operand scale2 = second ? p.output(scale2Out, "scale2Out", kF32) : Operand{};
    const Shape lines(s.x1.shape().begin(), s.x1.shape().end() - 1);
    for (const Operand& each : {first, second}) check_count(p, each, s.gamma.numel());
    p.check_shape(y1, s.x1.shape());
    p.check_shape(s.sum, s.x1.shape());
    p.check_shape(scale1, lines);
    if (second) {
      p.check_shape(y2, s.x1.shape());
      p.check_shape(scale2, lines);
    }
    if (s.x1.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values normal = sum_norm(launch, s);
      const auto quantize = [&](const Operand& smooth, const Operand& y, const Operand& scale) {
        const Values factors = values(launch, smooth);
        Values smoothed = normal;
        for (size_t i = 0; i < smoothed.size(); ++i) smoothed[i] *= repeated(factors, i, 1);
        const size_t n = z(s.gamma.numel());
        Values scales;
        for (size_t row = 0; row < smoothed.size(); row += n) {
          scales.push_back(quantize_line(smoothed.data() + row, n, smoothed.data() + row));
        }
        put(launch, y, smoothed);
        put(launch, scale, scales);
      };
      quantize(first, y1, scale1);
      if (second) quantize(second, y2, scale2);
    });
  });
}
}
