#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mindtorch/dispatch/recording.h"
#include "mindtorch/dispatch/window_graphs.h"
#include "mindtorch/ops/fusion.h"
#include "mindtorch/tensor/storage.h"

namespace mindtorch::dispatch {

// What becomes of a storage that a window writes.
struct StorageFate {
  bool is_visible = false;  // outside the window
  bool is_needed = false;   // is_visible, or a live op reads it
  int64_t last_use = -1;    // the number of a live op
  int64_t last_write = -1;
};

// Where a tensor begins: in a storage or, without one (kNumberStorage), in the list of numbers.
struct TensorAddress {
  uint32_t storage;
  int64_t offset_bytes;
};

// How to run a recording: what nobody can see is left out, runs of pointwise ops are joined, memory
// comes when it is first written and goes after its last use. Made once for windows that are alike;
// a run needs their addresses and numbers only. One thread at a time: kernels get tensors that the
// plan keeps.
class WindowPlan {
 public:
  WindowPlan(const Recording& recording, std::span<const uint8_t> visible);
  ~WindowPlan();

  const Recording& recording() const { return recording_; }
  // Was made for the same storages being visible.
  bool sees(std::span<const uint8_t> visible) const {
    return std::ranges::equal(visible, visible_);
  }
  // Fused ops have the same params (of the first ops; the others' are known to be the same).
  bool takes(std::span<const ops::PointwiseParams> params) const;
  // `done`: the ops before it are done, also when this throws.
  using Storages = std::span<StorageImpl* const>;
  // `recorded`: with all numbers; of the other lists what is not as expected.
  void run(Storages storages, const Recording& recorded, size_t& done);
  // The plan that ran after it the last time.
  WindowPlan* successor = this;
  // Kernels and fused programs that a run launches.
  size_t launches() const { return launches_; }
  // So much work that other threads should be let run meanwhile.
  bool takes_long() const { return takes_long_; }

 private:
  struct Action;

  void find_fates();
  void find_fills();
  uint64_t fill_bits(const OpRecord& record);
  void add_values(const OpRecord& record, Action& action, const Tensor* self);
  void add_single(size_t number);
  // The number of the first op behind those that run as one.
  size_t add_group(size_t first, const ops::FusionEngine& engine);
  void place_memory();
  // The storage whose bytes the result of a pointwise op can take over, or kNumberStorage.
  uint32_t find_legacy(const OpRecord& op, uint32_t action, std::span<const uint32_t> last) const;
  bool fills_storage(const TensorRecord& tensor) const;
  bool can_be_captured() const;
  void take_params(const Recording& recorded);
  void launch(Storages storages, size_t& done);
  // Queues the work as a graph of the device. False: it must be launched.
  bool replay(Storages storages);
  void drop_intermediates(Storages storages);
  const Tensor& tensor(uint32_t number);
  ops::Value value(const ValueRecord& kept, Action& action);

  Recording recording_;  // with the numbers of the last run
  const std::vector<uint8_t> visible_;
  std::vector<StorageFate> fates_;  // by storage
  std::vector<uint8_t> is_dead_;    // by op
  std::vector<uint32_t> fused_;     // pointwise ops whose params are part of programs
  uint64_t params_hash_ = 0;
  std::vector<Storage> shadows_;     // by storage; null: no kernel needs one
  std::vector<Tensor> tensors_;      // by tensor, of kernels
  std::vector<uint64_t> numbers_;    // of this run, where fused code and tensors find them, and
                                     // what groups fill with
  std::vector<uint32_t> fills_;      // by op, in numbers_
  std::vector<uint32_t> homes_;      // by storage: the one whose bytes it has
  std::vector<uint32_t> outside_;    // storages that have a shadow and bytes when a run begins
  std::vector<uint32_t> unwritten_;  // visible storages that no op writes
  std::vector<Action> actions_;
  std::vector<void*> addresses_;
  size_t launches_ = 0;
  std::vector<uint32_t> outputs_;  // storages that get bytes and stay
  std::unique_ptr<WindowGraphs> graphs_;
  std::vector<uint64_t> graph_key_;
  size_t workspace_bytes_ = 0;  // the largest
  bool takes_long_ = false;
};

}  // namespace mindtorch::dispatch
