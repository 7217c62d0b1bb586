#pragma once

#include "mindtorch/base/options.h"

// The environment variables that only NPUs read.
namespace mindtorch::ascend::options {

inline constexpr TextOption kLibrary{
    "MINDTORCH_NPU", "auto",
    "Where NPUs come from: `auto` (CANN, or no NPU), `cann`, `sim` (simulated ones), `off`."};
inline constexpr TextOption kAllocConf{
    "MINDTORCH_NPU_ALLOC_CONF", "",
    "Settings of the device allocator, as `key:value,key:value`; see `docs/memory.md`."};
inline constexpr TextOption kTorchCudaAllocConf{
    "PYTORCH_CUDA_ALLOC_CONF", "", "Read as `MINDTORCH_NPU_ALLOC_CONF` where that is not set."};
inline constexpr TextOption kTorchNpuAllocConf{"PYTORCH_NPU_ALLOC_CONF", "",
                                               "Read where none of the above is set."};
inline constexpr NumberOption kPlanCache{
    "MINDTORCH_NPU_PLAN_CACHE",
    4096,
    {0, uint64_t{1} << 32},
    "Planned ACLNN calls kept per stream; 0 plans every call anew."};
inline constexpr FlagOption kPipelineGraphs{
    "MINDTORCH_NPU_PIPELINE_GRAPHS", true,
    "Capture traces of pipelines that repeat as graphs of the device."};
inline constexpr FlagOption kPatterns{
    "MINDTORCH_NPU_PATTERNS", true,
    "Run patterns of recorded ops as CANN's fused ops; see `docs/pipeline.md`."};
inline constexpr FlagOption kAclLaunchBlocking{
    "ACL_LAUNCH_BLOCKING", false, "Wait after every op, so that errors show where they happen."};
inline constexpr FlagOption kAscendLaunchBlocking{
    "ASCEND_LAUNCH_BLOCKING", false, "Read as `ACL_LAUNCH_BLOCKING` where that is not set."};
inline constexpr TextOption kAscendHomePath{
    "ASCEND_HOME_PATH", "", "Where CANN is installed; its `lib64` is searched for the libraries."};
inline constexpr TextOption kAscendToolkitHome{"ASCEND_TOOLKIT_HOME", "",
                                               "Searched after `ASCEND_HOME_PATH`."};
inline constexpr TextOption kSimLibraryDir{
    "MINDTORCH_SIM_LIBRARY_DIR", "",
    "The folder of the simulator's libraries, if they are not beside this library."};

inline constexpr const TextOption* kAllocConfs[] = {&kAllocConf, &kTorchCudaAllocConf,
                                                    &kTorchNpuAllocConf};
inline constexpr const Option* kAll[] = {
    &kLibrary,           &kAllocConf,         &kTorchCudaAllocConf,
    &kTorchNpuAllocConf, &kPlanCache,         &kPipelineGraphs,
    &kPatterns,          &kAclLaunchBlocking, &kAscendLaunchBlocking,
    &kAscendHomePath,    &kAscendToolkitHome, &kSimLibraryDir,
};

}  // namespace mindtorch::ascend::options
