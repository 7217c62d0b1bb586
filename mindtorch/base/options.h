#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "mindtorch/base/macros.h"

// Every environment variable this library reads. The simulator, a library of its own, has its
// settings in simulator/ascend/core/settings.cpp.
namespace mindtorch {

enum class OptionType : uint8_t {
  kFlag,    // 1, true, yes, on, or 0, false, no, off, in upper or lower case
  kNumber,  // a decimal number
  kText,
};

// One variable. Unset and empty are the same, and mean the default; so does a value that is not of
// its type, which option_problem() finds. Reading asks the environment each time.
struct Option {
  const char* name;
  OptionType type;
  const char* meaning;

  // The value as it is; without one, nothing.
  MT_API std::optional<std::string> raw() const;
};

struct FlagOption : Option {
  bool default_value;

  constexpr FlagOption(const char* name, bool value, const char* meaning)
      : Option{name, OptionType::kFlag, meaning}, default_value(value) {}
  MT_API bool get() const;
  MT_API std::optional<bool> find() const;  // nothing: unset, or not a flag
};

struct NumberRange {
  uint64_t least;
  uint64_t most;
};

struct NumberOption : Option {
  uint64_t default_value = 0;
  const char* computed_default = nullptr;  // instead of a value: what the program takes, in words
  NumberRange range;
  bool list;  // of numbers, separated by commas, of which the first counts

  constexpr NumberOption(const char* name, uint64_t value, NumberRange range, const char* meaning)
      : Option{name, OptionType::kNumber, meaning},
        default_value(value),
        range(range),
        list(false) {}
  constexpr NumberOption(const char* name,
                         const char* computed_default,
                         NumberRange range,
                         const char* meaning,
                         bool list = false)
      : Option{name, OptionType::kNumber, meaning},
        computed_default(computed_default),
        range(range),
        list(list) {}
  uint64_t get() const { return find().value_or(default_value); }
  MT_API std::optional<uint64_t> find() const;  // nothing: unset, or no such number
};

struct TextOption : Option {
  const char* default_value;

  constexpr TextOption(const char* name, const char* value, const char* meaning)
      : Option{name, OptionType::kText, meaning}, default_value(value) {}
  std::string get() const { return raw().value_or(default_value); }
};

namespace options {

inline constexpr TextOption kNpu{
    "MINDTORCH_NPU", "auto",
    "Where NPUs come from: `auto` (CANN, or no NPU), `cann`, `sim` (simulated ones), `off`."};
inline constexpr TextOption kNpuAllocConf{
    "MINDTORCH_NPU_ALLOC_CONF", "",
    "Settings of the device allocator, as `key:value,key:value`; see `docs/memory.md`."};
inline constexpr TextOption kCudaAllocConf{
    "PYTORCH_CUDA_ALLOC_CONF", "", "Read as `MINDTORCH_NPU_ALLOC_CONF` where that is not set."};
inline constexpr TextOption kTorchNpuAllocConf{"PYTORCH_NPU_ALLOC_CONF", "",
                                               "Read where none of the above is set."};
inline constexpr TextOption kTorchAllocConf{"PYTORCH_ALLOC_CONF", "",
                                            "Read where none of the above is set."};
inline constexpr NumberOption kNpuPlanCache{
    "MINDTORCH_NPU_PLAN_CACHE",
    4096,
    {0, uint64_t{1} << 32},
    "Planned ACLNN calls kept per stream; 0 plans every call anew."};
inline constexpr FlagOption kNpuPipelineGraphs{
    "MINDTORCH_NPU_PIPELINE_GRAPHS", true,
    "Capture traces of pipelines that repeat as graphs of the device."};
inline constexpr FlagOption kNpuPatterns{
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
inline constexpr NumberOption kNumThreads{
    "MINDTORCH_NUM_THREADS", "the available cores", {1, 4096}, "Threads that CPU ops use."};
inline constexpr NumberOption kOmpNumThreads{
    "OMP_NUM_THREADS",
    "the available cores",
    {1, 4096},
    "Read as `MINDTORCH_NUM_THREADS` where that is not set; of a list, the first.",
    true};
inline constexpr NumberOption kCpuCacheMb{"MINDTORCH_CPU_CACHE_MB",
                                          "a quarter of the machine's memory",
                                          {0, uint64_t{1} << 40},
                                          "MiB of freed CPU memory that are kept for reuse."};
inline constexpr TextOption kCpuCapability{
    "MINDTORCH_CPU_CAPABILITY", "auto",
    "The best instructions that CPU ops may use: `auto` (the machine's), `avx2`, `default`."};
inline constexpr FlagOption kCpuJit{"MINDTORCH_CPU_JIT", true,
                                    "Generate machine code for fused CPU ops."};

}  // namespace options

// All of them, in the order of the documentation.
MT_API std::span<const Option* const> all_options();
// A message about an invalid value of the variable; empty: it is valid. Texts are checked where
// they are used.
MT_API std::string option_problem(const Option& option);
// Gives every such problem to warn().
MT_API void warn_about_options();
MT_API const char* type_name(OptionType type);
MT_API std::string default_text(const Option& option);

}  // namespace mindtorch
