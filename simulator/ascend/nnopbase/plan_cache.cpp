// Note [Cache of phase one] is in the header.
#include "simulator/ascend/nnopbase/plan_cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "simulator/ascend/core/task.h"

namespace sim {
namespace {

struct Kept {
  std::shared_ptr<const Plan> plan;
  std::vector<size_t> places;  // of each slot's address among those that the program tells
};

size_t most_kept() {
  const char* const limit = std::getenv("ACLNN_CACHE_LIMIT");
  const long number = limit ? std::atol(limit) : 0;
  return number > 0 ? static_cast<size_t>(number) : 10000;
}

// What one thread told last, and what it keeps.
struct ThreadCache {
  bool active = false;
  std::string key;  // empty: not to be kept
  std::vector<void*> addresses;
  std::unordered_map<std::string, Kept> kept;
  std::deque<std::string> oldest;

  void keep(Kept&& entry) {
    static const size_t most = most_kept();
    if (!kept.insert_or_assign(key, std::move(entry)).second) return;
    oldest.push_back(key);
    if (oldest.size() <= most) return;
    kept.erase(oldest.front());
    oldest.pop_front();
  }
};

ThreadCache& cache() {
  static thread_local ThreadCache of_thread;
  return of_thread;
}

const char* tensors_of(const char* op) {
  static const auto* const table = [] {
    auto* made = new std::unordered_map<std::string_view, const char*>;
    for (const OpTensors* entry = sim_op_tensors; entry->op; ++entry) {
      (*made)[entry->op] = entry->names;
    }
    return made;
  }();
  const auto found = table->find(op);
  return found == table->end() ? nullptr : found->second;
}

// Where the slot's parameter begins in the list of names; npos: it is none of them.
size_t parameter_at(std::string_view names, std::string_view slot) {
  const std::string name = std::string(slot.substr(0, slot.find('['))) + " ";
  if (names.substr(0, name.size()) == name) return 0;
  return names.find(" " + name);
}

// Which address is which slot's. False: the op leaves a tensor unused, or knows it by another name.
bool assign(const Plan& plan, const std::vector<void*>& addresses, std::vector<size_t>& places) {
  const char* const names = tensors_of(plan.name);
  if (!names || plan.slots.size() != addresses.size()) return false;
  struct Place {
    size_t parameter;
    size_t member;
    size_t slot;
  };
  std::vector<Place> order;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const size_t parameter = parameter_at(names, plan.slots[i].name);
    if (parameter == std::string_view::npos) return false;
    order.push_back({parameter, plan.slots[i].member, i});
  }
  std::sort(order.begin(), order.end(), [](const Place& a, const Place& b) {
    return a.parameter != b.parameter ? a.parameter < b.parameter : a.member < b.member;
  });
  places.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (plan.slots[order[i].slot].tensor->data != addresses[i]) return false;
    places[order[i].slot] = i;
  }
  return true;
}

aclOpExecutor* find(const std::string& key, uint64_t* workspace_size) {
  ThreadCache& own = cache();
  const auto found = own.kept.find(key);
  if (found == own.kept.end() || found->second.places.size() != own.addresses.size()) {
    return nullptr;
  }
  const Kept& kept = found->second;
  std::vector<void*> addresses(kept.places.size());
  for (size_t i = 0; i < addresses.size(); ++i) addresses[i] = own.addresses[kept.places[i]];
  *workspace_size = kept.plan->workspace_bytes;
  return make_bound_executor(kept.plan, std::move(addresses));
}

std::string key_of(uint64_t hash) {
  return hash ? std::string(reinterpret_cast<const char*>(&hash), sizeof hash) : std::string();
}

std::string key_of(const uint8_t* bytes, size_t length) {
  return bytes ? std::string(reinterpret_cast<const char*>(bytes), length) : std::string();
}

}  // namespace

bool has_key() { return cache().active && !cache().key.empty(); }

void offer(const std::shared_ptr<Plan>& plan) {
  Kept entry{plan, {}};
  if (assign(*plan, cache().addresses, entry.places)) cache().keep(std::move(entry));
}

}  // namespace sim

using namespace sim;

extern "C" {

SIM_API bool CanUsePTACache(const char* api) { return api && enter_call("CanUsePTACache") == 0; }

SIM_API void InitPTACacheThreadLocal() {
  ThreadCache& own = cache();
  own.active = true;
  own.key.clear();
  own.addresses.clear();
}

SIM_API void UnInitPTACacheThreadLocal() { cache().active = false; }

SIM_API void AddTensorAddrToCachedList(void* addr) { cache().addresses.push_back(addr); }

SIM_API void SetPTAHashKey(uint64_t hash) { cache().key = key_of(hash); }

SIM_API void SetPTACacheHashKey(uint8_t* key, size_t len) { cache().key = key_of(key, len); }

SIM_API aclOpExecutor* PTAGetExecCache(uint64_t hash, uint64_t* workspaceSize) {
  if (!workspaceSize || enter_call("PTAGetExecCache")) return nullptr;
  return find(key_of(hash), workspaceSize);
}

SIM_API aclOpExecutor* PTAFindExecCache(uint8_t* buf, size_t len, uint64_t* workspaceSize) {
  if (!workspaceSize || enter_call("PTAFindExecCache")) return nullptr;
  return find(key_of(buf, len), workspaceSize);
}

}  // extern "C"
