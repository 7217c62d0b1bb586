#pragma once

#include <exception>
#include <vector>

#include "mindtorch/dispatch/execute/executor.h"
#include "mindtorch/dispatch/record/storage_table.h"
#include "mindtorch/dispatch/trace/trace.h"
#include "mindtorch/tensor/storage.h"

namespace mindtorch::dispatch {

// Note [Pending storages]
// A storage that recorded ops write points to the queue that holds them (StorageImpl::pending), so
// that reading its bytes, on any thread, executes the queue first. A storage that they only read
// counts the queue (StorageImpl::pending_readers): writing it executes all queues that may read it.
// A recorder holds each storage once, so that a storage with one owner is one that nothing outside
// can see. It does not hold tensors: their shape is in the trace.

// Writes a trace down. While the ops repeat an earlier trace, the predicted one, they are only
// compared with it (replay match): nothing is prepared or written down again, and trace() copies
// what was matched when it is needed. Not synchronised.
class TraceRecorder {
 public:
  // `work`: what storages that recorded ops write point to.
  explicit TraceRecorder(PendingWork& work) : work_(work) {}

  // The first op of a trace is about to be recorded. `predicted` may be null, and must stay until
  // the trace is finished.
  void begin(const Trace* predicted);
  // The op repeats the predicted trace: its outputs, which need no preparation. For an op that
  // writes into its first argument, likewise.
  bool match(const ops::Op& op, ops::Args args, ops::Outputs& outputs);
  bool match_in_place(const ops::Op& op, ops::Args args);
  // Outputs that have elements are unallocated.
  void record(const PreparedCall& call);
  // The list of tensors has more than a trace can number.
  static bool is_too_long(ops::Args args);

  size_t size() const { return matched_.ops; }
  // An op uses memory that code outside may read or write without asking us, or a generator.
  bool needs_flush() const { return needs_flush_; }
  // The trace alone keeps inputs alive that eager mode would have released.
  bool over_memory_limit() const { return over_memory_limit_; }
  size_t unallocated_bytes() const { return unallocated_bytes_; }
  bool reads(const StorageImpl& storage) const;

  // --- the whole trace ---
  const Trace& trace() {
    materialize_trace();
    return trace_;
  }
  // It is the predicted trace, but for numbers: recorded() has these, and the trace's first ops.
  bool is_predicted() const { return predicted_ != nullptr && matched_ == predicted_->lengths(); }
  const Trace& recorded() const { return trace_; }
  // It is the beginning of the predicted trace, or all of it.
  bool agrees() const { return predicted_ != nullptr; }
  // Something outside the trace can see the storage.
  bool is_visible(uint32_t storage) const { return held_[storage].storage->use_count() > 1; }
  // By storage: the storage, and whether something outside the trace can see it.
  void list_storages(std::vector<StorageImpl*>& storages, std::vector<uint8_t>& visible) const;
  // The predicted trace may go.
  void forget_prediction() {
    materialize_trace();
    predicted_ = nullptr;
  }
  // Ops before `done` have run: storages are no longer pending, or throw the error when read, those
  // that ops from `done` on were to write. The next trace can begin.
  void finish(size_t done, const std::exception_ptr& error) noexcept;

 private:
  struct Held {
    StorageImpl* storage;
    uint32_t last_write;  // the index of an op
    bool is_unallocated;
    bool is_written;
    bool is_read;  // its reference is a reader's: pending_readers()
  };

  void materialize_trace();
  uint32_t hold(StorageImpl& storage);
  void hold_to_read(StorageImpl& storage);
  void count_external(StorageImpl& storage, uint32_t index);
  bool exceeds_memory_limit() const;
  uint32_t add_tensor(const Tensor& tensor);
  uint32_t add_read(const Tensor& tensor);
  uint32_t add_write(const Tensor& tensor);
  uint32_t add_number(const Tensor& tensor);
  void note_read(Held& held);
  void note_write(uint32_t storage, size_t op);
  void add_argument(const ops::Value& value, bool varies);
  bool add_pointwise_arguments(const PreparedCall& call, uint32_t first_id);
  void record_kernel(const PreparedCall& call, OpRecord& record);
  void record_pointwise(const PreparedCall& call, OpRecord& record);
  void note_op();

  const OpRecord* match_op(const ops::Op& op, ops::Args args, Writes writes);
  void pass(const OpRecord& record);
  void pass_dims(const TensorRecord& record);
  bool match_argument(const ops::Value& value, size_t index);
  bool match_list(TensorList list, const Argument& argument);
  bool match_other_argument(const ops::Value& value, size_t index);
  bool match_tensor(const Tensor& tensor, uint32_t id);
  bool match_new_tensor(const Tensor& tensor, uint32_t id);
  Tensor make_predicted_output(uint32_t id);

  PendingWork& work_;
  uint64_t epoch_ = 0;  // of this trace: marks tensors as recorded
  Trace trace_;         // behind by what was only matched
  const Trace* predicted_ = nullptr;
  Trace::Lengths matched_{};    // how far the trace goes
  std::vector<Held> held_;      // by storage
  StorageTable external_;       // indices of storages that the trace has not made
  size_t unchecked_bytes_ = 0;  // of external_, since over_memory_limit_ was last found
  size_t unallocated_bytes_ = 0;
  bool needs_flush_ = false;
  bool over_memory_limit_ = false;
};

}  // namespace mindtorch::dispatch
