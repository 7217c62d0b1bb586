// What one rank does in a collective: its own part, copied to where its result belongs, in the
// order of the stream.
#include <array>
#include <cstring>

#include "simulator/ascend/core/task.h"
#include "simulator/ascend/hccl/communicator.h"

using namespace sim;

namespace {

constexpr std::array<size_t, HCCL_DATA_TYPE_INT128 + 1> kItemBytes = {1, 2, 4, 2, 4, 8, 8,
                                                                      1, 2, 4, 8, 2, 16};

bool reduces(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_FP32:
    case HCCL_DATA_TYPE_BFP16:
      return true;
    default:
      return false;
  }
}

HcclResult check_type(HcclDataType type) {
  if (static_cast<size_t>(type) < kItemBytes.size()) return HCCL_SUCCESS;
  return refuse(HCCL_E_PARA, "there is no data type " + std::to_string(type));
}

HcclResult check_reduction(HcclReduceOp op, HcclDataType type) {
  if (op < HCCL_REDUCE_SUM || op > HCCL_REDUCE_MIN) {
    return refuse(HCCL_E_PARA, "there is no reduction " + std::to_string(op));
  }
  if (const HcclResult code = check_type(type)) return code;
  const bool product_lacks = type == HCCL_DATA_TYPE_INT16 || type == HCCL_DATA_TYPE_BFP16;
  if (reduces(type) && !(op == HCCL_REDUCE_PROD && product_lacks)) return HCCL_SUCCESS;
  return refuse(HCCL_E_NOT_SUPPORT,
                "the device does not reduce data type " + std::to_string(type) + " so");
}

HcclResult check_rank(const char* name, uint32_t rank, const Communicator& communicator) {
  if (rank < communicator.ranks) return HCCL_SUCCESS;
  return refuse(HCCL_E_PARA, std::string(name) + " is " + std::to_string(rank) + ", there are " +
                                 std::to_string(communicator.ranks) + " ranks");
}

// Copies `count` items; nothing where both are one place.
HcclResult copy(const char* name,
                const void* from,
                void* to,
                uint64_t count,
                HcclDataType type,
                aclrtStream stream) {
  if (const HcclResult code = check_type(type)) return code;
  if (count && (!from || !to)) return refuse(HCCL_E_PTR, "a buffer is null");
  const size_t bytes = count * kItemBytes[static_cast<size_t>(type)];
  Task task;
  task.name = name;
  auto* const source = const_cast<char*>(static_cast<const char*>(from));
  auto* const target = static_cast<char*>(to);
  if (bytes) {
    task.accesses = {{target, bytes, true, {}, {}, "recvBuf"},
                     {source, bytes, false, {}, {}, "sendBuf"}};
  }
  task.run = [=] {
    if (bytes && source != target) std::memmove(target, source, bytes);
    return ACL_SUCCESS;
  };
  return enqueue(stream, std::move(task)) ? HCCL_E_RUNTIME : HCCL_SUCCESS;
}

// Of the one rank there is, among counts and displacements of every rank.
uint64_t own(const void* numbers) { return *static_cast<const uint64_t*>(numbers); }

const char* moved(const void* buffer, uint64_t items, HcclDataType type) {
  const bool known = static_cast<size_t>(type) < kItemBytes.size();
  return static_cast<const char*>(buffer) + (known ? items * kItemBytes[type] : 0);
}

}  // namespace

// Begins a collective: its log entry and its communicator.
#define BEGIN(name)                                                                \
  if (const HcclResult code = begin(name, {{"comm", comm}, {"stream", stream}})) { \
    return code;                                                                   \
  }                                                                                \
  const Communicator* const group = find_communicator(comm);                       \
  if (!group) return HCCL_E_PARA

HcclResult HcclAllReduce(void* sendBuf,
                         void* recvBuf,
                         uint64_t count,
                         HcclDataType dataType,
                         HcclReduceOp op,
                         HcclComm comm,
                         aclrtStream stream) {
  BEGIN("HcclAllReduce");
  if (const HcclResult code = check_reduction(op, dataType)) return code;
  return copy("HcclAllReduce", sendBuf, recvBuf, count, dataType, stream);
}

HcclResult HcclReduce(void* sendBuf,
                      void* recvBuf,
                      uint64_t count,
                      HcclDataType dataType,
                      HcclReduceOp op,
                      uint32_t root,
                      HcclComm comm,
                      aclrtStream stream) {
  BEGIN("HcclReduce");
  if (const HcclResult code = check_rank("root", root, *group)) return code;
  if (const HcclResult code = check_reduction(op, dataType)) return code;
  return copy("HcclReduce", sendBuf, recvBuf, count, dataType, stream);
}

HcclResult HcclReduceScatter(void* sendBuf,
                             void* recvBuf,
                             uint64_t recvCount,
                             HcclDataType dataType,
                             HcclReduceOp op,
                             HcclComm comm,
                             aclrtStream stream) {
  BEGIN("HcclReduceScatter");
  if (const HcclResult code = check_reduction(op, dataType)) return code;
  return copy("HcclReduceScatter", sendBuf, recvBuf, recvCount, dataType, stream);
}

HcclResult HcclReduceScatterV(void* sendBuf,
                              const void* sendCounts,
                              const void* sendDispls,
                              void* recvBuf,
                              uint64_t recvCount,
                              HcclDataType dataType,
                              HcclReduceOp op,
                              HcclComm comm,
                              aclrtStream stream) {
  BEGIN("HcclReduceScatterV");
  if (!sendCounts || !sendDispls) return refuse(HCCL_E_PTR, "sendCounts or sendDispls is null");
  if (const HcclResult code = check_reduction(op, dataType)) return code;
  if (own(sendCounts) != recvCount) {
    return refuse(HCCL_E_PARA, "recvCount is not this rank's of sendCounts");
  }
  return copy("HcclReduceScatterV", moved(sendBuf, own(sendDispls), dataType), recvBuf, recvCount,
              dataType, stream);
}

HcclResult HcclBroadcast(void* buf,
                         uint64_t count,
                         HcclDataType dataType,
                         uint32_t root,
                         HcclComm comm,
                         aclrtStream stream) {
  BEGIN("HcclBroadcast");
  if (const HcclResult code = check_rank("root", root, *group)) return code;
  return copy("HcclBroadcast", buf, buf, count, dataType, stream);
}

HcclResult HcclScatter(void* sendBuf,
                       void* recvBuf,
                       uint64_t recvCount,
                       HcclDataType dataType,
                       uint32_t root,
                       HcclComm comm,
                       aclrtStream stream) {
  BEGIN("HcclScatter");
  if (const HcclResult code = check_rank("root", root, *group)) return code;
  return copy("HcclScatter", sendBuf, recvBuf, recvCount, dataType, stream);
}

HcclResult HcclAllGather(void* sendBuf,
                         void* recvBuf,
                         uint64_t sendCount,
                         HcclDataType dataType,
                         HcclComm comm,
                         aclrtStream stream) {
  BEGIN("HcclAllGather");
  return copy("HcclAllGather", sendBuf, recvBuf, sendCount, dataType, stream);
}

HcclResult HcclAllGatherV(void* sendBuf,
                          uint64_t sendCount,
                          void* recvBuf,
                          const void* recvCounts,
                          const void* recvDispls,
                          HcclDataType dataType,
                          HcclComm comm,
                          aclrtStream stream) {
  BEGIN("HcclAllGatherV");
  if (!recvCounts || !recvDispls) return refuse(HCCL_E_PTR, "recvCounts or recvDispls is null");
  if (own(recvCounts) != sendCount) {
    return refuse(HCCL_E_PARA, "sendCount is not this rank's of recvCounts");
  }
  return copy("HcclAllGatherV", sendBuf,
              const_cast<char*>(moved(recvBuf, own(recvDispls), dataType)), sendCount, dataType,
              stream);
}

HcclResult HcclAlltoAll(const void* sendBuf,
                        uint64_t sendCount,
                        HcclDataType sendType,
                        const void* recvBuf,
                        uint64_t recvCount,
                        HcclDataType recvType,
                        HcclComm comm,
                        aclrtStream stream) {
  BEGIN("HcclAlltoAll");
  if (sendCount != recvCount || sendType != recvType) {
    return refuse(HCCL_E_PARA, "what is sent and what is received differ in count or type");
  }
  return copy("HcclAlltoAll", sendBuf, const_cast<void*>(recvBuf), sendCount, sendType, stream);
}

HcclResult HcclAlltoAllV(const void* sendBuf,
                         const void* sendCounts,
                         const void* sdispls,
                         HcclDataType sendType,
                         const void* recvBuf,
                         const void* recvCounts,
                         const void* rdispls,
                         HcclDataType recvType,
                         HcclComm comm,
                         aclrtStream stream) {
  BEGIN("HcclAlltoAllV");
  if (!sendCounts || !sdispls || !recvCounts || !rdispls) {
    return refuse(HCCL_E_PTR, "counts or displacements are null");
  }
  if (own(sendCounts) != own(recvCounts) || sendType != recvType) {
    return refuse(HCCL_E_PARA, "what is sent and what is received differ in count or type");
  }
  return copy("HcclAlltoAllV", moved(sendBuf, own(sdispls), sendType),
              const_cast<char*>(moved(recvBuf, own(rdispls), recvType)), own(sendCounts), sendType,
              stream);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  BEGIN("HcclBarrier");
  return copy("HcclBarrier", nullptr, nullptr, 0, HCCL_DATA_TYPE_INT8, stream);
}

// There is no other rank to send to or to receive from.
HcclResult HcclSend(
    void*, uint64_t, HcclDataType, uint32_t destRank, HcclComm comm, aclrtStream stream) {
  BEGIN("HcclSend");
  if (const HcclResult code = check_rank("destRank", destRank, *group)) return code;
  return refuse(HCCL_E_PARA, "destRank is the sending rank itself");
}

HcclResult HcclRecv(
    void*, uint64_t, HcclDataType, uint32_t srcRank, HcclComm comm, aclrtStream stream) {
  BEGIN("HcclRecv");
  if (const HcclResult code = check_rank("srcRank", srcRank, *group)) return code;
  return refuse(HCCL_E_PARA, "srcRank is the receiving rank itself");
}

#undef BEGIN
