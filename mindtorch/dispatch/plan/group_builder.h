#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mindtorch/dispatch/plan/liveness.h"
#include "mindtorch/dispatch/plan/plan.h"
#include "mindtorch/dispatch/trace/trace.h"
#include "mindtorch/ops/fusion.h"

namespace mindtorch::dispatch {

// Collects recorded ops that can run as one pass over memory: pointwise ops of one shape and, where
// the engine has them, functions of rows (the last dims) and what is computed from their results.
class GroupBuilder {
 public:
  // `fills`: by op, the index of the number it fills with.
  GroupBuilder(const Trace& trace,
               const Liveness& liveness,
               std::span<const uint32_t> fills,
               const ops::FusionEngine& engine,
               Device device)
      : trace_(trace), liveness_(liveness), fills_(fills), engine_(engine), device_(device) {}

  // Adds an op of the trace, or returns false: it cannot be part of the group.
  bool add(const OpRecord& op);
  size_t size() const { return steps_.size(); }
  // A step reads what another computes, or two read the same memory: otherwise fusing saves
  // nothing.
  bool is_worth_it() const { return shares_; }
  // The op uses memory that the group reads or writes.
  bool touches(const OpRecord& op) const;
  // `is_member`: by op of the trace. Values that other ops or the outside see are stored.
  ops::FusedGroup finish(std::span<const uint8_t> is_member,
                         std::vector<TensorAddress>& addresses) const;

 private:
  // A tensor, seen in the group's sizes.
  struct View {
    uint32_t storage = 0;
    DType dtype{};
    int64_t offset = 0;
    int64_t end = 0;  // behind its last element
    Shape strides;    // 0 in dims of one element

    bool operator==(const View& other) const {
      return storage == other.storage && dtype == other.dtype && offset == other.offset &&
             strides == other.strides;
    }
    bool overlaps(const View& other) const;
  };
  struct Made {  // by a step
    View view;
    bool is_row;      // one element a row
    bool is_leading;  // FusedStep::leading_dims
    bool is_newest;   // no later step writes there
    size_t op;
  };

  bool add_by_kind(const OpRecord& op);
  bool add_pointwise(const OpRecord& op);
  bool add_fill(const OpRecord& op);
  bool add_copy(const OpRecord& op);
  bool add_row_function(const OpRecord& op);
  bool add_leading(const OpRecord& op, size_t dims, double correction);
  bool has_room() const;
  bool is_used_outside(const Made& made, std::span<const uint8_t> is_member) const;
  std::optional<size_t> row_span(IntList sizes) const;
  std::optional<View> view(uint32_t tensor, size_t span) const;
  // The value's number among the steps, with kStepBit, or among the inputs.
  std::optional<uint16_t> find_or_add_input(const View& view);
  bool add_step(const OpRecord& op, const ops::FusedStep& step, const View& out);
  bool can_have_rows(size_t row_dims) const;
  bool splits(const View& view, size_t row_dims) const;
  int64_t row_size() const;
  ops::FusedLayout layout(const View& view) const;

  const Trace& trace_;
  const Liveness& liveness_;
  const std::span<const uint32_t> fills_;
  const ops::FusionEngine& engine_;
  const Device device_;
  Shape sizes_;
  size_t row_dims_ = 0;  // trailing dims that make a row; 0: no step is about rows
  std::vector<View> inputs_;
  std::vector<ops::FusedStep> steps_;
  std::vector<Made> made_;
  size_t possible_stores_ = 0;
  bool shares_ = false;
  bool has_leading_ = false;
};

}  // namespace mindtorch::dispatch
