#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mindtorch/base/intrusive_ptr.h"
#include "mindtorch/base/small_vector.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::autograd {

class Node;
using NodePtr = IntrusivePtr<Node>;
// An undefined tensor stands for zeros.
using Gradients = SmallVector<Tensor, 2>;

// The gradient of a result goes to input `input` of `node`; no node: to nobody.
struct Edge {
  NodePtr node;
  uint32_t input = 0;

  explicit operator bool() const { return static_cast<bool>(node); }
};

// A tensor without its elements.
struct TensorMeta {
  Shape sizes;
  DType dtype = DType::kFloat32;
  Device device;

  TensorMeta() = default;
  explicit TensorMeta(const Tensor& tensor)
      : sizes(tensor.sizes()), dtype(tensor.dtype()), device(tensor.device()) {}
  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  int64_t numel() const { return mindtorch::numel(sizes); }
};

// Sees, and may replace, the gradients that a node is about to use.
class PreHook {
 public:
  virtual ~PreHook() = default;
  virtual void run(Gradients& grads) = 0;
};
// Sees the gradients a node used, and may replace those it made.
class PostHook {
 public:
  virtual ~PostHook() = default;
  virtual void run(Gradients& results, const Gradients& grads) = 0;
};

// Runs hooks of a list that they may change: one added meanwhile runs, too, and a hook that takes
// itself out lives on until it is done.
template <typename Hooks, typename... Args>
void run_hooks(const Hooks& hooks, Args&&... args) {
  for (size_t i = 0; i < hooks.size(); ++i) {
    const auto hook = hooks[i];
    hook->run(args...);
  }
}

struct NodeHooks {
  std::vector<std::shared_ptr<PreHook>> tensor;       // of the tensors that the node made
  std::vector<std::shared_ptr<PreHook>> retain_grad;  // behind them: .grad of those tensors
  std::vector<std::shared_ptr<PreHook>> pre;
  std::vector<std::shared_ptr<PostHook>> post;
};

// One op in the graph. Made by the thread that runs the op; read by any thread afterwards.
class MT_API Node : public RefCounted {
 public:
  // Nodes made later run earlier; the ends of the graph as soon as they can.
  static constexpr uint64_t kRunFirst = UINT64_MAX;

  explicit Node(uint64_t sequence = next_sequence()) : sequence(sequence) {}
  static void destroy(Node* node) noexcept;

  // torch's name for it: MulBackward0.
  virtual std::string name() const = 0;
  // From the gradients of the op's results, which it may take, those of its inputs: one for each of
  // `next`.
  virtual void apply(Gradients& grads, Gradients& results) = 0;
  // Frees what was saved for backward. A second apply() throws. `reader`: none, or the stream whose
  // work reads it, which may be another than the memory's.
  virtual void release_saved(runtime::Stream /*reader*/) {}
  // What was saved, by torch's names (_saved_self); for Python.
  virtual std::vector<std::pair<std::string, Tensor>> saved_tensors() { return {}; }

  // The next result of the op, which has just run on this thread.
  void add_output(const Tensor& tensor) {
    outputs.emplace_back(TensorMeta(tensor));
    const Device device = tensor.device();
    if (MT_UNLIKELY(device.is_accelerator()) && !stream) note_stream(tensor);
  }
  bool should_compute(size_t input) const { return static_cast<bool>(next[input]); }
  NodeHooks& make_hooks() {
    if (!hooks) hooks = std::make_unique<NodeHooks>();
    return *hooks;
  }

  const uint64_t sequence;
  SmallVector<Edge, 3> next;
  SmallVector<TensorMeta, 1> outputs;  // of the op: what a gradient must look like
  // Where the op's first result on an accelerator was made; none for ops without one. See Note
  // [Streams in backward].
  runtime::Stream stream{};
  std::unique_ptr<NodeHooks> hooks;
  // The Python object of this node, borrowed; bindings/ clears it.
  void* python_object = nullptr;
  // Python's dict for the user, of a node that has one.
  std::shared_ptr<void> metadata;
  // Where the op was called, in anomaly mode.
  std::shared_ptr<void> call_site;

  static void* operator new(size_t bytes);
  static void operator delete(void* data, size_t bytes) noexcept;

 protected:
  virtual ~Node() = default;
  // True: another thread has taken a new reference in the meantime, and the node lives on.
  virtual bool revived() noexcept { return false; }

 private:
  static uint64_t next_sequence() noexcept;
  void note_stream(const Tensor& output);
};

// "Add" of AddBackward0, for messages.
MT_API std::string short_name(const Node& node);

// Anomaly mode: each node remembers its call site, and NaN gradients are errors.
class MT_API AnomalyMode {
 public:
  static bool enabled() noexcept;
  static bool checks_nan() noexcept;
  static void set(bool enabled, bool check_nan) noexcept;
  // Installed by bindings/: where the user's program is now, and how it is shown when the node
  // fails.
  static std::shared_ptr<void> (*capture)();
  static void (*report)(const Node& node);
};

}  // namespace mindtorch::autograd
