#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/private_pool.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {

// What each replay of a graph is to read anew: written before it, into memory that the graph does
// not use for anything else.
class MT_API ReplayInput {
 public:
  virtual ~ReplayInput() = default;
  // Queues on the current stream what the replay that is queued next reads.
  virtual void prepare() = 0;
  // That replay was not queued after all.
  virtual void cancel() noexcept = 0;
};

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

  // The graph that the stream's work is recorded into. Null: none, or its capture began on another
  // stream.
  static Graph* capturing(Stream stream);

  // A pool that no other graph or user has.
  static PoolId make_pool_id() noexcept;

  // Graphs that never run at the same time may share a pool; (0, 0) makes one. Not on the default
  // stream, on which others may depend without saying so.
  void begin(Stream stream, PoolId pool, driver::CaptureMode mode);
  // Throws what went wrong while capturing.
  void end();
  // While the work is recorded: every replay reads this, too. It goes when the graph goes.
  void add(std::shared_ptr<ReplayInput> input) { inputs_.push_back(std::move(input)); }
  std::span<const std::shared_ptr<ReplayInput>> inputs() const noexcept { return inputs_; }
  // Queues all of it on `stream`; the host does not wait.
  void replay(Stream stream);
  // Makes this graph do what `newer`, of the same device, does, in place; what is queued stays as
  // it is. It keeps the memory of both. False: the device needs a new graph for that. RuntimeError
  // where the device cannot change graphs at all.
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
  void queue(Stream stream);
  void queue_with_inputs(Stream stream);

  Stream capturing_;  // null: no capture goes on
  DeviceRuntime* runtime_ = nullptr;
  PoolId pool_;
  bool holds_pool_ = false;
  driver::GraphHandle handle_ = nullptr;
  std::vector<PoolId> pools_of_updates_;
  std::vector<std::shared_ptr<ReplayInput>> inputs_;
  Stream last_replay_;
};

}  // namespace mindtorch::runtime
