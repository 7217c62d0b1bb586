#pragma once

#include <array>
#include <tuple>
#include <vector>

#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/autograd/derivatives/helpers.h"
#include "mindtorch/autograd/engine.h"

namespace mindtorch::autograd {

// Sets the gradients of the first parameters, `inputs`, by differentiating what `compose` makes of
// them: the results of the op, written in terms of other ops. For gradients that will be
// differentiated themselves, of ops whose own gradients cannot be.
template <size_t kCount, typename Compose>
void differentiate_composed(Backward& b,
                            const std::array<Tensor, kCount>& inputs,
                            const Compose& compose) {
  // Nodes of their own: one input may be made of another.
  std::array<Tensor, kCount> given;
  BackwardOptions options;
  options.create_graph = true;
  options.keep_graph = true;
  options.capture = true;
  std::vector<size_t> wanted;
  for (size_t i = 0; i < kCount; ++i) {
    given[i] = inputs[i].defined() && b.needs(i) ? alias(inputs[i]) : inputs[i];
    if (!inputs[i].defined() || !b.needs(i)) continue;
    options.inputs.push_back(gradient_edge(given[i]));
    wanted.push_back(i);
  }
  std::vector<Edge> roots;
  std::vector<Tensor> grads;
  size_t number = 0;
  const auto add_root = [&](const Tensor& output) {
    const Tensor& grad = b.grad(number++);
    if (!grad.defined() || !requires_grad(output)) return;
    roots.push_back(gradient_edge(output));
    grads.push_back(grad);
  };
  std::apply([&](const auto&... outputs) { (add_root(outputs), ...); }, compose(given));
  const std::vector<Tensor> results = run_backward(roots, std::move(grads), options);
  for (size_t i = 0; i < wanted.size(); ++i) b.set(wanted[i], results[i]);
}

}  // namespace mindtorch::autograd
