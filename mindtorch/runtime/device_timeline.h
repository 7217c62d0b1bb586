#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mindtorch/base/macros.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/profiler/recorder.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {

// Times what is queued on `stream` while this exists, by one event of the device before it and one
// behind it, for a profiler that records devices; otherwise it costs a load. Work that is captured
// into a graph is not timed, the graph's replay is. A device that refuses the events is not timed,
// and nothing else changes.
class MT_API LaunchSpan {
 public:
  LaunchSpan(Stream stream, const char* name, size_t bytes = 0) noexcept {
    if (MT_UNLIKELY(profiler::wants(profiler::kDevice))) begin(stream, name, bytes);
  }
  ~LaunchSpan() {
    if (MT_UNLIKELY(start_ != nullptr)) end();
  }
  LaunchSpan(const LaunchSpan&) = delete;
  LaunchSpan& operator=(const LaunchSpan&) = delete;

 private:
  void begin(Stream stream, const char* name, size_t bytes) noexcept;
  void end() noexcept;

  driver::EventHandle start_ = nullptr;
  std::shared_ptr<void> timeline_;
  Stream stream_;
  const char* name_ = nullptr;
  size_t bytes_ = 0;
  int64_t launch_ns_ = 0;
};

// Lets a profiler that stops wait for what is timed. Once, while drivers are installed.
void install_device_timeline();

}  // namespace mindtorch::runtime
