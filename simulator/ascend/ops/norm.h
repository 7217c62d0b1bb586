#pragma once

#include "simulator/ascend/ops/values.h"

namespace sim {

// Mean and 1 / sqrt(variance + eps) of lines of `width`.
inline void statistics(const Values& x, size_t width, double eps, Values* mean, Values* rstd) {
  for (size_t first = 0; first < x.size(); first += width) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += x[first + i];
    const double m = sum / static_cast<double>(width);
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += (x[first + i] - m) * (x[first + i] - m);
    mean->push_back(static_cast<float>(m));
    rstd->push_back(static_cast<float>(1 / std::sqrt(squares / static_cast<double>(width) + eps)));
  }
}

// (x - mean) * rstd of each line of `width`.
inline void normalize(const Values& mean, const Values& rstd, size_t width, Values* x) {
  for (size_t i = 0; i < x->size(); ++i) {
    (*x)[i] = ((*x)[i] - mean[i / width]) * rstd[i / width];
  }
}

// Multiplies by the weights and adds the biases of the places that `place` finds for an element.
template <class F>
void scale_and_shift(const Values& weight, const Values& bias, F place, Values* x) {
  for (size_t i = 0; i < x->size(); ++i) {
    if (!weight.empty()) (*x)[i] *= weight[place(i)];
    if (!bias.empty()) (*x)[i] += bias[place(i)];
  }
}

// Gradients of y = (x - mean) * rstd * weight + bias for lines of `width`; g is already multiplied
// by the weight.
inline void normal_backward(const Values& x,
                            const Values& g,
                            const Values& mean,
                            const Values& rstd,
                            size_t width,
                            Values* dx) {
  dx->resize(x.size());
  for (size_t row = 0; row < x.size() / width; ++row) {
    double sum = 0;
    double dot = 0;
    for (size_t i = row * width; i < (row + 1) * width; ++i) {
      sum += g[i];
      dot += static_cast<double>(g[i]) * (x[i] - mean[row]) * rstd[row];
    }
    const auto n = static_cast<double>(width);
    for (size_t i = row * width; i < (row + 1) * width; ++i) {
      const double normal = (x[i] - mean[row]) * rstd[row];
      (*dx)[i] = static_cast<float>(rstd[row] * (g[i] - sum / n - normal * dot / n));
    }
  }
}

// The gradients of a normalisation of lines of `width` with a weight and a bias for each of the
// places that `place` finds for an element.
struct NormGradients {
  Values input;
  Values weight;
  Values bias;
};
template <class F>
NormGradients norm_gradients(const Values& x,
                             Values grads,
                             const Values& mean,
                             const Values& rstd,
                             size_t width,
                             const Values& weight,
                             size_t places,
                             F place) {
  NormGradients g{{}, Values(places), Values(places)};
  for (size_t i = 0; i < x.size(); ++i) {
    g.weight[place(i)] += grads[i] * (x[i] - mean[i / width]) * rstd[i / width];
    g.bias[place(i)] += grads[i];
    if (!weight.empty()) grads[i] *= weight[place(i)];
  }
  normal_backward(x, grads, mean, rstd, width, &g.input);
  return g;
}

}  // namespace sim
