#pragma once

#include <functional>
#include <vector>

#include "mindtorch/autograd/node.h"

namespace mindtorch::autograd {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  // Without `inputs`: gradients accumulate in all leaves. With them, in those leaves only, or, with
  // `capture`, nowhere: the gradients are the result.
  std::vector<Edge> inputs;
  bool capture = false;
};

// Runs the graph from `roots`, whose gradients are `grads`, to its leaves, on this thread and on
// the streams that the ops ran on. Returns the gradients of the inputs with options.capture;
// undefined where no path leads there.
MT_API std::vector<Tensor> run_backward(std::span<const Edge> roots,
                                        std::vector<Tensor> grads,
                                        const BackwardOptions& options);

// The sequence of the node that this thread makes next.
int64_t coming_sequence() noexcept;
// This thread is inside run_backward().
MT_API bool is_running_backward() noexcept;
// Runs at the end of the backward pass that this thread is in.
MT_API void queue_callback(std::function<void()> callback);

}  // namespace mindtorch::autograd
