#pragma once

#include "mindtorch/base/macros.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/private_pool.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {

// Work of a stream that was recorded instead of run, to be run many times. Between begin and end,
// what the stream is given is recorded, and memory for it comes from a pool of the graph, which
// keeps its addresses until reset(). One thread at a time may use a Graph. RuntimeError for calls
// in the wrong order, and for devices that cannot capture.
class MT_API Graph {
 public:
  Graph() = default;
  ~Graph();  // reset(); a capture that goes on is given up
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // A pool that no other graph or user has.
  static PoolId make_pool_id() noexcept;

  // Graphs that never run at the same time may share a pool; (0, 0) makes one. Not on the default
  // stream, on which others may depend without saying so.
  void begin(Stream stream, PoolId pool, driver::CaptureMode mode);
  // Throws what went wrong while capturing.
  void end();
  // Queues all of it on `stream`; the host does not wait.
  void replay(Stream stream);
  // Makes this graph do what `newer`, of the same device, does, in place. False: the device needs a
  // new graph for that. RuntimeError where the device cannot change graphs at all.
  [[nodiscard]] bool update(const Graph& newer);
  // The vendor's object behind the graph. RuntimeError where the device shows none.
  void* raw() const;
  // Forgets the work, once what was queued of it is done, and gives the pool up.
  void reset() noexcept;

  bool captured() const noexcept { return handle_ != nullptr; }
  PoolId pool() const;
  Stream last_replay() const noexcept { return last_replay_; }  // null: none so far

 private:
  driver::GraphEditing& editing(const char* what) const;
  void give_pool_up() noexcept;

  Stream capturing_;  // null: no capture goes on
  DeviceRuntime* runtime_ = nullptr;
  PoolId pool_;
  bool holds_pool_ = false;
  driver::GraphHandle handle_ = nullptr;
  Stream last_replay_;
};

}  // namespace mindtorch::runtime
