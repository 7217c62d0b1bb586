#include "mindtorch/autograd/node.h"

#include <atomic>

#include "mindtorch/autograd/engine.h"
#include "mindtorch/runtime/host_allocator.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::autograd {
namespace {

std::atomic<bool> g_anomaly{false};
std::atomic<bool> g_check_nan{true};

// Of the node that this thread makes next.
constinit thread_local uint64_t t_next_sequence = 0;

}  // namespace

uint64_t Node::next_sequence() noexcept { return t_next_sequence++; }
int64_t coming_sequence() noexcept { return static_cast<int64_t>(t_next_sequence); }

// Note [Long graphs]
// A node owns those it points to, directly and through what it saved. Freed one inside the other, a
// graph of a million nodes would need as many stack frames: the outermost call frees them in turn.
void Node::destroy(Node* node) noexcept {
  if (node->revived()) return;
  thread_local std::vector<Node*>* waiting = nullptr;
  if (waiting != nullptr) {
    waiting->push_back(node);
    return;
  }
  std::vector<Node*> nodes;
  waiting = &nodes;
  delete node;
  while (!nodes.empty()) {
    Node* const last = nodes.back();
    nodes.pop_back();
    delete last;
  }
  waiting = nullptr;
}

void* Node::operator new(size_t bytes) { return runtime::allocate_small(bytes); }
void Node::operator delete(void* data, size_t bytes) noexcept {
  runtime::release_small(data, bytes);
}

void Node::note_stream(const Tensor& output) {
  runtime::DeviceRuntime* device = output.storage()->device_runtime();
  if (device == nullptr) {  // memory that somebody lent
    device = &runtime_of(output.device());
  }
  stream = runtime::current_stream(*device);
}

std::string short_name(const Node& node) {
  const std::string name = node.name();
  return name.substr(0, name.rfind("Backward"));
}

std::shared_ptr<void> (*AnomalyMode::capture)() = nullptr;
void (*AnomalyMode::report)(const Node&) = nullptr;

bool AnomalyMode::enabled() noexcept { return g_anomaly.load(std::memory_order_relaxed); }
bool AnomalyMode::checks_nan() noexcept { return g_check_nan.load(std::memory_order_relaxed); }
void AnomalyMode::set(bool enabled, bool check_nan) noexcept {
  g_anomaly.store(enabled, std::memory_order_relaxed);
  g_check_nan.store(check_nan, std::memory_order_relaxed);
}

}  // namespace mindtorch::autograd
