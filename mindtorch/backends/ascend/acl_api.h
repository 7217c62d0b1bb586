#pragma once

#include <string>
#include <vector>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "mindtorch/base/dynamic_library.h"
#include "mindtorch/base/macros.h"

// CANN behind one typed table, opened with dlopen at first use.
namespace mindtorch::ascend {

// What we call of libascendcl.so. A required symbol that is missing makes the library unusable; a
// missing optional one is a null pointer.
// clang-format off
#define MT_ACL_RUNTIME_SYMBOLS(required, optional) \
  required(aclInit)                                \
  required(aclGetRecentErrMsg)                     \
  required(aclrtGetDeviceCount)                    \
  required(aclrtSetDevice)                         \
  required(aclrtGetDevice)                         \
  required(aclrtSynchronizeDevice)                 \
  required(aclrtMalloc)                            \
  optional(aclrtMallocAlign32)                     \
  required(aclrtFree)                              \
  required(aclrtMallocHost)                        \
  required(aclrtFreeHost)                          \
  required(aclrtMemcpy)                            \
  required(aclrtMemcpyAsync)                       \
  required(aclrtMemsetAsync)                       \
  required(aclrtGetMemInfo)                        \
  required(aclrtCreateStreamWithConfig)            \
  required(aclrtDestroyStream)                     \
  required(aclrtSynchronizeStream)                 \
  required(aclrtStreamQuery)                       \
  required(aclrtCreateEventWithFlag)               \
  optional(aclrtCreateEventExWithFlag)             \
  required(aclrtDestroyEvent)                      \
  required(aclrtRecordEvent)                       \
  required(aclrtStreamWaitEvent)                   \
  required(aclrtQueryEventStatus)                  \
  required(aclrtSynchronizeEvent)                  \
  required(aclrtEventElapsedTime)                  \
  optional(aclrtGetSocName)                        \
  optional(aclGetDeviceCapability)                 \
  optional(aclsysGetCANNVersion)                   \
  optional(aclrtReserveMemAddress)                 \
  optional(aclrtReleaseMemAddress)                 \
  optional(aclrtMallocPhysical)                    \
  optional(aclrtFreePhysical)                      \
  optional(aclrtMapMem)                            \
  optional(aclrtUnmapMem)                          \
  optional(aclrtMemGetAllocationGranularity)       \
  optional(aclrtDeviceCanAccessPeer)               \
  optional(aclrtSetSysParamOpt)                    \
  optional(aclrtDeviceEnablePeerAccess)            \
  optional(aclrtDeviceDisablePeerAccess)           \
  optional(aclmdlRICaptureBegin)                   \
  optional(aclmdlRICaptureEnd)                     \
  optional(aclmdlRICaptureGetInfo)                 \
  optional(aclmdlRIExecuteAsync)                   \
  optional(aclmdlRIDestroy)
// clang-format on

// What we call of libnnopbase.so.
// clang-format off
#define MT_ACL_BASE_SYMBOLS(required, optional) \
  required(aclCreateTensor)                     \
  required(aclDestroyTensor)                    \
  required(aclCreateScalar)                     \
  required(aclDestroyScalar)                    \
  required(aclCreateIntArray)                   \
  required(aclDestroyIntArray)                  \
  required(aclCreateFloatArray)                 \
  required(aclDestroyFloatArray)                \
  required(aclCreateBoolArray)                  \
  required(aclDestroyBoolArray)                 \
  required(aclCreateTensorList)                 \
  required(aclDestroyTensorList)                \
  required(aclGetViewShape)                     \
  optional(aclSetAclOpExecutorRepeatable)       \
  optional(aclDestroyAclOpExecutor)             \
  optional(aclSetTensorAddr)                    \
  optional(aclSetDynamicTensorAddr)
// clang-format on

struct AclApi {
#define MT_ACL_FIELD(name) decltype(&::name) name = nullptr;
  MT_ACL_RUNTIME_SYMBOLS(MT_ACL_FIELD, MT_ACL_FIELD)
  MT_ACL_BASE_SYMBOLS(MT_ACL_FIELD, MT_ACL_FIELD)
#undef MT_ACL_FIELD
};

// MINDTORCH_NPU: which library may be taken.
enum class Choice { kAuto, kCann, kSimulator, kOff };

// One attempt to open a library: for people who ask why there is no NPU.
struct Attempt {
  std::string library;
  std::string path;    // where it was found
  std::string reason;  // why it was not taken; empty: it was
};

struct LoadReport {
  Choice choice = Choice::kAuto;
  bool usable = false;
  bool simulated = false;
  int device_count = 0;
  std::string reason;  // why nothing can be used
  std::vector<Attempt> attempts;
  std::vector<std::string> missing_required;
  std::vector<std::string> missing_optional;
};

// Looks for CANN once per process, and again after choose(); other calls return what was found.
// Never throws.
MT_API const LoadReport& load_report();
// Whether that has happened, and a library is used.
MT_API bool is_in_use() noexcept;
// Throws RuntimeError with the reason when nothing can be used.
const AclApi& acl();
// A symbol of the op libraries (libopapi.so, or the ones it was split into), or null.
MT_API void* op_symbol(const char* name) noexcept;
// The simulator's folder of libraries; empty when it was not built.
MT_API std::string simulator_folder();

// Chooses as MINDTORCH_NPU does, from the program. Throws RuntimeError when a library is in use.
MT_API void choose(Choice choice);
// What was chosen, or will be taken.
MT_API Choice chosen();

// Passes the Python line that makes a call to a simulator; a text of the calling thread.
// To be set before the first use. The vendor's libraries have no such function.
using SiteCallback = const char* (*)();
MT_API void set_site_callback(SiteCallback callback);

}  // namespace mindtorch::ascend
