#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "mindtorch/driver/driver.h"

namespace mindtorch::test {

// One recording of an event. Reached when the work before it is done.
struct Mark {
  bool reached = false;
  double time_ms = 0;
  std::pair<int, driver::StreamHandle> stream;
};

struct Work {
  enum class Kind : uint8_t { kRun, kUse, kCopy, kFill, kRecord, kBlock };
  Kind kind = Kind::kRun;
  uint8_t value = 0;
  bool pinned = false;  // kCopy: the host's side is memory of the driver's
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
  driver::CopyKind copy = driver::CopyKind::kDeviceToDevice;
  std::shared_ptr<Mark> mark;  // kRecord, kBlock
  std::function<void()> run;
};

struct FakeStream {
  int priority = 0;
  std::deque<Work> work;
  size_t allowed = 0;  // pieces of work the device may run
  uint64_t capture = 0;
  std::vector<Work> captured;
};

// The streams of all devices, and the order in which their work may run. The owner's lock guards
// it.
class FakeStreams {
 public:
  using Key = std::pair<int, driver::StreamHandle>;

  FakeStream* find(Key key) {
    const auto found = streams_.find(key);
    return found == streams_.end() ? nullptr : &found->second;
  }
  const FakeStream* find(Key key) const { return const_cast<FakeStreams*>(this)->find(key); }
  FakeStream& add(Key key, int priority) {
    FakeStream& stream = streams_[key];
    stream.priority = priority;
    return stream;
  }
  void remove(Key key) { streams_.erase(key); }
  auto begin() { return streams_.begin(); }
  auto end() { return streams_.end(); }
  auto begin() const { return streams_.begin(); }
  auto end() const { return streams_.end(); }

  // Runs what is allowed and not blocked, until nothing moves.
  void progress(const std::function<void(const Work&)>& execute);
  // Runs the stream's first `count` pieces of work, and first whatever they wait for.
  void force(Key key, size_t count, const std::function<void(const Work&)>& execute);
  // Runs whatever the mark waits for.
  void force(const std::shared_ptr<Mark>& mark, const std::function<void(const Work&)>& execute);

 private:
  std::map<Key, FakeStream> streams_;
};

}  // namespace mindtorch::test
