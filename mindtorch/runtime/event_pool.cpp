#include "mindtorch/runtime/event_pool.h"

namespace mindtorch::runtime {

EventPool::~EventPool() {
  for (driver::EventHandle event : idle_) driver_.destroy_event(device_, event);
}

driver::EventHandle EventPool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      driver::EventHandle event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  return driver_.create_event(device_, driver::EventFlags::kNone);
}

void EventPool::give(driver::EventHandle event) noexcept {
  try {
    std::lock_guard lock(mutex_);
    idle_.push_back(event);
  } catch (...) {  // no memory to remember it
    driver_.destroy_event(device_, event);
  }
}

}  // namespace mindtorch::runtime
