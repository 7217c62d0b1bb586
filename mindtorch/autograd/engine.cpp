#include "mindtorch/autograd/engine.h"

#include <algorithm>
#include <functional>

#include "mindtorch/autograd/accumulate_grad.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/dispatch/op_arguments.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/profiler/recorder.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::autograd {
namespace {

// What one backward pass knows of a node.
struct NodeState {
  Node* node = nullptr;
  uint32_t dependencies = 0;  // edges that still have to bring a gradient
  bool needed = true;         // leads to an input that is asked for
  bool is_input = false;      // its gradient is captured, or its leaf accumulates
  Gradients grads;
};

// By address, open addressing: graphs are walked once, and mostly chains.
class NodeTable {
 public:
  NodeTable() { slots_.resize(64, kEmpty); }

  // Its place; new nodes get the next one.
  uint32_t place_of(Node* node, bool& is_new) {
    if (states_.size() * 2 >= slots_.size()) grow();
    for (size_t at = hash(node);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == kEmpty) {
        is_new = true;
        slots_[at] = static_cast<uint32_t>(states_.size());
        states_.emplace_back().node = node;
        return slots_[at];
      }
      if (states_[slots_[at]].node == node) {
        is_new = false;
        return slots_[at];
      }
    }
  }
  uint32_t find(Node* node) const {
    for (size_t at = hash(node);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == kEmpty) return kNone;
      if (states_[slots_[at]].node == node) return slots_[at];
    }
  }
  NodeState& operator[](uint32_t place) { return states_[place]; }
  size_t size() const { return states_.size(); }

  static constexpr uint32_t kNone = UINT32_MAX;

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  size_t hash(const Node* node) const {
    return (reinterpret_cast<uintptr_t>(node) >> 6) * 0x9E3779B97F4A7C15u >> 20 &
           (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(slots_.size() * 4, kEmpty);
    for (uint32_t i = 0; i < states_.size(); ++i) {
      size_t at = hash(states_[i].node);
      while (slots_[at] != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i;
    }
  }

  std::vector<uint32_t> slots_;
  std::vector<NodeState> states_;
};

// Sums a gradient that was broadcast in forward to the sizes it had before.
Tensor sum_to(const Tensor& grad, IntList sizes) {
  const auto extra = static_cast<size_t>(grad.dim()) - sizes.size();
  Shape dims;
  for (size_t i = 0; i < grad.sizes().size(); ++i) {
    if (i < extra || (sizes[i - extra] == 1 && grad.sizes()[i] != 1)) {
      dims.push_back(static_cast<int64_t>(i));
    }
  }
  Tensor summed = dims.empty() ? grad : sum(grad, IntList(dims), true);
  return extra == 0 ? summed : view(summed, sizes);
}

std::string invalid(const Node* maker, size_t index) {
  const std::string who = maker == nullptr ? "" : "Function " + maker->name() + " returned an ";
  return who + "invalid gradient at index " + std::to_string(index);
}

// Makes a gradient look like the tensor it belongs to, or throws. `maker`: null for one that the
// caller gave.
void conform_on_stream(Tensor& grad, const TensorMeta& meta, const Node* maker, size_t index) {
  if (grad.sizes() != meta.sizes) {
    MT_CHECK(broadcasts_to(meta.sizes, grad.sizes()), RuntimeError, invalid(maker, index),
             " - got ", to_string(grad.sizes()), " but expected shape compatible with ",
             to_string(meta.sizes));
    grad = sum_to(grad, meta.sizes);
  }
  if (grad.dtype() != meta.dtype) {
    // Real numbers that became complex: what came in beside them has no part in their gradient.
    if (is_complex(grad.dtype()) && !is_complex(meta.dtype)) grad = real(grad);
    grad = _to_copy(grad, meta.dtype);
  }
  if (grad.device() != meta.device) {
    MT_CHECK(grad.dim() == 0, RuntimeError, invalid(maker, index), " - expected device ",
             meta.device.str(), " but got ", grad.device().str());
    grad = _to_copy(grad, std::nullopt, meta.device);
  }
}

void conform(
    Tensor& grad, const TensorMeta& meta, const Node* maker, size_t index, runtime::Stream stream) {
  if (MT_LIKELY(grad.sizes() == meta.sizes && grad.dtype() == meta.dtype &&
                grad.device() == meta.device)) {
    return;
  }
  const runtime::StreamGuard on(stream);
  conform_on_stream(grad, meta, maker, index);
}

// The sum of gradients that come from several ops; in the memory of the first where it is ours.
void add_gradient(Tensor& sum, Tensor&& grad, runtime::Stream stream) {
  if (!sum.defined()) {
    sum = std::move(grad);
    return;
  }
  const runtime::StreamGuard on(stream);
  // Batched and sparse ones may share what they show with others.
  constexpr auto kSharing = static_cast<uint8_t>(dispatch::bit(dispatch::Layer::kBatching) |
                                                 dispatch::bit(dispatch::Layer::kSparse));
  const bool may_share = ((sum.impl()->layers | grad.impl()->layers) & kSharing) != 0;
  const bool is_ours = sum.impl()->use_count() == 1 && sum.storage()->use_count() == 1 &&
                       sum.is_contiguous() && !sum.impl()->view_base && !may_share;
  if (!is_grad_enabled() && is_ours) {
    add_(sum, grad);
  } else if ((sum.impl()->layers & dispatch::bit(dispatch::Layer::kSparse)) != 0) {
    sum = add(grad, sum);  // dense ones come first: only they can hold the sum
  } else {
    sum = add(sum, grad);
  }
}

// The number that the op which made the node has as a profiler's event.
int64_t event_sequence(const Node& node) {
  return node.sequence == Node::kRunFirst ? -1 : static_cast<int64_t>(node.sequence);
}

// The node as an event, with the gradients it gets as its arguments.
void apply_profiled(Node& node, Gradients& grads, Gradients& results) {
  dispatch::EncodedArguments arguments;
  if (profiler::wants(profiler::kArguments) && profiler::is_thread_recorded()) {
    SmallVector<ops::Value, 2> values(grads.begin(), grads.end());
    dispatch::encode_arguments({values.data(), values.size()}, arguments);
  }
  const profiler::Span span({.kind = profiler::Kind::kNode,
                             .name = node.name(),
                             .sequence = event_sequence(node),
                             .arguments = {arguments.data(), arguments.size()}});
  node.apply(grads, results);
}

// Note [Streams in backward]
// A node runs on the stream that its op ran on, a leaf adds to its gradient on the stream that was
// current when the graph first reached it; nodes without a stream, and work on other devices than
// the stream's, use the caller's current streams. Where a gradient goes from one stream to another,
// the second waits for the first on the device, and the memory waits for the second. At the end the
// caller's streams wait for all that took part: whatever ran where, backward is one call on the
// current stream, as torch documents it. A graph that knows no stream but the current ones, which
// is found out while its nodes are counted, does none of this.

// Where work on a device is queued under a StreamGuard with `stream`, which may be none. Called
// without the guard, for work of the caller.
runtime::Stream stream_on(runtime::DeviceRuntime& device, runtime::Stream stream) {
  return stream && &stream.runtime() == &device ? stream : runtime::current_stream(device);
}

bool is_current(runtime::Stream stream) {
  return stream.device() == runtime::current_device(stream.runtime().accelerator()) &&
         stream == runtime::current_stream(stream.runtime());
}

bool is_on_accelerator(const Tensor& tensor) {
  return tensor.defined() && tensor.device().is_accelerator();
}

class BackwardPass;
thread_local BackwardPass* t_pass = nullptr;

class BackwardPass {
 public:
  explicit BackwardPass(const BackwardOptions& options) : options_(options), outer_(t_pass) {
    t_pass = this;
  }
  ~BackwardPass() { t_pass = outer_; }
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

  std::vector<Tensor> run(std::span<const Edge> roots, std::vector<Tensor> grads);
  void add_callback(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

 private:
  void count_dependencies(std::span<const Edge> roots);
  void find_needed();
  runtime::Stream stream_of(const Node& node) const {
    return has_streams_ ? node.stream : runtime::Stream();
  }
  void hand_over(const Tensor& grad, runtime::Stream from, runtime::Stream to);
  void keep_for_caller(const Tensor& grad, const Node& made_by) const;
  void join_streams() const;
  void run_first_hooks(Node& node, Gradients& grads);
  void capture(const Node& node, const Gradients& grads);
  void apply(Node& node, Gradients& grads, Gradients& results);
  void run_node(uint32_t place);
  void run_profiled(uint32_t place);
  void send(const Node& from, size_t index, Tensor&& grad);
  void push_if_ready(uint32_t place);
  void check_nan(const Node& node, const Gradients& results) const;
  bool runs_later(uint32_t a, uint32_t b) {
    return table_[a].node->sequence < table_[b].node->sequence;
  }

  const BackwardOptions& options_;
  BackwardPass* const outer_;
  NodeTable table_;
  std::vector<uint32_t> order_;  // all nodes, as they were reached
  std::vector<uint32_t> ready_;  // a heap: latest op first
  std::vector<Tensor> captured_;
  std::vector<std::function<void()>> callbacks_;
  // Of a graph with other streams than the current ones:
  bool has_streams_ = false;
  std::vector<runtime::Stream> streams_;  // that took part
  std::vector<Tensor> read_by_several_;   // so that nobody writes them: they have two owners
};

void BackwardPass::count_dependencies(std::span<const Edge> roots) {
  std::vector<uint32_t> open;
  bool is_new = false;
  runtime::Stream known{};
  for (const Edge& root : roots) {
    if (!root) continue;
    const uint32_t place = table_.place_of(root.node.get(), is_new);
    if (is_new) open.push_back(place);
  }
  while (!open.empty()) {
    const uint32_t place = open.back();
    open.pop_back();
    order_.push_back(place);
    Node* const node = table_[place].node;
    if (MT_UNLIKELY(node->stream != known)) {
      if (node->stream) has_streams_ |= !is_current(known = node->stream);
    }
    for (const Edge& edge : node->next) {
      if (!edge) continue;
      const uint32_t target = table_.place_of(edge.node.get(), is_new);
      ++table_[target].dependencies;
      if (is_new) open.push_back(target);
    }
  }
}

// Only nodes from which an input can be reached run.
void BackwardPass::find_needed() {
  for (const uint32_t place : order_) table_[place].needed = false;
  for (const Edge& input : options_.inputs) {
    if (!input) continue;
    const uint32_t place = table_.find(input.node.get());
    if (place == NodeTable::kNone) continue;
    table_[place].is_input = true;
    // A node whose gradient is only captured does not run, unless it leads to another input.
    if (!options_.capture) table_[place].needed = true;
  }
  // From the inputs upwards: parents are found by walking down with an explicit stack.
  struct Frame {
    uint32_t place;
    size_t next;
  };
  std::vector<uint8_t> done(table_.size());
  std::vector<Frame> stack;
  for (const uint32_t start : order_) {
    if (done[start] != 0) continue;
    stack.push_back({start, 0});
    done[start] = 1;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      Node* const node = table_[frame.place].node;
      if (frame.next == node->next.size()) {
        const uint32_t place = frame.place;
        stack.pop_back();
        if (!stack.empty() && (table_[place].needed || table_[place].is_input)) {
          table_[stack.back().place].needed = true;
        }
        continue;
      }
      const Edge& edge = node->next[frame.next++];
      if (!edge) continue;
      const uint32_t target = table_.find(edge.node.get());
      if (done[target] != 0) {
        if (table_[target].needed || table_[target].is_input) table_[frame.place].needed = true;
        continue;
      }
      done[target] = 1;
      stack.push_back({target, 0});
    }
  }
}

void BackwardPass::push_if_ready(uint32_t place) {
  if (table_[place].dependencies != 0) return;
  ready_.push_back(place);
  std::push_heap(ready_.begin(), ready_.end(),
                 [&](uint32_t a, uint32_t b) { return runs_later(a, b); });
}

// `to` waits for what `from` has queued, the gradient among it. Order does not depend on there
// being one: the node may make zeros.
void BackwardPass::hand_over(const Tensor& grad, runtime::Stream from, runtime::Stream to) {
  if (grad.defined() && !is_on_accelerator(grad)) return;
  runtime::DeviceRuntime& device =
      grad.defined() ? runtime_of(grad.device()) : (to ? to : from).runtime();
  const runtime::Stream made = stream_on(device, from);
  const runtime::Stream used = stream_on(device, to);
  if (made == used) return;
  used.wait_stream(made);
  if (!grad.defined()) return;
  grad.storage()->record_stream(used);
  if (grad.impl()->use_count() > 1 || grad.storage()->use_count() > 1) {
    read_by_several_.push_back(grad);
  }
}

// The caller will use it on its own stream, and may free it there.
void BackwardPass::keep_for_caller(const Tensor& grad, const Node& made_by) const {
  if (!has_streams_ || !is_on_accelerator(grad)) return;
  runtime::DeviceRuntime& device = runtime_of(grad.device());
  const runtime::Stream caller = runtime::current_stream(device);
  if (stream_on(device, made_by.stream) != caller) grad.storage()->record_stream(caller);
}

void BackwardPass::join_streams() const {
  for (const runtime::Stream& stream : streams_) {
    runtime::current_stream(stream.runtime()).wait_stream(stream);
  }
}

void BackwardPass::send(const Node& from, size_t index, Tensor&& grad) {
  const Edge& edge = from.next[index];
  const uint32_t place = table_.find(edge.node.get());
  NodeState& state = table_[place];
  if (state.needed || state.is_input) {
    const Node& to = *edge.node;
    if (grad.defined()) conform(grad, to.outputs[edge.input], &from, index, stream_of(from));
    if (MT_UNLIKELY(has_streams_) && from.stream != to.stream) {
      hand_over(grad, from.stream, to.stream);
    }
    if (grad.defined()) {
      if (state.grads.size() <= edge.input) state.grads.resize(to.outputs.size());
      add_gradient(state.grads[edge.input], std::move(grad), stream_of(to));
    }
  }
  --state.dependencies;
  push_if_ready(place);
}

void BackwardPass::check_nan(const Node& node, const Gradients& results) const {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !is_differentiable(results[i].dtype())) continue;
    MT_CHECK(!item(any(isnan(results[i]))).to_bool(), RuntimeError, "Function '", node.name(),
             "' returned nan values in its ", i, "th output.");
  }
}

// Those of the tensor, whether the node itself runs or not.
void BackwardPass::run_first_hooks(Node& node, Gradients& grads) {
  const runtime::StreamGuard on(stream_of(node));
  if (node.hooks) {
    run_hooks(node.hooks->tensor, grads);
    run_hooks(node.hooks->retain_grad, grads);
  }
  if (node.sequence != Node::kRunFirst) return;
  const Tensor& leaf = static_cast<AccumulateGrad&>(node).variable();
  if (const AutogradMeta* meta = find_meta(*leaf.impl())) run_hooks(meta->hooks, grads);
}

void BackwardPass::capture(const Node& node, const Gradients& grads) {
  for (size_t i = 0; i < options_.inputs.size(); ++i) {
    const Edge& input = options_.inputs[i];
    if (input.node.get() != &node) continue;
    captured_[i] = grads[input.input];
    keep_for_caller(captured_[i], node);
  }
}

void BackwardPass::apply(Node& node, Gradients& grads, Gradients& results) {
  const runtime::StreamGuard on(stream_of(node));
  if (node.hooks) run_hooks(node.hooks->pre, grads);
  const bool keeps_grads = node.hooks && !node.hooks->post.empty();
  Gradients seen;
  if (keeps_grads) seen = grads;
  try {
    if (MT_UNLIKELY(profiler::wants(profiler::kHost))) {
      apply_profiled(node, grads, results);
    } else {
      node.apply(grads, results);
    }
    if (AnomalyMode::enabled() && AnomalyMode::checks_nan()) check_nan(node, results);
  } catch (...) {
    if (AnomalyMode::enabled() && AnomalyMode::report != nullptr) AnomalyMode::report(node);
    throw;
  }
  if (keeps_grads) run_hooks(node.hooks->post, results, seen);
  if (!options_.keep_graph) node.release_saved(stream_of(node));
}

void BackwardPass::run_node(uint32_t place) {
  Node* const node = table_[place].node;
  Gradients grads = std::move(table_[place].grads);
  grads.resize(std::max(grads.size(), node->outputs.size()));
  const bool is_leaf = node->sequence == Node::kRunFirst;
  if (MT_UNLIKELY(has_streams_) && node->stream &&
      std::ranges::find(streams_, node->stream) == streams_.end()) {
    streams_.push_back(node->stream);
  }
  if (node->hooks || is_leaf) run_first_hooks(*node, grads);
  if (MT_UNLIKELY(has_streams_) && node->hooks && !node->hooks->retain_grad.empty()) {
    for (const Tensor& grad : grads) keep_for_caller(grad, *node);
  }
  if (table_[place].is_input && options_.capture) capture(*node, grads);
  Gradients results;
  if (table_[place].needed) apply(*node, grads, results);
  if (MT_UNLIKELY(has_streams_) && is_leaf) {
    const auto& leaf = static_cast<const AccumulateGrad&>(*node);
    keep_for_caller(leaf.gradient(), leaf);
  }
  // Freed before the next node allocates.
  grads.clear();
  MT_CHECK(results.size() <= node->next.size(), RuntimeError, "Function ", node->name(),
           " returned an incorrect number of gradients (expected ", node->next.size(), ", got ",
           results.size(), ")");
  results.resize(node->next.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (node->next[i]) send(*node, i, std::move(results[i]));
  }
}

void BackwardPass::run_profiled(uint32_t place) {
  const Node& node = *table_[place].node;
  const profiler::Span span(
      {.kind = profiler::Kind::kEngine, .name = node.name(), .sequence = event_sequence(node)});
  run_node(place);
}

std::vector<Tensor> BackwardPass::run(std::span<const Edge> roots, std::vector<Tensor> grads) {
  const GradModeGuard mode(options_.create_graph);
  captured_.resize(options_.inputs.size());
  count_dependencies(roots);
  if (!options_.inputs.empty()) find_needed();
  // The graph may be freed as it runs; what is left to run must stay.
  std::vector<NodePtr> held;
  held.reserve(roots.size());
  for (size_t i = 0; i < roots.size(); ++i) {
    if (!roots[i]) continue;
    held.push_back(roots[i].node);
    const runtime::Stream stream = stream_of(*roots[i].node);
    if (grads[i].defined()) {
      conform(grads[i], roots[i].node->outputs[roots[i].input], nullptr, i, {});
    }
    if (stream) hand_over(grads[i], {}, stream);
    NodeState& state = table_[table_.find(roots[i].node.get())];
    if (state.grads.size() <= roots[i].input) state.grads.resize(roots[i].node->outputs.size());
    add_gradient(state.grads[roots[i].input], std::move(grads[i]), stream);
  }
  for (size_t i = 0; i < held.size(); ++i) {
    const bool first = std::find(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(i),
                                 held[i]) == held.begin() + static_cast<std::ptrdiff_t>(i);
    if (first) push_if_ready(table_.find(held[i].get()));
  }
  while (!ready_.empty()) {
    std::pop_heap(ready_.begin(), ready_.end(),
                  [&](uint32_t a, uint32_t b) { return runs_later(a, b); });
    const uint32_t place = ready_.back();
    ready_.pop_back();
    if (MT_UNLIKELY(profiler::wants(profiler::kHost))) {
      run_profiled(place);
    } else {
      run_node(place);
    }
  }
  join_streams();
  for (size_t i = 0; i < callbacks_.size(); ++i) callbacks_[i]();
  return std::move(captured_);
}

}  // namespace

std::vector<Tensor> run_backward(std::span<const Edge> roots,
                                 std::vector<Tensor> grads,
                                 const BackwardOptions& options) {
  return BackwardPass(options).run(roots, std::move(grads));
}

bool is_running_backward() noexcept { return t_pass != nullptr; }

void queue_callback(std::function<void()> callback) {
  MT_CHECK(t_pass != nullptr, RuntimeError,
           "Final callbacks can only be installed during backward pass.");
  t_pass->add_callback(std::move(callback));
}

}  // namespace mindtorch::autograd
