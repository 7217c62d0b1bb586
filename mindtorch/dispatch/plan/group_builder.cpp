#include "mindtorch/dispatch/plan/group_builder.h"

#include <algorithm>
#include <bit>

namespace mindtorch::dispatch {
namespace {

using ops::RowFunction;

constexpr uint16_t kStepBit = 0x8000;  // a value that a step makes, until the inputs are counted

// An op that is a function of rows: of this many dims, counted from the last, or of the leading
// ones.
struct RowCall {
  size_t dims = 0;
  bool are_leading = false;
  double correction = 0;  // of variances
};

// The dims that an argument names. None: neither the last ones nor the first.
RowCall row_dims(const ops::Value& dims, uint32_t rank) {
  const auto wrap = [&](int64_t dim) { return dim < 0 ? dim + rank : dim; };
  const int64_t one = dims.kind() == ops::ValueKind::kInt ? dims.to_int() : 0;
  if (dims.is_none()) return {rank};
  const IntList list =
      dims.kind() == ops::ValueKind::kInt ? IntList(&one, 1) : IntList(dims.int_list());
  if (list.empty()) return {rank};
  const auto count = static_cast<int64_t>(list.size());
  const auto are_all = [&](auto&& is_in) {
    return std::ranges::all_of(list, [&](int64_t dim) { return is_in(wrap(dim)); });
  };
  if (are_all([&](int64_t dim) { return dim >= rank - count; })) return {list.size()};
  if (are_all([&](int64_t dim) { return dim < count; })) return {list.size(), true};
  return {};
}

// Complex numbers and the like are not fused.
bool has_common_dtypes(const Trace& trace, const OpRecord& op) {
  for (size_t k = 0; k < size_t{op.operand_count} + op.output_count; ++k) {
    const uint32_t id = trace.tensor_ids[op.first_id + k];
    if (id != kNoTensor && !is_common(trace.tensors[id].dtype)) return false;
  }
  return true;
}

// Where elements share memory, the order of the writes counts: such an op is a step of its own.
bool writes_overlap(const Trace& trace, const OpRecord& op) {
  return std::ranges::any_of(trace.outputs(op), [&](uint32_t id) {
    if (id == kNoTensor) return false;
    const TensorRecord& out = trace.tensors[id];
    return out.is_contiguous == 0 && may_overlap_itself(trace.sizes(out), trace.strides(out));
  });
}

// Null: it computes in another dtype than its operand's, or over other dims.
std::optional<RowCall> as_row_call(const Trace& trace, const OpRecord& op) {
  if (op.operand_count != 1) return {};
  const TensorRecord& in = trace.tensors[trace.operands(op)[0]];
  const TensorRecord& out = trace.tensors[trace.outputs(op)[0]];
  if (in.dtype != out.dtype || !is_floating_point(in.dtype) || in.rank == 0) return {};
  const auto argument = [&](int8_t index) {
    return decode(trace.arguments_of(op)[static_cast<size_t>(index)], trace.payload);
  };
  const ops::RowTrait& rows = op.op->rows;
  RowCall call = row_dims(argument(rows.dim), in.rank);
  if (call.dims == 0) return {};
  for (const Argument& each : trace.arguments_of(op)) {
    if (each.kind == ops::ValueKind::kDType && static_cast<DType>(each.bits) != in.dtype) return {};
  }
  if (rows.correction >= 0) {
    const ops::Value correction = argument(rows.correction);
    call.correction = correction.is_none() ? 1.0 : correction.scalar().to_double();
  }
  return call;
}

}  // namespace

bool GroupBuilder::View::overlaps(const View& other) const {
  if (storage != other.storage || storage == kNumberStorage) return false;
  const int64_t size = size_bytes(dtype);
  const int64_t other_size = size_bytes(other.dtype);
  return offset * size < other.end * other_size && other.offset * other_size < end * size;
}

bool GroupBuilder::has_room() const {
  return steps_.size() < engine_.limits.max_steps && possible_stores_ < engine_.limits.max_stores;
}

// How many of the group's dims a tensor of one element a row spans: all, those of the row being 1,
// or only those before. Null: it is no such tensor.
std::optional<size_t> GroupBuilder::row_span(IntList sizes) const {
  const size_t rank = sizes_.size();
  const size_t outer = rank - row_dims_;
  if (sizes.size() != rank && sizes.size() != outer) return {};
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != (d < outer ? sizes_[d] : 1)) return {};
  }
  return sizes.size();
}

// Null: it does not broadcast to the first `span` dims of the group, or is on another device.
std::optional<GroupBuilder::View> GroupBuilder::view(uint32_t tensor, size_t span) const {
  const TensorRecord& record = trace_.tensors[tensor];
  const IntList sizes = trace_.sizes(record);
  const IntList strides = trace_.strides(record);
  const bool is_here =
      record.storage == kNumberStorage || trace_.storages[record.storage].device == device_;
  if (!is_here || sizes.size() > span) return {};
  View view;
  view.storage = record.storage;
  view.dtype = record.dtype;
  view.offset = record.offset;
  view.strides.assign(sizes_.size(), 0);
  int64_t last = record.offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const size_t at = span - sizes.size() + d;
    if (sizes[d] == 1) continue;
    if (sizes[d] != sizes_[at]) return {};
    view.strides[at] = strides[d];
    last += (sizes[d] - 1) * strides[d];
  }
  view.end = last + 1;
  return view;
}

int64_t GroupBuilder::row_size() const {
  int64_t size = 1;
  for (size_t d = sizes_.size() - row_dims_; d < sizes_.size(); ++d) size *= sizes_[d];
  return size;
}

// The row's dims are one dim of memory, or broadcast.
bool GroupBuilder::splits(const View& view, size_t row_dims) const {
  const size_t rank = sizes_.size();
  const size_t first = rank - row_dims;
  if (std::all_of(view.strides.begin() + first, view.strides.end(),
                  [](int64_t stride) { return stride == 0; })) {
    return true;
  }
  int64_t step = 0;
  for (size_t d = rank; d-- > first;) {
    if (sizes_[d] == 1) continue;
    if (step != 0 && view.strides[d] != step) return false;
    if (view.strides[d] == 0) return false;
    step = view.strides[d] * sizes_[d];
  }
  return true;
}

bool GroupBuilder::can_have_rows(size_t row_dims) const {
  if (row_dims_ != 0) return row_dims_ == row_dims;
  if (has_leading_) return false;
  const auto fits = [&](const View& view) { return splits(view, row_dims); };
  return std::all_of(inputs_.begin(), inputs_.end(), fits) &&
         std::all_of(made_.begin(), made_.end(), [&](const Made& made) { return fits(made.view); });
}

// Null: it reads a part of what a step of the group writes, or what is there at its end only, or is
// one input more than the engine takes.
std::optional<uint16_t> GroupBuilder::find_or_add_input(const View& view) {
  for (size_t k = made_.size(); k-- > 0;) {
    if (made_[k].view == view && !made_[k].is_leading) {
      shares_ = true;
      return static_cast<uint16_t>(k | kStepBit);
    }
    if (made_[k].view.overlaps(view)) return {};
  }
  for (size_t k = 0; k < inputs_.size(); ++k) {
    if (inputs_[k] == view) {
      shares_ |= view.storage != kNumberStorage;
      return static_cast<uint16_t>(k);
    }
  }
  if (inputs_.size() == engine_.limits.max_inputs) return {};
  if (row_dims_ != 0 && !splits(view, row_dims_)) return {};
  inputs_.push_back(view);
  return static_cast<uint16_t>(inputs_.size() - 1);
}

bool GroupBuilder::add(const OpRecord& op) {
  if (op.device != device_ || !has_room() || !has_common_dtypes(trace_, op)) return false;
  if (writes_overlap(trace_, op)) return false;
  const size_t inputs = inputs_.size();
  const size_t row_dims = row_dims_;
  const bool shares = shares_;
  if (add_by_kind(op)) return true;
  inputs_.resize(inputs);
  row_dims_ = row_dims;
  shares_ = shares;
  return false;
}

bool GroupBuilder::add_by_kind(const OpRecord& op) {
  if (op.is_pointwise != 0) return add_pointwise(op);
  switch (op.op->fusion) {
    case ops::FusionKind::kFill:
      return add_fill(op);
    case ops::FusionKind::kCopy:
      return add_copy(op);
    case ops::FusionKind::kRows:
      return add_row_function(op);
    case ops::FusionKind::kMemory:
    case ops::FusionKind::kNone:
      return false;
  }
  return false;
}

bool GroupBuilder::add_pointwise(const OpRecord& op) {
  const uint32_t target = trace_.outputs(op)[0];
  const TensorRecord& record = trace_.tensors[target];
  // One that fails must not leave the others half done.
  if (record.dtype != op.result || op.checks_divisor()) return false;
  if (!engine_.can_fuse(op.function, op.compute)) return false;
  if (steps_.empty()) sizes_ = Shape(trace_.sizes(record));
  if (numel(sizes_) == 0) return false;
  const bool is_full = std::ranges::equal(trace_.sizes(record), sizes_);
  if (!is_full && row_dims_ == 0) return false;
  const std::optional<size_t> span = is_full ? sizes_.size() : row_span(trace_.sizes(record));
  const std::optional<View> out = span ? view(target, *span) : std::nullopt;
  if (!out) return false;
  ops::FusedStep step;
  step.function = op.function;
  step.compute = op.compute;
  step.result = op.result;
  step.unrounded = op.unrounded;
  step.params = trace_.params[trace_.index_of(op)];
  step.is_row = !is_full;
  step.count = static_cast<uint8_t>(op.operand_count);
  bool feeds_back = false;
  for (size_t i = 0; i < op.operand_count; ++i) {
    const std::optional<View> operand = view(trace_.operands(op)[i], *span);
    if (!operand) return false;
    const std::optional<uint16_t> value = find_or_add_input(*operand);
    if (!value) return false;
    step.operands[i] = *value;
    if ((*value & kStepBit) != 0) {
      const bool of_row = made_[*value & ~kStepBit].is_row;
      if (!is_full && !of_row) return false;
      feeds_back |= is_full && of_row;
    }
  }
  if (feeds_back && row_size() > engine_.limits.max_row) return false;
  return add_step(op, step, *out);
}

// copy_ and clone. The target of copy_ is an operand, too, but is not read.
bool GroupBuilder::add_copy(const OpRecord& op) {
  const uint32_t source = trace_.operands(op).back();
  const uint32_t target = trace_.outputs(op)[0];
  const TensorRecord& record = trace_.tensors[target];
  if (steps_.empty()) sizes_ = Shape(trace_.sizes(record));
  if (numel(sizes_) == 0 || !std::ranges::equal(trace_.sizes(record), sizes_)) return false;
  const std::optional<View> from = view(source, sizes_.size());
  const std::optional<View> out = view(target, sizes_.size());
  if (!from || !out) return false;
  const std::optional<uint16_t> value = find_or_add_input(*from);
  if (!value) return false;
  const bool is_row = (*value & kStepBit) != 0 && made_[*value & ~kStepBit].is_row;
  if (is_row && row_size() > engine_.limits.max_row) return false;
  ops::FusedStep step;
  step.is_copy = true;
  step.compute = from->dtype;
  step.result = out->dtype;
  step.count = 1;
  step.operands[0] = *value;
  return add_step(op, step, *out);
}

// A number, until a step needs it in memory. What stays there for others is better written on its
// own: nothing else of the group has to do with it.
bool GroupBuilder::add_fill(const OpRecord& op) {
  const uint32_t target = trace_.outputs(op)[0];
  const TensorRecord& record = trace_.tensors[target];
  const StorageLiveness& live = liveness_.storages[record.storage];
  if (live.is_visible && live.last_write == static_cast<int64_t>(trace_.index_of(op))) return false;
  if (steps_.empty()) sizes_ = Shape(trace_.sizes(record));
  if (numel(sizes_) == 0 || !std::ranges::equal(trace_.sizes(record), sizes_)) return false;
  const std::optional<View> out = view(target, sizes_.size());
  if (!out) return false;
  View number;
  number.storage = kNumberStorage;
  number.dtype = record.dtype;
  number.offset = fills_[trace_.index_of(op)];
  number.strides.assign(sizes_.size(), 0);
  const std::optional<uint16_t> value = find_or_add_input(number);
  if (!value) return false;
  ops::FusedStep step;
  step.is_copy = true;
  step.compute = step.result = record.dtype;
  step.count = 1;
  step.operands[0] = *value;
  return add_step(op, step, *out);
}

bool GroupBuilder::add_row_function(const OpRecord& op) {
  const std::optional<RowCall> call = as_row_call(trace_, op);
  if (!call) return false;
  const RowFunction function = op.op->rows.function;
  // The index of an extreme is not what rows are for.
  for (const uint32_t other : trace_.outputs(op).subspan(1)) {
    if (liveness_.storages[trace_.tensors[other].storage].is_needed) return false;
  }
  const uint32_t source = trace_.operands(op)[0];
  const TensorRecord& in = trace_.tensors[source];
  if (steps_.empty()) sizes_ = Shape(trace_.sizes(in));
  if (numel(sizes_) == 0 || !std::ranges::equal(trace_.sizes(in), sizes_)) return false;
  if (call->are_leading) return add_leading(op, call->dims, call->correction);
  if (!engine_.can_fuse(function, in.dtype) || !can_have_rows(call->dims)) return false;
  row_dims_ = call->dims;
  const bool makes_row = ops::gives_row(function);
  if (row_size() < engine_.limits.min_row || (makes_row && row_size() > engine_.limits.max_row))
    return false;
  const uint32_t target = trace_.outputs(op)[0];
  const std::optional<size_t> span =
      makes_row ? sizes_.size() : row_span(trace_.sizes(trace_.tensors[target]));
  if (!span) return false;
  const std::optional<View> from = view(source, sizes_.size());
  const std::optional<View> out = view(target, *span);
  if (!from || !out || !splits(*from, row_dims_)) return false;
  // Sums of other rows have another order of additions on their own.
  const bool is_sum = function == RowFunction::kSum || function == RowFunction::kMean;
  if (is_sum && layout(*from).strides.back() != 1) return false;
  const std::optional<uint16_t> value = find_or_add_input(*from);
  if (!value) return false;
  ops::FusedStep step;
  step.row = function;
  step.params.f[0] = call->correction;
  step.compute = in.dtype;
  step.result = in.dtype;
  step.is_row = !makes_row;
  step.count = 1;
  step.operands[0] = *value;
  return add_step(op, step, *out);
}

// A function of the leading dims. Its result is there when all elements have been gone over: only
// others can read it.
bool GroupBuilder::add_leading(const OpRecord& op, size_t dims, double correction) {
  const DType dtype = trace_.tensors[trace_.operands(op)[0]].dtype;
  if (row_dims_ != 0 || !engine_.can_fuse_leading(op.op->rows.function, dtype)) return false;
  const std::optional<View> from = view(trace_.operands(op)[0], sizes_.size());
  const std::optional<View> out = view(trace_.outputs(op)[0], sizes_.size());
  if (!from || !out || ops::gives_row(op.op->rows.function)) return false;
  const std::optional<uint16_t> value = find_or_add_input(*from);
  if (!value) return false;
  ops::FusedStep step;
  step.row = op.op->rows.function;
  step.params.f[0] = correction;
  step.compute = step.result = dtype;
  step.leading_dims = static_cast<uint8_t>(dims);
  step.count = 1;
  step.operands[0] = *value;
  return add_step(op, step, *out);
}

bool GroupBuilder::add_step(const OpRecord& op, const ops::FusedStep& step, const View& out) {
  if (row_dims_ != 0 && !splits(out, row_dims_)) return false;
  const bool is_leading = step.leading_dims != 0;
  // What is read from memory elsewhere in the group must not be what this writes, but for the very
  // same elements, which are read first.
  for (const View& input : inputs_) {
    if (input.overlaps(out) && (is_leading || !(input == out))) return false;
  }
  for (const Made& earlier : made_) {
    const bool is_same = earlier.view == out && !is_leading && !earlier.is_leading;
    if (earlier.view.overlaps(out) && !is_same) return false;
  }
  for (Made& earlier : made_) {
    if (earlier.view == out) earlier.is_newest = false;
  }
  const StorageLiveness& live = liveness_.storages[out.storage];
  const size_t index = trace_.index_of(op);
  possible_stores_ += live.is_visible || live.last_use > static_cast<int64_t>(index);
  made_.push_back({out, step.is_row, is_leading, true, index});
  has_leading_ |= is_leading;
  steps_.push_back(step);
  return true;
}

ops::FusedLayout GroupBuilder::layout(const View& view) const {
  ops::FusedLayout layout;
  layout.dtype = view.dtype;
  layout.is_number = view.storage == kNumberStorage;
  if (row_dims_ == 0) {
    layout.strides = view.strides;
    return layout;
  }
  // The row's dims become one.
  const size_t outer = sizes_.size() - row_dims_;
  layout.strides.assign(view.strides.begin(), view.strides.begin() + outer);
  int64_t stride = 0;
  for (size_t d = sizes_.size(); d-- > outer && stride == 0;) stride = view.strides[d];
  layout.strides.push_back(stride);
  return layout;
}

// Someone outside the group sees the value: beyond the trace, or a later op.
bool GroupBuilder::is_used_outside(const Made& made, std::span<const uint8_t> is_member) const {
  const StorageLiveness& live = liveness_.storages[made.view.storage];
  if (live.is_visible) return true;
  for (auto i = static_cast<int64_t>(made.op) + 1; i <= live.last_use; ++i) {
    const auto index = static_cast<size_t>(i);
    if (is_member[index] != 0 || liveness_.is_dead[index] != 0) continue;
    const OpRecord& op = trace_.ops[index];
    for (size_t k = 0; k < size_t{op.operand_count} + op.output_count; ++k) {
      const uint32_t id = trace_.tensor_ids[op.first_id + k];
      if (id != kNoTensor && trace_.tensors[id].storage == made.view.storage) return true;
    }
  }
  return false;
}

bool GroupBuilder::touches(const OpRecord& op) const {
  for (size_t k = 0; k < size_t{op.operand_count} + op.output_count; ++k) {
    const uint32_t id = trace_.tensor_ids[op.first_id + k];
    if (id == kNoTensor) continue;
    const uint32_t storage = trace_.tensors[id].storage;
    if (storage == kNumberStorage) continue;
    const auto is_same = [&](const View& view) { return view.storage == storage; };
    if (std::ranges::any_of(made_, is_same, &Made::view) || std::ranges::any_of(inputs_, is_same)) {
      return true;
    }
  }
  return false;
}

ops::FusedGroup GroupBuilder::finish(std::span<const uint8_t> is_member,
                                     std::vector<TensorAddress>& addresses) const {
  ops::FusedGroup group;
  group.device = device_;
  group.sizes = sizes_;
  if (row_dims_ != 0) {
    group.sizes.resize(sizes_.size() - row_dims_);
    group.sizes.push_back(row_size());
  }
  const auto add_address = [&](const View& view) {
    const int64_t size = view.storage == kNumberStorage ? 8 : size_bytes(view.dtype);
    addresses.push_back({view.storage, view.offset * size});
  };
  for (const View& input : inputs_) {
    group.inputs.push_back(layout(input));
    add_address(input);
  }
  group.steps = steps_;
  const auto inputs = static_cast<uint16_t>(inputs_.size());
  for (ops::FusedStep& step : group.steps) {
    for (int i = 0; i < step.count; ++i) {
      uint16_t& value = step.operands[i];
      if ((value & kStepBit) != 0) value = static_cast<uint16_t>((value & ~kStepBit) + inputs);
    }
  }
  for (size_t k = 0; k < made_.size(); ++k) {
    const Made& made = made_[k];
    if (!made.is_newest || !is_used_outside(made, is_member)) continue;
    group.stores.push_back({static_cast<uint16_t>(inputs + k), layout(made.view)});
    add_address(made.view);
  }
  return group;
}

}  // namespace mindtorch::dispatch
