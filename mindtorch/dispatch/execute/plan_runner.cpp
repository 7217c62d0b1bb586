#include "mindtorch/dispatch/execute/plan_runner.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "mindtorch/dispatch/execute/launch.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/ops/prepared_group.h"
#include "mindtorch/profiler/recorder.h"
#include "mindtorch/runtime/address_hint.h"
#include "mindtorch/runtime/copy.h"
#include "mindtorch/runtime/workspace.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::dispatch {
namespace {

// Runs of a part in a row without a graph for it, until what has other numbers each time is left
// out of it.
constexpr int kRunsWithoutGraph = 6;
// Results that programs keep, such as losses, are copied out of graphs up to this size.
constexpr size_t kCopiedBytes = 4096;
// So many runs in a row found such a result still in use.
constexpr int kTimesKept = 3;
// A graph keeps its memory: as much as the device's row allows, or this part of what is free.
constexpr size_t kFreeParts = 16;

bool can_device_keep(size_t bytes, Device device) {
  if (bytes <= device_row(device.type).graph_bytes) return true;
  runtime::DeviceRuntime& runtime = runtime_of(device);
  return bytes <= runtime.driver().memory_info(device.index).free_bytes / kFreeParts;
}

uint64_t hash_of(const void* bytes, size_t size) {
  return std::hash<std::string_view>()({static_cast<const char*>(bytes), size});
}

}  // namespace

// What launching a step needs: a prepared group, a pointwise call, a pattern's tensors, or a
// kernel's arguments.
struct PlanRunner::Step {
  std::shared_ptr<ops::PreparedGroup> group;
  std::unique_ptr<Singles> singles;  // of the group; null: they were not needed so far
  std::unique_ptr<ops::PointwiseCall> call;
  ops::PointwiseFn engine = nullptr;  // that runs it
  const ops::Op* op = nullptr;
  Device device;
  std::vector<ops::Value> args;
  std::vector<std::vector<Tensor>> lists;  // that args point into
  std::vector<Tensor> outputs;
  const ops::CallPattern* pattern = nullptr;
  ops::PatternCall match;          // that it runs on
  std::vector<uint32_t> releases;  // storages, after the step
  uint64_t changed_at = 0;         // the run that gave an op over lists other numbers last
  bool varies = false;             // each run does: it is not captured
};

struct PlanRunner::Part {
  PlanPart plan;
  // Outputs that are not in plan.outputs: a graph writes them to memory of its own, as the program
  // keeps them. They get other memory each time.
  std::vector<uint32_t> copied;
  std::vector<int> times_kept;         // of plan.outputs, in a row
  std::unique_ptr<PlanGraphs> graphs;  // null: always launched
  uint64_t params_hash = 0;
  size_t launches = 0;  // the last time that it was not replayed
  int runs_without_graph = 0;
};

// The ops of a group, one by one.
struct PlanRunner::Singles {
  std::vector<PlanStep> plan;
  std::vector<Step> steps;
};

PlanRunner::PlanRunner(const Trace& trace,
                       std::span<const uint8_t> visible,
                       std::span<const uint8_t> varying)
    : trace_(trace),
      visible_(visible.begin(), visible.end()),
      plan_(make_plan(trace_, visible, varying)) {
  proxies_.resize(trace_.storages.size());
  tensors_.resize(trace_.tensors.size());
  numbers_.resize(trace_.numbers.size());
  numbers_.insert(numbers_.end(), plan_.constants.begin(), plan_.constants.end());
  steps_.resize(plan_.steps.size());
  for (size_t i = 0; i < steps_.size(); ++i) prepare(steps_[i], plan_.steps[i]);
  divide();
}

PlanRunner::~PlanRunner() = default;

void PlanRunner::prepare(Step& step, const PlanStep& plan) {
  const OpRecord& op = trace_.ops[plan.first_op];
  step.op = op.op;
  step.device = op.device;
  step.releases = plan.releases;
  if (plan.is_fused) {
    const ops::FusionEngine& engine = *ops::registry().fusion_engine(op.device.type);
    step.group = ops::PreparedGroup::find(plan.group, engine);
  } else if (plan.match) {
    prepare_pattern(step, *plan.match);
  } else {
    prepare_single(step, op);
  }
}

void PlanRunner::prepare_pattern(Step& step, const PatternMatch& match) {
  step.pattern = match.pattern;
  for (const auto& [name, id] : match.tensors) step.match.add(name, tensor(id));
  for (const auto& [name, number] : match.values) step.match.add(name, number);
}

void PlanRunner::prepare_single(Step& step, const OpRecord& op) {
  if (op.is_pointwise != 0) {
    step.call = std::make_unique<ops::PointwiseCall>(op.function, op.compute, op.result);
    step.engine = ops::registry().pointwise_engine(op.device.type);
    step.call->params = trace_.params[trace_.index_of(op)];
    step.call->unrounded = op.unrounded;
    for (const uint32_t id : trace_.operands(op)) step.call->on(tensor(id));
    step.outputs.push_back(tensor(trace_.outputs(op)[0]));
    return;
  }
  step.lists.reserve(op.argument_count);
  step.args.reserve(op.argument_count);
  for (const Argument& argument : trace_.arguments_of(op)) {
    step.args.push_back(value(argument, step));
  }
  if (takes_numbers_at_run_time(*op.op)) take_numbers(step, op);
  if (op.op->kind == ops::OpKind::kMutation) return;
  for (const uint32_t id : trace_.outputs(op)) step.outputs.push_back(tensor(id));
}

// An op over lists gets the numbers of this run.
void PlanRunner::take_numbers(Step& step, const OpRecord& op) {
  for (size_t i = 0; i < step.args.size(); ++i) {
    if (!is_run_time_number(step.args[i].kind())) continue;
    Argument argument = trace_.arguments[op.first_argument + i];
    argument.bits = trace_.param_bits[op.first_argument + i];
    step.args[i] = decode(argument, trace_.payload);
  }
}

// A tensor over the proxy of its storage, or over a number of the run.
const Tensor& PlanRunner::tensor(uint32_t id) {
  static const Tensor none;
  if (id == kNoTensor) return none;
  Tensor& made = tensors_[id];
  if (made.defined()) return made;
  const TensorRecord& record = trace_.tensors[id];
  const bool is_number = record.storage == kNumberStorage;
  Storage storage;
  if (is_number) {
    storage = StorageImpl::borrow(&numbers_[static_cast<size_t>(record.offset)], sizeof(uint64_t),
                                  DeviceType::kCpu, nullptr, nullptr);
  } else {
    Storage& proxy = proxies_[record.storage];
    if (!proxy) {
      const StorageRecord& real = trace_.storages[record.storage];
      proxy = StorageImpl::borrow(nullptr, real.size_bytes, real.device, nullptr, nullptr);
    }
    storage = proxy;
  }
  made = Tensor(IntrusivePtr<TensorImpl>::adopt(
      new TensorImpl(std::move(storage), record.dtype, Shape(trace_.sizes(record)),
                     Shape(trace_.strides(record)), is_number ? 0 : record.offset)));
  made.impl()->is_wrapped_number = record.is_wrapped_number != 0;
  return made;
}

ops::Value PlanRunner::value(const Argument& argument, Step& step) {
  if (argument.kind == ops::ValueKind::kTensor) {
    return ops::Value(tensor(trace_.tensor_ids[argument.first]));
  }
  if (argument.kind != ops::ValueKind::kTensorList) return decode(argument, trace_.payload);
  std::vector<Tensor>& list = step.lists.emplace_back();
  for (uint32_t i = 0; i < argument.length; ++i) {
    list.push_back(tensor(trace_.tensor_ids[argument.first + i]));
  }
  return ops::Value(TensorList(list));
}

void PlanRunner::divide() {
  std::vector<uint8_t> capturable(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].releases = plan_.steps[i].releases;
    capturable[i] = can_be_captured(i) ? 1 : 0;
  }
  parts_.clear();
  for (PlanPart& plan : divide_plan(trace_, plan_, capturable)) {
    Part& part = parts_.emplace_back(std::move(plan));
    if (!part.plan.may_be_graph || !can_be_kept(part.plan)) continue;
    part.graphs = PlanGraphs::make(steps_[part.plan.first].device);
    if (part.graphs == nullptr) continue;
    for (size_t i = part.plan.first; i < part.plan.end; ++i) {
      std::erase_if(steps_[i].releases, [&](uint32_t storage) {
        return std::ranges::find(part.plan.releases, storage) != part.plan.releases.end();
      });
    }
    hash_params(part);
  }
}

bool PlanRunner::can_be_captured(size_t step) const {
  const Device device = steps_[0].device;
  const ops::Op& op = *steps_[step].op;
  if (!device.is_accelerator() || steps_[step].device != device) return false;
  if (op.random && !op.kernel(device.type).draws_in_graphs) return false;
  if (steps_[step].varies) return false;
  bool is_all_there = true;
  each_storage(trace_, plan_.steps[step], [&](uint32_t storage, int64_t) {
    is_all_there &= storage == kNumberStorage || trace_.storages[storage].device == device ||
                    is_host_number(storage);
  });
  return is_all_there;
}

bool PlanRunner::can_be_kept(const PlanPart& part) const {
  std::vector<uint8_t> is_counted(trace_.storages.size());
  size_t bytes = 0;
  for (size_t i = part.first; i < part.end; ++i) {
    each_storage(trace_, plan_.steps[i], [&](uint32_t storage, int64_t) {
      if (storage == kNumberStorage || is_counted[storage] != 0) return;
      is_counted[storage] = 1;
      if (trace_.storages[storage].is_unallocated != 0)
        bytes += trace_.storages[storage].size_bytes;
    });
  }
  return can_device_keep(bytes, steps_[part.first].device);
}

// A graph would not read again what the host reads while an op is launched. Of pointwise ops that
// is the value of a CPU tensor without dims: part of the graph's key.
bool PlanRunner::is_host_number(uint32_t storage) const {
  const StorageRecord& record = trace_.storages[storage];
  if (!record.device.is_host() || record.is_unallocated != 0 ||
      record.size_bytes > sizeof(HostNumber)) {
    return false;
  }
  return std::ranges::all_of(trace_.ops, [&](const OpRecord& op) {
    const auto is_it = [&](uint32_t id) {
      return id != kNoTensor && trace_.tensors[id].storage == storage;
    };
    const auto is_value = [&](uint32_t id) {
      return !is_it(id) || (op.is_pointwise != 0 && trace_.tensors[id].rank == 0);
    };
    return std::ranges::all_of(trace_.operands(op), is_value) &&
           std::ranges::none_of(trace_.outputs(op), is_it);
  });
}

void PlanRunner::add_to_key(const StorageImpl& storage) {
  if (!storage.device().is_host()) {
    graph_key_.push_back(reinterpret_cast<uintptr_t>(storage.raw_data()));
    return;
  }
  HostNumber number{};
  std::memcpy(number.data(), storage.raw_data(), storage.size_bytes());
  graph_key_.insert(graph_key_.end(), number.begin(), number.end());
}

bool PlanRunner::has_params(std::span<const ops::PointwiseParams> params,
                            std::span<const uint64_t> numbers) const {
  if (params.empty() && plan_.fixed_numbers.empty()) return true;  // all are known to be the same
  const bool has_numbers = std::ranges::all_of(plan_.fixed_numbers, [&](const FixedNumber& fixed) {
    return numbers[fixed.index] == fixed.bits;
  });
  return has_numbers && std::ranges::all_of(plan_.fused_ops, [&](uint32_t op) {
           return op >= params.size() ||
                  std::memcmp(&params[op], &trace_.params[op], sizeof(ops::PointwiseParams)) == 0;
         });
}

void PlanRunner::mark_other_params(const Trace& other, std::vector<uint8_t>& ops) const {
  for (size_t i = 0; i < other.params.size(); ++i) {
    const bool is_same =
        std::memcmp(&other.params[i], &trace_.params[i], sizeof(ops::PointwiseParams)) == 0;
    if (!is_same) ops[i] = 1;
  }
  for (const FixedNumber& fixed : plan_.fixed_numbers) {
    if (other.numbers[fixed.index] == fixed.bits) continue;
    for (size_t i = 0; i < trace_.ops.size(); ++i) {
      const bool reads = std::ranges::any_of(trace_.operands(trace_.ops[i]), [&](uint32_t id) {
        return id != kNoTensor && trace_.tensors[id].storage == kNumberStorage &&
               trace_.tensors[id].offset == fixed.index;
      });
      if (reads) ops[i] = 1;
    }
  }
}

void PlanRunner::take_params(const Trace& recorded) {
  note_varying(recorded);
  std::ranges::copy(recorded.params, trace_.params.begin());
  std::ranges::copy(recorded.param_bits, trace_.param_bits.begin());
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const OpRecord& op = trace_.ops[plan_.steps[i].first_op];
    if (step.call != nullptr) step.call->params = trace_.params[plan_.steps[i].first_op];
    if (!step.args.empty() && takes_numbers_at_run_time(*step.op)) take_numbers(step, op);
  }
  for (Part& part : parts_) {
    if (part.graphs != nullptr) hash_params(part);
  }
}

// An optimizer that counts its steps would keep all of its part from being captured.
void PlanRunner::note_varying(const Trace& recorded) {
  bool found = false;
  for (const Part& part : parts_) {
    if (part.graphs == nullptr) continue;
    for (size_t i = part.plan.first; i < part.plan.end; ++i) {
      if (!has_other_numbers(plan_.steps[i], recorded)) continue;
      Step& step = steps_[i];
      const bool changed_before = step.changed_at + 1 == runs_;
      step.changed_at = runs_;
      step.varies = changed_before && part.runs_without_graph >= kRunsWithoutGraph;
      found |= step.varies;
    }
  }
  if (found) divide();
}

// The op over lists has other numbers than in the run before.
bool PlanRunner::has_other_numbers(const PlanStep& step, const Trace& recorded) const {
  const OpRecord& op = trace_.ops[step.first_op];
  if (!takes_numbers_at_run_time(*op.op)) return false;
  const std::span given(recorded.param_bits);  // of the first ops; the others' are the same
  const size_t first = std::min<size_t>(op.first_argument, given.size());
  const auto numbers =
      given.subspan(first, std::min<size_t>(op.argument_count, given.size() - first));
  return !std::ranges::equal(numbers, std::span(trace_.param_bits).subspan(first, numbers.size()));
}

// A captured graph has them inside.
void PlanRunner::hash_params(Part& part) const {
  uint64_t hash = 0;
  for (size_t i = part.plan.first; i < part.plan.end; ++i) {
    const uint32_t index = plan_.steps[i].first_op;
    const OpRecord& op = trace_.ops[index];
    if (steps_[i].call != nullptr) {
      hash = hash * 31 + hash_of(&trace_.params[index], sizeof(ops::PointwiseParams));
    } else if (takes_numbers_at_run_time(*op.op)) {
      hash = hash * 31 +
             hash_of(&trace_.param_bits[op.first_argument], op.argument_count * sizeof(uint64_t));
    }
  }
  part.params_hash = hash;
}

void PlanRunner::run(Storages storages, const Trace& recorded, size_t& done) {
  has_run_ = false;
  ++runs_;
  std::ranges::copy(recorded.numbers, numbers_.begin());
  std::ranges::copy(recorded.numbers, trace_.numbers.begin());
  if (!recorded.params.empty()) take_params(recorded);
  for (const uint32_t storage : plan_.unwritten) storages[storage]->allocate_now();
  size_t launches = 0;
  for (Part& part : parts_) {
    run_part(part, storages, done);
    launches += part.launches;
  }
  launches_ = launches;
  done = trace_.ops.size();
  has_run_ = true;
}

void PlanRunner::run_part(Part& part, Storages storages, size_t& done) {
  if (part.graphs == nullptr) return launch(part, storages, done);
  // A captured graph would go on running what it has captured.
  if (are_groups_final() && replay(part, storages)) {
    part.runs_without_graph = 0;
  } else {
    ++part.runs_without_graph;
    launch(part, storages, done);
  }
  for (const uint32_t storage : part.plan.releases) storages[storage]->release_bytes();
}

bool PlanRunner::replay(Part& part, Storages storages) {
  const runtime::Stream stream = part.graphs->stream();
  if (!stream) return false;
  graph_key_.clear();
  for (const uint32_t storage : part.plan.inputs) {
    add_to_key(*storages[plan_.buffer_of[storage]]);
  }
  for (const uint32_t number : part.plan.numbers) graph_key_.push_back(numbers_[number]);
  graph_key_.push_back(part.params_hash);
  try {
    allocate_outputs(part, storages, stream);
    for (const uint32_t storage : part.copied) storages[storage]->allocate_now();
  } catch (...) {  // launching needs less at once, and its error names the op
    release_outputs(part.plan, storages);
    for (const uint32_t storage : part.copied) storages[storage]->release_bytes();
    return false;
  }
  for (const uint32_t storage : part.plan.outputs) add_to_key(*storages[storage]);
  const PlanGraphs::Found found = part.graphs->replay(graph_key_, stream, results_);
  if (found == PlanGraphs::Found::kNothing) return false;
  if (found == PlanGraphs::Found::kWorthCapturing && !capture(part, storages, stream)) return false;
  runtime::DeviceRuntime& runtime = stream.runtime();
  for (size_t i = 0; i < part.copied.size(); ++i) {
    const StorageImpl& storage = *storages[part.copied[i]];
    runtime::copy_between_devices(runtime, storage.raw_data(), runtime, results_[i],
                                  storage.size_bytes());
  }
  return true;
}

bool PlanRunner::capture(Part& part, Storages storages, runtime::Stream stream) {
  return part.graphs->capture(
      graph_key_, stream,
      [&] {
        std::vector<Storage> inside;  // of the graph's pool, like all that it allocates
        std::vector<StorageImpl*> own(storages.begin(), storages.end());
        results_.clear();
        for (const uint32_t storage : part.copied) {
          const StorageImpl& real = *storages[storage];
          inside.push_back(StorageImpl::allocate(real.size_bytes(), real.device()));
          own[storage] = inside.back().get();
          results_.push_back(own[storage]->raw_data());
        }
        size_t done = 0;
        try {
          launch(part, own, done);
        } catch (...) {
          release_intermediates(part.plan, storages);
          throw;
        }
      },
      results_);
}

void PlanRunner::allocate_outputs(Part& part, Storages storages, runtime::Stream stream) {
  size_t in_use = part.plan.outputs.size();  // of those that the last graph like this one wrote
  for (uint64_t use = UINT64_MAX; use != 0;) {
    use = part.graphs->find_known(graph_key_, stream, use, known_outputs_);
    if (use == 0) break;
    const size_t found = allocate_outputs_at(part.plan, storages, known_outputs_);
    if (found == part.plan.outputs.size()) {
      part.times_kept.clear();
      return;
    }
    if (in_use == part.plan.outputs.size()) in_use = found;
  }
  if (in_use != part.plan.outputs.size()) note_kept(part, in_use);
  for (const uint32_t storage : part.plan.outputs) storages[storage]->allocate_now();
}

// A loss that is put in a list never gives its memory back: nothing that is made beside it would
// be replayed.
void PlanRunner::note_kept(Part& part, size_t output) {
  const uint32_t storage = part.plan.outputs[output];
  part.times_kept.resize(part.plan.outputs.size());
  if (++part.times_kept[output] < kTimesKept || !can_be_copied(storage)) return;
  std::unique_ptr<PlanGraphs> graphs = PlanGraphs::make(steps_[part.plan.first].device);
  if (graphs == nullptr) return;
  part.graphs = std::move(graphs);  // of other keys
  part.copied.push_back(storage);
  part.plan.outputs.erase(part.plan.outputs.begin() + static_cast<std::ptrdiff_t>(output));
  part.times_kept.clear();
}

bool PlanRunner::can_be_copied(uint32_t storage) const {
  const bool is_donated = std::ranges::count(plan_.buffer_of, storage) > 1;
  return !is_donated && trace_.storages[storage].size_bytes <= kCopiedBytes;
}

// How many of the first got these addresses. Not all: some are in use, and none has memory.
size_t PlanRunner::allocate_outputs_at(const PlanPart& part,
                                       Storages storages,
                                       std::span<const uint64_t> addresses) {
  for (size_t i = 0; i < part.outputs.size(); ++i) {
    StorageImpl& storage = *storages[part.outputs[i]];
    const auto* const address = reinterpret_cast<const void*>(addresses[i]);
    const runtime::AddressHint hint(address);
    storage.allocate_now();
    if (storage.raw_data() == address) continue;
    release_outputs(part, storages);
    return i;
  }
  return part.outputs.size();
}

void PlanRunner::release_outputs(const PlanPart& part, Storages storages) {
  for (const uint32_t storage : part.outputs) storages[storage]->release_bytes();
}

void PlanRunner::release_intermediates(const PlanPart& part, Storages storages) {
  for (size_t i = part.first; i < part.end; ++i) {
    for (const uint32_t storage : steps_[i].releases) storages[storage]->release_bytes();
  }
}

bool PlanRunner::are_groups_final() {
  are_groups_final_ = are_groups_final_ || std::ranges::all_of(steps_, [](const Step& step) {
                        return step.group == nullptr || step.group->is_final();
                      });
  return are_groups_final_;
}

void PlanRunner::rebind(Storages storages, uint32_t storage) {
  if (!proxies_[storage]) return;
  proxies_[storage]->rebind(storages[plan_.buffer_of[storage]]->raw_data());
}

void PlanRunner::launch(Part& part, Storages storages, size_t& done) {
  runtime::SharedWorkspace workspace(workspace_bytes_);
  launches_ = 0;
  for (const uint32_t storage : part.plan.inputs) rebind(storages, storage);
  for (size_t i = part.plan.first; i < part.plan.end; ++i) {
    done = plan_.steps[i].first_op;
    run_step(steps_[i], plan_.steps[i], storages);
  }
  part.launches = launches_;
}

void PlanRunner::run_step(Step& step, const PlanStep& plan, Storages storages) {
  for (const uint32_t storage : plan.allocates) {
    storages[storage]->allocate_now();
    rebind(storages, storage);
  }
  for (const uint32_t storage : plan.donated) rebind(storages, storage);
  if (MT_UNLIKELY(profiler::wants(profiler::kHost))) {
    const profiler::Span span(
        {.kind = profiler::Kind::kPipeline, .name = name_of(plan), .is_on_any_thread = true});
    launch_step(step, plan, storages);
  } else {
    launch_step(step, plan, storages);
  }
  for (const uint32_t storage : step.releases) storages[storage]->release_bytes();
}

void PlanRunner::launch_step(Step& step, const PlanStep& plan, Storages storages) {
  if (step.group != nullptr) {
    const ops::FusedProgram* const program = step.group->program();
    return program == nullptr ? run_singles(step, plan, storages)
                              : launch_fused(step, *program, plan, storages);
  }
  ++launches_;
  if (step.pattern != nullptr) {
    ops::Launch launch = make_launch(step.device);
    step.pattern->launch(launch, step.match);
  } else if (step.call != nullptr) {
    launch_pointwise(step.engine, *step.call, step.device, step.outputs[0]);
  } else {
    launch_kernel(*step.op, step.device, step.args, step.outputs);
  }
}

std::string PlanRunner::name_of(const PlanStep& step) const {
  if (step.match) return std::string(step.match->pattern->name);
  if (!step.is_fused) return trace_.ops[step.first_op].op->schema.name;
  std::string names;
  for (const uint32_t member : step.members) {
    names += (names.empty() ? "" : ", ") + trace_.ops[member].op->schema.name;
  }
  return "fused(" + names + ")";
}

void PlanRunner::launch_fused(const Step& step,
                              const ops::FusedProgram& program,
                              const PlanStep& plan,
                              Storages storages) {
  ++launches_;
  addresses_.clear();
  for (const TensorAddress& address : plan.addresses) {
    char* const base = address.storage == kNumberStorage
                           ? reinterpret_cast<char*>(numbers_.data())
                           : static_cast<char*>(storages[address.storage]->raw_data());
    addresses_.push_back(base + address.offset_bytes);
  }
  ops::Launch launch = make_launch(step.device);
  program.run(launch, addresses_);
}

void PlanRunner::run_singles(Step& step, const PlanStep& plan, Storages storages) {
  if (step.singles == nullptr) {
    auto made = std::make_unique<Singles>(single_steps(trace_, plan_, plan));
    made->steps.resize(made->plan.size());
    for (size_t i = 0; i < made->plan.size(); ++i) prepare(made->steps[i], made->plan[i]);
    step.singles = std::move(made);
  }
  // The group as one needs no proxies: nothing else keeps them up to date.
  for (const uint32_t member : plan.members) {
    const OpRecord& op = trace_.ops[member];
    for (size_t k = 0; k < size_t{op.operand_count} + op.output_count; ++k) {
      const uint32_t id = trace_.tensor_ids[op.first_id + k];
      if (id == kNoTensor || trace_.tensors[id].storage == kNumberStorage) continue;
      rebind(storages, trace_.tensors[id].storage);
    }
  }
  for (size_t i = 0; i < step.singles->steps.size(); ++i) {
    run_step(step.singles->steps[i], step.singles->plan[i], storages);
  }
}

}  // namespace mindtorch::dispatch
