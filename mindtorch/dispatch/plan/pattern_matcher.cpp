#include "mindtorch/dispatch/plan/pattern_matcher.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "mindtorch/tensor/element.h"

namespace mindtorch::dispatch {
namespace {

constexpr uint32_t kUnbound = UINT32_MAX - 1;

bool is_tensor_param(const ops::Param& param) {
  return param.type == ops::ArgType::kTensor || param.type == ops::ArgType::kOperand ||
         param.type == ops::ArgType::kTensorList || param.type == ops::ArgType::kOptionalTensorList;
}

std::optional<double> to_number(const ops::Value& value) {
  switch (value.kind()) {
    case ops::ValueKind::kBool:
      return value.to_bool() ? 1.0 : 0.0;
    case ops::ValueKind::kInt:
      return static_cast<double>(value.to_int());
    case ops::ValueKind::kFloat:
      return value.to_float();
    case ops::ValueKind::kScalar:
      if (value.scalar().is_complex()) return {};
      return value.scalar().to_double();
    case ops::ValueKind::kIntList:
      if (value.int_list().size() != 1) return {};
      return static_cast<double>(value.int_list()[0]);
    default:
      return {};
  }
}

// The value is what the text says. `rank`: of what negative dims count in.
bool equals(const ops::Value& value, std::string_view text, int64_t rank) {
  if (text == "None") return value.is_none();
  if (value.kind() == ops::ValueKind::kString) {
    return text.size() >= 2 && text.substr(1, text.size() - 2) == value.string();
  }
  const std::optional<double> number = to_number(value);
  if (!number) return false;
  if (text == "True" || text == "true") return *number == 1;
  if (text == "False" || text == "false") return *number == 0;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  double expected = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  return *number == expected ||
         (expected < 0 && *number == expected + static_cast<double>(rank) &&
          (value.kind() == ops::ValueKind::kInt || value.kind() == ops::ValueKind::kIntList));
}

}  // namespace

struct PatternMatcher::Binding {
  explicit Binding(const ParsedPattern& pattern)
      : pattern(pattern),
        tensors(pattern.nodes.size(), kUnbound),
        ops(pattern.nodes.size(), kUnbound),
        readers(pattern.nodes.size(), UINT32_MAX) {}

  bool has(uint32_t op) const { return std::ranges::find(ops, op) != ops.end(); }

  const ParsedPattern& pattern;
  uint32_t order = 0;             // by node that has one: whether it is swapped
  std::vector<uint32_t> tensors;  // by node; kNoTensor: left out
  std::vector<uint32_t> ops;      // by node: that makes it
  std::vector<uint32_t> readers;  // by node: the first op that reads it
  std::vector<uint32_t> numbers;  // of the trace
  std::vector<std::pair<std::string_view, double>> values;
  uint32_t root = 0;
};

PatternMatcher::PatternMatcher(const Trace& trace,
                               const Liveness& liveness,
                               std::span<const uint8_t> varying)
    : trace_(trace),
      liveness_(liveness),
      is_taken_(liveness.is_dead),
      users_(trace.storages.size()),
      writers_(trace.storages.size()) {
  const auto note = [&](std::vector<std::vector<uint32_t>>& lists, uint32_t id, uint32_t op) {
    if (id == kNoTensor || storage_of(id) == kNumberStorage) return;
    std::vector<uint32_t>& list = lists[storage_of(id)];
    if (list.empty() || list.back() != op) list.push_back(op);
  };
  for (uint32_t i = 0; i < trace.ops.size(); ++i) {
    const OpRecord& op = trace.ops[i];
    if (op.op->fusion == ops::FusionKind::kMemory) is_taken_[i] = 1;  // it writes nothing
    if (is_taken_[i] != 0) continue;
    if (!varying.empty() && varying[i] != 0) is_taken_[i] = 1;
    for (const uint32_t id : trace.operands(op)) note(users_, id, i);
    for (const uint32_t id : trace.outputs(op)) {
      note(users_, id, i);
      note(writers_, id, i);
    }
  }
}

std::vector<PatternMatch> PatternMatcher::find(std::span<const ParsedPattern> patterns,
                                               DeviceType device) {
  std::vector<PatternMatch> matches;
  for (const ParsedPattern& pattern : patterns) {
    for (uint32_t root = 0; root < trace_.ops.size(); ++root) {
      if (is_taken_[root] != 0 || trace_.ops[root].device.type != device) continue;
      std::optional<PatternMatch> match = find_at(pattern, root);
      if (!match) continue;
      for (const uint32_t op : match->ops) is_taken_[op] = 1;
      matches.push_back(std::move(*match));
    }
  }
  return matches;
}

std::optional<PatternMatch> PatternMatcher::find_at(const ParsedPattern& pattern,
                                                    uint32_t root) const {
  uint32_t orders = 1;
  for (const PatternNode& node : pattern.nodes) orders <<= node.in_any_order ? 1 : 0;
  for (uint32_t order = 0; order < orders; ++order) {
    Binding binding(pattern);
    binding.order = order;
    binding.root = root;
    if (!match_op(binding, pattern.root, root)) continue;
    if (!is_sound(binding)) continue;
    if (const std::optional<ops::PatternCall> call = accepted(binding)) {
      return result(binding, *call);
    }
  }
  return {};
}

bool PatternMatcher::match(
    Binding& binding, uint16_t node, uint32_t tensor, uint32_t reader, Look look) const {
  const PatternNode& wanted = binding.pattern.nodes[node];
  switch (wanted.kind) {
    case PatternNode::Kind::kTensor:
      return match_tensor(binding, node, tensor, reader);
    case PatternNode::Kind::kNumber:
      return match_number(binding, node, tensor);
    case PatternNode::Kind::kView:
      return match(binding, wanted.operands[0], tensor, reader, Look::kReshaped);
    case PatternNode::Kind::kAlias:
      if (binding.tensors[node] != kUnbound) return is_same(binding.tensors[node], tensor);
      binding.tensors[node] = tensor;
      return tensor != kNoTensor && match(binding, wanted.operands[0], tensor, reader, Look::kAny);
    case PatternNode::Kind::kCast:
    case PatternNode::Kind::kCall:
      break;
  }
  if (tensor == kNoTensor) return false;
  if (binding.tensors[node] != kUnbound) {
    if (binding.ops[node] == kUnbound) {  // left out: the value is its operand
      return match(binding, wanted.operands[0], tensor, reader, look);
    }
    return is_seen_as(binding.tensors[node], tensor, look);
  }
  if (!wanted.is_optional) return match_writer(binding, node, tensor, reader, look);
  Binding with_call = binding;
  if (match_writer(with_call, node, tensor, reader, look)) {
    std::swap(binding.tensors, with_call.tensors);
    std::swap(binding.ops, with_call.ops);
    std::swap(binding.readers, with_call.readers);
    std::swap(binding.numbers, with_call.numbers);
    std::swap(binding.values, with_call.values);
    return true;
  }
  binding.tensors[node] = tensor;
  return match(binding, wanted.operands[0], tensor, reader, look);
}

bool PatternMatcher::match_tensor(Binding& binding,
                                  uint16_t node,
                                  uint32_t tensor,
                                  uint32_t reader) const {
  uint32_t& bound = binding.tensors[node];
  if (tensor == kNoTensor) {
    if (!binding.pattern.nodes[node].is_optional || (bound != kUnbound && bound != kNoTensor)) {
      return false;
    }
    bound = kNoTensor;
    return true;
  }
  if (storage_of(tensor) == kNumberStorage ||
      trace_.storages[storage_of(tensor)].device != trace_.ops[binding.root].device) {
    return false;
  }
  if (bound == kUnbound) bound = tensor;
  binding.readers[node] = std::min(binding.readers[node], reader);
  return bound != kNoTensor && is_same(bound, tensor);
}

bool PatternMatcher::match_number(Binding& binding, uint16_t node, uint32_t tensor) const {
  if (tensor == kNoTensor || storage_of(tensor) != kNumberStorage) return false;
  const TensorRecord& record = trace_.tensors[tensor];
  if (is_complex(record.dtype)) return false;
  const auto index = static_cast<uint32_t>(record.offset);
  const double value = read_element(&trace_.numbers[index], record.dtype).to_double();
  const PatternNode& wanted = binding.pattern.nodes[node];
  if (wanted.name.empty() && value != wanted.number) return false;
  if (!wanted.name.empty()) binding.values.emplace_back(wanted.name, value);
  binding.numbers.push_back(index);
  return true;
}

// The op that has written the tensor, and nobody after it.
bool PatternMatcher::match_writer(
    Binding& binding, uint16_t node, uint32_t tensor, uint32_t reader, Look look) const {
  if (storage_of(tensor) == kNumberStorage) return false;
  const std::vector<uint32_t>& writers = writers_[storage_of(tensor)];
  if (writers.size() != 1 || writers[0] >= reader) return false;
  const uint32_t made = trace_.outputs(trace_.ops[writers[0]])[0];
  if (!is_seen_as(made, tensor, look)) return false;
  return match_op(binding, node, writers[0]);
}

bool PatternMatcher::match_op(Binding& binding, uint16_t node, uint32_t index) const {
  const PatternNode& wanted = binding.pattern.nodes[node];
  const OpRecord& op = trace_.ops[index];
  if (is_taken_[index] != 0 || op.device != trace_.ops[binding.root].device) return false;
  binding.ops[node] = index;
  binding.tensors[node] = trace_.outputs(op)[0];
  if (wanted.kind == PatternNode::Kind::kCast) {
    if (op.is_pointwise != 0 || op.op->fusion != ops::FusionKind::kCopy) return false;
    const uint32_t source = trace_.operands(op).back();
    return std::ranges::equal(trace_.sizes(trace_.tensors[source]),
                              trace_.sizes(trace_.tensors[binding.tensors[node]])) &&
           match(binding, wanted.operands[0], source, index, Look::kSame);
  }
  return op.is_pointwise != 0 ? match_operands(binding, node, index)
                              : match_arguments(binding, node, index);
}

// Of a pointwise op.
bool PatternMatcher::match_operands(Binding& binding, uint16_t node, uint32_t index) const {
  const PatternNode& wanted = binding.pattern.nodes[node];
  const OpRecord& op = trace_.ops[index];
  static constexpr ops::PointwiseParams kNoParams;
  if (!is_built_in(op.function) || info(op.function).name != wanted.op ||
      op.operand_count != wanted.operands.size() ||
      std::memcmp(&trace_.params[index], &kNoParams, sizeof(kNoParams)) != 0) {
    return false;
  }
  size_t place = 0;
  for (size_t i = 0; i < node; ++i) place += binding.pattern.nodes[i].in_any_order ? 1 : 0;
  const size_t swaps = wanted.in_any_order ? binding.order >> place & 1 : 0;
  for (size_t i = 0; i < wanted.operands.size(); ++i) {
    const uint32_t operand = trace_.operands(op)[i < 2 ? i ^ swaps : i];
    if (!match(binding, wanted.operands[i], operand, index, Look::kSame)) return false;
  }
  return true;
}

// Of any other op.
bool PatternMatcher::match_arguments(Binding& binding, uint16_t node, uint32_t index) const {
  const PatternNode& wanted = binding.pattern.nodes[node];
  const OpRecord& op = trace_.ops[index];
  const ops::Schema& schema = op.op->schema;
  if (schema.name != wanted.op || op.op->kind != ops::OpKind::kKernel ||
      op.op->form != ops::OpForm::kPrimary || op.argument_count != schema.params.size()) {
    return false;
  }
  const std::span<const Argument> arguments = trace_.arguments_of(op);
  int64_t rank = 0;
  if (op.operand_count != 0 && trace_.operands(op)[0] != kNoTensor) {
    rank = trace_.tensors[trace_.operands(op)[0]].rank;
  }
  size_t next = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.is_tensor()) {
      for (uint32_t k = 0; k < argument.length; ++k) {
        if (next == wanted.operands.size()) return false;
        const uint32_t id = trace_.tensor_ids[argument.first + k];
        if (!match(binding, wanted.operands[next++], id, index, Look::kSame)) return false;
      }
    } else if (is_tensor_param(schema.params[i])) {  // None
      if (next < wanted.operands.size() &&
          !match(binding, wanted.operands[next++], kNoTensor, index, Look::kSame)) {
        return false;
      }
    } else if ((takes_numbers_at_run_time(*op.op) && is_run_time_number(argument.kind)) ||
               !match_value(binding, wanted, schema.params[i], argument, rank)) {
      return false;
    }
  }
  return next == wanted.operands.size();
}

bool PatternMatcher::match_value(Binding& binding,
                                 const PatternNode& node,
                                 const ops::Param& param,
                                 const Argument& argument,
                                 int64_t rank) const {
  const ops::Value value = decode(argument, trace_.payload);
  const auto mention = std::ranges::find(node.arguments, param.name, &PatternNode::Argument::name);
  if (mention == node.arguments.end()) {
    return param.has_default && equals(value, param.default_text, rank);
  }
  if (mention->text == "*") return true;
  if (!mention->text.starts_with('$')) return equals(value, mention->text, rank);
  const std::optional<double> number = to_number(value);
  if (number) binding.values.emplace_back(mention->text.substr(1), *number);
  return number.has_value();
}

bool PatternMatcher::is_seen_as(uint32_t written, uint32_t read, Look look) const {
  switch (look) {
    case Look::kSame:
      return is_same(written, read);
    case Look::kReshaped:
      return is_same(written, read) || is_reshaped(written, read);
    case Look::kAny:
      return trace_.tensors[written].dtype == trace_.tensors[read].dtype;
  }
  return false;
}

bool PatternMatcher::is_same(uint32_t a, uint32_t b) const {
  if (a == b) return true;
  if (a == kNoTensor || b == kNoTensor) return false;
  const TensorRecord& left = trace_.tensors[a];
  const TensorRecord& right = trace_.tensors[b];
  return left.storage == right.storage && left.storage != kNumberStorage &&
         left.offset == right.offset && left.dtype == right.dtype &&
         std::ranges::equal(trace_.sizes(left), trace_.sizes(right)) &&
         std::ranges::equal(trace_.strides(left), trace_.strides(right));
}

bool PatternMatcher::is_reshaped(uint32_t a, uint32_t b) const {
  const TensorRecord& left = trace_.tensors[a];
  const TensorRecord& right = trace_.tensors[b];
  return left.storage == right.storage && left.offset == right.offset &&
         left.dtype == right.dtype && left.is_contiguous != 0 && right.is_contiguous != 0 &&
         numel(trace_.sizes(left)) == numel(trace_.sizes(right));
}

bool PatternMatcher::is_sound(const Binding& binding) const {
  for (uint16_t i = 0; i < binding.pattern.nodes.size(); ++i) {
    const PatternNode& node = binding.pattern.nodes[i];
    if (node.kind == PatternNode::Kind::kTensor) {
      if (!is_stable(binding.tensors[i], binding.readers[i], binding)) return false;
      continue;
    }
    if (binding.ops[i] == kUnbound) continue;
    const std::span<const uint32_t> outputs = trace_.outputs(trace_.ops[binding.ops[i]]);
    const bool is_result = node.is_result || i == binding.pattern.root;
    if (!is_private(outputs[0], binding, is_result)) return false;
    for (const uint32_t other : outputs.subspan(1)) {
      if (!is_private(other, binding, false)) return false;
    }
  }
  return true;
}

// The trace makes it, one op of the match writes it, and all that use it are part of the match. A
// result may be used by others afterwards.
bool PatternMatcher::is_private(uint32_t tensor, const Binding& binding, bool is_result) const {
  const uint32_t storage = storage_of(tensor);
  if (trace_.storages[storage].is_unallocated == 0) return false;
  const std::vector<uint32_t>& users = users_[storage];
  if (is_result) {
    const bool is_first = writers_[storage].front() == users.front();
    return is_first && std::ranges::all_of(users, [&](uint32_t user) {
             return user >= binding.root || binding.has(user);
           });
  }
  return !liveness_.storages[storage].is_visible &&
         std::ranges::all_of(users, [&](uint32_t user) { return binding.has(user); });
}

// A variable holds at the end what it held when an op read it.
bool PatternMatcher::is_stable(uint32_t tensor, uint32_t reader, const Binding& binding) const {
  if (tensor == kNoTensor || tensor == kUnbound) return true;
  return std::ranges::all_of(writers_[storage_of(tensor)], [&](uint32_t writer) {
    return !binding.has(writer) && (writer < reader || writer > binding.root);
  });
}

std::optional<ops::PatternCall> PatternMatcher::accepted(const Binding& binding) const {
  std::optional<ops::PatternCall> accepted(std::in_place);
  ops::PatternCall& call = *accepted;
  std::vector<std::pair<uint32_t, Storage>> storages;
  for (size_t i = 0; i < binding.pattern.nodes.size(); ++i) {
    const PatternNode& node = binding.pattern.nodes[i];
    const uint32_t id = binding.tensors[i];
    if (node.name.empty() || id == kNoTensor || id == kUnbound) continue;
    const TensorRecord& record = trace_.tensors[id];
    auto found = std::ranges::find(storages, record.storage, &std::pair<uint32_t, Storage>::first);
    if (found == storages.end()) {
      const StorageRecord& real = trace_.storages[record.storage];
      storages.emplace_back(record.storage, StorageImpl::borrow(nullptr, real.size_bytes,
                                                                real.device, nullptr, nullptr));
      found = storages.end() - 1;
    }
    call.add(node.name, Tensor::over(found->second, record.dtype, trace_.sizes(record),
                                     trace_.strides(record), record.offset));
  }
  for (const auto& [name, value] : binding.values) call.add(name, value);
  if (!binding.pattern.pattern->accepts(call)) accepted.reset();
  return accepted;
}

PatternMatch PatternMatcher::result(const Binding& binding, const ops::PatternCall& call) const {
  PatternMatch match;
  match.pattern = binding.pattern.pattern;
  match.numbers = binding.numbers;
  match.values.assign(call.numbers().begin(), call.numbers().end());
  for (size_t i = 0; i < binding.pattern.nodes.size(); ++i) {
    const PatternNode& node = binding.pattern.nodes[i];
    const uint32_t id = binding.tensors[i];
    if (binding.ops[i] != kUnbound) match.ops.push_back(binding.ops[i]);
    if (node.name.empty() || id == kNoTensor || id == kUnbound) continue;
    const bool is_kept =
        node.kind == PatternNode::Kind::kTensor || node.is_result || i == binding.pattern.root;
    if (is_kept) match.tensors.emplace_back(node.name, id);
  }
  std::ranges::sort(match.ops);
  return match;
}

}  // namespace mindtorch::dispatch
