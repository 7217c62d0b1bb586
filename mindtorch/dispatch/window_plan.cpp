#include "mindtorch/dispatch/window_plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>

#include "mindtorch/dispatch/eager.h"
#include "mindtorch/dispatch/group_builder.h"
#include "mindtorch/runtime/workspace.h"

namespace mindtorch::dispatch {
namespace {

// Memory is all it gives, and that comes with the first op that uses it.
bool makes_nothing(const ops::Op* op) { return op->meaning == ops::Meaning::kMemory; }

// Work below this is done before another thread would have noticed.
constexpr int64_t kLongElements = 64 * 1024;

// Fewer are launched as quickly as a graph is found; with more memory in between, the device takes
// longer than the host, and the memory is better used elsewhere.
constexpr size_t kFewActions = 3;
constexpr size_t kMuchMemory = size_t{64} << 20;

}  // namespace

// One step of a run: a fused program, a pointwise op or a kernel.
struct WindowPlan::Action {
  uint32_t first_op = 0;
  std::vector<uint32_t> needs;     // storages that get bytes before
  std::vector<uint32_t> heirs;     // storages that take over those of another
  std::vector<uint32_t> releases;  // storages that nobody needs after

  // A fused program.
  std::unique_ptr<ops::FusedProgram> program;
  std::vector<TensorAddress> addresses;

  // A kernel or a pointwise op.
  const ops::Op* op = nullptr;
  Device device;
  std::unique_ptr<ops::PointwiseCall> call;  // on tensors of the plan
  std::vector<ops::Value> values;
  std::vector<std::vector<Tensor>> lists;
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<double>> floats;
  std::vector<std::string> texts;
  std::vector<Tensor> outputs;
};

WindowPlan::WindowPlan(const Recording& recording, std::span<const uint8_t> visible)
    : recording_(recording), visible_(visible.begin(), visible.end()) {
  shadows_.resize(recording_.storages.size());
  tensors_.resize(recording_.tensors.size());
  size_t numbers = 0;
  for (const TensorRecord& tensor : recording_.tensors) numbers += tensor.storage == kNumberStorage;
  numbers_.resize(numbers);
  find_fates();
  find_fills();
  for (size_t number = 0; number < recording_.ops.size();) {
    const OpRecord& op = recording_.ops[number];
    if (is_dead_[number] || makes_nothing(op.op)) {
      ++number;
      continue;
    }
    const ops::FusionEngine& engine = ops::registry().fusion_engine(op.device.type);
    if (const size_t end = engine.prepare == nullptr ? 0 : add_group(number, engine); end != 0) {
      number = end;
    } else {
      add_single(number++);
    }
  }
  place_memory();
  launches_ = actions_.size();
  if (can_be_captured()) graphs_ = WindowGraphs::make(actions_[0].device);
}

WindowPlan::~WindowPlan() = default;

bool WindowPlan::can_be_captured() const {
  if (actions_.size() <= kFewActions || actions_[0].device.is_cpu()) return false;
  const Device device = actions_[0].device;
  for (const Action& action : actions_) {
    if (action.program != nullptr || action.device != device || action.op->random) return false;
  }
  size_t bytes = 0;
  for (size_t i = 0; i < shadows_.size(); ++i) {
    if (!shadows_[i]) continue;
    // What is read on the host while an op is launched, a graph would not read again.
    if (recording_.storages[i].device != device) return false;
    if (recording_.storages[i].is_promised != 0) bytes += recording_.storages[i].size_bytes;
  }
  return bytes <= kMuchMemory;
}

// A tensor over the shadow of its storage, or over a number of the run.
const Tensor& WindowPlan::tensor(uint32_t number) {
  static const Tensor none;
  if (number == kNoTensor) return none;
  Tensor& made = tensors_[number];
  if (made.defined()) return made;
  const TensorRecord& record = recording_.tensors[number];
  Storage storage;
  if (record.storage == kNumberStorage) {
    storage = StorageImpl::borrow(&numbers_[static_cast<size_t>(record.offset)], sizeof(uint64_t),
                                  DeviceType::kCpu, nullptr, nullptr);
  } else {
    Storage& shadow = shadows_[record.storage];
    if (!shadow) {
      const StorageRecord& real = recording_.storages[record.storage];
      shadow = StorageImpl::borrow(nullptr, real.size_bytes, real.device, nullptr, nullptr);
    }
    storage = shadow;
  }
  made = Tensor(IntrusivePtr<TensorImpl>::adopt(new TensorImpl(
      std::move(storage), record.dtype, Shape(recording_.sizes(record)),
      Shape(recording_.strides(record)), record.storage == kNumberStorage ? 0 : record.offset)));
  made.impl()->is_wrapped_number = record.is_wrapped_number != 0;
  return made;
}

void WindowPlan::add_single(size_t number) {
  const OpRecord& record = recording_.ops[number];
  Action& action = actions_.emplace_back();
  action.first_op = static_cast<uint32_t>(number);
  action.op = record.op;
  action.device = record.device;
  int64_t elements = 0;
  for (const uint32_t link : recording_.operands(record)) {
    if (link != kNoTensor) elements += tensor(link).numel();
  }
  for (const uint32_t link : recording_.outputs(record)) elements += tensor(link).numel();
  // An accelerator is only told what to do.
  takes_long_ |= record.device.is_cpu() && elements >= kLongElements / 8;
  if (record.is_pointwise != 0) {
    action.call =
        std::make_unique<ops::PointwiseCall>(record.function, record.compute, record.result);
    action.call->params = recording_.params[number];
    action.call->unrounded = record.unrounded;
    for (const uint32_t link : recording_.operands(record)) action.call->on(tensor(link));
    action.outputs.push_back(tensor(recording_.outputs(record)[0]));
    return;
  }
  add_values(record, action, nullptr);
  if (record.op->kind == ops::OpKind::kMutation) return;
  for (const uint32_t link : recording_.outputs(record)) action.outputs.push_back(tensor(link));
}

// `self`: a tensor in place of the first.
void WindowPlan::add_values(const OpRecord& record, Action& action, const Tensor* self) {
  // Values point into these.
  action.lists.reserve(record.value_count);
  action.ints.reserve(record.value_count);
  action.floats.reserve(record.value_count);
  action.texts.reserve(record.value_count);
  for (size_t i = 0; i < record.value_count; ++i) {
    const ValueRecord& kept = recording_.values[record.first_value + i];
    const bool is_self = self != nullptr && kept.kind == ops::ValueKind::kTensor;
    action.values.push_back(is_self ? ops::Value(*self) : value(kept, action));
  }
}

// The numbers that ops fill their results with, where groups may have them instead.
void WindowPlan::find_fills() {
  fills_.resize(recording_.ops.size());
  const auto first = static_cast<std::ptrdiff_t>(numbers_.size());
  for (size_t i = 0; i < recording_.ops.size(); ++i) {
    const OpRecord& op = recording_.ops[i];
    if (is_dead_[i] || op.op->meaning != ops::Meaning::kFill ||
        ops::registry().fusion_engine(op.device.type).prepare == nullptr) {
      continue;
    }
    const uint64_t bits = fill_bits(op);
    const auto found = std::find(numbers_.begin() + first, numbers_.end(), bits);
    fills_[i] = static_cast<uint32_t>(found - numbers_.begin());
    if (found == numbers_.end()) numbers_.push_back(bits);
  }
}

// What the op writes into a tensor of one element.
uint64_t WindowPlan::fill_bits(const OpRecord& record) {
  uint64_t bits = 0;
  Tensor one(IntrusivePtr<TensorImpl>::adopt(new TensorImpl(
      StorageImpl::borrow(&bits, sizeof(bits), DeviceType::kCpu, nullptr, nullptr),
      recording_.tensors[recording_.outputs(record)[0]].dtype, Shape(), Shape(), 0)));
  Action action;
  add_values(record, action, &one);
  const bool is_written = record.op->kind == ops::OpKind::kMutation;
  launch_now(*record.op, record.device, action.values, {&one, is_written ? size_t{0} : 1});
  return bits;
}

ops::Value WindowPlan::value(const ValueRecord& kept, Action& action) {
  const auto list = [&] { return std::span(recording_.dims).subspan(kept.first, kept.count); };
  switch (kept.kind) {
    case ops::ValueKind::kNone:
      return {};
    case ops::ValueKind::kTensor:
      return ops::Value(tensor(recording_.links[kept.first]));
    case ops::ValueKind::kTensorList: {
      std::vector<Tensor>& tensors = action.lists.emplace_back();
      for (uint32_t i = 0; i < kept.count; ++i) {
        tensors.push_back(tensor(recording_.links[kept.first + i]));
      }
      return ops::Value(TensorList(tensors));
    }
    case ops::ValueKind::kScalar:
      switch (static_cast<Scalar::Kind>(kept.scalar_kind)) {
        case Scalar::Kind::kBool:
          return ops::Value(Scalar(kept.bits != 0));
        case Scalar::Kind::kInt:
          return ops::Value(Scalar(static_cast<int64_t>(kept.bits)));
        case Scalar::Kind::kFloat:
          return ops::Value(Scalar(std::bit_cast<double>(kept.bits)));
      }
      return {};
    case ops::ValueKind::kInt:
      return ops::Value(static_cast<int64_t>(kept.bits));
    case ops::ValueKind::kFloat:
      return ops::Value(std::bit_cast<double>(kept.bits));
    case ops::ValueKind::kBool:
      return ops::Value(kept.bits != 0);
    case ops::ValueKind::kIntList:
      return ops::Value(IntList(action.ints.emplace_back(list().begin(), list().end())));
    case ops::ValueKind::kFloatList: {
      std::vector<double>& floats = action.floats.emplace_back();
      for (const int64_t bits : list()) floats.push_back(std::bit_cast<double>(bits));
      return ops::Value(std::span<const double>(floats));
    }
    case ops::ValueKind::kString: {
      std::string& text = action.texts.emplace_back();
      for (const int64_t each : list()) text.push_back(static_cast<char>(each));
      return ops::Value(std::string_view(text));
    }
    case ops::ValueKind::kDType:
      return ops::Value(static_cast<DType>(kept.bits));
    case ops::ValueKind::kDevice:
      return ops::Value(
          Device(static_cast<DeviceType>(kept.bits), static_cast<int8_t>(kept.first)));
    case ops::ValueKind::kMemoryFormat:
      return ops::Value(static_cast<MemoryFormat>(kept.bits));
    case ops::ValueKind::kGenerator:
      return ops::Value(reinterpret_cast<Generator*>(kept.bits));
  }
  return {};
}

size_t WindowPlan::add_group(size_t first, const ops::FusionEngine& engine) {
  GroupBuilder builder(recording_, fates_, fills_, engine, recording_.ops[first].device);
  size_t end = first;
  for (; end < recording_.ops.size(); ++end) {
    const OpRecord& op = recording_.ops[end];
    if (!is_dead_[end] && !makes_nothing(op.op) && !builder.add(op)) break;
  }
  if (builder.size() < 2 || !builder.is_worth_it()) return 0;
  for (size_t i = first; i < end; ++i) {
    if (!is_dead_[i] && recording_.ops[i].is_pointwise != 0) {
      fused_.push_back(static_cast<uint32_t>(i));
    }
  }
  Action& action = actions_.emplace_back();
  action.first_op = static_cast<uint32_t>(first);
  const ops::FusedGroup group = builder.finish(end, action.addresses);
  action.program = engine.prepare(group);
  takes_long_ |= numel(group.sizes) * static_cast<int64_t>(group.steps.size()) >= kLongElements;
  return end;
}

// Bytes before the first action that writes or reads them, an end to them after the last.
void WindowPlan::place_memory() {
  constexpr uint32_t kNowhere = UINT32_MAX;
  std::vector<uint32_t> first(fates_.size(), kNowhere);
  std::vector<uint32_t> last(fates_.size(), kNowhere);
  for (uint32_t i = 0; i < actions_.size(); ++i) {
    const auto touch = [&](uint32_t storage) {
      if (storage == kNumberStorage) return;
      if (first[storage] == kNowhere) first[storage] = i;
      last[storage] = i;
    };
    if (actions_[i].program != nullptr) {
      for (const TensorAddress& address : actions_[i].addresses) touch(address.storage);
      continue;
    }
    const OpRecord& op = recording_.ops[actions_[i].first_op];
    for (size_t k = 0; k < size_t{op.operand_count} + op.output_count; ++k) {
      const uint32_t link = recording_.links[op.first_link + k];
      if (link != kNoTensor) touch(recording_.tensors[link].storage);
    }
  }
  homes_.resize(fates_.size());
  std::iota(homes_.begin(), homes_.end(), 0);
  for (uint32_t i = 0; i < actions_.size(); ++i) {
    if (actions_[i].call == nullptr) continue;
    const OpRecord& op = recording_.ops[actions_[i].first_op];
    const uint32_t out = recording_.tensors[recording_.outputs(op)[0]].storage;
    const uint32_t taken = first[out] == i ? find_legacy(op, i, last) : kNumberStorage;
    if (taken == kNumberStorage) continue;
    homes_[out] = homes_[taken];
    last[homes_[taken]] = last[out];
    actions_[i].heirs.push_back(out);
  }
  for (Action& action : actions_) {
    for (TensorAddress& address : action.addresses) {
      if (address.storage != kNumberStorage) address.storage = homes_[address.storage];
    }
  }
  for (uint32_t storage = 0; storage < fates_.size(); ++storage) {
    if (recording_.storages[storage].is_promised == 0) {
      if (shadows_[storage]) outside_.push_back(storage);
      continue;
    }
    if (homes_[storage] != storage) continue;
    if (first[storage] == kNowhere) {
      // It lives in registers only, or nobody has written it.
      if (fates_[storage].is_visible) unwritten_.push_back(storage);
      continue;
    }
    actions_[first[storage]].needs.push_back(storage);
    if (fates_[storage].is_visible) {
      outputs_.push_back(storage);
    } else {
      actions_[last[storage]].releases.push_back(storage);
    }
  }
}

bool WindowPlan::takes(std::span<const ops::PointwiseParams> params) const {
  return std::ranges::all_of(fused_, [&](uint32_t op) {
    return op >= params.size() ||
           std::memcmp(&params[op], &recording_.params[op], sizeof(ops::PointwiseParams)) == 0;
  });
}

void WindowPlan::take_params(const Recording& recorded) {
  std::ranges::copy(recorded.params, recording_.params.begin());
  std::ranges::copy(recorded.scalars, recording_.scalars.begin());
  for (const Action& action : actions_) {
    if (action.call != nullptr) action.call->params = recording_.params[action.first_op];
  }
  if (graphs_ == nullptr) return;
  // A graph has them inside.
  const auto* bytes = reinterpret_cast<const char*>(recording_.params.data());
  params_hash_ = std::hash<std::string_view>()(
      {bytes, recording_.params.size() * sizeof(ops::PointwiseParams)});
}

void WindowPlan::run(Storages storages, const Recording& recorded, size_t& done) {
  std::ranges::copy(recorded.numbers, numbers_.begin());
  std::ranges::copy(recorded.numbers, recording_.numbers.begin());
  if (!recorded.params.empty()) take_params(recorded);
  for (const uint32_t storage : unwritten_) storages[storage]->make_promised_bytes();
  if (graphs_ != nullptr && replay(storages)) {
    done = recording_.ops.size();
  } else {
    launch(storages, done);
  }
}

bool WindowPlan::replay(Storages storages) {
  const runtime::Stream stream = graphs_->stream();
  if (!stream) return false;
  try {
    for (const uint32_t storage : outputs_) storages[storage]->make_promised_bytes();
  } catch (...) {  // launching needs less at once, and tells which op it was for
    for (const uint32_t storage : outputs_) storages[storage]->drop_bytes();
    return false;
  }
  graph_key_.clear();
  for (const auto* const list : {&outside_, &outputs_}) {
    for (const uint32_t storage : *list) {
      graph_key_.push_back(reinterpret_cast<uintptr_t>(storages[storage]->raw_data()));
    }
  }
  graph_key_.insert(graph_key_.end(), numbers_.begin(), numbers_.end());
  graph_key_.push_back(params_hash_);
  switch (graphs_->replay(graph_key_, stream)) {
    case WindowGraphs::Found::kQueued:
      return true;
    case WindowGraphs::Found::kNothing:
      return false;
    case WindowGraphs::Found::kWorthCapturing:
      break;
  }
  return graphs_->capture(graph_key_, stream, [&] {
    size_t done = 0;
    try {
      launch(storages, done);
    } catch (...) {
      drop_intermediates(storages);
      throw;
    }
  });
}

void WindowPlan::drop_intermediates(Storages storages) {
  for (const Action& action : actions_) {
    for (const uint32_t storage : action.releases) storages[storage]->drop_bytes();
  }
}

void WindowPlan::launch(Storages storages, size_t& done) {
  runtime::SharedWorkspace workspace(workspace_bytes_);
  for (const uint32_t storage : outside_) shadows_[storage]->rebind(storages[storage]->raw_data());
  for (Action& action : actions_) {
    done = action.first_op;
    for (const uint32_t storage : action.needs) {
      storages[storage]->make_promised_bytes();
      if (shadows_[storage]) shadows_[storage]->rebind(storages[storage]->raw_data());
    }
    for (const uint32_t storage : action.heirs) {
      shadows_[storage]->rebind(storages[homes_[storage]]->raw_data());
    }
    if (action.program != nullptr) {
      addresses_.clear();
      for (const TensorAddress& address : action.addresses) {
        char* const base = address.storage == kNumberStorage
                               ? reinterpret_cast<char*>(numbers_.data())
                               : static_cast<char*>(storages[address.storage]->raw_data());
        addresses_.push_back(base + address.offset_bytes);
      }
      action.program->run(addresses_);
    } else if (action.call != nullptr) {
      launch_pointwise_now(*action.op, *action.call, action.device, {}, action.outputs[0]);
    } else {
      launch_now(*action.op, action.device, action.values, action.outputs);
    }
    for (const uint32_t storage : action.releases) storages[storage]->drop_bytes();
  }
  done = recording_.ops.size();
}

}  // namespace mindtorch::dispatch
