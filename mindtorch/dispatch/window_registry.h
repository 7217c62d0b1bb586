#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "mindtorch/dispatch/window.h"

namespace mindtorch::dispatch {

class Pipeline;

// All windows there are, and who uses them now.
class WindowRegistry {
 public:
  static WindowRegistry& instance();

  // For a pipeline, which gives it back; the one this thread had last, so that its plans serve.
  Window* take(Pipeline* owner);
  // False: there are visitors.
  bool try_give_back(const Window* window);
  void give_back(const Window* window);  // waits for them
  // The owner, who stays until leave(); null: there is none.
  Pipeline* visit(const Window* window);
  // The window that a pipeline has, likewise.
  Window* visit(const Pipeline* owner);
  void leave(const Window* window);
  std::vector<Window*> in_use();

 private:
  struct Use {
    Window* window;
    Pipeline* owner;   // null: nobody
    int visitors = 0;  // other threads that make it run: the owner stays meanwhile
  };
  Use& find(const Window* window);

  std::mutex mutex_;
  std::condition_variable left_;
  std::deque<Use> all_;  // elements never move
};

}  // namespace mindtorch::dispatch
