#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mindtorch/dispatch/record/call_site.h"
#include "mindtorch/dispatch/trace/trace.h"

namespace mindtorch::dispatch {

// Note [Traces with new shapes every time]
// A program may repeat the same ops with other shapes each time (decoding with a cache that grows):
// each trace needs a plan of its own, which serves once. Where the work is small, planning costs
// more than it saves; and so does a plan that has not served for long, whose memory the CPU's
// caches have forgotten. After a few such traces in a row, from the same place of the program, the
// ops that follow are executed at once, as in eager mode, for as long as they are the same. After
// some hundred repetitions a few are recorded again, to see whether shapes repeat by now. A
// large result ends it, too: there fusing pays even once.
//
// A trace of up to three ops on next to no memory is such work with the same shapes, too, on the
// CPU: to begin and flush it takes longer than to call its ops, however often. At the beginning of
// a block it does not matter where in the program that is.
//
// Written by the thread that flushes, and read by the recording thread when nothing is pending.
class ShapeChurn {
 public:
  // A trace was planned. `is_new`: its plan is new, or has not served for long. `site`: of its
  // first op.
  void note_plan(const Trace& trace, CallSite site, bool is_new, size_t result_bytes) {
    if (MT_LIKELY(!is_new && trace.ops.size() > kFewOps)) return note_reuse();
    count(trace, site, is_new, result_bytes);
  }

  // The next op is to be executed at once.
  bool is_immediate() const { return is_immediate_.load(std::memory_order_acquire); }
  // This op is executed at once, since it is the predicted one. Inline: for a few ops that take
  // next to no time.
  bool passes(const ops::Op& op, ops::Args args) {
    if (ops_[next_] != &op || (next_ == 0 && !begins_again())) return false;
    for (const ops::Value& value : args) {
      if (value.kind() == ops::ValueKind::kTensor && value.tensor().numel() >= end_elements_) {
        end();
        return false;
      }
    }
    if (++next_ == ops_.size()) next_ = 0;
    is_at_start_ = false;
    return true;
  }
  // The same of a call that would be recorded: false ends it.
  bool continues_with(const ops::Op& op, ops::Args args) {
    const bool is_predicted = passes(op, args);
    if (!is_predicted) end();
    return is_predicted;
  }
  // Another program is recorded from now on.
  void forget() {
    note_reuse();
    end();
  }
  // A block begins: so does the sequence of ops.
  void begin_block() {
    if (is_immediate() && next_ != 0) end();
    is_at_start_ = true;
  }
  // A result of so many bytes is about to be computed.
  void note_result(int64_t bytes) {
    if (bytes >= static_cast<int64_t>(kLargeBytes)) end();
  }

 private:
  static constexpr int kTraces = 3;
  static constexpr size_t kFewOps = 3;
  static constexpr int kShortTraces = 15;
  static constexpr size_t kLittleBytes = size_t{4} << 10;
  static constexpr int kRepetitions = 512;
  static constexpr size_t kLargeBytes = size_t{1} << 20;

  void count(const Trace& trace, CallSite site, bool is_new, size_t result_bytes);
  bool begins_again() { return (is_short_ && is_at_start_) || comes_from_the_same_place(); }
  bool comes_from_the_same_place();
  // An earlier plan served again: shapes do come back.
  void note_reuse() {
    count_ = 0;
    last_hash_ = 0;
  }
  void end() { is_immediate_.store(false, std::memory_order_relaxed); }

  uint64_t last_hash_ = 0;  // of the ops of the last trace, if its plan was new
  CallSite last_site_;
  int count_ = 0;  // traces in a row
  std::atomic<bool> is_immediate_{false};
  std::vector<const ops::Op*> ops_;  // that repeat
  size_t next_ = 0;                  // in ops_
  int repetitions_ = 0;
  bool is_short_ = false;
  bool is_at_start_ = true;   // of a block
  int64_t end_elements_ = 0;  // a tensor with so many ends it
};

}  // namespace mindtorch::dispatch
