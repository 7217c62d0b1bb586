#include "simulator/ascend/nnopbase/executor.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"

// What the caller holds. It outlives the plan, so that a use after phase two is recognised.
struct aclOpExecutor {
  std::shared_ptr<sim::Plan> plan;  // null: used up
  const char* op = "";
  bool repeatable = false;
};

namespace sim {
namespace {

constexpr size_t kKept = 1 << 16;  // used-up executors that are still recognised

class Executors {
 public:
  aclOpExecutor* add(std::shared_ptr<Plan> plan) {
    auto executor = std::make_unique<aclOpExecutor>();
    executor->op = plan->op;
    executor->plan = std::move(plan);
    const std::scoped_lock lock(mutex_);
    aclOpExecutor* const handle = executor.get();
    all_[handle] = std::move(executor);
    return handle;
  }

  // The executor, if phase one made it and it was not used up; else null, and why in `problem`.
  aclOpExecutor* find(aclOpExecutor* handle, std::string* problem) {
    const std::scoped_lock lock(mutex_);
    const auto found = all_.find(handle);
    if (found == all_.end()) {
      *problem = "the executor is not one that a GetWorkspaceSize call returned";
      return nullptr;
    }
    if (found->second->plan == nullptr) {
      *problem = std::string("the executor was used up by an earlier ") + found->second->op +
                 " or aclDestroyAclOpExecutor call";
      return nullptr;
    }
    return handle;
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

std::string prefixed(const char* function, const std::string& text) {
  return std::string(function) + ": " + text + ".";
}

aclnnStatus check_objects(const Plan& plan) {
  for (size_t i = 0; i < plan.objects.size(); ++i) {
    if (object_id(plan.objects[i].first) == plan.objects[i].second) continue;
    return fail(kInvalid, prefixed(plan.op, std::string(plan.object_names[i]) +
                                                " was destroyed before phase two returned"));
  }
  for (const Slot& slot : plan.slots) {
    if (slot.tensor->data == nullptr && slot.view.numel() > 0) {
      return fail(kNullPointer,
                  prefixed(plan.op, std::string(slot.name) + " has a null data address"));
    }
  }
  return 0;
}

aclnnStatus start(const std::shared_ptr<Plan>& plan,
                  void* workspace,
                  uint64_t workspace_size,
                  aclOpExecutor* executor,
                  aclrtStream stream) {
  const bool needs = plan->workspace_bytes > 0;
  if (workspace == nullptr && (needs || workspace_size > 0)) {
    return fail(kNullPointer, prefixed(plan->op, "workspace is null but workspaceSize is not 0"));
  }
  if (workspace_size < plan->workspace_bytes) {
    return fail(kInvalid,
                prefixed(plan->op, "workspaceSize is " + std::to_string(workspace_size) + ", " +
                                       std::to_string(plan->workspace_bytes) + " are needed"));
  }
  if (const aclnnStatus status = check_objects(*plan)) return status;
  if (!plan->body) return 0;
  Launch launch(plan, static_cast<char*>(workspace));
  Task task;
  task.name = plan->op;
  task.accesses = launch.accesses();
  task.executor = executor;
  task.run = [launch]() mutable { return launch.run(); };
  return enqueue(stream, std::move(task)) == 0 ? 0 : kRuntimeError;
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
    return fail(kInnerNull, prefixed(function, "executor or tensor is null"));
  }
  std::string problem;
  if (executors().find(executor, &problem) == nullptr) {
    return fail(kInvalid, prefixed(function, problem));
  }
  for (const Slot& slot : executor->plan->slots) {
    if (!on_side(slot, side) || index-- > 0) continue;
    if (slot.tensor != tensor || object_id(tensor) == 0) {
      return fail(kInvalid, prefixed(function, "the tensor is not the one at that index (" +
                                                   std::string(slot.name) + ")"));
    }
    const_cast<aclTensor*>(tensor)->data = address;
    return 0;
  }
  return fail(kInvalid, prefixed(function, "index is out of range"));
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
    return fail(kInnerNull, prefixed(function, "executor or tensors is null"));
  }
  std::string problem;
  if (executors().find(executor, &problem) == nullptr) {
    return fail(kInvalid, prefixed(function, problem));
  }
  if (object_id(list) == 0) return fail(kInvalid, prefixed(function, "tensors was destroyed"));
  for (const Slot& slot : executor->plan->slots) {
    if (!on_side(slot, side) || slot.parameter != parameter || slot.member != member) continue;
    if (member >= list->tensors.size() || list->tensors[member] != slot.tensor) continue;
    const_cast<aclTensor*>(slot.tensor)->data = address;
    return 0;
  }
  return fail(kInvalid, prefixed(function, "no such tensor at irIndex and relativeIndex"));
}

}  // namespace

const char* lasting(const std::string& text) {
  static std::mutex* const mutex = new std::mutex;
  static std::set<std::string>* const texts = new std::set<std::string>;
  const std::scoped_lock lock(*mutex);
  return texts->insert(text).first->c_str();
}

Launch::Launch(std::shared_ptr<const Plan> plan, char* workspace)
    : plan_(std::move(plan)), workspace_(workspace) {
  for (const Slot& slot : plan_->slots) {
    View source = slot.view;
    source.data = static_cast<char*>(slot.tensor->data) + slot.tensor->offset * source.item();
    sources_.push_back(source);
    views_.push_back(slot.packed_at < 0
                         ? source
                         : contiguous_view(workspace + slot.packed_at, source.dtype, source.shape));
  }
}

std::vector<Access> Launch::accesses() const {
  std::vector<Access> accesses;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Slot& slot = plan_->slots[i];
    const View& view = sources_[i];
    if (view.numel() == 0) continue;
    Access access;
    access.data = view.data;
    access.name = slot.name;
    access.bytes = static_cast<size_t>(view.item());
    if (view.contiguous()) {
      access.bytes *= static_cast<size_t>(view.numel());
    } else {
      access.shape = view.shape;
      access.strides = view.strides;
      for (int64_t& stride : access.strides) stride *= view.item();
    }
    for (const bool write : {false, true}) {
      if (write ? !slot.write : !slot.read) continue;
      access.write = write;
      accesses.push_back(access);
    }
  }
  if (plan_->workspace_bytes > 0) {
    accesses.push_back({workspace_, plan_->workspace_bytes, true, {}, {}, "workspace"});
  }
  return accesses;
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

aclError Launch::run() {
  for (size_t i = 0; i < views_.size(); ++i) {
    if (plan_->slots[i].packed_at >= 0) copy_elements(views_[i], sources_[i]);
  }
  try {
    plan_->body(*this);
  } catch (const DeviceFault& fault) {
    return fail(fault.code, prefixed(plan_->op, fault.text));
  }
  return 0;
}

aclOpExecutor* make_executor(std::shared_ptr<Plan> plan) {
  return executors().add(std::move(plan));
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
  if (executor == nullptr) return fail(kNullPointer, prefixed(op, "executor is null"));
  std::string problem;
  if (executors().find(executor, &problem) == nullptr) {
    return fail(kInvalid, prefixed(op, problem));
  }
  aclnnStatus status = 0;
  if (std::string(op) != executor->op) {
    status = fail(kInvalid, prefixed(op, std::string("the executor is one of ") + executor->op));
  } else {
    status = start(executor->plan, workspace, workspace_size, executor, stream);
  }
  if (!executor->repeatable) executors().use_up(executor);
  return status;
}

}  // namespace sim

using namespace sim;

extern "C" {

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  const char* const function = "aclSetAclOpExecutorRepeatable";
  if (const aclError error = enter_call(function)) return error;
  if (executor == nullptr) return fail(kInnerNull, prefixed(function, "executor is null"));
  std::string problem;
  if (executors().find(executor, &problem) == nullptr) {
    return fail(kInner, prefixed(function, problem));
  }
  executor->repeatable = true;
  return 0;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  const char* const function = "aclDestroyAclOpExecutor";
  if (const aclError error = enter_call(function)) return error;
  if (executor == nullptr) return fail(kInnerNull, prefixed(function, "executor is null"));
  std::string problem;
  if (executors().find(executor, &problem) == nullptr) {
    return fail(kInvalid, prefixed(function, problem));
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
