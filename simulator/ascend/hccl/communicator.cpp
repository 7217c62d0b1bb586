// Communicators: made, named, asked, destroyed. For one rank.
#include "simulator/ascend/hccl/communicator.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

using namespace sim;

namespace {

constexpr size_t kNameBytes = 128;  // with the zero
constexpr const char* kRoot = "simulated group ";

struct Books {
  std::mutex mutex;
  std::unordered_map<HcclComm, std::unique_ptr<Communicator>> all;
  std::atomic<uint64_t> made{0};
  int32_t deterministic = 0;
};

Books& books() {
  static auto* const the_books = new Books;
  return *the_books;
}

std::string next_name() {
  return kRoot + std::to_string(getpid()) + "_" + std::to_string(books().made++);
}

HcclResult make(uint32_t ranks, uint32_t rank, std::string name, HcclComm* comm) {
  if (!comm) return refuse(HCCL_E_PTR, "comm is null");
  if (!ranks || rank >= ranks) {
    return refuse(HCCL_E_PARA,
                  "there is no rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  }
  if (ranks > 1) {
    return refuse(HCCL_E_NOT_SUPPORT, "groups of more than one rank are not simulated");
  }
  int32_t device = 0;
  if (aclrtGetDevice(&device)) return HCCL_E_RUNTIME;
  auto communicator = std::make_unique<Communicator>();
  communicator->name = std::move(name);
  communicator->ranks = ranks;
  communicator->rank = rank;
  const std::scoped_lock lock(books().mutex);
  *comm = communicator.get();
  books().all[*comm] = std::move(communicator);
  return HCCL_SUCCESS;
}

HcclResult make_from_root(uint32_t ranks,
                          const HcclRootInfo* root,
                          uint32_t rank,
                          const HcclCommConfig* config,
                          HcclComm* comm) {
  if (!root) return refuse(HCCL_E_PTR, "rootInfo is null");
  if (std::strncmp(root->internal, kRoot, std::strlen(kRoot)) != 0) {
    return refuse(HCCL_E_PARA, "rootInfo is not what HcclGetRootInfo gave");
  }
  std::string name(root->internal, strnlen(root->internal, kNameBytes - 1));
  if (config && config->hcclCommName[0]) {
    name.assign(config->hcclCommName, strnlen(config->hcclCommName, kNameBytes - 1));
  }
  return make(ranks, rank, std::move(name), comm);
}

}  // namespace

Communicator* sim::find_communicator(HcclComm handle) {
  const std::scoped_lock lock(books().mutex);
  const auto found = books().all.find(handle);
  if (found != books().all.end()) return found->second.get();
  refuse(HCCL_E_PARA, handle ? "comm is no communicator, or was destroyed" : "comm is null");
  return nullptr;
}

HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  if (const HcclResult code = begin("HcclGetRootInfo", {})) return code;
  if (!rootInfo) return refuse(HCCL_E_PTR, "rootInfo is null");
  std::memset(rootInfo, 0, sizeof *rootInfo);
  const std::string name = next_name();
  std::memcpy(rootInfo->internal, name.c_str(), name.size());
  return HCCL_SUCCESS;
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks,
                                const HcclRootInfo* rootInfo,
                                uint32_t rank,
                                HcclComm* comm) {
  if (const HcclResult code = begin("HcclCommInitRootInfo", {{"nRanks", nRanks}, {"rank", rank}})) {
    return code;
  }
  return make_from_root(nRanks, rootInfo, rank, nullptr, comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks,
                                      const HcclRootInfo* rootInfo,
                                      uint32_t rank,
                                      const HcclCommConfig* config,
                                      HcclComm* comm) {
  if (const HcclResult code =
          begin("HcclCommInitRootInfoConfig", {{"nRanks", nRanks}, {"rank", rank}})) {
    return code;
  }
  if (!config) return refuse(HCCL_E_PTR, "config is null");
  return make_from_root(nRanks, rootInfo, rank, config, comm);
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  if (const HcclResult code = begin("HcclCommInitAll", {{"ndev", ndev}})) return code;
  if (!devices || !comms) return refuse(HCCL_E_PTR, "devices or comms is null");
  return make(ndev, 0, next_name(), comms);
}

HcclResult HcclCreateSubCommConfig(HcclComm* comm,
                                   uint32_t rankNum,
                                   uint32_t* rankIds,
                                   uint64_t subCommId,
                                   uint32_t subCommRankId,
                                   HcclCommConfig* config,
                                   HcclComm* subComm) {
  if (const HcclResult code =
          begin("HcclCreateSubCommConfig",
                {{"rankNum", rankNum}, {"subCommId", subCommId}, {"rank", subCommRankId}})) {
    return code;
  }
  if (!comm || !subComm || !config) return refuse(HCCL_E_PTR, "a required pointer is null");
  if (!find_communicator(*comm)) return HCCL_E_PARA;
  if (!rankIds) {  // this process is no member
    *subComm = nullptr;
    return HCCL_SUCCESS;
  }
  return make(rankNum, subCommRankId, next_name(), subComm);
}

HcclResult HcclCommDestroy(HcclComm comm) {
  if (const HcclResult code = begin("HcclCommDestroy", {{"comm", comm}})) return code;
  if (!find_communicator(comm)) return HCCL_E_PARA;
  const std::scoped_lock lock(books().mutex);
  books().all.erase(comm);
  return HCCL_SUCCESS;
}

HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  if (const HcclResult code = begin("HcclGetCommName", {{"comm", comm}})) return code;
  const Communicator* const found = find_communicator(comm);
  if (!found) return HCCL_E_PARA;
  if (!commName) return refuse(HCCL_E_PTR, "commName is null");
  std::memcpy(commName, found->name.c_str(), found->name.size() + 1);
  return HCCL_SUCCESS;
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  if (const HcclResult code = begin("HcclGetRankSize", {{"comm", comm}})) return code;
  const Communicator* const found = find_communicator(comm);
  if (!found) return HCCL_E_PARA;
  if (!rankSize) return refuse(HCCL_E_PTR, "rankSize is null");
  *rankSize = found->ranks;
  return HCCL_SUCCESS;
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  if (const HcclResult code = begin("HcclGetRankId", {{"comm", comm}})) return code;
  const Communicator* const found = find_communicator(comm);
  if (!found) return HCCL_E_PARA;
  if (!rank) return refuse(HCCL_E_PTR, "rank is null");
  *rank = found->rank;
  return HCCL_SUCCESS;
}

// One rank has no links that could fail.
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  if (const HcclResult code = begin("HcclGetCommAsyncError", {{"comm", comm}})) return code;
  if (!find_communicator(comm)) return HCCL_E_PARA;
  if (!asyncError) return refuse(HCCL_E_PTR, "asyncError is null");
  *asyncError = HCCL_SUCCESS;
  return HCCL_SUCCESS;
}

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  if (const HcclResult code = begin("HcclSetConfig", {{"config", config}})) return code;
  if (config != HCCL_DETERMINISTIC) return refuse(HCCL_E_PARA, "there is no such setting");
  if (configValue.value != 0 && configValue.value != 1) {
    return refuse(HCCL_E_PARA, "the value must be 0 or 1");
  }
  const std::scoped_lock lock(books().mutex);
  books().deterministic = configValue.value;
  return HCCL_SUCCESS;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  if (const HcclResult code = begin("HcclGetConfig", {{"config", config}})) return code;
  if (!configValue) return refuse(HCCL_E_PTR, "configValue is null");
  if (config != HCCL_DETERMINISTIC) return refuse(HCCL_E_PARA, "there is no such setting");
  const std::scoped_lock lock(books().mutex);
  configValue->value = books().deterministic;
  return HCCL_SUCCESS;
}

uint32_t HcclGetCommConfigCapability() {
  return begin("HcclGetCommConfigCapability", {}) ? 0 : HCCL_COMM_CONFIG_RESERVED;
}

const char* HcclGetErrorString(HcclResult code) {
  static constexpr std::array<const char*, HCCL_E_RESERVED> names = {"no error",
                                                                     "parameter error",
                                                                     "empty pointer",
                                                                     "memory error",
                                                                     "internal error",
                                                                     "not support",
                                                                     "not found",
                                                                     "unavailable",
                                                                     "system call error",
                                                                     "timeout",
                                                                     "open file error",
                                                                     "tcp connect error",
                                                                     "roce connect error",
                                                                     "tcp transfer error",
                                                                     "roce transfer error",
                                                                     "runtime error",
                                                                     "driver error",
                                                                     "profiling error",
                                                                     "cce error",
                                                                     "network error",
                                                                     "try again",
                                                                     "remote error",
                                                                     "suspending"};
  const auto at = static_cast<size_t>(code);
  return at < names.size() ? names[at] : "unknown error";
}
