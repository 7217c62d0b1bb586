#include "simulator/ascend/nnopbase/executor.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <set>
#include <unordered_map>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/quick.h"
#include "simulator/ascend/core/site.h"
#include "simulator/ascend/nnopbase/nibbles.h"

// What the caller holds. It outlives the plan, so that a use after phase two is recognised.
struct aclOpExecutor {
  std::shared_ptr<const sim::Plan> plan;  // null: used up
  const char* op = "";
  bool repeatable = false;
  std::vector<void*> addresses;  // of the slots' tensors; none: their descriptions have them
  std::string note;              // where phase one was called
};

namespace sim {
namespace {

constexpr int kAicoreException = 507015;
constexpr size_t kKept = 256;  // used-up executors that are still recognised

class Executors {
 public:
  aclOpExecutor* add(std::shared_ptr<const Plan> plan, std::vector<void*> addresses) {
    auto executor = std::make_unique<aclOpExecutor>();
    executor->op = plan->name;
    executor->plan = std::move(plan);
    executor->addresses = std::move(addresses);
    if (!quick()) executor->note = found_note();
    const std::scoped_lock lock(mutex_);
    aclOpExecutor* const handle = executor.get();
    all_[handle] = std::move(executor);
    return handle;
  }

  // Whether phase one made the executor and it was not used up; if not, why in `problem`.
  bool usable(aclOpExecutor* handle, std::string* problem) {
    if (quick() && handle->plan) return true;
    const std::scoped_lock lock(mutex_);
    const auto found = all_.find(handle);
    if (found == all_.end()) {
      *problem = "the executor is not one that a GetWorkspaceSize call returned";
    } else if (found->second->plan == nullptr) {
      *problem = std::string("the executor was used up by an earlier ") + found->second->op +
                 " or aclDestroyAclOpExecutor call";
    } else {
      return true;
    }
    return false;
  }

  void use_up(aclOpExecutor* handle) {
    const std::scoped_lock lock(mutex_);
    handle->plan.reset();
    used_.push_back(handle);
    if (used_.size() > kKept) {
      all_.erase(used_.front());
      used_.pop_front();
    }
  }

 private:
  std::mutex mutex_;
  std::unordered_map<aclOpExecutor*, std::unique_ptr<aclOpExecutor>> all_;
  std::deque<aclOpExecutor*> used_;
};

Executors& executors() {
  static Executors* const instance = new Executors;
  return *instance;
}

aclnnStatus check_objects(const Plan& plan) {
  for (size_t i = 0; i < plan.objects.size() && !quick(); ++i) {
    if (object_id(plan.objects[i].first) == plan.objects[i].second) continue;
    return fail(kInvalid,
                std::string(plan.object_names[i]) + " was destroyed before phase two returned");
  }
  for (const Slot& slot : plan.slots) {
    if (slot.tensor->data != nullptr || slot.empty) continue;
    return fail(kNullPointer, std::string(slot.name) + " has a null data address");
  }
  return 0;
}

// The same for addresses that do not come from descriptions.
aclnnStatus check_bound(const Plan& plan, void* const* bound) {
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    if (bound[i] != nullptr || plan.slots[i].empty) continue;
    return fail(kNullPointer, std::string(plan.slots[i].name) + " has a null data address");
  }
  return 0;
}

aclnnStatus check_workspace(const Plan& plan, const void* workspace, uint64_t size) {
  if (workspace == nullptr && (plan.workspace_bytes > 0 || size > 0)) {
    return fail(kNullPointer, "workspace is null but workspaceSize is not 0");
  }
  if (size >= plan.workspace_bytes) return 0;
  return fail(kInvalid, "workspaceSize is " + std::to_string(size) + ", " +
                            std::to_string(plan.workspace_bytes) + " are needed");
}

void* address_of(const Slot& slot) {
  return static_cast<char*>(slot.tensor->data) + slot.byte_offset;
}

// `bound`: addresses that do not come from descriptions; null: none.
void* address_of(const Plan& plan, size_t slot, void* const* bound) {
  if (!bound) return address_of(plan.slots[slot]);
  return static_cast<char*>(bound[slot]) + plan.slots[slot].byte_offset;
}

// The bytes from the first to the last nibble.
void cover_nibbles(const Slot& slot, Access* access) {
  int64_t low = slot.nibble;
  int64_t high = slot.nibble;
  for (size_t i = 0; i < slot.view.shape.size(); ++i) {
    const int64_t reach = slot.view.strides[i] * (slot.view.shape[i] - 1);
    (reach < 0 ? low : high) += reach;
  }
  access->data += low >> 1;
  access->bytes = static_cast<size_t>((high >> 1) - (low >> 1) + 1);
}

Access access_of(const Slot& slot, void* address) {
  const View& view = slot.view;
  Access access;
  access.data = static_cast<char*>(address);
  access.name = slot.name;
  access.bytes = static_cast<size_t>(view.item());
  if (slot.nibbles()) {
    cover_nibbles(slot, &access);
  } else if (view.contiguous()) {
    access.bytes *= static_cast<size_t>(view.numel());
  } else {
    access.shape = view.shape;
    access.strides = view.strides;
    for (int64_t& stride : access.strides) stride *= view.item();
  }
  return access;
}

// What the op touches, for the checks.
std::vector<Access> accesses_of(const Plan& plan,
                                void* workspace,
                                void* const* bound,
                                const Constants* constants = nullptr) {
  std::vector<Access> accesses;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.empty || (constants != nullptr && constants->count(slot.tensor) != 0)) continue;
    void* const address = address_of(plan, i, bound);
    const Access viewed = access_of(slot, address);
    for (const bool write : {false, true}) {
      if (write ? !slot.write : !slot.read) continue;
      Access access = viewed;
      const int64_t bytes = write ? slot.write_bytes : slot.read_bytes;
      if (bytes >= 0) {
        access = {
            static_cast<char*>(address), static_cast<size_t>(bytes), write, {}, {}, slot.name};
      }
      access.write = write;
      accesses.push_back(std::move(access));
    }
  }
  if (plan.workspace_bytes > 0 && workspace != nullptr) {
    accesses.push_back(
        {static_cast<char*>(workspace), plan.workspace_bytes, true, {}, {}, "workspace"});
  }
  return accesses;
}

// Phase two with its arguments in order.
aclError start_quickly(std::shared_ptr<const Plan> plan,
                       void* const* bound,
                       void* workspace,
                       aclrtStream stream) {
  std::array<void*, kMostArguments> arguments;
  const size_t slots = plan->slots.size();
  for (size_t i = 0; i < slots; ++i) arguments[i] = address_of(*plan, i, bound);
  arguments[slots] = workspace;
  return launch(stream, std::move(plan), arguments.data(), slots + 1);
}

aclError start_with_books(std::shared_ptr<const Plan> plan,
                          void* const* bound,
                          void* workspace,
                          aclOpExecutor* executor,
                          aclrtStream stream) {
  Task task;
  task.name = plan->name;
  task.accesses = accesses_of(*plan, workspace, bound);
  task.executor = executor;
  std::vector<void*> arguments;
  for (size_t i = 0; i < plan->slots.size(); ++i) {
    arguments.push_back(address_of(*plan, i, bound));
  }
  arguments.push_back(workspace);
  task.run = [own = std::move(plan), values = std::move(arguments)] {
    return own->run(values.data());
  };
  return enqueue(stream, std::move(task));
}

aclnnStatus start(std::shared_ptr<const Plan> plan,
                  void* workspace,
                  uint64_t workspace_size,
                  aclOpExecutor* executor,
                  aclrtStream stream) {
  if (const aclnnStatus status = check_workspace(*plan, workspace, workspace_size)) return status;
  void* const* const bound = executor->addresses.empty() ? nullptr : executor->addresses.data();
  const aclnnStatus usable = bound ? check_bound(*plan, bound) : check_objects(*plan);
  if (usable) return usable;
  if (!plan->body) return 0;
  const aclError code = quick() && plan->slots.size() < kMostArguments
                            ? start_quickly(std::move(plan), bound, workspace, stream)
                            : start_with_books(std::move(plan), bound, workspace, executor, stream);
  return code == 0 ? 0 : kRuntimeError;
}

enum class Side { kInput, kOutput, kBoth };

bool on_side(const Slot& slot, Side side) {
  return side == Side::kBoth || (side == Side::kInput ? slot.read : slot.write);
}

aclnnStatus set_address(const char* function,
                        aclOpExecutor* executor,
                        Side side,
                        size_t index,
                        const aclTensor* tensor,
                        void* address) {
  if (const aclError error = enter_call(function)) return error;
  if (executor == nullptr || tensor == nullptr) {
    return fail(kInnerNull, "executor or tensor is null");
  }
  std::string problem;
  if (!executors().usable(executor, &problem)) {
    return fail(kInvalid, problem);
  }
  for (const Slot& slot : executor->plan->slots) {
    if (!on_side(slot, side) || index-- > 0) continue;
    if (slot.tensor != tensor || (!quick() && object_id(tensor) == 0)) {
      return fail(kInvalid,
                  "the tensor is not the one at that index (" + std::string(slot.name) + ")");
    }
    const_cast<aclTensor*>(tensor)->data = address;
    return 0;
  }
  return fail(kInvalid, "index is out of range");
}

aclnnStatus set_member_address(const char* function,
                               aclOpExecutor* executor,
                               Side side,
                               size_t parameter,
                               size_t member,
                               const aclTensorList* list,
                               void* address) {
  if (const aclError error = enter_call(function)) return error;
  if (executor == nullptr || list == nullptr) {
    return fail(kInnerNull, "executor or tensors is null");
  }
  std::string problem;
  if (!executors().usable(executor, &problem)) {
    return fail(kInvalid, problem);
  }
  if (object_id(list) == 0) return fail(kInvalid, "tensors was destroyed");
  for (const Slot& slot : executor->plan->slots) {
    if (!on_side(slot, side) || slot.parameter != parameter || slot.member != member) continue;
    if (member >= list->tensors.size() || list->tensors[member] != slot.tensor) continue;
    const_cast<aclTensor*>(slot.tensor)->data = address;
    return 0;
  }
  return fail(kInvalid, "no such tensor at irIndex and relativeIndex");
}

}  // namespace

const char* lasting(const std::string& text) {
  static std::mutex* const mutex = new std::mutex;
  static std::set<std::string>* const texts = new std::set<std::string>;
  const std::scoped_lock lock(*mutex);
  return texts->insert(text).first->c_str();
}

Launch::Launch(const Plan& plan, void* const* arguments)
    : plan_(&plan), workspace_(static_cast<char*>(arguments[plan.slots.size()])) {
  views_.reserve(plan.slots.size());
  for (const Slot& slot : plan.slots) {
    View view = slot.view;
    view.data = static_cast<char*>(arguments[views_.size()]);
    if (slot.packed_at >= 0) {
      char* const copy = workspace(static_cast<uint64_t>(slot.packed_at));
      if (slot.nibbles()) {
        if (slot.read) unpack_nibbles(view, slot.nibble, reinterpret_cast<int8_t*>(copy));
        view.dtype = ACL_INT8;
      } else {
        copy_elements(contiguous_view(copy, view.dtype, view.shape), view);
      }
      view = contiguous_view(copy, view.dtype, view.shape);
    }
    views_.push_back(std::move(view));
  }
}

void Launch::finish(void* const* arguments) const {
  for (size_t i = 0; i < views_.size(); ++i) {
    const Slot& slot = plan_->slots[i];
    if (!slot.nibbles() || !slot.write || slot.packed_at < 0) continue;
    View view = slot.view;
    view.data = static_cast<char*>(arguments[i]);
    pack_nibbles(view, slot.nibble, reinterpret_cast<const int8_t*>(views_[i].data));
  }
}

void Launch::set_shape(size_t slot, const Shape& shape) const {
  const Slot& planned = plan_->slots[slot];
  for (const auto& [object, id] : plan_->objects) {
    if (object != planned.tensor || object_id(object) != id) continue;
    auto* const tensor = const_cast<aclTensor*>(planned.tensor);
    const View view = contiguous_view(nullptr, tensor->dtype, shape);
    tensor->shape = view.shape;
    tensor->strides = view.strides;
    return;
  }
}

aclError Plan::run(void* const* arguments) const {
  if (!computes()) return 0;
  try {
    Launch launch(*this, arguments);
    body(launch);
    launch.finish(arguments);
  } catch (const DeviceFault& fault) {
    set_failure_reason(fault.text);
    return fault.code;
  } catch (const std::exception& error) {  // numbers in device memory may ask for any size
    set_failure_reason(error.what());
    return kAicoreException;
  }
  return 0;
}

aclOpExecutor* make_executor(std::shared_ptr<Plan> plan) {
  return executors().add(std::move(plan), {});
}

aclOpExecutor* make_bound_executor(std::shared_ptr<const Plan> plan, std::vector<void*> addresses) {
  return executors().add(std::move(plan), std::move(addresses));
}

aclnnStatus execute(const char* op,
                    void* workspace,
                    uint64_t workspace_size,
                    aclOpExecutor* executor,
                    aclrtStream stream) {
  if (const aclError error = enter(op, {{"workspace", workspace},
                                        {"workspaceSize", workspace_size},
                                        {"executor", executor},
                                        {"stream", stream}})) {
    return error;
  }
  if (executor == nullptr) return fail(kNullPointer, "executor is null");
  std::string problem;
  if (!executors().usable(executor, &problem)) {
    return fail(kInvalid, problem);
  }
  if (!executor->repeatable && !executor->note.empty()) adopt_note(executor->note);
  static const std::atomic<uint64_t> nothing{0};
  const bool again = executor->repeatable || !executor->addresses.empty();
  const HostTime time(again ? modes.repeat_ns : nothing);
  aclnnStatus status = 0;
  if (std::strcmp(op, executor->op) != 0) {
    status = fail(kInvalid, std::string("the executor is one of ") + executor->op);
  } else {
    status = start(executor->plan, workspace, workspace_size, executor, stream);
  }
  if (!executor->repeatable) executors().use_up(executor);
  return status;
}

aclError execute_as(const char* name,
                    aclOpExecutor* executor,
                    std::shared_ptr<const Constants> constants,
                    aclrtStream stream) {
  const std::shared_ptr<const Plan> plan = executor->plan;
  executors().use_up(executor);
  if (check_objects(*plan) != 0) return ACL_ERROR_GE_FAILURE;
  if (!plan->body) return 0;
  Task task;
  task.name = name;
  task.accesses = accesses_of(*plan, nullptr, nullptr, constants.get());
  std::vector<void*> arguments;
  for (const Slot& slot : plan->slots) arguments.push_back(address_of(slot));
  task.run = [plan, values = std::move(arguments), constants = std::move(constants)] {
    std::vector<std::max_align_t> workspace(plan->workspace_bytes / sizeof(std::max_align_t));
    std::vector<void*> with_workspace = values;
    with_workspace.push_back(workspace.data());
    return plan->run(with_workspace.data());
  };
  return enqueue(stream, std::move(task));
}

}  // namespace sim

using namespace sim;

extern "C" {

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  const char* const function = "aclSetAclOpExecutorRepeatable";
  if (const aclError error = enter_call(function)) return error;
  if (executor == nullptr) return fail(kInnerNull, "executor is null");
  std::string problem;
  if (!executors().usable(executor, &problem)) {
    return fail(kInner, problem);
  }
  if (!executor->addresses.empty()) {
    return fail(kInner, "the executor came out of the cache of phase one");
  }
  executor->repeatable = true;
  return 0;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  const char* const function = "aclDestroyAclOpExecutor";
  if (const aclError error = enter_call(function)) return error;
  if (executor == nullptr) return fail(kInnerNull, "executor is null");
  std::string problem;
  if (!executors().usable(executor, &problem)) {
    return fail(kInvalid, problem);
  }
  executors().use_up(executor);
  return 0;
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor,
                                  const size_t index,
                                  aclTensor* tensor,
                                  void* addr) {
  return set_address("aclSetInputTensorAddr", executor, Side::kInput, index, tensor, addr);
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor,
                                   const size_t index,
                                   aclTensor* tensor,
                                   void* addr) {
  return set_address("aclSetOutputTensorAddr", executor, Side::kOutput, index, tensor, addr);
}
aclnnStatus aclSetTensorAddr(aclOpExecutor* executor,
                             const size_t index,
                             aclTensor* tensor,
                             void* addr) {
  return set_address("aclSetTensorAddr", executor, Side::kBoth, index, tensor, addr);
}
aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor,
                                         size_t irIndex,
                                         const size_t relativeIndex,
                                         aclTensorList* tensors,
                                         void* addr) {
  return set_member_address("aclSetDynamicInputTensorAddr", executor, Side::kInput, irIndex,
                            relativeIndex, tensors, addr);
}
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor,
                                          size_t irIndex,
                                          const size_t relativeIndex,
                                          aclTensorList* tensors,
                                          void* addr) {
  return set_member_address("aclSetDynamicOutputTensorAddr", executor, Side::kOutput, irIndex,
                            relativeIndex, tensors, addr);
}
aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor,
                                    size_t irIndex,
                                    const size_t relativeIndex,
                                    aclTensorList* tensors,
                                    void* addr) {
  return set_member_address("aclSetDynamicTensorAddr", executor, Side::kBoth, irIndex,
                            relativeIndex, tensors, addr);
}
}
