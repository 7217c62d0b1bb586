#include "mindtorch/dispatch/window_registry.h"

#include <algorithm>

namespace mindtorch::dispatch {
namespace {

constinit thread_local size_t t_last = 0;  // index of the window this thread had last

}  // namespace

WindowRegistry& WindowRegistry::instance() {
  static auto* const registry = new WindowRegistry;
  return *registry;
}

WindowRegistry::Use& WindowRegistry::find(const Window* window) {
  return *std::find_if(all_.begin(), all_.end(),
                       [&](const Use& use) { return use.window == window; });
}

Window* WindowRegistry::take(Pipeline* owner) {
  const std::scoped_lock lock(mutex_);
  if (t_last >= all_.size() || all_[t_last].owner != nullptr) {
    const auto free =
        std::find_if(all_.begin(), all_.end(), [](const Use& use) { return use.owner == nullptr; });
    t_last = static_cast<size_t>(free - all_.begin());
    if (free == all_.end()) all_.push_back({new Window, nullptr});
  }
  all_[t_last].owner = owner;
  return all_[t_last].window;
}

bool WindowRegistry::try_give_back(const Window* window) {
  const std::scoped_lock lock(mutex_);
  Use& use = find(window);
  if (use.visitors != 0) return false;
  use.owner = nullptr;
  return true;
}

void WindowRegistry::give_back(const Window* window) {
  std::unique_lock lock(mutex_);
  Use& use = find(window);
  left_.wait(lock, [&] { return use.visitors == 0; });
  use.owner = nullptr;
}

Pipeline* WindowRegistry::visit(const Window* window) {
  const std::scoped_lock lock(mutex_);
  Use& use = find(window);
  if (use.owner != nullptr) ++use.visitors;
  return use.owner;
}

Window* WindowRegistry::visit(const Pipeline* owner) {
  const std::scoped_lock lock(mutex_);
  const auto use =
      std::find_if(all_.begin(), all_.end(), [&](const Use& use) { return use.owner == owner; });
  if (use == all_.end()) return nullptr;
  ++use->visitors;
  return use->window;
}

void WindowRegistry::leave(const Window* window) {
  const std::scoped_lock lock(mutex_);
  --find(window).visitors;
  left_.notify_all();
}

std::vector<Window*> WindowRegistry::in_use() {
  const std::scoped_lock lock(mutex_);
  std::vector<Window*> windows;
  for (const Use& use : all_) {
    if (use.owner != nullptr) windows.push_back(use.window);
  }
  return windows;
}

}  // namespace mindtorch::dispatch
